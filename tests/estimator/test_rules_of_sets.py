"""Criteria of features as a set: signal, and auto, which takes it where it proves itself."""

import numpy as np
import pytest

from omvfs import OMVFS
from omvfs.datasets import make_planted
from streams import every_dtype, learned, two_views

SETS = ["signal", "auto"]


@pytest.fixture(scope="module")
def planted():
    return make_planted(600, n_features=(300, 200), n_informative=(30, 20), random_state=0)


@pytest.mark.parametrize("criterion", SETS)
def test_planted_features_are_found(planted, criterion):
    model = OMVFS(5, criterion=criterion, random_state=0).fit(planted.views)
    for view, truth in planted.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() > 0.9


@every_dtype
@pytest.mark.parametrize("criterion", SETS)
def test_they_rank_and_change_nothing(criterion, dtype):
    X = two_views(0, 90, dtype)
    model = OMVFS(3, criterion="separation", random_state=0).fit(X)
    before, states = model.scores_, learned(model)
    model.set_params(criterion=criterion)
    found = model.scores_
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    np.testing.assert_array_equal(found == 0, before == 0)
    np.testing.assert_array_equal(model.scores_, found)
    assert learned(model) == states
    np.testing.assert_array_equal(model.set_params(criterion="separation").scores_, before)


@pytest.mark.parametrize("params", [{"sample_size": 0}])
@pytest.mark.parametrize("criterion", SETS)
def test_without_rows_balanced_stands_in(criterion, params):
    X = two_views(0, 60)
    found, expected = (
        OMVFS(3, criterion=each, random_state=0, **params).fit(X).scores_
        for each in (criterion, "balanced")
    )
    np.testing.assert_array_equal(found, expected)


def tainted(seed, n=1000, K=5, n_clean=60, n_tainted=120):
    """Return features of one cluster each, of which the last share noise in six groups."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, n)[:, np.newaxis]
    clean = abs(rng.normal(1, 0.35, (n, n_clean))) + 0.5 * (labels == np.arange(n_clean) % K)
    which = np.arange(n_tainted)
    shared = rng.normal(0, 0.5, (n, 6))[:, which % 6] + rng.normal(0, 0.5, (n, n_tainted))
    return {"a": np.hstack([clean, abs(3 + shared + 0.5 * (labels == which // 6 % K))])}


def rankings(model):
    return [
        model.set_params(criterion=criterion).ranking_
        for criterion in ("separation", "signal", "auto")
    ]


@pytest.mark.parametrize("seed", range(2))
def test_auto_takes_the_rule_of_sets_where_it_proves_itself(seed):
    model = OMVFS(5, random_state=0).fit(tainted(seed))
    single, as_set, auto = rankings(model)
    np.testing.assert_array_equal(auto, as_set)
    assert not np.array_equal(auto, single)
    at = {
        criterion: model.set_params(criterion=criterion).selection_quality_.at(20)
        for criterion in ("separation", "auto")
    }
    assert at["auto"] > at["separation"] + 0.1
    # All that are clean come before any that is tainted.
    assert (model.view_ranking_["a"][:60] <= 60).all()


def test_auto_asks_each_feature_by_itself_where_sets_prove_nothing(planted):
    single, as_set, auto = rankings(OMVFS(5, random_state=0).fit(planted.views))
    np.testing.assert_array_equal(auto, single)
    assert not np.array_equal(auto, as_set)


def test_auto_asks_each_feature_by_itself_where_rows_are_too_few_to_judge():
    single, _, auto = rankings(OMVFS(10, random_state=0).fit(two_views(0, 90)))
    np.testing.assert_array_equal(auto, single)


def test_auto_decides_alike_whatever_was_asked_before():
    model = OMVFS(5, random_state=0).fit(tainted(0))
    first = model.set_params(criterion="auto").scores_
    again = OMVFS(5, random_state=0).fit(tainted(0)).set_params(criterion="signal")
    again.scores_, again.selection_quality_  # noqa: B018
    np.testing.assert_array_equal(again.set_params(criterion="auto").scores_, first)


@pytest.mark.parametrize("criterion", ["separation", *SETS])
def test_what_a_feature_repeats_is_the_nearest_of_the_better_ones(criterion):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900)
    X = 0.2 * abs(rng.normal(size=(900, 40)))
    for j in range(9):
        X[:, j] += labels == j // 3
    for j in range(3):  # near copies
        X[:, 20 + j] = X[:, 0] * (1 - 0.03 * j) + 0.02 * abs(rng.normal(size=900))
    model = OMVFS(3, criterion=criterion, random_state=0, n_init=5).fit({"a": X})
    repeats, ranking = model.feature_notes()["a"].repeats, model.view_ranking_["a"]
    squares = np.corrcoef(X.T) ** 2
    for j in range(40):
        better = np.flatnonzero(ranking < ranking[j])
        nearest = better[squares[j, better].argmax()] if len(better) else -1
        told = len(better) and squares[j, nearest] >= 0.5
        assert repeats[j] == (nearest if told else -1)
