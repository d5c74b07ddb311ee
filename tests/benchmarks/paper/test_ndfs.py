"""NDFS: its updates against the formulas of the paper, and what they may not do."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import laplacian

from paper import ndfs
from paper.factors import unit_columns
from paper.graphs import neighbour_graph
from paper.ndfs import Analysis
from support import KINDS, counts, dense

SOLVERS = {"features": (10**6, 10**6), "rows": (0, 10**6), "conjugate gradients": (0, 0)}
problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "shape": st.sampled_from([(9, 4), (6, 12), (12, 3), (20, 20), (1, 2)]),
        "n_clusters": st.integers(1, 3),
        "beta": st.sampled_from([0.0, 1e-3, 0.1, 2.0]),
        "gamma": st.sampled_from([0.0, 1.0, 30.0, 1e8]),
        "scale": st.sampled_from([1e-3, 0.3, 30.0]),
        "kind": st.sampled_from(list(KINDS.values())),
    }
)


@pytest.fixture(params=SOLVERS.values(), ids=SOLVERS.keys())
def solver(request, monkeypatch):
    features, rows = request.param
    monkeypatch.setattr(ndfs, "_FEATURES", features)
    monkeypatch.setattr(ndfs, "_ROWS", rows)
    monkeypatch.setattr(ndfs, "_RESIDUAL", 1e-12)


def near(X, k):
    return neighbour_graph(X, k, "cosine", None)


def draw(seed, shape, n_clusters, beta, gamma, scale, kind):
    rng = np.random.default_rng(seed)
    X = counts(rng, *shape)
    X[:, rng.integers(shape[1])] = 0
    F = scale * counts(rng, shape[0], n_clusters, density=0.8)
    L = rng.choice([0.0, 1.0, 100.0]) * sp.csr_array(laplacian(near(X, 3), normed=True))
    return X, L, Analysis(kind(X), L, F, beta, gamma)


def naive_objective(X, L, analysis, beta, gamma):
    F, W = analysis.F, analysis.W
    return (
        np.sum((X @ W - F) ** 2)
        + beta * sum(np.sqrt(np.sum(row**2)) for row in W)
        + np.trace(F.T @ dense(L) @ F)
        + gamma / 2 * np.sum((F.T @ F - np.eye(F.shape[1])) ** 2)
    )


@given(problem=problems)
@settings(max_examples=60, deadline=None)
def test_no_half_step_raises_the_objective(problem):
    X, L, analysis = draw(**problem)
    beta, gamma = problem["beta"], problem["gamma"]
    value = naive_objective(X, L, analysis, beta, gamma)
    for _ in range(8):
        for half_step in (analysis.update_f, analysis.update_w):
            half_step()
            before, value = value, naive_objective(X, L, analysis, beta, gamma)
            assert value <= before + 1e-9 * (1 + before) + 1e-15 * gamma
            assert (analysis.F >= 0).all()
            assert np.isfinite(analysis.W).all()
        assert analysis.objective() == pytest.approx(value, rel=1e-9, abs=1e-12)


@given(problem=problems, pull=st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=60, deadline=None)
def test_f_does_not_raise_the_objective_whatever_the_regression_says(problem, pull):
    _, _, analysis = draw(**problem)
    rng = np.random.default_rng(problem["seed"])
    analysis._XW = pull * rng.standard_normal(analysis.F.shape)
    for _ in range(5):
        before = analysis._objective_of(analysis.F)
        analysis.update_f()
        now = analysis._objective_of(analysis.F)
        assert now <= before + 1e-12 * (before + problem["gamma"])


@pytest.mark.parametrize("shape", [(12, 6), (6, 15)])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("beta", [0.01, 1.0])
def test_w_is_the_reweighted_closed_form(solver, shape, kind, beta):
    rng = np.random.default_rng(0)
    X, F = counts(rng, *shape), unit_columns(rng.random((shape[0], 2)))
    X[:, 1] = 0
    analysis = Analysis(kind(X), sp.csr_array(laplacian(near(X, 2))), F, beta, 1.0)
    D = np.eye(shape[1])
    for _ in range(6):
        expected = np.linalg.solve(X.T @ X + beta * D, X.T @ F)
        np.testing.assert_allclose(analysis.W, expected, rtol=1e-7, atol=1e-9)
        norms = np.linalg.norm(expected, axis=1)
        D = np.diag(1 / (2 * np.maximum(norms, 1e-12)))
        analysis.update_w()
    assert not analysis.W[1].any()
