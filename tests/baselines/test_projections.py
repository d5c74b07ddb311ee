"""Nearest points: against slow searches, and against anything else that is allowed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.baselines.factors import orthonormal, ridge_factor, shrink, solve_ridge

seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([1e-9, 0.1, 1.0, 1e9])


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
