"""The half-steps of the constrained solver are exact, alone and in turn."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.arrays import dense
from omvfs.model.columns import on_own_columns
from omvfs.model.constrained.alternate import PriorStatistics, solve, unit_directions
from omvfs.model.constrained.half_steps import gain, update_u, update_v
from omvfs.model.graph.neighbours import normalised_neighbours
from omvfs.model.graph.similarity import gaussian, laplacian
from omvfs.model.graph.term import DenseLaplacian, graph_laplacian, graph_term
from omvfs.model.indicator import Indicator, transposed_product
from short_stream import SETTINGS
from support import KINDS, clustered, counts

problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "n": st.integers(1, 20),
        "d": st.integers(1, 10),
        "k": st.integers(1, 5),
        "density": st.floats(0.05, 1.0),
    }
)
graphs = st.sampled_from(["none", "neighbors", "gaussian"])


def draw(seed, n, d, k, density):
    """Two views, a unit U and V; columns of V are zero where no row is in the cluster."""
    rng = np.random.default_rng(seed)
    X = [counts(rng, n, width, density=density) for width in (d, d + 2)]
    weights = rng.random(n) * (rng.random(n) < 0.9)
    U = Indicator(rng.integers(k, size=n), weights, k).unit()
    V = [rng.random((X_v.shape[1], k)) * (U.masses > 0) for X_v in X]
    return X, U, V


def graph_of(kind, X, U, alpha):
    """M and the bound, as the solver makes them."""
    if kind == "none":
        return None, 0.0
    if kind == "neighbors":
        scored = Indicator(U.labels, np.ones(len(U.labels)), U.n_clusters)
        weights, energy = [alpha, alpha / 2], float(len(X[0]))
        return graph_laplacian(normalised_neighbours(X, 3), scored, weights, energy)
    M = sum(a * laplacian(gaussian(X_v)) for a, X_v in zip((alpha, alpha / 2), X, strict=True))
    return DenseLaplacian(M), float(np.linalg.eigvalsh(M)[-1])


def as_array(M):
    """M as it is written."""
    if isinstance(M, DenseLaplacian):
        return M.M
    parts = zip(M.scales, M.graphs, strict=True)
    return sum(c * (np.diag((W.sum(axis=1) > 0) * 1.0) - W.toarray()) for c, W in parts)


@given(problem=problems, alpha=st.floats(0, 100))
@settings(max_examples=60, deadline=None)
def test_graphs_multiply_as_they_are_written(problem, alpha):
    X, U, _ = draw(**problem)
    M, _ = graph_of("neighbors", X, U, alpha)
    if M is None:
        return
    expected = as_array(M) @ U.dense()
    np.testing.assert_allclose(M.times(U), expected, atol=1e-12 * (1 + alpha) * len(X[0]))
    assert M.smoothness(U) == pytest.approx(np.sum(U.dense() * expected), abs=1e-9 * (1 + alpha))


def naive_objective(X, U, V, M):
    """Σ‖X − UVᵀ‖² + tr(UᵀMU), as it is written."""
    U = U.dense()
    fit = sum(np.sum((X_v - U @ V_v.T) ** 2) for X_v, V_v in zip(X, V, strict=True))
    return fit if M is None else fit + np.trace(U.T @ (as_array(M) @ U))


def assert_unit(U):
    dense = U.dense()
    assert np.isfinite(dense).all()
    assert (dense >= 0).all()
    assert (np.count_nonzero(dense, axis=1) <= 1).all()
    filled = dense[:, dense.any(axis=0)]
    assert np.linalg.norm(filled.T @ filled - np.eye(filled.shape[1])) <= 1e-10


@given(problem=problems, kind=graphs, alpha=st.floats(0, 100), wrong=st.none() | st.floats(0, 1e3))
@settings(max_examples=100, deadline=None)
def test_u_half_step_never_raises_the_objective_however_wrong_the_bound(
    problem, kind, alpha, wrong
):
    X, U, V = draw(**problem)
    M, bound = graph_of(kind, X, U, alpha)
    for _ in range(6):
        # A cluster that has lost its rows has no direction; the V half-step sees to that.
        V = [V_v * (U.masses > 0) for V_v in V]
        P = sum(X_v @ V_v for X_v, V_v in zip(X, V, strict=True))
        before, gained = naive_objective(X, U, V, M), gain(U, P, M)
        U = update_u(U, P, M, bound if wrong is None else wrong)
        assert_unit(U)
        scale = sum(np.sum(X_v**2) for X_v in X) + abs(before) + abs(gained)
        assert gain(U, P, M) >= gained - 1e-12 * scale
        assert naive_objective(X, U, V, M) <= before + 1e-11 * scale


@given(problem=problems)
@settings(max_examples=60, deadline=None)
def test_gain_is_what_the_objective_falls_by_and_without_a_graph_weights_are_the_best(problem):
    X, U, V = draw(**problem)
    M, _ = graph_of("gaussian", X, U, 1.0)
    P = sum(X_v @ V_v for X_v, V_v in zip(X, V, strict=True))
    constant = sum(np.sum(X_v**2) for X_v in X) + sum(np.sum(V_v**2) for V_v in V)
    assert naive_objective(X, U, V, M) == pytest.approx(constant - gain(U, P, M), abs=1e-9)
    U = update_u(U, P)
    rng = np.random.default_rng(problem["seed"])
    for _ in range(20):
        weights = np.maximum(U.weights + 0.1 * rng.standard_normal(len(U.weights)), 0)
        other = Indicator(U.labels, weights, U.n_clusters).unit()
        assert gain(other, P, None) <= gain(U, P, None) + 1e-12


@given(seed=st.integers(0, 2**32), n=st.integers(1, 15), n_equal=st.integers(1, 15))
@settings(max_examples=40, deadline=None)
def test_the_bound_of_the_gaussian_graph_bounds_its_eigenvalues(seed, n, n_equal):
    X = [counts(np.random.default_rng(seed), n, width) for width in (4, 3)]
    for X_v in X:
        X_v[:n_equal] = X_v[0]
    given_settings = replace(SETTINGS, graph="gaussian", graph_weight=(1.0, 0.3))
    M, bound = graph_term(X, given_settings)(Indicator(np.zeros(n, int), np.ones(n), 3))
    assert np.linalg.eigvalsh(M.M)[-1] <= bound + 1e-9


# The V half-step

v_problems = st.fixed_dictionaries(
    {"seed": st.integers(0, 2**32), "d": st.integers(1, 8), "k": st.integers(1, 5)}
)
betas = st.one_of(st.just(0.0), st.floats(-3, 2).map(lambda p: 10.0**p))


def draw_ab(seed, d, k):
    rng = np.random.default_rng(seed)
    A = rng.random(k) * 10 * (rng.random(k) < 0.8)
    return A, counts(rng, d, k) * 3 * (A > 0)


@given(problem=v_problems, beta=betas)
@settings(max_examples=100, deadline=None)
def test_v_satisfies_the_optimality_conditions(problem, beta):
    """Of a convex problem: it is the minimum."""
    A, B = draw_ab(**problem)
    V = update_v(A, B, beta)
    assert (V >= 0).all()
    b = B / np.sqrt(np.where(A > 0, A, 1))
    for v, b_j in zip(V, b, strict=True):
        norm = np.linalg.norm(v)
        if norm > 0:
            np.testing.assert_allclose(v * (1 + beta / (2 * norm)), b_j, atol=1e-9)
        else:
            assert np.linalg.norm(b_j) <= beta / 2 + 1e-12
    assert not V[:, A == 0].any()
    # U in other units per cluster: A by c², B by c.
    c = 2.0 ** np.arange(len(A))
    np.testing.assert_array_equal(update_v(A * c**2, B * c, beta), V)


# The indicator


@given(problem=problems)
@settings(max_examples=40, deadline=None)
def test_an_indicator_is_its_dense_matrix(problem):
    (X, _), U, _ = draw(**problem)
    dense = U.dense()
    np.testing.assert_array_equal(U.transposed().toarray(), dense.T)
    np.testing.assert_allclose(np.diag(U.masses), dense.T @ dense, atol=1e-12)
    rows = np.arange(len(dense))[::-2]
    np.testing.assert_array_equal(U.take(rows).dense(), dense[rows])
    for kind in KINDS.values():
        np.testing.assert_allclose(transposed_product(kind(X), U), X.T @ dense, atol=1e-12)


# Half-steps in turn


@given(seed=st.integers(0, 2**32), n=st.integers(2, 20), graph=st.booleans())
@settings(max_examples=40, deadline=None)
def test_solving_without_empty_columns_is_solving_with_all(seed, n, graph):
    rng = np.random.default_rng(seed)
    D, K = 12, 3
    here = rng.random(D) < 0.6
    here[:2] = True
    X = sp.csr_array(counts(rng, n, D) * here)
    A, B = 5 * rng.random(K), 3 * rng.random((D, K))
    directions = unit_directions([rng.random((D, K))])
    given_settings = replace(
        SETTINGS, graph="gaussian" if graph else "none", graph_weight=(0.5,), sparsity=(0.0,)
    )

    def solved(X, start, prior):
        return solve([X], start, prior, graph_term([X], given_settings), beta=[0.0], max_iter=5)

    every = solved(X, directions, PriorStatistics(A, [B], np.zeros(K)))
    columns, small = on_own_columns(X)
    assert set(columns) <= set(np.flatnonzero(here))
    np.testing.assert_array_equal(dense(small), X.toarray()[:, columns])
    gone = np.setdiff1d(np.arange(D), columns)
    prior = PriorStatistics(A, [B[columns]], np.sum(B[gone] ** 2, axis=0))
    some = solved(small, [directions[0][columns]], prior)
    assert some.n_iter == every.n_iter
    np.testing.assert_array_equal(some.U.labels, every.U.labels)
    np.testing.assert_allclose(some.U.weights, every.U.weights, atol=1e-9)
    np.testing.assert_allclose(some.V[0], every.V[0][columns], atol=1e-9)
    assert some.graph == pytest.approx(every.graph, abs=1e-9)


def test_solve_fits_u_to_the_rows_and_v_to_everything_and_stops():
    X, _ = clustered(np.random.default_rng(0), 60, 12)
    rng = np.random.default_rng(1)
    prior = PriorStatistics(np.ones(3), [rng.random((12, 3))], np.zeros(3))
    start = unit_directions([rng.random((12, 3))])
    found = solve([X], start, prior, lambda U: (None, 0.0), beta=[0.0], max_iter=50)
    A, B = prior.A + found.U.masses, prior.B[0] + X.T @ found.U.dense()
    np.testing.assert_allclose(found.V[0], B / np.sqrt(A), atol=1e-12)
    assert 1 < found.n_iter < 50
