"""Equations of a regression, also where they are singular."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.baselines.factors import ridge_factor, solve_ridge

seeds = st.integers(0, 2**32 - 1)


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
