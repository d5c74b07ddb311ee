"""One chunk of the constrained solver: place its rows, count them, re-cluster when due.

The first chunk is clustered. Every later row goes, as it comes, to the cluster of its best fit and
of its neighbours' votes. What that costs does not depend on how many features there are.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    column_sq_norms,
    project,
    squared_entries,
    squared_row_norms,
    stack,
)
from omvfs.model.columns import Columns, on_own_columns, put_rows
from omvfs.model.constrained.alternate import (
    PriorStatistics,
    best_cluster,
    in_clusters,
    solve,
    unit_directions,
)
from omvfs.model.constrained.directions import Directions, completed, completed_matrices
from omvfs.model.constrained.init import mean_directions
from omvfs.model.constrained.number import cluster_curve
from omvfs.model.constrained.reach import Reach
from omvfs.model.constrained.recluster import (
    ITERATIONS,
    clustered,
    fresh_start,
    recluster,
    recluster_due,
)
from omvfs.model.graph.term import graph_term, no_graph
from omvfs.model.graph.vote import Electorate, agreement_of_views, assign, weighed
from omvfs.model.indicator import Indicator
from omvfs.model.objective import l21, squared_norm
from omvfs.model.presence import Presence, below, take
from omvfs.model.ranking.criteria import information
from omvfs.model.settings import AUTO, Settings
from omvfs.model.state import B_sq_norms, ChunkInfo, Patch, Scales, State, Update
from omvfs.model.statistics import Statistics
from omvfs.model.stream.change import BUCKET, Change
from omvfs.model.stream.event import DriftEvent, Feature
from omvfs.model.stream.offset import raise_rows
from omvfs.model.stream.reservoir import Reservoir
from omvfs.model.stream.watch import Watch, Yardstick

# Rows of the reservoir that new rows look for neighbours among.
_ANCHORS = 128


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    present: Presence = None,
) -> Update[State]:
    """Learn from one chunk.

    Parameters
    ----------
    state : State
        What is known; not changed before the update is committed.
    X : sequence of array or CSR matrix of shape (m, D_v)
        The chunk, per view.
    settings : Settings
    present : array of shape (m, n_views), optional
        Which rows have which views; by default all.

    Returns
    -------
    Update
    """
    asked, settings = settings, settings.weighing(state.view_weights)
    rho = settings.decay(X[0].shape[0])
    if asked.n_clusters == AUTO:
        if not state.statistics.masses.any():
            state = state.begun(_first_number(state, X, settings, present))
        settings = settings.with_clusters(state.n_clusters)
    known = state.statistics.decay(rho).writable()
    draft = replace(
        state,
        statistics=known,
        reservoir=state.reservoir.decay(rho),
        rng=copy.deepcopy(state.rng),
        n_chunks=state.n_chunks + 1,
    )
    columns, rows = zip(*map(on_own_columns, X), strict=True)
    before = known.on(columns)
    part = before.counted(rows, present)
    scales = Scales.of(part, settings)
    scaled = scales.rows(rows)
    off_chunk = _off_chunk_sq_norms(state, before, rho, settings)
    prior = _prior(part, scales, off_chunk, present)

    if not state.statistics.masses.any():
        U, info = _solved(draft, scaled, prior, settings, present)
    else:
        U, info = _placed(draft, scaled, prior, settings, columns, present)

    if state.watch is not None:
        watch, event = watched(state, X, settings, present)
        draft, info = replace(draft, watch=watch), replace(info, drift=event)
    part = part.placed(rows, U, present=present)
    n_before, n_rows = state.statistics.n_rows, part.n_rows
    draft = replace(
        draft,
        statistics=known.sharing(part),
        window=state.window.append(X, U.dense(), present),
        B_sq_norms=off_chunk + scales.sq_norms(part.B),
        reservoir=draft.reservoir.update(X, U, n_before, part.decayed_n_rows, draft.rng, present),
        reclustered_at=state.reclustered_at if n_before else n_rows,
    )
    if n_before and recluster_due(state, n_rows) and len(draft.reservoir.live):
        whole = draft.statistics.copy()
        whole.put(columns, part)
        draft = recluster(replace(draft, statistics=whole), asked, on_the_way=True)
        return Update(draft, replace(info, reclustered=True))
    if known is not state.statistics:
        # What has faded, or could not be written, is in arrays of its own already.
        known.put(columns, part)
        return Update(draft, info)
    return Update(draft, info, Patch(known, columns, before, part))


def _first_number(state: State, X: Sequence[Block], settings: Settings, present: Presence) -> int:
    """Return how many clusters the first rows tell of."""
    rows = Scales.of(state.statistics.counted(X, present), settings).rows(X)
    own = [on_own_columns(X_v)[1] for X_v in rows]
    return cluster_curve(own, state.rng, settings, on_the_way=True, present=present).best


def _off_chunk_sq_norms(
    state: State, before: Statistics, rho: float, settings: Settings
) -> NDArray[np.float64]:
    """Return Σ_j B_jk² over the features of each view that a chunk does not have, faded.

    Parameters
    ----------
    state : State
        Before the chunk, not faded.
    before : Statistics
        The same on the features that it has, faded.
    rho : float
        What the chunk leaves of all before it.
    settings : Settings
    """
    # Scaled columns fade by half as much.
    faded = state.B_sq_norms * rho ** (1 if settings.scale_columns else 2)
    return np.maximum(faded - B_sq_norms(before, settings), 0)


def _prior(
    part: Statistics, scales: Scales, off_chunk: NDArray[np.float64], present: Presence
) -> PriorStatistics:
    """Return what rows before have left, as if those that lack views had what their cluster has.

    Parameters
    ----------
    part : Statistics
        On the features of a chunk.
    scales : Scales
    off_chunk : array of shape (n_views, K)
        Σ_j B_jk² over the features that the chunk does not have.
    present : array of shape (m, n_views), or None
        Which rows of the chunk have which views.
    """
    B = completed(scales.features(part.B), part)
    if (factors := part.completion()) is not None:
        off_chunk = off_chunk * np.square(factors)
    by_view = None
    if present is not None:
        by_view = off_chunk * np.square(scales.views)[:, np.newaxis]
    return PriorStatistics(part.masses, B, scales.weighed(off_chunk), by_view)


def _solved(
    draft: State,
    X: Sequence[Block],
    prior: PriorStatistics,
    settings: Settings,
    present: Presence,
) -> tuple[Indicator, ChunkInfo]:
    """Cluster the rows of the first chunk."""
    little = settings.sample_size > 0
    directions = fresh_start(X, draft.rng, settings, little, present)
    # The reservoir is soon clustered anew: no graph, and little effort.
    soon_anew = X[0].shape[0] < settings.sample_size
    graph = no_graph if soon_anew or present is not None else graph_term(X, settings)
    max_iter = min(settings.max_iter, ITERATIONS) if soon_anew else settings.max_iter
    beta = settings.sparsity
    found = solve(X, directions, prior, graph, beta=beta, max_iter=max_iter, present=present)
    A = prior.A + found.U.masses
    sq_norms = prior.V_sq_norms(found.V, A)
    unit = unit_directions(found.V, sq_norms)
    P = Reach.of(unit, present).fit(project(X, unit))
    sparsity = sum(b * l21(V_v) for b, V_v in zip(beta, found.V, strict=True))
    terms = _terms(X, P, found.fit, sq_norms, A, sparsity)
    return found.U, replace(terms, graph=found.graph, n_iter=found.n_iter)


def _placed(
    draft: State,
    X: Sequence[Block],
    prior: PriorStatistics,
    settings: Settings,
    columns: Sequence[Columns],
    present: Presence,
) -> tuple[Indicator, ChunkInfo]:
    """Place every row by its fit to the clusters so far and by its neighbours."""
    directions = Directions.of(prior, settings.sparsity)
    reach = Reach.of(directions.V, present, directions.by_view)
    P = reach.fit(directions.project(X))
    labels = best_cluster(P).labels
    apart = 0.0
    if settings.graph == "neighbors" and any(settings.graph_weight) and len(draft.reservoir):
        votes = _votes(draft, X, labels, settings, columns, present)
        labels = assign(P, votes)
        rows = np.arange(len(labels))
        apart = sum(float(np.sum(vote.sum(axis=1) - vote[rows, labels])) for vote in votes)
    fit = in_clusters(P, labels)
    terms = _terms(X, P, fit, directions.V_sq_norms, prior.A, directions.sparsity)
    energy = float(fit.masses.sum()) / max(1, len(labels))
    return reach.in_units(fit), replace(terms, graph=apart * energy)


def _votes(
    draft: State,
    X: Sequence[Block],
    labels: IntArray,
    settings: Settings,
    columns: Sequence[Columns],
    present: Presence,
) -> list[Array]:
    """Return what neighbours among some rows of the reservoir say, view by view.

    A view has the more of a say the more its neighbours agree with the fit.
    """
    electorate = anchors(draft.reservoir, Scales.of(draft.statistics, settings), settings)
    shares = electorate.shares(X, columns)
    say = agreement_of_views(shares, labels, present)
    return weighed(shares, settings.graph_weight, say)


def anchors(reservoir: Reservoir, scales: Scales, settings: Settings) -> Electorate:
    """Return some rows of a reservoir, evenly spaced, whom new rows ask.

    Parameters
    ----------
    reservoir : Reservoir
        With rows that are not forgotten.
    scales : Scales
        Of its columns.
    settings : Settings
    """
    live = reservoir.live
    spaced = np.linspace(0, len(live) - 1, min(_ANCHORS, len(live))).astype(np.intp)
    held = reservoir.take(live[spaced])
    U = Indicator(held.counted.labels, held.shares, settings.K)
    return Electorate(scales.rows(held.blocks), U, settings.n_neighbors, held.present)


def _terms(
    X: Sequence[Block],
    P: Array,
    U: Indicator,
    V_sq_norms: Array,
    A: Array,
    sparsity: float,
) -> ChunkInfo:
    """Return the terms of the objective over a chunk, with U as a slice of U over all rows."""
    n = len(U.labels)
    u = U.weights / np.sqrt(np.where(A > 0, A, 1))[U.labels]
    along = np.sqrt(V_sq_norms)[U.labels]
    fit = sum(squared_norm(X_v) for X_v in X)
    fit += float(np.sum(u * along * (u * along - 2 * P[np.arange(n), U.labels])))
    unit = U.unit().masses
    return ChunkInfo(
        n_rows=n,
        reconstruction=max(0.0, fit),
        graph=0.0,
        sparsity=sparsity,
        orthogonality_error=float(np.linalg.norm(unit[unit > 0] - 1)),
        n_iter=1,
    )


# Features of a view that are told of, and by what factor they must have changed.
_TOLD, _CHANGED = 5, 2.0


def watched(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    present: Presence = None,
) -> tuple[Watch, DriftEvent | None]:
    """Return the watch after a chunk, and the change that shows in it.

    Parameters
    ----------
    state : State
        Before the chunk, with a watch.
    X : sequence of array or CSR matrix of shape (m, D_v)
        The chunk.
    settings : Settings
    present : array of shape (m, n_views), optional
        Which rows have which views; by default all.
    """
    watch, n_before = state.watch, state.statistics.n_rows
    assert watch is not None
    if watch.yardstick is None:
        if n_before < max(1, watch.until):
            return watch, None
        watch = watch.by(_yardstick(state, settings, afresh=watch.since > 0))
    assert watch.yardstick is not None
    labels, explained = measure(watch.yardstick, X, present)
    watch, change, n = watch.take(labels, explained, present)
    if change is None:
        return watch, None
    row = n_before + n
    event = _event(state, watch, change, [X_v[:n] for X_v in X], take(present, slice(n)), settings)
    # Rows from where it began on are what the next ones are compared with.
    return watch.begun_anew(row, event.since + settings.recent_rows), event


def measure(
    yardstick: Yardstick, X: Sequence[Block], present: Presence = None
) -> tuple[IntArray, NDArray[np.float64]]:
    """Return the cluster of every row by a yardstick, and what share of the row it explains.

    Rows without anything that points along a cluster are in none: its number is that of clusters.

    Parameters
    ----------
    yardstick : Yardstick
    X : sequence of array or CSR matrix of shape (n, D_v)
        Rows as they came, not scaled.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all.

    Examples
    --------
    >>> V = np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8]])
    >>> yardstick = Yardstick((V,), np.ones((1, 2)), (np.ones(1),))
    >>> measure(yardstick, [np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])])
    (array([0, 1, 2]), array([1.  , 0.36, 0.  ]))
    """
    if yardstick.raised is not None:
        lowered = raise_rows(X, [-r for r in yardstick.raised], present)
        pairs = zip(lowered, yardstick.raised, strict=True)
        X = [np.maximum(X_v, 0) if r.any() else X_v for X_v, r in pairs]
    P = Reach.of(yardstick.V, present, yardstick.V_sq_norms).fit(project(X, yardstick.V))
    # By columns: NumPy is slow to find the largest of short rows.
    labels = np.ascontiguousarray(P.T).argmax(axis=0)
    weights = P[np.arange(len(P)), labels].astype(np.float64)
    energy = np.zeros(len(P))
    for X_v, factor in zip(X, yardstick.factors, strict=True):
        if len(factor) == 1:
            energy += factor * squared_row_norms(X_v)
        else:
            energy += squared_entries(X_v) @ factor
    some = (energy > 0) & (weights > 0)
    explained = np.divide(np.square(weights), energy, out=np.zeros(len(P)), where=some)
    return np.where(some, labels, P.shape[1]), np.minimum(explained, 1)


def _yardstick(state: State, settings: Settings, afresh: bool) -> Yardstick:
    """Return the clusters of the model, or of the recent rows alone, to measure rows by."""
    scales = Scales.of(state.statistics, settings)
    if afresh:
        n = min(settings.recent_rows, state.window.n_rows)
        rows, has = scales.rows(state.window.last(n)), state.window.last_present(n)
        directions = _directions_of(rows, has, state.rng, settings)[0]
    else:
        directions = unit_directions(completed_matrices(state, settings))
    V, factors = [], []
    for v, (V_v, f) in enumerate(zip(directions, scales.views, strict=True)):
        s = np.full(1, f) if scales.columns is None else f * scales.columns[v].astype(np.float64)
        # As the rows come, whatever they are multiplied by.
        V.append((V_v * s[:, np.newaxis]).astype(V_v.dtype, copy=False))
        factors.append(np.square(s))
    sq_norms = np.stack([column_sq_norms([V_v]) for V_v in directions])
    return Yardstick(tuple(V), sq_norms, tuple(factors))


def _directions_of(
    rows: Sequence[Block], present: Presence, rng: np.random.Generator, settings: Settings
) -> tuple[list[Array], NDArray[np.float64]]:
    """Return where clusters of some rows point, found by these alone, and how many rows each has.

    Parameters
    ----------
    rows : sequence of array or CSR matrix of shape (n, D_v)
        Scaled.
    present : array of shape (n, n_views), or None
    rng : Generator
        Not drawn from.
    settings : Settings
    """
    columns, own = zip(*map(on_own_columns, rows), strict=True)
    U = clustered(own, [], copy.deepcopy(rng), settings.unscaled, True, present)
    found = mean_directions(own, U.labels, settings.K, present)
    directions = [np.zeros((X_v.shape[1], settings.K), X_v.dtype) for X_v in rows]
    for V_v, c, part in zip(directions, columns, found, strict=True):
        put_rows(V_v, c, part)
    return directions, np.bincount(U.labels, minlength=settings.K).astype(np.float64)


def _event(
    state: State,
    watch: Watch,
    change: Change,
    X: Sequence[Block],
    present: Presence,
    settings: Settings,
) -> DriftEvent:
    """Return what is to be told of a change.

    Parameters
    ----------
    state : State
        Before the chunk.
    watch : Watch
        After the rows up to the change.
    change : Change
    X : sequence of array or CSR matrix
        Rows of the chunk up to the change.
    present : array, or None
    settings : Settings
    """
    assert watch.yardstick is not None
    kind, row = watch.kind(change.variable), state.statistics.n_rows + X[0].shape[0]
    now = then = [np.zeros(V_v.shape[0]) for V_v in watch.yardstick.V]
    if kind != "views":
        counts = [each[: watch.n_clusters].astype(np.float64) for each in watch.last(change.n_rows)]
        still = watch.yardstick
        V = [_unscaled(*each) for each in zip(still.V, still.factors, strict=True)]
        then = _worth(V, counts[1])
        if kind == "shares":
            now = _worth(V, counts[0])
        else:
            now = _worth_alone(state, change.n_rows, X, present, settings)
    numbers = list(map(str, range(len(X))))
    pairs = list(zip(now, then, strict=True))
    return DriftEvent(
        row=row,
        chunk=state.n_chunks,
        kind=kind,
        since=max(watch.since, row - change.n_rows),
        statistic=change.statistic,
        threshold=change.threshold,
        distance=change.distance,
        came=dict(zip(numbers, (_most_changed(a, b) for a, b in pairs), strict=True)),
        went=dict(zip(numbers, (_most_changed(b, a) for a, b in pairs), strict=True)),
    )


def _unscaled(V: Array, factor: NDArray[np.float64]) -> Array:
    """Return directions as they are for scaled columns."""
    s = np.sqrt(factor)[:, np.newaxis]
    return np.divide(V, s, out=np.zeros(V.shape), where=s > 0)


def _worth(V: Sequence[Array], counts: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return what features tell of clusters of so many rows, as shares of all in their view."""
    found = [information(V_v.astype(np.float64), np.square(counts), counts) for V_v in V]
    return [worth / max(worth.sum(), np.finfo(float).tiny) for worth in found]


