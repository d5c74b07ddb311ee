"""How features are ranked by what was learned: the criterion, and repetition."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from omvfs import OMVFS
from omvfs.datasets import make_planted
from omvfs.selector import rank
from streams import every_dtype, learned, two_views


def largest(V, masses, sums):
    """A criterion of one's own."""
    return V.max(axis=1)


@every_dtype
def test_a_callable_is_a_criterion_like_those_with_a_name(dtype):
    X = two_views(0, 60, dtype)
    model = OMVFS(3, criterion="norm", random_state=0).fit(X)
    norms, states = model.scores_, learned(model)
    model.set_params(criterion=lambda V, masses, sums: np.linalg.norm(V, axis=1))
    np.testing.assert_allclose(model.scores_, norms, rtol=1e-5)
    whole = model.set_params(criterion=largest, diversity=0.0).scores_
    np.testing.assert_array_equal(whole, np.vstack(list(model.V_.values())).max(axis=1))
    assert learned(model) == states
    again = clone(model).fit(X)
    assert again.criterion is largest
    np.testing.assert_array_equal(again.scores_, whole)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).scores_, whole)


def test_a_callable_cannot_reach_into_the_model():
    def spoils(V, masses, sums):
        V[:], masses[:], sums[:] = 7, 7, 7
        return V[:, 0]

    model = OMVFS(3, random_state=0).fit(two_views(0, 60))
    before, V = learned(model), model.V_
    assert set(model.set_params(criterion=spoils, diversity=0.0).scores_) == {7}
    assert learned(model) == before
    for name in V:
        np.testing.assert_array_equal(model.V_[name], V[name])


def test_scores_that_rank_nothing_are_refused():
    model = OMVFS(3, random_state=0).fit(two_views(0, 60))
    for given, got in (
        (lambda V: V, r"ndarray of shape \(12, 3\).*expected 12 .*\(12, 3\)"),
        (lambda V: np.ones(4), r"ndarray of shape \(4,\).*expected 12"),
        (lambda V: None, r"NoneType of shape \(\)"),
        (lambda V: ["a"] * len(V), r"list of shape \(12,\) and dtype <U1"),
        (lambda V: V.max(axis=1) + 1j, "dtype complex128"),
        (lambda V: np.where(np.arange(len(V)) == 5, np.nan, 1), "nan for feature 5; expected"),
        (lambda V: np.where(np.arange(len(V)) == 2, np.inf, 1), "inf for feature 2; expected"),
        (lambda V: np.arange(len(V)) - 1, "-1.0 for feature 0; expected"),
    ):
        model.set_params(criterion=lambda V, masses, sums, given=given: given(V))
        with pytest.raises(ValueError, match=rf"Got criterion that gave .*{got}"):
            model.scores_  # noqa: B018
    with pytest.raises(ValueError, match="criterion='typo'"):
        model.set_params(criterion="typo").scores_  # noqa: B018


def test_the_order_of_columns_decides_between_scores_equal_up_to_rounding():
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.random(20), 5)
    noisy = scores * (1 + 1e-14 * rng.standard_normal(100))
    np.testing.assert_array_equal(rank(noisy), rank(scores))
    assert (rank(scores * (1 + 1e-6 * rng.standard_normal(100))) != rank(scores)).any()


# Criteria of features as a set: signal, and auto, which takes it where it proves itself.

SETS = ["signal", "auto"]


@pytest.fixture(scope="module")
def planted():
    return make_planted(600, n_features=(300, 200), n_informative=(30, 20), random_state=0)


@pytest.mark.parametrize("criterion", SETS)
def test_planted_features_are_found(planted, criterion):
    model = OMVFS(5, criterion=criterion, random_state=0).fit(planted.views)
    for view, truth in planted.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() > 0.9


@pytest.mark.parametrize("criterion", SETS)
def test_without_rows_balanced_stands_in(criterion):
    model = OMVFS(3, criterion="balanced", sample_size=0, random_state=0).fit(two_views(0, 60))
    expected = model.scores_
    np.testing.assert_array_equal(model.set_params(criterion=criterion).scores_, expected)


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


def test_auto_takes_the_rule_of_sets_where_it_proves_itself():
    model = OMVFS(5, random_state=0).fit(tainted(0))
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


def test_auto_asks_each_feature_by_itself_where_sets_or_few_rows_prove_nothing(planted):
    single, as_set, auto = rankings(OMVFS(5, random_state=0).fit(planted.views))
    np.testing.assert_array_equal(auto, single)
    assert not np.array_equal(auto, as_set)
    single, _, auto = rankings(OMVFS(10, random_state=0).fit(two_views(0, 90)))
    np.testing.assert_array_equal(auto, single)
