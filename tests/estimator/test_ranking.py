"""How features are ranked by what was learned: the criterion, and repetition."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from omvfs import OMVFS
from omvfs.selector import rank
from streams import every_dtype, learned, two_views


def largest(S, Q, n):
    """A criterion of one's own."""
    return S.max(axis=1)


@every_dtype
def test_a_callable_is_a_criterion_like_those_with_a_name(dtype):
    X = two_views(0, 60, dtype)
    model = OMVFS(3, criterion="norm", prepare=None, random_state=0).fit(X)
    norms, states = model.scores_, learned(model)
    model.set_params(criterion=lambda S, Q, n: np.linalg.norm(S / np.sqrt(n), axis=1))
    np.testing.assert_allclose(model.scores_, norms)
    whole = model.set_params(criterion=largest).scores_
    # All rows are in the sample: their sums by cluster are known.
    labels = model._known.answers.reclustered.sample.labels
    rows = np.hstack(list(X.values()))
    sums = np.stack([rows[labels == k].sum(axis=0) for k in range(3)])
    np.testing.assert_allclose(whole, sums.max(axis=0), rtol=1e-6)
    assert learned(model) == states
    again = clone(model).fit(X)
    assert again.criterion is largest
    np.testing.assert_array_equal(again.scores_, whole)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).scores_, whole)


def test_a_callable_cannot_reach_into_the_model():
    def spoils(S, Q, n):
        S[:], Q[:], n[:] = 7, 7, 7
        return S[:, 0]

    model = OMVFS(3, random_state=0).fit(two_views(0, 60))
    before, scores, labels = learned(model), model.scores_, model.labels_
    assert set(model.set_params(criterion=spoils).scores_) == {7}
    assert learned(model) == before
    np.testing.assert_array_equal(model.predict(two_views(0, 60)), labels)
    np.testing.assert_array_equal(model.set_params(criterion="separation").scores_, scores)


def test_scores_that_rank_nothing_are_refused():
    model = OMVFS(3, random_state=0).fit(two_views(0, 60))
    for given, got in (
        (lambda S: S, r"ndarray of shape \(12, 3\).*expected 12 .*\(12, 3\)"),
        (lambda S: np.ones(4), r"ndarray of shape \(4,\).*expected 12"),
        (lambda S: None, r"NoneType of shape \(\)"),
        (lambda S: ["a"] * len(S), r"list of shape \(12,\) and dtype <U1"),
        (lambda S: S.max(axis=1) + 1j, "dtype complex128"),
        (lambda S: np.where(np.arange(len(S)) == 5, np.nan, 1), "nan for feature 5; expected"),
        (lambda S: np.where(np.arange(len(S)) == 2, np.inf, 1), "inf for feature 2; expected"),
    ):
        model.set_params(criterion=lambda S, Q, n, given=given: given(S))
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


def test_a_copy_of_a_feature_is_last_and_the_feature_keeps_its_score():
    X = two_views(0, 1000)
    model = OMVFS(3, random_state=0).fit(X)
    best = int(np.argmax(model.view_scores_["text"]))
    more = {**X, "text": np.column_stack([X["text"], 0.99 * X["text"][:, best]])}
    ranks = OMVFS(3, random_state=0).fit(more).view_ranking_["text"]
    assert ranks[best] == 1
    assert ranks[12] == 13


@every_dtype
def test_a_constant_scores_nothing_whatever_it_is(dtype):
    rng = np.random.default_rng(0)
    constants = 10.0 ** rng.uniform(0, 6, 20)
    X = np.hstack([rng.random((600, 5)), np.tile(constants, (600, 1))]).astype(dtype)
    model = OMVFS(3, batch_size=50, random_state=0).fit(X)
    assert (model.scores_[5:] == 0).all()
    assert model.scores_[:5].any()


@every_dtype
def test_correlations_do_not_depend_on_the_mean(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (500, 6)).astype(dtype)
    near, far = (OMVFS(3, random_state=0).fit([X, Y]) for Y in (X, X + dtype(2048)))
    r = np.corrcoef(X.T)
    for model in (near, far):
        for j in range(6):
            found = model.explain("view_1", j)
            if found.repeats is not None:
                assert found.r == pytest.approx(r[j, found.repeats], abs=1e-4)


def test_the_rank_that_is_explained_is_that_of_the_criterion():
    views = two_views(0, 60)
    for criterion in ("separation", "norm", lambda S, Q, n: Q):
        model = OMVFS(3, criterion=criterion, random_state=0).fit(views)
        for j, rank_of_j in enumerate(model.view_ranking_["text"]):
            assert model.explain("text", j).rank == rank_of_j


def test_what_is_called_a_top_feature_can_be_explained():
    views = two_views(0, 60)
    model = OMVFS(3, random_state=0).fit(views)
    for view in views:
        for place, name in enumerate(model.top_features(view, 3), start=1):
            told = model.explain(view, name)
            assert (told.rank, told.feature) == (place, int(name))
    with pytest.raises(ValueError, match="View 'text' has 12 features; got 12"):
        model.explain("text", "12")
