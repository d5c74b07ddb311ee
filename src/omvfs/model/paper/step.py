"""One chunk of the paper's Algorithm: random start, Gaussian graph, multiplicative updates."""

import copy
from collections.abc import Sequence

import numpy as np

from omvfs.model.arrays import Array, Block
from omvfs.model.graph.similarity import gaussian, laplacian, neighbours
from omvfs.model.objective import l21, orthogonality_gap, reconstruction, smoothness
from omvfs.model.paper.updates import solve
from omvfs.model.state import Scales, Settings, State, StepInfo, count_columns


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    start_U: Array | None = None,
    start_V: Sequence[Array] | None = None,
) -> tuple[State, StepInfo]:
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
    State, StepInfo
    """
    n, K, dtype = X[0].shape[0], settings.n_clusters, X[0].dtype
    draft = count_columns(state, X, settings.forgetting)
    draft.rng = copy.deepcopy(state.rng)
    if start_V is None and state.n_chunks == 0:
        start_V = [draft.rng.random(V_v.shape).astype(dtype) for V_v in state.V]
    V = state.V if start_V is None else [np.asarray(V_v, dtype) for V_v in start_V]
    U = draft.rng.random((n, K)) if start_U is None else start_U
    draft.window = state.window.append(X, U=np.asarray(U, dtype))

    scales = Scales.of(draft, settings)
    rows = scales.rows(draft.window.rows())
    M = _laplacian(rows, settings)
    found = solve(
        rows,
        draft.window.indicator(),
        V,
        draft.A.astype(dtype),
        scales.features(draft.B),
        M,
        n,
        beta=settings.sparsity,
        gamma=settings.orthogonality,
        max_iter=settings.max_iter,
        tol=settings.tol,
    )
    U_new = found.U[len(found.U) - n :]
    draft.window = draft.window.with_indicator(found.U)
    draft.V = found.V
    draft.A = draft.A + (U_new.T @ U_new)
    draft.B = [B_v + X_v.T @ U_new for B_v, X_v in zip(draft.B, X, strict=True)]
    draft.weight_sums = draft.weight_sums + U_new.sum(axis=0)
    return draft, StepInfo(
        n_rows=n,
        reconstruction=sum(
            reconstruction(X_v, found.U, V_v) for X_v, V_v in zip(rows, found.V, strict=True)
        ),
        graph=smoothness(found.U, M),
        sparsity=sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, found.V, strict=True)),
        orthogonality_error=orthogonality_gap(found.U),
        n_iter=found.n_iter,
        settled=False,
    )


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
