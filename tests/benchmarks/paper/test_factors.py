"""What holds for methods that score features by the rows of a factor matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy
from omvfs.testing import check_selector
from paper.eufs import EUFS
from paper.factors import indicator, ridge_factor, solve_ridge
from paper.ndfs import NDFS
from support import KINDS, ODD, clustered, counts

# Little data: there is nothing to converge to.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

both = pytest.mark.parametrize("make", [EUFS, NDFS])


def only(by_view):
    (value,) = by_view.values()
    return value


@both
def test_the_contract_of_selectors_is_kept(make):
    check_selector(make(3, max_iter=3, random_state=0))


@both
def test_clear_clusters_are_found_and_noise_is_ranked_last(make):
    rng = np.random.default_rng(0)
    X, labels = clustered(rng, 150, 12)
    X = normalize(np.hstack([X, 0.2 * counts(rng, 150, 6)]))
    selector = make(3, random_state=0).fit(X)
    assert clustering_accuracy(labels, only(selector.embeddings_).argmax(axis=1)) > 0.95
    assert set(np.argsort(selector.ranking_)[:12]) == set(range(12))


@pytest.mark.parametrize(("make", "least"), [(EUFS, 0.25), (NDFS, 0.8)])
def test_planted_features_are_found_far_above_chance(make, least):
    data = make_planted(400, n_features=(150, 100), n_informative=(15, 10), random_state=0)
    views = {name: normalize(X.astype(float)) for name, X in data.views.items()}
    model = make(5, random_state=0).fit(views)
    for view, truth in data.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() >= least  # chance: 0.1


@both
def test_kind_and_precision_change_no_more_than_rounding(make):
    rng = np.random.default_rng(0)
    views = {"a": clustered(rng, 40, 12)[0], "b": counts(rng, 40, 60)}
    views = {name: X.astype(np.float32).astype(np.float64) for name, X in views.items()}
    expected = make(3, random_state=0).fit(views).scores_
    atol = 1e-5 * np.abs(expected).max()
    for kind in KINDS.values():
        own = {name: kind(X.astype(np.float32)) for name, X in views.items()}
        scores = make(3, random_state=0).fit(own).scores_
        assert scores.dtype == np.float64
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=atol)


@both
@pytest.mark.parametrize("X", ODD.values(), ids=ODD.keys())
def test_odd_views_give_finite_scores(make, X):
    for kind in (np.asarray, sp.csr_array):
        model = make(8, max_iter=20, random_state=0).fit({"a": kind(X), "b": kind(X)})
        assert np.isfinite(model.scores_).all()


@both
def test_the_seed_decides(make):
    X = counts(np.random.default_rng(0), 60, 20)
    first, again = (make(5, random_state=0).fit(X).scores_ for _ in range(2))
    np.testing.assert_array_equal(again, first)
    others = [make(5, random_state=seed).fit(X).scores_ for seed in range(1, 4)]
    assert any(not np.allclose(other, first, atol=1e-7) for other in others)


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (EUFS, {"n_clusters": 0, "sparsity": -1.0, "penalty": 0.0, "max_iter": 0}),
        (
            NDFS,
            {
                "n_clusters": 0,
                "max_iter": 0,
                "graph_weight": np.nan,
                "orthogonality": -1.0,
                "tol": -1.0,
            },
        ),
    ],
)
def test_a_bad_parameter_is_refused_before_anything_is_learned(make, bad):
    for name, value in bad.items():
        model = make(**{name: value})
        with pytest.raises(ValueError, match=name):
            model.fit({"a": np.eye(4), "b": np.eye(4)})
        assert not [each for each in vars(model) if each.endswith("_")]


def test_the_start_has_no_empty_clusters():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(3), [5, 1, 2], axis=0)
    for n_clusters, expected in [(1, 1), (3, 3), (100, 3)]:
        for kind in KINDS.values():
            U = indicator(kind(X), n_clusters, rng)
            assert U.shape == (8, expected)
            assert set(U.ravel()) <= {0.0, 1.0}
            assert (U.sum(axis=1) == 1).all()
            assert U.any(axis=0).all()


@pytest.mark.parametrize("beta", [0.0, 1e-3, 2.0])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_equations_are_solved_also_where_they_are_singular(beta, seed):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((3, 5))
    A, R = Y.T @ Y, Y.T @ rng.standard_normal((3, 2))
    B = solve_ridge(A.copy(), beta, R)
    np.testing.assert_allclose((A + beta * np.eye(5)) @ B, R, atol=1e-5)
    C = np.tril(ridge_factor(A.copy(), beta))
    np.testing.assert_allclose(C @ C.T, A + beta * np.eye(5), atol=1e-9)
