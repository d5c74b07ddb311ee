"""One chunk of the constrained solver: place its rows, count them, settle when due.

The first chunk is clustered. Every later row goes, as it comes, to the cluster of its best fit and
of its neighbours' votes. What that costs does not depend on how many features there are.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from omvfs.model.arrays import Array, Block, in_ties, project, sums_by_label
from omvfs.model.assign import Electorate, assign, cast_votes
from omvfs.model.constrained import Indicator, transposed_product, update_v
from omvfs.model.graph import gaussian, laplacian
from omvfs.model.neighbourhood import graph_laplacian, normalised_neighbours
from omvfs.model.objective import l21, squared_norm
from omvfs.model.settle import spectral_start, worth
from omvfs.model.solve import (
    GraphTerm,
    History,
    cluster_squares,
    nearest,
    solve,
    unit_directions,
)
from omvfs.model.state import Scales, Settings, State, StepInfo, begun, scale_factors
from omvfs.model.totals import Change, Columns, Totals, on_columns, touched

# The clusters are settled anew when the memory is full, and whenever the stream has grown by this
# factor.
_GROWTH = 8.0
# Rows of which forgetting has left less have no say in that.
_FADED = 0.05
# Rows of the memory that new rows look for neighbours among.
_ANCHORS = 128
# On the way, clusters are settled with less effort than when something is asked of them: with one
# start in so many, and at most so many iterations of the solver.
_STARTS, _ITERATIONS = 4, 10


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
    following, info, change = advance(state, X, settings, start_U, start_V)
    if change is not None:
        _own_arrays(following)
        change.after.put_into(following)
    return following, info


def advance(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    start_U: Array | None = None,
    start_V: Sequence[Array] | None = None,
) -> tuple[State, StepInfo, Change | None]:
    """Learn from one chunk, as `step`, but leave it to the caller to put the totals into place.

    Returns
    -------
    State
        It shares the arrays of totals with the state before, if a change is returned.
    StepInfo
    Change or None
        What is to be put into the shared arrays.
    """
    n = X[0].shape[0]
    draft = begun(state, n, settings.forgetting)
    draft.rng = copy.deepcopy(state.rng)

    columns = [touched(X_v) for X_v in X]
    rows = [on_columns(X_v, c) for X_v, c in zip(X, columns, strict=True)]
    totals = Totals.of(draft, columns)
    here = cluster_squares(totals.scaled(settings))
    elsewhere = np.maximum(_faded_lengths(state, settings) - here, 0)
    before, totals = totals, totals.counted(rows)
    scaled = _scaled(rows, totals, settings)
    history = History(draft.A, totals.scaled(settings), elsewhere)

    if state.n_rows == 0 or start_U is not None or start_V is not None:
        U, info = _solved(draft, scaled, history, settings, columns, start_U, start_V)
    else:
        U, info = _placed(draft, scaled, history, settings, columns)

    draft.A = draft.A + U.masses
    totals = totals.placed(rows, U)
    draft.weight_sums = draft.weight_sums + _sums(U)
    draft.window = state.window.append(X, U=U.dense())
    draft.lengths = history.elsewhere + cluster_squares(totals.scaled(settings))
    draft.memory = draft.memory.offer(X, U, state.n_rows, draft.count, draft.rng)

    if state.n_rows == 0:
        draft.settled_at = draft.n_rows
    if state.n_rows and draft.n_rows >= _next_settling(state) and _can_settle(draft):
        _own_arrays(draft)
        totals.put_into(draft)
        return _settle(draft, settings, on_the_way=True), replace(info, settled=True), None
    if settings.forgetting < 1:
        # The arrays are its own already.
        totals.put_into(draft)
        return draft, info, None
    return draft, info, Change(before, totals)


def settled(state: State, settings: Settings) -> State:
    """Return the state with its clusters settled as well as they can be, for what is asked of them.

    Examples
    --------
    >>> from omvfs._settings import resolve
    >>> from omvfs import OMVFS
    >>> settings = resolve(OMVFS(2, n_init=2).get_params(), ["x"])
    >>> rng = np.random.default_rng(0)
    >>> state = State.start([5], np.dtype(float), settings, rng)
    >>> for _ in range(3):
    ...     state, info = step(state, [rng.random((20, 5))], settings)
    >>> info.settled, state.settled_at, settled(state, settings).settled_at
    (False, 20, 60)
    """
    if not _can_settle(state):
        return state
    draft = replace(state)
    draft.rng = copy.deepcopy(state.rng)
    return _settle(draft, settings)


def lengths_of(state: State, settings: Settings) -> NDArray[np.float64]:
    """Return Σ_j B_jk² of scaled columns over all views, worked out anew."""
    return cluster_squares(Scales.of(state, settings).features(state.B))


def feature_matrices(state: State, settings: Settings) -> list[Array]:
    """Return V: as the paper's solver left it, or the best one for what A and B hold."""
    if settings.solver == "paper":
        return state.V
    B = Scales.of(state, settings).features(state.B)
    return [update_v(state.A, B_v, beta) for B_v, beta in zip(B, settings.sparsity, strict=True)]


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


