"""One chunk of the constrained solver: start warm, alternate, count it, settle when due."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from omvfs.model.arrays import Array, Block, in_ties, project, sums_by_label
from omvfs.model.assign import Electorate
from omvfs.model.constrained import Indicator, transposed_product, update_v
from omvfs.model.graph import gaussian, laplacian
from omvfs.model.neighbourhood import graph_laplacian, normalised_neighbours
from omvfs.model.objective import l21, orthogonality_gap, squared_norm
from omvfs.model.settle import spectral_start, worth
from omvfs.model.solve import (
    GraphTerm,
    History,
    Solution,
    cluster_squares,
    nearest,
    solve,
    unit_directions,
)
from omvfs.model.state import Scales, Settings, State, StepInfo, count_columns

# The clusters are settled anew whenever the stream has grown by this factor.
_GROWTH = 1.5
# Rows of which forgetting has left less have no say in that.
_FADED = 0.05


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    start_U: Array | None = None,
    start_V: Sequence[Array] | None = None,
) -> tuple[State, StepInfo]:
    """Learn from one chunk.

    Parameters
    ----------
    state : State
        What is known; not changed.
    X : sequence of array or CSR matrix of shape (m, D_v)
        The chunk, per view.
    settings : Settings
    start_U : array of shape (m, K), optional
        Clusters of the chunk to start from.
    start_V : sequence of array of shape (D_v, K), optional
        Directions to start from.

    Returns
    -------
    State, StepInfo
    """
    n, K = X[0].shape[0], settings.n_clusters
    draft = count_columns(state, X, settings.forgetting)
    draft.rng = copy.deepcopy(state.rng)
    draft.window = state.window.append(X, U=np.zeros((n, K), X[0].dtype))
    scales = Scales.of(draft, settings)

    rows = scales.rows(draft.window.rows())
    found = _solve_window(draft, rows, settings, scales, n, start_U, start_V)
    U = found.U.take(slice(len(found.U.labels) - n, None))
    _count(draft, X, U)
    kept = replace(state.memory, keep=state.memory.keep * settings.forgetting)
    draft.memory = kept.offer(X, U, state.n_rows, draft.count, draft.rng)

    due = state.n_rows > 0 and draft.n_rows >= _GROWTH * state.settled_at
    settled = due and bool(np.any(draft.memory.keep > _FADED))
    if settled:
        _settle(draft, settings, scales)
    if settled or state.n_rows == 0:
        draft.settled_at = draft.n_rows
    draft.V = _feature_matrices(draft, settings, scales)
    U = nearest(project(rows, unit_directions(draft.V))) if settled else found.U
    draft.window = draft.window.with_indicator(U.unit().dense())
    return draft, _report(draft, settings, rows, U, found, n, settled)


def graph_term(X: Sequence[Block], settings: Settings) -> GraphTerm:
    """Return the graph term of rows, as `solve` asks for it."""
    if settings.graph == "none" or not any(settings.graph_weight):
        return lambda U: (None, 0.0)
    if settings.graph == "gaussian":
        weighted = zip(settings.graph_weight, X, strict=True)
        M = sum(alpha * laplacian(gaussian(X_v)) for alpha, X_v in weighted)
        # W has no negative eigenvalue, so those of D − W are at most the largest degree, and W has
        # ones on its diagonal.
        bound = float(np.max(np.diagonal(M))) + sum(settings.graph_weight)
        return lambda U: (M, bound)
    graphs = normalised_neighbours(X, settings.n_neighbors)
    return lambda U: graph_laplacian(graphs, U, settings.graph_weight, float(U.masses.sum()))


def electorate(state: State, settings: Settings) -> Electorate:
    """Return the rows of the memory, to be asked where rows near them belong."""
    memory = state.memory.take(np.flatnonzero(state.memory.keep > _FADED))
    rows = Scales.of(state, settings).rows(memory.blocks)
    weights, k = settings.graph_weight, settings.n_neighbors
    return Electorate(rows, memory.counted, memory.keep, weights, k)


def _solve_window(
    draft: State,
    rows: Sequence[Block],
    settings: Settings,
    scales: Scales,
    n_new: int,
    start_U: Array | None,
    start_V: Sequence[Array] | None,
) -> Solution:
    """Fit U to the window and V to all rows so far, on the features that the window has."""
    K = settings.n_clusters
    X, columns = _compact(rows)
    B = scales.features(draft.B)
    B_window = _taken(B, columns)
    elsewhere = cluster_squares(B) - cluster_squares(B_window)
    history = History(draft.A, B_window, np.maximum(elsewhere, 0))

    if start_V is not None:
        directions = _taken(unit_directions(start_V), columns)
    elif draft.A.any():
        # Not the last V: columns may have been raised or scaled anew since.
        V = _feature_matrices(draft, settings, scales)
        directions = _taken(unit_directions(V), columns)
    elif start_U is None:
        directions = spectral_start(X, K, draft.rng, settings.n_init)
    else:
        new = [X_v[X_v.shape[0] - n_new :] for X_v in X]
        directions = unit_directions([X_v.T @ start_U for X_v in new])
    U = None
    if start_U is not None:
        P = project(X, directions)
        labels = P.argmax(axis=1)
        labels[len(labels) - n_new :] = start_U.argmax(axis=1)
        U = Indicator(labels, np.maximum(P[np.arange(len(P)), labels], 0), K)
    return solve(
        X,
        directions,
        history,
        n_new,
        graph_term(X, settings),
        beta=settings.sparsity,
        max_iter=settings.max_iter,
        U=U,
    )


def _count(draft: State, X: Sequence[Block], U: Indicator) -> None:
    """Add the rows of a chunk to A, B and the sums of the weights."""
    draft.A = draft.A + U.masses
    draft.B = [B_v + transposed_product(X_v, U) for X_v, B_v in zip(X, draft.B, strict=True)]
    draft.weight_sums = draft.weight_sums + _sums(U)


def _settle(draft: State, settings: Settings, scales: Scales) -> None:
    """Cluster the memory anew, and move what A and B hold to the new clusters.

    Rows in the memory move exactly. The rest of A and B, whose rows are gone, moves as the memory's
    rows of the same cluster did.
    """
    K = settings.n_clusters
    live = np.flatnonzero(draft.memory.keep > _FADED)
    memory = draft.memory.take(live)
    X, columns = _compact(scales.rows(memory.blocks))
    V = _taken(_feature_matrices(draft, settings, scales), columns)
    graph = graph_term(X, settings)
    starts = unit_directions(V), spectral_start(X, K, draft.rng, settings.n_init)
    options = [
        solve(
            X,
            start,
            History.none(X, K),
            len(memory),
            graph,
            beta=settings.sparsity,
            max_iter=settings.max_iter,
        )
        for start in starts
    ]
    found = options[int(in_ties(np.array([worth(option.U) for option in options])).argmax())]
    old, new = memory.counted, _matched(found.U, memory.counted)
    shares = memory.keep * np.square(old.weights)
    moves = np.zeros((K, K))
    np.add.at(moves, (old.labels, new.labels), shares)
    moves[moves.sum(axis=1) == 0] = np.eye(K)[moves.sum(axis=1) == 0]
    moves /= moves.sum(axis=1, keepdims=True)

    was, now = (_faded(U, memory.keep) for U in (old, new))
    gone = draft.n_rows > len(memory)
    draft.A = _moved(draft.A, _masses(old, memory.keep), moves, gone) + _masses(new, memory.keep)
    draft.weight_sums = _moved(draft.weight_sums, _sums(was), moves, gone) + _sums(now)
    draft.B = [
        _moved(B_v, transposed_product(X_v, was), moves, gone) + transposed_product(X_v, now)
        for X_v, B_v in zip(memory.blocks, draft.B, strict=True)
    ]
    draft.memory = draft.memory.recount(live, new)


def _moved(total: Array, held: Array, moves: Array, gone: bool) -> Array:
    """Return what a total holds of rows that are gone, moved to the new clusters."""
    if not gone:
        return np.zeros_like(total)
    rest = np.maximum(total - held, 0)
    return (rest @ moves).astype(total.dtype, copy=False)


def _matched(U: Indicator, old: Indicator) -> Indicator:
    """Return U with its clusters numbered so that as much weight as possible keeps its number."""
    overlap = np.zeros((U.n_clusters, U.n_clusters))
    np.add.at(overlap, (U.labels, old.labels), np.square(old.weights))
    _, numbers = linear_sum_assignment(-overlap)
    return Indicator(numbers[U.labels], U.weights, U.n_clusters)


def _faded(U: Indicator, keep: Array) -> Indicator:
    return Indicator(U.labels, U.weights * keep, U.n_clusters)


def _masses(U: Indicator, keep: Array) -> NDArray[np.float64]:
    return sums_by_label(U.labels, np.square(U.weights) * keep, U.n_clusters)


def _sums(U: Indicator) -> NDArray[np.float64]:
    return sums_by_label(U.labels, U.weights, U.n_clusters)


def _feature_matrices(draft: State, settings: Settings, scales: Scales) -> list[Array]:
    B = scales.features(draft.B)
    return [update_v(draft.A, B_v, beta) for B_v, beta in zip(B, settings.sparsity, strict=True)]


def _report(
    draft: State,
    settings: Settings,
    X: Sequence[Block],
    U: Indicator,
    found: Solution,
    n: int,
    settled: bool,
) -> StepInfo:
    """Return the terms of the objective over the window, with U as a slice of U over all rows."""
    lengths = np.sqrt(np.where(draft.A > 0, draft.A, 1))
    u = U.weights / lengths[U.labels]
    XV = project(X, draft.V)[np.arange(len(u)), U.labels]
    VtV = cluster_squares(draft.V)[U.labels]
    fit = sum(squared_norm(X_v) for X_v in X) + float(np.sum(u * (u * VtV - 2 * XV)))
    unit = draft.window.indicator()
    filled = unit.any(axis=0)
    return StepInfo(
        n_rows=n,
        reconstruction=max(0.0, fit),
        graph=found.graph,
        sparsity=sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, draft.V, strict=True)),
        orthogonality_error=orthogonality_gap(unit[:, filled]) if filled.any() else 0.0,
        n_iter=found.n_iter,
        settled=settled,
    )


def _compact(X: Sequence[Block]) -> tuple[list[Block], list[NDArray[np.intp] | slice]]:
    """Return rows on the features that they have, and which features those are."""
    columns = [_columns(X_v) for X_v in X]
    return [_take_columns(X_v, c) for X_v, c in zip(X, columns, strict=True)], columns


def _columns(X: Block) -> NDArray[np.intp] | slice:
    """Return the columns in which a CSR matrix has entries; all columns of an array."""
    if not sp.issparse(X):
        return slice(None)
    touched = np.zeros(X.shape[1], bool)
    touched[X.indices] = True
    return np.flatnonzero(touched)


def _take_columns(X: Block, columns: NDArray[np.intp] | slice) -> Block:
    """Return X without the columns that hold nothing."""
    if isinstance(columns, slice):
        return X
    place = np.zeros(X.shape[1], X.indices.dtype)
    place[columns] = np.arange(len(columns))
    shape = (X.shape[0], len(columns))
    return sp.csr_array((X.data, place[X.indices], X.indptr), shape=shape)


def _taken(V: Sequence[Array], columns: Sequence[NDArray[np.intp] | slice]) -> list[Array]:
    return [V_v[c] for V_v, c in zip(V, columns, strict=True)]
