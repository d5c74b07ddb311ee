"""One chunk of the constrained solver: place its rows, count them, settle when due.

The first chunk is clustered. Every later row goes, as it comes, to the cluster of its best fit and
of its neighbours' votes. What that costs does not depend on how many features there are.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, project
from omvfs.model.columns import Columns, on_own_columns
from omvfs.model.constrained.alternate import (
    History,
    cluster_squares,
    nearest,
    solve,
    unit_directions,
)
from omvfs.model.constrained.directions import Directions
from omvfs.model.constrained.recluster import (
    ITERATIONS,
    can_settle,
    due,
    fresh_start,
    live_rows,
    settle,
    weight_sums,
)
from omvfs.model.graph.term import graph_term, no_graph
from omvfs.model.graph.vote import Electorate, assign, cast_votes
from omvfs.model.indicator import Indicator
from omvfs.model.objective import l21, squared_norm
from omvfs.model.state import Scales, Settings, State, StepInfo, begun, scale_factors
from omvfs.model.statistics import Change, Totals

# Rows of the memory that new rows look for neighbours among.
_ANCHORS = 128


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

    columns, rows = zip(*map(on_own_columns, X), strict=True)
    totals = Totals.of(draft, columns)
    here = cluster_squares(totals.scaled(settings))
    elsewhere = np.maximum(_faded_lengths(state, settings) - here, 0)
    before, totals = totals, totals.counted(rows)
    scaled = _scaled(rows, totals, settings)
    history = History(draft.A, totals.scaled(settings), elsewhere)

    if not state.A.any() or start_U is not None or start_V is not None:
        U, info = _solved(draft, scaled, history, settings, columns, start_U, start_V)
    else:
        U, info = _placed(draft, scaled, history, settings, columns)

    draft.A = draft.A + U.masses
    totals = totals.placed(rows, U)
    draft.weight_sums = draft.weight_sums + weight_sums(U)
    draft.window = state.window.append(X, U=U.dense())
    draft.lengths = history.elsewhere + cluster_squares(totals.scaled(settings))
    draft.memory = draft.memory.offer(X, U, state.n_rows, draft.count, draft.rng)

    if state.n_rows == 0:
        draft.settled_at = draft.n_rows
    if state.n_rows and due(state, draft.n_rows) and can_settle(draft):
        _own_arrays(draft)
        totals.put_into(draft)
        return settle(draft, settings, on_the_way=True), replace(info, settled=True), None
    if settings.forgetting < 1:
        # The arrays are its own already.
        totals.put_into(draft)
        return draft, info, None
    return draft, info, Change(before, totals)


def electorate(state: State, settings: Settings) -> Electorate:
    """Return the rows of the memory, to be asked where rows near them belong."""
    memory = state.memory.take(live_rows(state))
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


def _spaced(rows: IntArray, n: int) -> IntArray:
    """Return at most n of some rows, evenly spaced."""
    return rows[np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(np.intp)]


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
        directions = Directions.of(history, settings.sparsity).written_out()
    elif start_U is None:
        directions = fresh_start(X, draft, settings, on_the_way=settings.memory > 0)
    else:
        directions = unit_directions([X_v.T @ start_U for X_v in X])
    U = None
    if start_U is not None:
        P = project(X, directions)
        labels = start_U.argmax(axis=1)
        U = Indicator(labels, np.maximum(P[np.arange(len(P)), labels], 0), K)
    n = X[0].shape[0]
    # Clusters that are soon settled on the memory need no graph, and little effort.
    first = not draft.A.any() and start_U is None and start_V is None
    soon_settled = first and n < settings.memory
    graph = no_graph if soon_settled else graph_term(X, settings)
    max_iter = min(settings.max_iter, ITERATIONS) if soon_settled else settings.max_iter
    found = solve(X, directions, history, n, graph, beta=settings.sparsity, max_iter=max_iter, U=U)
    A = history.A + found.U.masses
    lengths = history.lengths(found.V, A)
    P = project(X, unit_directions(found.V, lengths))
    sparsity = sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, found.V, strict=True))
    terms = _terms(X, P, found.U, lengths, A, sparsity)
    return found.U, replace(terms, graph=found.graph, n_iter=found.n_iter)


def _placed(
    draft: State,
    X: Sequence[Block],
    history: History,
    settings: Settings,
    columns: Sequence[Columns],
) -> tuple[Indicator, StepInfo]:
    """Place every row by its fit to the clusters so far and by its neighbours."""
    directions = Directions.of(history, settings.sparsity)
    P = directions.project(X)
    labels = nearest(P).labels
    apart = 0.0
    if settings.graph == "neighbors" and any(settings.graph_weight) and len(draft.memory):
        votes = _votes(draft, X, labels, settings, columns)
        labels = assign(P, votes)
        rows = np.arange(len(labels))
        apart = sum(float(np.sum(vote.sum(axis=1) - vote[rows, labels])) for vote in votes)
    weights = np.maximum(P[np.arange(len(P)), labels], 0)
    U = Indicator(labels, weights, settings.n_clusters)
    terms = _terms(X, P, U, directions.lengths, history.A, directions.sparsity)
    energy = float(U.masses.sum()) / max(1, len(labels))
    return U, replace(terms, graph=apart * energy)


def _votes(
    draft: State,
    X: Sequence[Block],
    labels: IntArray,
    settings: Settings,
    columns: Sequence[Columns],
) -> list[Array]:
    """Return what neighbours among some rows of the memory say, view by view.

    A view has the more of a say the more its neighbours agree with the fit.
    """
    anchors = draft.memory.take(_spaced(live_rows(draft), _ANCHORS))
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
    lengths: Array,
    A: Array,
    sparsity: float,
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
        sparsity=sparsity,
        orthogonality_error=float(np.linalg.norm(unit[unit > 0] - 1)),
        n_iter=1,
        settled=False,
    )


def _taken(V: Sequence[Array], columns: Sequence[Columns]) -> list[Array]:
    return [V_v[c] for V_v, c in zip(V, columns, strict=True)]