def _own_arrays(state: State) -> None:
    """Give a state arrays of totals that it shares with no other."""
    state.B = [each.copy() for each in state.B]
    state.sums = [each.copy() for each in state.sums]
    state.squares = [each.copy() for each in state.squares]


def _faded_lengths(state: State, settings: Settings) -> NDArray[np.float64]:
    """Return the lengths after what was known has faded; scaled columns fade by half as much."""
    return state.lengths * settings.forgetting ** (1 if settings.scale_columns else 2)


def _spaced(rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return at most n of some rows, evenly spaced."""
    return rows[np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(np.intp)]


def _next_settling(state: State) -> float:
    """Return after how many rows to settle: once the memory is full, then by growth."""
    if state.settled_at < state.memory.capacity:
        return min(state.memory.capacity, _GROWTH * state.settled_at)
    return _GROWTH * state.settled_at


def _can_settle(state: State) -> bool:
    return bool(np.any(state.memory.keep > _FADED))


def _scaled(rows: Sequence[Block], totals: Totals, settings: Settings) -> list[Block]:
    if not settings.scale_columns:
        return list(rows)
    factors = [scale_factors(q, X_v.dtype) for q, X_v in zip(totals.squares, rows, strict=True)]
    return Scales(tuple(factors)).rows(rows)


def _solved(
    draft: State,
    X: Sequence[Block],
    history: History,
    settings: Settings,
    columns: Sequence[Columns],
    start_U: Array | None,
    start_V: Sequence[Array] | None,
) -> tuple[Indicator, StepInfo]:
    """Cluster the rows of a chunk, with V fitted to all rows so far."""
    K = settings.n_clusters
    if start_V is not None:
        directions = _taken(unit_directions(start_V), columns)
    elif draft.A.any():
        directions = _directions(history, settings)[0]
    elif start_U is None:
        directions = _start(X, draft, settings, on_the_way=settings.memory > 0)
    else:
        directions = unit_directions([X_v.T @ start_U for X_v in X])
    U = None
    if start_U is not None:
        P = project(X, directions)
        labels = start_U.argmax(axis=1)
        U = Indicator(labels, np.maximum(P[np.arange(len(P)), labels], 0), K)
    n = X[0].shape[0]
    graph = graph_term(X, settings)
    max_iter = settings.max_iter
    found = solve(X, directions, history, n, graph, beta=settings.sparsity, max_iter=max_iter, U=U)
    A = history.A + found.U.masses
    lengths = history.lengths(found.V, A)
    P = project(X, unit_directions(found.V, lengths))
    terms = _terms(X, P, found.U, found.V, lengths, A, settings)
    return found.U, replace(terms, graph=found.graph, n_iter=found.n_iter)


def _start(X: Sequence[Block], draft: State, settings: Settings, on_the_way: bool) -> list[Array]:
    """Return directions to start from that owe nothing to those so far."""
    K, n_init, rng = settings.n_clusters, settings.n_init, draft.rng
    if on_the_way:
        n_init = -(-n_init // _STARTS)
    return spectral_start(X, K, rng, n_init)


def _directions(history: History, settings: Settings) -> tuple[list[Array], list[Array], Array]:
    """Return unit directions of the clusters on some columns, V there, and ‖V_k‖² everywhere."""
    views = zip(history.B, settings.sparsity, strict=True)
    V = [update_v(history.A, B_v, beta) for B_v, beta in views]
    lengths = history.lengths(V, history.A)
    return unit_directions(V, lengths), V, lengths


def _placed(
    draft: State,
    X: Sequence[Block],
    history: History,
    settings: Settings,
    columns: Sequence[Columns],
) -> tuple[Indicator, StepInfo]:
    """Place every row by its fit to the clusters so far and by its neighbours."""
    directions, V, lengths = _directions(history, settings)
    P = project(X, directions)
    labels = nearest(P).labels
    apart = 0.0
    if settings.graph == "neighbors" and any(settings.graph_weight) and len(draft.memory):
        votes = _votes(draft, X, labels, settings, columns)
        labels = assign(P, votes)
        rows = np.arange(len(labels))
        apart = sum(float(np.sum(vote.sum(axis=1) - vote[rows, labels])) for vote in votes)
    weights = np.maximum(P[np.arange(len(P)), labels], 0)
    U = Indicator(labels, weights, settings.n_clusters)
    terms = _terms(X, P, U, V, lengths, history.A, settings)
    energy = float(U.masses.sum()) / max(1, len(labels))
    return U, replace(terms, graph=apart * energy)


def _votes(
    draft: State,
    X: Sequence[Block],
    labels: NDArray[np.intp],
    settings: Settings,
    columns: Sequence[Columns],
) -> list[Array]:
    """Return what neighbours among some rows of the memory say, view by view.

    A view has the more of a say the more its neighbours agree with the fit.
    """
    live = np.flatnonzero(draft.memory.keep > _FADED)
    anchors = draft.memory.take(_spaced(live, _ANCHORS))
    scales = Scales.of(draft, settings)
    say = Indicator(anchors.counted.labels, anchors.keep, settings.n_clusters).dense()
    votes, agreements = [], []
    for v, (X_v, rows, c) in enumerate(zip(X, scales.rows(anchors.blocks), columns, strict=True)):
        vote = cast_votes(X_v, rows, c, say, settings.n_neighbors)
        votes.append(settings.graph_weight[v] * vote)
        chance = 1 / settings.n_clusters
        agreement = float(vote[np.arange(len(labels)), labels].mean())
        agreements.append(max(0.0, agreement - chance))
    total = sum(agreements) or 1.0
    return [vote * (a / total) for vote, a in zip(votes, agreements, strict=True) if a > 0]


def _terms(
    X: Sequence[Block],
    P: Array,
    U: Indicator,
    V: Sequence[Array],
    lengths: Array,
    A: Array,
    settings: Settings,
) -> StepInfo:
    """Return the terms of the objective over a chunk, with U as a slice of U over all rows."""
    n = len(U.labels)
    u = U.weights / np.sqrt(np.where(A > 0, A, 1))[U.labels]
    along = np.sqrt(lengths)[U.labels]
    fit = sum(squared_norm(X_v) for X_v in X)
    fit += float(np.sum(u * along * (u * along - 2 * P[np.arange(n), U.labels])))
    unit = U.unit().masses
    return StepInfo(
        n_rows=n,
        reconstruction=max(0.0, fit),
        graph=0.0,
        sparsity=sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, V, strict=True)),
        orthogonality_error=float(np.linalg.norm(unit[unit > 0] - 1)),
        n_iter=1,
        settled=False,
    )


def _settle(draft: State, settings: Settings, on_the_way: bool = False) -> State:
    """Cluster the memory anew, and move what A and B hold to the new clusters.

    Rows in the memory move exactly. The rest of A and B, whose rows are gone, moves as the memory's
    rows of the same cluster did. Arrays are made anew.
    """
    scales = Scales.of(draft, settings)
    K = settings.n_clusters
    live = np.flatnonzero(draft.memory.keep > _FADED)
    memory = draft.memory.take(live)
    columns = [touched(X_v) for X_v in memory.blocks]
    X = [on_columns(X_v, c) for X_v, c in zip(scales.rows(memory.blocks), columns, strict=True)]
    V = _taken(feature_matrices(draft, settings), columns)
    max_iter = min(settings.max_iter, _ITERATIONS) if on_the_way else settings.max_iter
    graph, beta = graph_term(X, settings), settings.sparsity
    options = [
        solve(X, start, History.none(X, K), len(memory), graph, beta=beta, max_iter=max_iter)
        for start in (unit_directions(V), _start(X, draft, settings, on_the_way))
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


def _sums(U: Indicator) -> NDArray[np.float64]:
    return sums_by_label(U.labels, U.weights, U.n_clusters)


def _taken(V: Sequence[Array], columns: Sequence[Columns]) -> list[Array]:
    return [V_v[c] for V_v, c in zip(V, columns, strict=True)]
