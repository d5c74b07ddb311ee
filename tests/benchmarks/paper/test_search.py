"""Search for parameters."""

import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from omvfs.baselines import ColumnSum, RandomScore
from omvfs.datasets import make_planted
from omvfs.evaluation import evaluate_selection
from omvfs.selector import MultiViewSelector
from paper.search import SearchResult, Shuffled, grid_search

COLUMNS = [
    "method",
    "params",
    "default",
    "order",
    "p",
    "seed",
    "ACC",
    "NMI max",
    "NMI geometric",
    "seconds",
]
PLANTED = make_planted(150, n_features=(60, 40), n_informative=(20, 12), random_state=0)
LOAD = Shuffled.of(PLANTED.views, PLANTED.labels)


class Mixture(ColumnSum):
    """Random scores, and a weight of the truth; each fit is counted."""

    fits: ClassVar[list] = []

    def __init__(self, weight=0.0, *, sign=1, fail_at=None, random_state=None):
        super().__init__()
        self.weight = weight
        self.sign = sign
        self.fail_at = fail_at
        self.random_state = random_state

    def fit(self, X, y=None):
        Mixture.fits.append((self.weight, self.random_state))
        if self.fail_at is not None and self.weight >= self.fail_at:
            raise RuntimeError(f"too heavy: {self.weight}")
        return super().fit(X)

    @property
    def view_scores_(self):
        rng = np.random.default_rng(self.random_state)
        return {
            view: rng.random(len(truth)) + self.sign * self.weight * truth
            for view, truth in PLANTED.informative.items()
        }


@pytest.fixture(autouse=True)
def _count_anew():
    Mixture.fits.clear()


def searched(methods=None, load=LOAD, **params):
    methods = {"mixture": Mixture(), "sum": ColumnSum()} if methods is None else methods
    defaults = {
        "grids": {"mixture": {"weight": [0.0, 0.2, 2.0]}},
        "orders": 2,
        "n_features": 12,
        "seeds": 1,
        "clustering": "stacked",
    }
    return grid_search(methods, load, **{**defaults, **params})


def without_seconds(result):
    return [{**row, "seconds": None} for row in result.rows]


def test_rows_are_tidy_and_there_is_one_for_every_fit_size_and_seed():
    result = searched(n_features=[8, 12], seeds=2, clustering="multiview")
    assert [list(row) for row in result.rows] == [COLUMNS] * (4 * 2 * 2 * 2)
    settings = dict.fromkeys((r["method"], r["params"], r["default"]) for r in result.rows)
    assert list(settings) == [
        ("mixture", "weight=0.0", True),
        ("mixture", "weight=0.2", False),
        ("mixture", "weight=2.0", False),
        ("sum", "", True),
    ]
    assert result.failures == []
    assert all(row["seconds"] > 0 for row in result.rows)
    table = pd.DataFrame(result.rows)
    assert len(table.groupby(["method", "params", "order"])) == 8


def test_each_setting_is_fitted_once_an_order_and_the_default_is_among_the_grid():
    searched()
    assert sorted(Mixture.fits) == [(w, order) for w in (0.0, 0.2, 2.0) for order in (0, 1)]


def test_figures_are_those_of_the_protocol():
    how = {"n_features": [8, 12], "seeds": 2, "clustering": "multiview"}
    result = searched({"mixture": Mixture()}, **how)
    views, labels = LOAD(1)
    selector = Mixture(0.2, random_state=1).fit(views)
    expected = evaluate_selection(views, labels, {"mixture": selector}, **how)
    got = [r for r in result.rows if (r["params"], r["order"]) == ("weight=0.2", 1)]
    assert [{key: row[key] for key in expected[0]} for row in got] == expected


@pytest.mark.parametrize("metric", ["ACC", "NMI max", "NMI geometric"])
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_the_best_setting_is_at_least_as_good_as_the_default(metric, weight):
    methods = {"mixture": Mixture(weight), "sum": ColumnSum()}
    result = searched(methods, grids={"mixture": {"weight": [0.0, 2.0]}}, seeds=3)
    default, best, other, _ = result.summary(metric)
    assert (default["setting"], best["setting"]) == ("default", "best by labels")
    assert default["params"] == f"weight={weight}"
    assert best["params"] == "weight=2.0"
    assert best[metric] >= default[metric]
    assert (best[metric] > default[metric] + 0.1) == (weight == 0.0)
    assert (other["method"], other["n"]) == ("sum", 6)


