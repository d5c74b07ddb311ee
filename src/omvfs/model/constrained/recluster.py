"""Cluster the memory anew, and let all that is known follow.

Done seldom on the way, with little effort, and with all effort when something is asked.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from omvfs.model.arrays import Array, Block, IntArray, in_ties, sums_by_label
from omvfs.model.columns import on_own_columns
from omvfs.model.constrained.alternate import History, solve, unit_directions
from omvfs.model.constrained.directions import feature_matrices, lengths_of
from omvfs.model.constrained.init import spectral_start, worth
from omvfs.model.graph.term import graph_term
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.state import Scales, Settings, State

# The clusters are settled anew whenever the stream has grown by the first factor while the memory
# fills, when it is full, and whenever the stream has grown by the second factor after that.
_FILLING, _GROWTH = 4.0, 64.0
# Rows of which forgetting has left less have no say.
_FADED = 0.05
# On the way, clusters are settled with less effort than when something is asked of them: with one
# start in so many, and at most so many iterations of the solver.
_STARTS, ITERATIONS = 4, 10


def due(state: State, n_rows: int) -> bool:
    """Tell whether the clusters of a state are to be settled anew after so many rows."""
    if state.settled_at < state.memory.capacity:
        return n_rows >= min(state.memory.capacity, _FILLING * state.settled_at)
    return n_rows >= _GROWTH * state.settled_at


def live_rows(state: State) -> IntArray:
    """Return which rows of the memory forgetting has left enough of."""
    return np.flatnonzero(state.memory.keep > _FADED)


def can_settle(state: State) -> bool:
    """Tell whether the memory has rows to settle the clusters on."""
    return len(live_rows(state)) > 0


def settled(state: State, settings: Settings) -> State:
    """Return the state with its clusters settled as well as they can be, for what is asked of them.

    Examples
    --------
    >>> from omvfs.selectors.settings import resolve
    >>> from omvfs.model.constrained.step import step
    >>> from omvfs import OMVFS
    >>> settings = resolve(OMVFS(2, n_init=2).get_params(), ["x"])
    >>> rng = np.random.default_rng(0)
    >>> state = State.start([5], np.dtype(float), settings, rng)
    >>> for _ in range(3):
    ...     state, info = step(state, [rng.random((20, 5))], settings)
    >>> info.settled, state.settled_at, settled(state, settings).settled_at
    (False, 20, 60)
    """
    if not can_settle(state):
        return state
    draft = replace(state)
    draft.rng = copy.deepcopy(state.rng)
    return settle(draft, settings)


def fresh_start(
    X: Sequence[Block], draft: State, settings: Settings, on_the_way: bool
) -> list[Array]:
    """Return directions to start from that owe nothing to those so far."""
    K, n_init, rng = settings.n_clusters, settings.n_init, draft.rng
    if on_the_way:
        n_init = -(-n_init // _STARTS)
    return spectral_start(X, K, rng, n_init)


def settle(draft: State, settings: Settings, on_the_way: bool = False) -> State:
    """Cluster the memory anew, and move what A and B hold to the new clusters.

    Rows in the memory move exactly. The rest of A and B, whose rows are gone, moves as the memory's
    rows of the same cluster did. Arrays are made anew.
    """
    scales = Scales.of(draft, settings)
    K = settings.n_clusters
    live = live_rows(draft)
    memory = draft.memory.take(live)
    held = memory.blocks
    columns, X = zip(*map(on_own_columns, scales.rows(held)), strict=True)
    V = [V_v[c] for V_v, c in zip(feature_matrices(draft, settings), columns, strict=True)]
    max_iter = min(settings.max_iter, ITERATIONS) if on_the_way else settings.max_iter
    graph, beta = graph_term(X, settings), settings.sparsity
    options = [
        solve(X, start, History.none(X, K), len(memory), graph, beta=beta, max_iter=max_iter)
        for start in (unit_directions(V), fresh_start(X, draft, settings, on_the_way))
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
    draft.weight_sums = _moved(draft.weight_sums, weight_sums(was), moves, gone) + weight_sums(now)
    draft.B = [
        _moved(B_v, transposed_product(X_v, was), moves, gone) + transposed_product(X_v, now)
        for X_v, B_v in zip(held, draft.B, strict=True)
    ]
    draft.memory = draft.memory.recount(live, new)
    draft.settled_at = draft.n_rows
    draft.lengths = lengths_of(draft, settings)
    return draft


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


def weight_sums(U: Indicator) -> NDArray[np.float64]:
    """Return Σ_i u_i over the rows of each cluster."""
    return sums_by_label(U.labels, U.weights, U.n_clusters)
