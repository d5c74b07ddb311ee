"""Nearest points: against slow searches, and against anything else that is allowed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from omvfs.baselines.factors import orthonormal, ridge_factor, shrink, solve_ridge
from omvfs.baselines.graphs import simplex_rows

seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([1e-9, 0.1, 1.0, 1e9])


def naive_simplex(y):
    """Return the projection of one row, by a search for what is taken off all its entries."""
    taken = brentq(
        lambda t: np.maximum(y - t, 0).sum() - 1, y.min() - 2, y.max(), xtol=1e-15, rtol=1e-15
    )
    return np.maximum(y - taken, 0)


@given(seed=seeds, width=st.integers(1, 9), size=sizes)
def test_rows_are_in_the_simplex_and_nearest_in_it(seed, width, size):
    rng = np.random.default_rng(seed)
    Y = size * rng.standard_normal((4, width)).round(1)
    found = simplex_rows(Y)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    others = rng.dirichlet(np.full(width, 0.3), size=50)
    for row, own in zip(Y, found, strict=True):
        # The angle at the nearest point of a convex set is never acute.
        assert ((others - own) @ (row - own) <= 1e-9 * (1 + size)).all()
        if size <= 1:
            np.testing.assert_allclose(own, naive_simplex(row), atol=1e-9)


@given(seed=seeds, t=st.sampled_from([0.0, 0.5, 2.0, 100.0]))
def test_no_other_rows_beat_shorter_ones(seed, t):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((6, 3))

    def value(Y):
        return np.sum((Y - M) ** 2) / 2 + t * np.linalg.norm(Y, axis=1).sum()

    found = shrink(M, t)
    for step in (1e-4, 0.1, 1.0):
        assert value(found) <= value(found + step * rng.standard_normal(M.shape)) + 1e-12


@given(seed=seeds, rank=st.integers(0, 3))
def test_no_other_orthonormal_columns_are_nearer(seed, rank):
    rng = np.random.default_rng(seed)
    N = rng.standard_normal((8, rank)) @ rng.standard_normal((rank, 3))
    found = orthonormal(N, np.eye(8)[:, :3])
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-9)
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal((8, 3)))[0]
        assert np.sum(found * N) >= np.sum(other * N) - 1e-6


@pytest.mark.parametrize("beta", [0.0, 1e-3, 2.0])
@settings(max_examples=20)
@given(seed=seeds)
def test_the_equations_are_solved_also_where_they_are_singular(beta, seed):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((3, 5))
    A, R = Y.T @ Y, Y.T @ rng.standard_normal((3, 2))
    B = solve_ridge(A.copy(), beta, R)
    np.testing.assert_allclose((A + beta * np.eye(5)) @ B, R, atol=1e-5)
    C = np.tril(ridge_factor(A.copy(), beta))
    np.testing.assert_allclose(C @ C.T, A + beta * np.eye(5), atol=1e-9)