def test_the_default_stands_beside_a_grid_that_has_it_not():
    grid = [{"weight": [1.0]}, {"sign": [-1], "weight": [1.0]}]
    result = searched({"mixture": Mixture()}, grids={"mixture": grid})
    assert list(dict.fromkeys(row["params"] for row in result.rows)) == [
        "sign=1, weight=0.0",
        "sign=1, weight=1.0",
        "sign=-1, weight=1.0",
    ]
    assert {row["params"] for row in result.default_rows()} == {"sign=1, weight=0.0"}
    assert {row["params"] for row in result.best_rows()} == {"sign=1, weight=1.0"}


def test_a_seed_that_is_set_is_kept_and_the_estimator_is_left_alone():
    given = Mixture(random_state=9)
    searched({"mixture": given}, grids=None)
    assert Mixture.fits == [(0.0, 9), (0.0, 9)]
    assert given.get_params()["weight"] == 0.0
    assert not hasattr(given, "n_features_in_")


# The store


def test_a_search_that_is_run_again_computes_nothing(tmp_path):
    store = tmp_path / "new folder" / "store.jsonl"
    first = searched(store=store)
    Mixture.fits.clear()
    calls = []
    again = searched(store=store, on_progress=lambda *done: calls.append(done))
    assert again == first
    assert Mixture.fits == []
    assert calls == [(8, 8)]


def test_only_what_is_new_is_computed(tmp_path):
    store = tmp_path / "store.jsonl"
    searched(store=store)
    Mixture.fits.clear()
    searched(store=store, grids={"mixture": {"weight": [2.0, 3.0]}}, orders=[1, 5])
    assert sorted(Mixture.fits) == [(0.0, 5), (2.0, 5), (3.0, 1), (3.0, 5)]


@pytest.mark.parametrize(
    "other",
    [
        {"n_features": [8]},
        {"seeds": [2]},
        {"clustering": "multiview"},
        {"methods": {"mixture": Mixture(sign=-1)}},
        {"methods": {"other": Mixture()}, "grids": None},
    ],
)
def test_results_of_another_evaluation_are_not_taken(tmp_path, other):
    store = tmp_path / "store.jsonl"
    searched({"mixture": Mixture()}, store=store)
    Mixture.fits.clear()
    searched(**{"methods": {"mixture": Mixture()}, **other}, store=store)
    assert len(Mixture.fits) == (2 if "grids" in other else 6)


@pytest.mark.parametrize("stop_after", [0, 3])
def test_an_interrupted_search_goes_on(tmp_path, stop_after):
    store = tmp_path / "store.jsonl"

    def interrupt(done, total):
        if done == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searched(store=store, on_progress=interrupt)
    n_before = len(Mixture.fits)
    assert len(store.read_text().splitlines()) == stop_after
    result = searched(store=store)
    assert len(Mixture.fits) == 6
    assert (n_before == 0) == (stop_after == 0)
    assert without_seconds(result) == without_seconds(searched())


@pytest.mark.parametrize("left", [1, 20, -1])
def test_a_line_that_was_cut_off_is_dropped(tmp_path, left):
    store = tmp_path / "store.jsonl"
    first = searched(store=store)
    *lines, last = store.read_bytes().splitlines(keepends=True)
    store.write_bytes(b"".join(lines) + last[:left])
    again = searched(store=store)
    assert without_seconds(again) == without_seconds(first)
    assert [json.loads(line)["of"]["method"] for line in store.read_text().splitlines()][-1] == (
        json.loads(last)["of"]["method"]
    )
    assert searched(store=store) == again
    assert [path.name for path in tmp_path.iterdir()] == ["store.jsonl"]


def test_a_store_of_something_else_is_refused_and_left_as_it_is(tmp_path):
    store = tmp_path / "notes.txt"
    store.write_text('{"of": 1, "result": {}}\nbuy milk\n')
    with pytest.raises(ValueError, match=r"Line 2 of .*notes\.txt"):
        searched(store=store)
    assert store.read_text().endswith("buy milk\n")
    assert Mixture.fits == []


# Failures


