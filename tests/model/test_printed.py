"""Each printed half-step lowers its own objective; the oracle is compared with OMVFSPaper."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model import objective, printed
from oracle import history_objective
from support import KINDS

weights = st.one_of(st.just(0.0), st.floats(-4, 7).map(lambda power: 10.0**power))
problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "n": st.integers(1, 12),
        "d": st.integers(1, 15),
        "k": st.integers(1, 4),
        "density": st.floats(0.05, 1.0),
    }
)


def draw(seed, n, d, k, density, scale=1.0):
    """Two views, their V and a U; rows, columns or all of X may be empty."""
    rng = np.random.default_rng(seed)
    X = [scale * rng.random((n, w)) * (rng.random((n, w)) < density) for w in (d, d + 2)]
    V = [rng.random((X_v.shape[1], k)) for X_v in X]
    return X, V, rng.random((n, k))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@given(problem=problems, gamma=weights, alpha=st.floats(0, 10))
@settings(max_examples=60, deadline=None)
def test_u_half_step_from_a_random_start_never_raises_the_window_objective(
    kind, problem, gamma, alpha
):
    X, V, U = draw(**problem)
    M = sum(alpha * printed.laplacian(printed.gaussian(kind(X_v))) for X_v in X)
    M_pos, M_neg = np.maximum(M, 0), np.maximum(-M, 0)
    XV = sum(kind(X_v) @ V_v for X_v, V_v in zip(X, V, strict=True))
    VtV = sum(V_v.T @ V_v for V_v in V)
    squared = sum(map(objective.squared_norm, X))
    value = printed.window_objective(squared, XV, VtV, U, M, gamma)
    for _ in range(15):
        before, U = value, printed.update_u(U, XV, VtV, M_pos, M_neg, gamma)
        value = printed.window_objective(squared, XV, VtV, U, M, gamma)
        assert np.isfinite(U).all()
        assert (U >= 0).all()
        # The penalty is a difference of numbers of the size of γ.
        assert value <= before + 1e-11 * (squared + before + gamma)


@given(problem=problems, beta=weights, scale=st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=120, deadline=None)
def test_v_half_step_never_raises_the_history_objective(problem, beta, scale):
    (X, _), (V, _), U = draw(**problem, scale=scale)
    A, B = U.T @ U, X.T @ U
    squared = objective.squared_norm(X)
    value = history_objective(A, B, V, beta)
    for _ in range(15):
        before, V = value, printed.update_v(V, A, B, beta)
        value = history_objective(A, B, V, beta)
        assert np.isfinite(V).all()
        assert (V >= 0).all()
        assert value <= before + 1e-11 * (squared + abs(before))


def test_zero_rows_and_columns_stay_zero_and_finite():
    V = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    A = np.diag([1.0, 0.0])  # no row has been in the second cluster
    B = np.array([[1.0, 0.0], [4.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(printed.update_v(V, A, B, 0.0), [[0, 0], [2, 0], [0, 0]])
    U = np.array([[0.0, 1.0], [1.0, 1.0]])
    none = np.zeros((2, 2))
    new = printed.update_u(
        U, np.array([[1.0, 0.0], [1.0, 0.0]]), np.diag([1.0, 0.0]), none, none, 0
    )
    np.testing.assert_array_equal(new, [[0, 0], [1, 0]])
    # ‖b‖ < β/2: the row shrinks by a constant factor a step until it underflows.
    V, A, B = np.ones((1, 2)), np.eye(2), np.full((1, 2), 1e-3)
    for _ in range(400):
        before, V = V, printed.update_v(V, A, B, beta=10.0)
        assert (before >= V).all()
    assert not V.any()
    tiny = np.full((1, 1), 1e-42, dtype=np.float32)
    one, none = np.ones((1, 1), dtype=np.float32), np.zeros((1, 1), dtype=np.float32)
    assert np.isfinite(printed.update_u(tiny, one, one, none, none, 0.0)).all()


def chunk(seed, n=6, n_clusters=3, widths=(8, 5)):
    """A chunk with its starting U, and the starting V."""
    rng = np.random.default_rng(seed)
    blocks = [rng.random((n, w)) * (rng.random((n, w)) < 0.5) for w in widths]
    return blocks, rng.random((n, n_clusters)), [rng.random((w, n_clusters)) for w in widths]


def solve_once(dtype=np.float64, **options):
    blocks, U, V = chunk(0)
    M = printed.laplacian(printed.gaussian(blocks[0]))
    return printed.solve(
        [sp.csr_array(X.astype(dtype)) for X in blocks],
        U.astype(dtype),
        [V_v.astype(dtype) for V_v in V],
        [np.zeros((3, 3), dtype)] * 2,
        [np.zeros_like(V_v, dtype=dtype) for V_v in V],
        M,
        len(U),
        **{"beta": [0.1, 0.1], "gamma": 10.0, **options},
    )


def test_solve_stops_when_the_objective_stands_still():
    done = solve_once(tol=1e-4, max_iter=500)
    assert 1 < done.n_iter < 500
    assert len(done.trace) == done.n_iter + 1
    change = abs(np.diff(done.trace)) / done.trace[1:]
    assert change[-1] < 1e-4
    assert (change[:-1] >= 1e-4).all()
    assert solve_once(tol=1e-7, max_iter=500).n_iter > done.n_iter
    assert solve_once(tol=0.0, max_iter=7).n_iter == 7
    still = solve_once(max_iter=0)
    assert (still.n_iter, len(still.trace)) == (0, 1)
    # One chunk with all rows and no history: both half-steps lower the same objective.
    trace = solve_once(tol=0.0, max_iter=100).trace
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()
    assert trace[-1] < 0.9 * trace[0]


def test_trace_is_the_objective_of_the_result_which_keeps_its_precision():
    result = solve_once(max_iter=5)
    blocks, _, _ = chunk(0)
    expected = (
        sum(objective.reconstruction(X, result.U, V) for X, V in zip(blocks, result.V, strict=True))
        + objective.smoothness(result.U, printed.laplacian(printed.gaussian(blocks[0])))
        + 10.0 / 2 * objective.orthogonality_gap(result.U) ** 2
        + sum(0.1 * objective.l21(V) for V in result.V)
    )
    assert result.trace[-1] == pytest.approx(expected, rel=1e-12)
    single = solve_once(np.float32, max_iter=5)
    assert {each.dtype for each in (single.U, *single.V)} == {np.dtype(np.float32)}
    np.testing.assert_allclose(single.U, result.U, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_window_objective_is_the_sum_of_its_terms(kind):
    rng = np.random.default_rng(0)
    X = rng.random((7, 11)) * (rng.random((7, 11)) < 0.4)
    U, V = rng.random((7, 3)), rng.random((11, 3))
    Y, W = X[:, ::2], V[::2] + 1
    M = np.cov(np.random.default_rng(2).random((7, 20)))
    expected = (
        np.linalg.norm(X - U @ V.T) ** 2
        + np.linalg.norm(Y - U @ W.T) ** 2
        + np.trace(U.T @ M @ U)
        + 5.0 / 2 * np.linalg.norm(U.T @ U - np.eye(3)) ** 2
    )
    squared = objective.squared_norm(kind(X)) + objective.squared_norm(kind(Y))
    XV = kind(X) @ V + kind(Y) @ W
    got = printed.window_objective(squared, XV, V.T @ V + W.T @ W, U, kind(M), 5.0)
    assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_graph_is_the_kernel_of_the_distances(kind):
    X = np.random.default_rng(0).random((9, 4))
    X[3] = X[5]
    squares = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    W = printed.gaussian(kind(X), sigma=0.7)
    np.testing.assert_allclose(W, np.exp(-squares / (2 * 0.7**2)), rtol=1e-12)
    assert W[3, 5] == 1
    assert printed.gaussian(kind(X.astype(np.float32))).dtype == np.float32
    L = printed.laplacian(W)
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_array_equal(L - np.diag(np.diag(L)), np.diag(np.diag(W)) - W)
