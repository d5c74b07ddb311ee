"""Permuted, scaled and otherwise rounded data give the permuted, scaled, same result."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from streams import two_views

few = settings(max_examples=5, deadline=None)


def fitted(rows, **params):
    return OMVFS(**{"n_clusters": 3, "batch_size": 20, "random_state": 0, **params}).fit(rows)


def assert_same_scores(model, other):
    """Both have the same scores, and by them the same ranks, but for rounding."""
    np.testing.assert_array_equal(other.labels_, model.labels_)
    for view, scores in model.view_scores_.items():
        largest = scores.max()
        np.testing.assert_allclose(other.view_scores_[view], scores, rtol=0, atol=1e-6 * largest)
        gaps = np.abs(np.subtract.outer(scores, scores))
        np.fill_diagonal(gaps, np.inf)
        apart = gaps.min(axis=1) > 1e-5 * largest
        np.testing.assert_array_equal(
            other.view_ranking_[view][apart], model.view_ranking_[view][apart]
        )


@pytest.mark.parametrize("params", [{}, {"prepare": "scale"}, {"criterion": "norm"}], ids=str)
@given(seed=st.integers(0, 1000), random=st.randoms(use_true_random=False))
@few
def test_the_order_of_columns_and_of_views_and_sparse_or_dense_do_not_matter(params, seed, random):
    # Clear groups: a row between two of them may fall to either by rounding.
    blocks = two_views(seed, 60, rest=0.02)
    orders = {name: random.sample(range(X.shape[1]), X.shape[1]) for name, X in blocks.items()}
    names = random.sample(list(blocks), 2)
    model = fitted(blocks, **params)
    permuted = fitted({name: blocks[name][:, orders[name]] for name in names}, **params)
    back = {name: np.argsort(order) for name, order in orders.items()}
    np.testing.assert_array_equal(permuted.labels_, model.labels_)
    for name in blocks:
        scores = model.view_scores_[name]
        own = permuted.view_scores_[name][back[name]]
        np.testing.assert_allclose(own, scores, rtol=0, atol=1e-6 * scores.max())
    assert_same_scores(model, fitted({v: sp.csr_array(X) for v, X in blocks.items()}, **params))


def ties(kind, rng, n_rows=60):
    """Rows of which many are equally near to one another, exactly but for rounding."""
    if kind == "counts":
        return rng.poisson(0.4, (n_rows, 12)).astype(float)
    if kind == "binary":
        return (rng.random((n_rows, 12)) < 0.25).astype(float)
    directions = rng.random((2, 12))  # fewer than clusters
    return directions[rng.integers(2, size=n_rows)] * rng.random((n_rows, 1))


@pytest.mark.parametrize("kind", ["counts", "binary", "few directions"])
def test_rounding_decides_no_ties(kind):
    # Another order of the columns, or a sparse matrix, rounds in another way.
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, order = ties(kind, rng), rng.permutation(12)
        model, permuted, sparse = (
            fitted(rows, n_clusters=4) for rows in (X, X[:, order], sp.csr_array(X))
        )
        largest = model.scores_.max()
        np.testing.assert_allclose(permuted.scores_, model.scores_[order], atol=1e-6 * largest)
        np.testing.assert_allclose(sparse.scores_, model.scores_, atol=1e-6 * largest)


@given(seed=st.integers(0, 100), powers=st.tuples(st.integers(-12, 12), st.integers(-12, 12)))
@few
def test_scaling_a_view_changes_nothing(seed, powers):
    # Powers of 4 scale every number, and the root of every number, without rounding.
    blocks = two_views(seed, 60)
    factors = {view: 4.0**p for view, p in zip(blocks, powers, strict=True)}
    model, scaled = (
        fitted(rows, prepare=None)
        for rows in (blocks, {view: factors[view] * X for view, X in blocks.items()})
    )
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    assert scaled.view_weights_ == model.view_weights_
    for view, scores in model.view_scores_.items():
        np.testing.assert_allclose(scaled.view_scores_[view], scores, rtol=1e-6)


@given(seed=st.integers(0, 100))
@few
def test_the_sign_of_a_view_does_not_matter(seed):
    rng, blocks = np.random.default_rng(seed), two_views(seed, 60)
    blocks["image"] = blocks["image"] - rng.random(7)
    turned = {**blocks, "image": -blocks["image"]}
    assert_same_scores(fitted(blocks), fitted(turned))
