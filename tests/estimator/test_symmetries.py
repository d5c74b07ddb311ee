"""Permuted, scaled and otherwise rounded data give the permuted, scaled, same result."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from streams import two_views


def assert_scores_and_ranking(scores, ranking, expected_scores, expected_ranking):
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-8, atol=1e-8)
    gaps = np.abs(np.subtract.outer(expected_scores, expected_scores))
    np.fill_diagonal(gaps, np.inf)
    distinct = gaps.min(axis=1) > 1e-7
    np.testing.assert_array_equal(ranking[distinct], expected_ranking[distinct])


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, np.asarray),
        ({"graph": "gaussian"}, sp.csr_array),
        ({"scale_columns": True}, np.asarray),
        ({"criterion": "contrast"}, sp.csr_array),
    ],
    ids=["default", "gaussian", "scaled", "contrast"],
)
@given(seed=st.integers(0, 1000), random=st.randoms(use_true_random=False))
@settings(max_examples=4, deadline=None)
def test_permuting_views_and_columns_permutes_the_result(kind, params, seed, random):
    blocks = two_views(seed, 60, kind=kind)
    orders = {name: random.sample(range(X.shape[1]), X.shape[1]) for name, X in blocks.items()}
    names = random.sample(list(blocks), 2)
    model, permuted = (
        OMVFS(3, batch_size=20, random_state=0, **params).fit(X)
        for X in (blocks, {name: blocks[name][:, orders[name]] for name in names})
    )
    np.testing.assert_array_equal(permuted.window_labels_, model.window_labels_)
    for name in blocks:
        order = orders[name]
        assert_scores_and_ranking(
            permuted.view_scores_[name],
            permuted.view_ranking_[name],
            model.view_scores_[name][order],
            model.view_ranking_[name][order],
        )
        np.testing.assert_allclose(permuted.V_[name], model.V_[name][order], atol=1e-8)


def ties(kind, rng, n_rows=60):
    """Rows of which many are equally near to one another, exactly but for rounding."""
    if kind == "counts":
        return rng.poisson(0.4, (n_rows, 12)).astype(float)
    if kind == "binary":
        return (rng.random((n_rows, 12)) < 0.25).astype(float)
    few = rng.random((2, 12))  # fewer directions than clusters
    return few[rng.integers(2, size=n_rows)] * rng.random((n_rows, 1))


@pytest.mark.parametrize(
    ("kind", "graph"),
    [("counts", "neighbors"), ("binary", "none"), ("few directions", "neighbors")],
)
def test_rounding_decides_no_ties(kind, graph):
    # Another order of the columns, or a sparse matrix, rounds in another way.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, order = ties(kind, rng), rng.permutation(12)
        model, permuted, sparse = (
            OMVFS(4, batch_size=20, graph=graph, random_state=0).fit(rows)
            for rows in (X, X[:, order], sp.csr_array(X))
        )
        np.testing.assert_array_equal(permuted.window_labels_, model.window_labels_)
        np.testing.assert_allclose(permuted.scores_, model.scores_[order], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(sparse.scores_, model.scores_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("criterion", "power", "dtype"), [("norm", -40, np.float32), ("contrast", 40, np.float64)]
)
def test_scaling_x_and_sparsity_leaves_the_ranking(criterion, power, dtype):
    # Powers of 4 scale every number, and the root of every number, without rounding.
    c, blocks = 4.0 ** (power / 2), two_views(7, 60, dtype)
    params = {"batch_size": 20, "criterion": criterion, "view_weight": None, "random_state": 0}
    model = OMVFS(3, sparsity=0.25, **params).fit(blocks)
    scaled = OMVFS(3, sparsity=0.25 * c, **params)
    scaled.fit({name: X * dtype(c) for name, X in blocks.items()})
    np.testing.assert_array_equal(scaled.ranking_, model.ranking_)
    np.testing.assert_array_equal(scaled.window_labels_, model.window_labels_)
    for name in blocks:
        expected = c * model.V_[name]
        np.testing.assert_allclose(scaled.V_[name], expected, atol=1e-5 * expected.max())