def _worth_alone(
    state: State, n: int, X: Sequence[Block], present: Presence, settings: Settings
) -> list[NDArray[np.float64]]:
    """Return what features tell of clusters of the last rows, as two halves of these agree."""
    window, m = state.window, X[0].shape[0]
    n = min(max(n, BUCKET), max(m, settings.recent_rows), window.n_rows + m)
    rows, has = [X_v[max(0, m - n) :] for X_v in X], take(present, slice(max(0, m - n), None))
    if (more := n - m) > 0:
        rows = [stack(parts) for parts in zip(window.last(more), rows, strict=True)]
        has = below([(window.last_present(more), more), (has, m)], len(rows))
    scaled = Scales.of(state.statistics, settings).rows(rows)
    halves = [
        _worth(
            *_directions_of(
                [X_v[i::2] for X_v in scaled], take(has, slice(i, None, 2)), state.rng, settings
            )
        )
        for i in (0, 1)
    ]
    return [np.minimum(a, b) for a, b in zip(*halves, strict=True)]


def _most_changed(now: NDArray[np.float64], then: NDArray[np.float64]) -> tuple[Feature, ...]:
    """Return the features that are worth most more now, if that is much more.

    Examples
    --------
    >>> _most_changed(np.array([0.5, 0.0, 0.3, 0.2]), np.array([0.0, 0.6, 0.2, 0.0]))
    (0, 3)
    """
    gain = np.where(now >= _CHANGED * then, now - then, 0)
    best = np.argsort(-gain, kind="stable")[:_TOLD]
    return tuple(int(j) for j in best if gain[j] > 0)
