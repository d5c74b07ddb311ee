"""How features are ranked by what was learned: the criterion, and repetition."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from omvfs import OMVFS, as_views
from omvfs.selector import rank
from streams import every_dtype, learned, two_views
from support import clustered, counts


def largest(V, masses, sums):
    """A criterion of one's own."""
    return V.max(axis=1)


class Power:
    """A criterion that cannot be hashed, equal to one of the same power."""

    __hash__ = None

    def __init__(self, power):
        self.power = power

    def __eq__(self, other):
        return isinstance(other, Power) and other.power == self.power

    def __call__(self, V, masses, sums):
        return np.linalg.norm(V, axis=1) ** self.power


def test_a_criterion_can_be_changed_after_fit():
    X = two_views(0, 60)
    model = OMVFS(3, criterion="contrast", random_state=0).fit(X)
    contrast = model.scores_
    model.set_params(criterion="norm")
    assert not np.allclose(model.scores_, contrast)
    np.testing.assert_array_equal(model.scores_, clone(model).fit(X).scores_)
    score = model.score(X)
    assert model.set_params(n_features_per_view=2).score(X) != score


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


def test_a_callable_is_told_apart_from_one_that_differs():
    model = OMVFS(3, criterion=Power(1.0), diversity=0.0, random_state=0).fit(two_views(0, 60))
    first = model.scores_
    np.testing.assert_allclose(model.set_params(criterion=Power(2.0)).scores_, first**2)
    np.testing.assert_array_equal(model.set_params(criterion=Power(1.0)).scores_, first)


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


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (lambda V: V, r"ndarray of shape \(12, 3\).*expected 12 .*\(12, 3\)"),
        (lambda V: np.ones(4), r"ndarray of shape \(4,\).*expected 12"),
        (lambda V: 1.0, r"float of shape \(\).*expected 12"),
        (lambda V: None, r"NoneType of shape \(\)"),
        (lambda V: ["a"] * len(V), r"list of shape \(12,\) and dtype <U1"),
        (lambda V: V.max(axis=1) + 1j, "dtype complex128"),
        (lambda V: np.where(np.arange(len(V)) == 5, np.nan, 1), "nan for feature 5; expected"),
        (lambda V: np.where(np.arange(len(V)) == 2, np.inf, 1), "inf for feature 2; expected"),
        (lambda V: np.arange(len(V)) - 1, "-1.0 for feature 0; expected"),
    ],
)
def test_scores_that_rank_nothing_are_refused(given, got):
    model = OMVFS(3, criterion=lambda V, masses, sums: given(V), random_state=0)
    model.fit(two_views(0, 60))
    with pytest.raises(ValueError, match=rf"Got criterion that gave .*{got}"):
        _ = model.scores_


def test_an_unknown_criterion_is_refused_after_fit_too():
    model = OMVFS(2, random_state=0).fit(counts(np.random.default_rng(0), 30, 5))
    with pytest.raises(ValueError, match="criterion='typo'"):
        _ = model.set_params(criterion="typo").scores_


def test_grid_search_tries_criteria_by_the_explained_share():
    grid = {"criterion": ["norm", largest], "n_clusters": [1, 3]}
    search = GridSearchCV(
        OMVFS(random_state=0),
        grid,
        scoring=OMVFS.explained_share,
        cv=KFold(2),
        error_score="raise",
    )
    search.fit(as_views(two_views(0, 60)))
    assert search.best_params_["n_clusters"] == 3  # three clusters explain more than one
    assert search.best_estimator_.criterion in grid["criterion"]


def test_a_feature_that_repeats_a_better_one_ranks_below_it():
    rng = np.random.default_rng(0)
    X, _ = clustered(rng, 100, 12)
    twin = np.hstack([X, X[:, :1]])
    alone = OMVFS(3, random_state=0, diversity=0.0).fit(twin)
    assert alone.scores_[0] == pytest.approx(alone.scores_[12])
    diverse = OMVFS(3, random_state=0, diversity=2.0).fit(twin)
    assert diverse.ranking_[12] == 13
    assert diverse.ranking_[0] < 13


def test_the_order_of_columns_decides_between_scores_equal_up_to_rounding():
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.random(20), 5)
    noisy = scores * (1 + 1e-14 * rng.standard_normal(100))
    np.testing.assert_array_equal(rank(noisy), rank(scores))
    assert (rank(scores * (1 + 1e-6 * rng.standard_normal(100))) != rank(scores)).any()
