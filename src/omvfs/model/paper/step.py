"""One chunk of the paper's Algorithm: random start, Gaussian graph, multiplicative updates."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omvfs.model.arrays import Array, Block
from omvfs.model.graph.neighbours import neighbours
from omvfs.model.graph.similarity import gaussian, laplacian
from omvfs.model.objective import l21, orthogonality_gap, reconstruction, smoothness
from omvfs.model.paper.updates import solve
from omvfs.model.settings import Settings
from omvfs.model.state import ChunkInfo, Scales, State, Update
from omvfs.model.statistics import Statistics


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    start_U: Array | None = None,
    start_V: Sequence[Array] | None = None,
) -> Update[State]:
    """Learn from one chunk as the paper prints it.

    Parameters
    ----------
    state : State
        What is known; not changed.
    X : sequence of array or CSR matrix of shape (m, D_v)
        The chunk, per view.
    settings : Settings
    start_U : array of shape (m, K), optional
        U of the chunk to start from; random by default.
    start_V : sequence of array of shape (D_v, K), optional
        V to start from; by default random before the first chunk, then what the last one left.

    Returns
    -------
    Update
    """
    n, K, dtype = X[0].shape[0], settings.n_clusters, X[0].dtype
    rng = copy.deepcopy(state.rng)
    known = state.statistics.decay(settings.decay(n)).counted(X)
    if start_V is None and state.n_chunks == 0:
        start_V = [rng.random(V_v.shape).astype(dtype) for V_v in state.V]
    V = state.V if start_V is None else [np.asarray(V_v, dtype) for V_v in start_V]
    U = rng.random((n, K)) if start_U is None else start_U
    window = state.window.append(X, U=np.asarray(U, dtype))

    scales = Scales.of(known, settings)
    rows = scales.rows(window.rows())
    M = _laplacian(rows, settings)
    found = solve(
        rows,
        window.indicator(),
        V,
        known.masses.astype(dtype),
        scales.features(known.B),
        M,
        n,
        beta=settings.sparsity,
        gamma=settings.orthogonality,
        max_iter=settings.max_iter,
        tol=settings.tol,
    )
    U_new = found.U[len(found.U) - n :]
    products = U_new.T @ U_new, U_new.sum(axis=0), [X_v.T @ U_new for X_v in X]
    after = replace(
        state,
        statistics=known + Statistics.of_products(*products),
        window=window.with_indicator(found.U),
        rng=rng,
        V=tuple(found.V),
        n_chunks=state.n_chunks + 1,
    )
    info = ChunkInfo(
        n_rows=n,
        reconstruction=sum(
            reconstruction(X_v, found.U, V_v) for X_v, V_v in zip(rows, found.V, strict=True)
        ),
        graph=smoothness(found.U, M),
        sparsity=sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, found.V, strict=True)),
        orthogonality_error=orthogonality_gap(found.U),
        n_iter=found.n_iter,
    )
    return Update(after, info)


def _laplacian(X: Sequence[Block], settings: Settings) -> Array:
    M = np.zeros((X[0].shape[0],) * 2, X[0].dtype)
    if settings.graph != "none":
        for alpha, X_v in zip(settings.graph_weight, X, strict=True):
            M += alpha * _graph(X_v, settings)
    return M


def _graph(X: Block, settings: Settings) -> Array:
    if settings.graph == "gaussian":
        W: Array = gaussian(X)
        return np.asarray(laplacian(W))
    k = min(settings.n_neighbors, max(1, X.shape[0] - 1))
    dense: Array = laplacian(neighbours(X, k), normalised=True).toarray()
    return dense


def feature_matrices(state: State, settings: Settings) -> list[Array]:
    """Return V as the last chunk left it."""
    return list(state.V)


def reclustered(state: State, settings: Settings) -> State:
    """Return the state as it is: the paper never looks back."""
    return state
