"""Judging selections by the clusters they give."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.exceptions import NotFittedError

from omvfs.baselines import ColumnSum
from omvfs.datasets import make_planted
from omvfs.evaluation import evaluate_selection, protocol, summarise
from support import dense

COLUMNS = ["method", "p", "seed", "ACC", "NMI max", "NMI geometric"]
both_clusterings = pytest.mark.parametrize("clustering", ["multiview", "stacked"])


@functools.cache
def planted():
    return make_planted(400, n_features=(600, 300), n_informative=(60, 30), random_state=0)


def methods():
    rng = np.random.default_rng(0)
    return {
        "truth": planted().informative,
        "chance": {view: rng.random(X.shape[1]) for view, X in planted().views.items()},
    }


def judged(scores=None, n_features=30, seeds=2, **params):
    data = planted()
    scores = methods() if scores is None else scores
    return evaluate_selection(data.views, data.labels, scores, n_features, seeds=seeds, **params)


@both_clusterings
def test_informative_features_beat_random_ones(clustering):
    truth, chance = summarise(judged(clustering=clustering))
    for figure in ("ACC", "NMI max", "NMI geometric"):
        assert truth[figure] > chance[figure] + 0.3


def test_there_is_a_row_for_every_method_size_and_seed():
    rows = judged(n_features=[10, 30, None], seeds=[5, 3])
    assert [list(row) for row in rows] == [COLUMNS] * 12
    assert [(row["method"], row["p"], row["seed"]) for row in rows] == [
        (method, p, seed)
        for method in ("truth", "chance")
        for p in (10, 30, None)
        for seed in (5, 3)
    ]
    for row in rows:
        assert 0 <= row["NMI max"] <= row["NMI geometric"] <= 1
        assert 0 < row["ACC"] <= 1


def test_the_result_does_not_depend_on_the_number_of_jobs():
    with parallel_config("threading"):
        one, two = (judged(n_features=[10, 30], n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == two


def test_exactly_the_best_features_are_judged(monkeypatch):
    views = {"a": np.arange(12.0).reshape(3, 4), "b": sp.csr_array(np.eye(3, 2))}
    scores = {"b": [0.5, 0.5], "a": [0, 3, -np.inf, 7]}
    seen = []
    monkeypatch.setitem(
        protocol._CLUSTERINGS,
        "stacked",
        lambda blocks, K, seed: seen.append((blocks, K, seed)) or np.zeros(3, int),
    )
    evaluate_selection(views, list("xyx"), {"m": scores}, [2, 1], seeds=[4], clustering="stacked")
    (two, K, seed), (one, _, _) = seen
    assert (K, seed) == (2, 4)
    np.testing.assert_array_equal(two["a"], views["a"][:, [1, 3]])
    np.testing.assert_array_equal(one["a"], views["a"][:, [3]])
    np.testing.assert_array_equal(dense(one["b"]), [[1], [0], [0]])  # the first among equals


def test_views_may_be_dense_or_sparse():
    data = planted()
    sparse = judged()
    views = {view: dense(X) for view, X in data.views.items()}
    assert evaluate_selection(views, data.labels, methods(), 30, seeds=2) == sparse


def test_a_fitted_selector_is_taken_for_its_scores():
    selector = ColumnSum().fit(planted().views)
    by_selector, by_scores = (judged({"sum": given}) for given in (selector, selector.view_scores_))
    assert by_selector == by_scores


@pytest.mark.parametrize(
    ("scores", "kind", "message"),
    [
        (
            {"view_0": np.ones(600), "view_1": np.ones(299)},
            ValueError,
            r"method 'm' for view 'view_1' of shape \(299,\) .*; expected \(300,\)",
        ),
        ({"view_0": np.ones(600)}, ValueError, "method 'm' for views 'view_0'; .*'view_1'"),
        (
            {"view_0": np.ones(600), "view_1": np.full(300, np.nan)},
            ValueError,
            "method 'm' for view 'view_1' .* none NaN",
        ),
        (
            {"view_0": np.ones(600), "view_1": np.full(300, "a")},
            ValueError,
            "method 'm' for view 'view_1' .* dtype <U1; expected",
        ),
        ([1, 2], TypeError, "list as the scores of method 'm'"),
        (ColumnSum(), NotFittedError, "not fitted"),
    ],
)
def test_bad_scores_are_refused_by_name(scores, kind, message):
    with pytest.raises(kind, match=message):
        judged({"m": scores})


def test_a_summary_has_mean_and_spread_of_every_group():
    rows = [
        {"method": m, "p": p, "seed": s, "ACC": acc, "NMI max": 0.0, "NMI geometric": 1.0}
        for m, p, s, acc in [
            ("b", 2, 0, 0.2),
            ("a", 2, 0, 0.9),
            ("b", 2, 1, 0.6),
            ("b", None, 0, 1),
        ]
    ]
    table = summarise(rows)
    assert [(row["method"], row["p"], row["n"]) for row in table] == [
        ("b", 2, 2),
        ("a", 2, 1),
        ("b", None, 1),
    ]
    assert table[0]["ACC"] == pytest.approx(0.4)
    assert table[0]["ACC std"] == pytest.approx(0.2)
    assert table[1]["ACC std"] == 0
    assert "seconds" not in table[0]
    assert [row["n"] for row in summarise(rows, by=["method"])] == [3, 1]
    assert summarise([]) == []