@pytest.mark.parametrize("with_store", [False, True])
def test_a_fit_that_fails_is_recorded_and_the_others_go_on(tmp_path, with_store):
    params = {"store": tmp_path / "store.jsonl"} if with_store else {}
    result = searched({"mixture": Mixture(fail_at=2.0), "sum": ColumnSum()}, **params)
    assert result.failures == [
        {
            "method": "mixture",
            "params": "weight=2.0",
            "default": False,
            "order": order,
            "error": "RuntimeError: too heavy: 2.0",
        }
        for order in (0, 1)
    ]
    assert len(result.rows) == 6
    if with_store:
        Mixture.fits.clear()
        again = searched({"mixture": Mixture(fail_at=2.0), "sum": ColumnSum()}, **params)
        assert again == result
        assert Mixture.fits == []
        searched({"mixture": Mixture(fail_at=2.0)}, **params, retry_failed=True)
        assert Mixture.fits == [(2.0, 0), (2.0, 1)]


def test_a_setting_that_failed_once_is_not_the_best():
    rows = [
        {"method": "m", "params": params, "default": params == "a", "order": order, "seconds": 1.0}
        | dict.fromkeys(("ACC", "NMI max", "NMI geometric"), figure)
        for params, order, figure in [("a", 0, 0.2), ("a", 1, 0.2), ("b", 0, 0.9)]
    ]
    failed = {"method": "m", "params": "b", "default": False, "order": 1, "error": "no"}
    assert SearchResult(rows, []).best_rows() == rows[2:]
    assert SearchResult(rows, [failed]).best_rows() == rows[:2]
    assert [row["params"] for row in SearchResult(rows, []).summary()] == ["a", "b"]


class NoNumbers(MultiViewSelector):
    def __init__(self, views=None, n_features_per_view=1):
        self.views = views
        self.n_features_per_view = n_features_per_view

    def fit(self, X, y=None):
        return self

    @property
    def view_scores_(self):
        return {view: np.full(X.shape[1], np.nan) for view, X in PLANTED.views.items()}


def test_scores_that_are_no_numbers_are_a_failure():
    result = searched({"bad": NoNumbers()}, grids=None, orders=1)
    assert result.rows == result.summary() == []
    assert "method 'bad' for view 'view_0' with NaN" in result.failures[0]["error"]


def test_data_that_cannot_be_loaded_is_no_failure_of_a_method():
    with pytest.raises(OSError, match="no such disk"):
        searched(load=lambda order: (_ for _ in ()).throw(OSError("no such disk")))
    with pytest.raises(ValueError, match="2 labels for 150 rows"):
        searched(load=lambda order: (PLANTED.views, [0, 1]))


# Around it


def test_progress_is_told_at_the_beginning_and_after_each_fit():
    calls = []
    searched(on_progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, 8) for done in range(9)]


def test_processes_give_the_same_rows(tmp_path):
    methods = {"random": RandomScore(), "sum": ColumnSum()}
    params = {"grids": {"sum": {"batch_size": [10, 1000]}}}
    one = searched(methods, **params)
    two = searched(methods, **params, n_jobs=2, store=tmp_path / "store.jsonl")
    assert without_seconds(two) == without_seconds(one)
    assert len((tmp_path / "store.jsonl").read_text().splitlines()) == 6


def test_orders_are_loaded_one_after_another():
    loaded = []

    def load(order):
        loaded.append(order)
        return LOAD(order)

    searched(load=load, orders=[3, 1])
    assert loaded == [1] * 4 + [3] * 4


def test_shuffled_rows_keep_their_labels_and_follow_the_seed():
    views, labels = LOAD(4)
    again, _ = LOAD(4)
    other, _ = LOAD(5)
    X = PLANTED.views["view_0"].toarray()
    rows = np.random.default_rng(4).permutation(150)
    np.testing.assert_array_equal(views["view_0"].toarray(), X[rows])
    np.testing.assert_array_equal(again["view_0"].toarray(), X[rows])
    np.testing.assert_array_equal(labels, PLANTED.labels[rows])
    assert not np.array_equal(other["view_0"].toarray(), X[rows])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"grids": {"sums": {}}}, "grids for methods 'sums'; the methods are 'mixture', 'sum'"),
        ({"grids": {"sum": {"weight": [1]}}}, "Invalid parameter 'weight'"),
        ({"orders": 0}, "orders=0"),
        ({"clustering": "plain"}, "clustering='plain'"),
        ({"n_features": 0}, "n_features=0"),
    ],
)
def test_bad_parameters_are_refused_before_any_fit(params, message):
    with pytest.raises(ValueError, match=message):
        searched(**params)
    assert Mixture.fits == []


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="metric='NMI'"):
        SearchResult([], []).best_rows("NMI")
