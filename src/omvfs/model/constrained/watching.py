"""Watch the stream for changes: measure every chunk by clusters that stay as they are."""

import copy
import math
from collections.abc import Callable, Sequence

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
from omvfs.model.columns import on_own_columns, put_rows
from omvfs.model.constrained.alternate import unit_directions
from omvfs.model.constrained.directions import completed_matrices
from omvfs.model.constrained.init import mean_directions
from omvfs.model.constrained.reach import Reach
from omvfs.model.constrained.recluster import clustered
from omvfs.model.presence import Presence, below, take
from omvfs.model.ranking.criteria import information
from omvfs.model.settings import Settings
from omvfs.model.state import Scales, State
from omvfs.model.stream.change import BUCKET, Change
from omvfs.model.stream.event import DriftEvent, Feature
from omvfs.model.stream.offset import raise_rows
from omvfs.model.stream.watch import Watch, Yardstick

# Features of a view that are told of, and by what factor they must have changed.
_TOLD, _CHANGED = 5, 2.0

# Told a number for every chunk, tells whether the stream has changed.
Judge = Callable[[float], bool]


def watched(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    present: Presence = None,
    judge: Judge | None = None,
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
    judge : callable, optional
        Who decides by the distance of the chunk from all before it, instead of the test.
    """
    watch, n_before = state.watch, state.statistics.n_rows
    assert watch is not None
    if watch.yardstick is None:
        if n_before < max(1, watch.until):
            return watch, None
        watch = watch.by(_yardstick(state, settings, afresh=watch.since > 0))
    assert watch.yardstick is not None
    labels, explained = measure(watch.yardstick, X, present)
    if judge is not None:
        change = _judged(watch, labels, explained, present, judge)
        n = len(labels)
        watch, _, _ = watch.take(labels, explained, present, test=False)
    else:
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


def _judged(
    watch: Watch,
    labels: IntArray,
    explained: NDArray[np.float64],
    present: Presence,
    judge: Judge,
) -> Change | None:
    """Return the change that somebody else sees in a chunk."""
    found = watch.distance(labels, explained, present)
    if found is None or not judge(found[0]):
        return None
    distance, variable = found
    return Change(variable, len(labels), distance, math.nan, distance)


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
