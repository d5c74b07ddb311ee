"""One chunk of the paper's Algorithm: random start, Gaussian graph, multiplicative updates."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omvfs.model.arrays import Array, Block, IntArray
from omvfs.model.graph.neighbours import neighbours
from omvfs.model.graph.similarity import among, gaussian, laplacian
from omvfs.model.objective import l21, orthogonality_gap, reconstruction, smoothness
from omvfs.model.paper.updates import solve
from omvfs.model.presence import Presence, of_those, who_has
from omvfs.model.settings import Settings
from omvfs.model.state import ChunkInfo, Scales, State, Update
from omvfs.model.statistics import Statistics


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    start_U: Array | None = None,
    start_V: Sequence[Array] | None = None,
    present: Presence = None,
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
    present : array of shape (m, n_views), optional
        Which rows have which views; by default all. The terms of a view are of those that have it.

    Returns
    -------
    Update
    """
    n, K, dtype = X[0].shape[0], settings.K, X[0].dtype
    rng = copy.deepcopy(state.rng)
    known = state.statistics.decay(settings.decay(n)).counted(X, present)
    if start_V is None and state.n_chunks == 0:
        start_V = [rng.random(V_v.shape).astype(dtype) for V_v in state.V]
    V = state.V if start_V is None else [np.asarray(V_v, dtype) for V_v in start_V]
    U = rng.random((n, K)) if start_U is None else start_U
    window = state.window.append(X, np.asarray(U, dtype), present)

    scales = Scales.of(known, settings)
    rows, has = scales.rows(window.rows()), window.present()
    M = _laplacian(rows, settings, has)
    found = solve(
        rows,
        window.indicator(),
        V,
        [view.masses.astype(dtype) for view in known.views],
        scales.features(known.B),
        M,
        n,
        beta=settings.sparsity,
        gamma=settings.orthogonality,
        max_iter=settings.max_iter,
        tol=settings.tol,
        present=has,
    )
    U_new = found.U[len(found.U) - n :]
    by_view = [of_those(U_new, who_has(present, v)) for v in range(len(X))]
    masses, sums = [U_v.T @ U_v for U_v in by_view], [U_v.sum(axis=0) for U_v in by_view]
    after = replace(
        state,
        statistics=known + Statistics.of_products(masses, sums, [X_v.T @ U_new for X_v in X]),
        window=window.with_indicator(found.U),
        rng=rng,
        V=tuple(found.V),
        n_chunks=state.n_chunks + 1,
    )
    info = ChunkInfo(
        n_rows=n,
        reconstruction=sum(
            reconstruction(of_those(X_v, own), of_those(found.U, own), V_v)
            for v, (X_v, V_v) in enumerate(zip(rows, found.V, strict=True))
            for own in [who_has(has, v)]
        ),
        graph=smoothness(found.U, M),
        sparsity=sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, found.V, strict=True)),
        orthogonality_error=orthogonality_gap(found.U),
        n_iter=found.n_iter,
    )
    return Update(after, info)


def _laplacian(X: Sequence[Block], settings: Settings, present: Presence) -> Array:
    M = np.zeros((X[0].shape[0],) * 2, X[0].dtype)
    if settings.graph != "none":
        for v, (alpha, X_v) in enumerate(zip(settings.graph_weight, X, strict=True)):
            M += alpha * _graph(X_v, settings, who_has(present, v))
    return M


def _graph(X: Block, settings: Settings, rows: IntArray | None) -> Array:
    """Return the Laplacian of one view, without edges to rows that lack it."""
    if settings.graph == "gaussian":
        W: Array = among(gaussian(X), rows)
        return np.asarray(laplacian(W))
    k = min(settings.n_neighbors, max(1, X.shape[0] - 1))
    dense: Array = laplacian(neighbours(X, k), normalised=True).toarray()
    return dense


def feature_matrices(state: State, settings: Settings) -> list[Array]:
    """Return V as the last chunk left it."""
    return list(state.V)


def reclustered(state: State, settings: Settings, near: Sequence[Block | None] = ()) -> State:
    """Return the state as it is: the paper never looks back."""
    return state
