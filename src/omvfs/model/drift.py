"""Whether a stream has changed: rows counted in cells, the last of them compared with all before.

The clusters of a model follow the stream, so a copy of them is held still, the reference. Every row
that comes after it is put into a cell: its cluster, and how well it fits there. As long as nothing
changes these rows are drawn alike whatever the reference is, so that their counts differ by chance
alone. The G test says how likely that is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2

from omvfs.model.arrays import Block
from omvfs.model.learning import State
from omvfs.model.sums import ViewSums, fit_to_clusters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# The chance that a stream that never changes is ever said to have changed, at most.
ALPHA = 0.01
# Rows of a cluster are told apart by how well they fit: so many quantiles.
LEVELS = 4
# Rows that are counted together, and how many such buckets are the last rows, by turns.
BUCKET, SPANS = 200, (1, 2, 4, 8, 16)
# Rows that are learned from before a reference is made of the clusters.
FIRST = 1000
# The distribution of G is known if cells expect so many rows; smaller ones are joined.
EXPECTED = 5


@dataclass(frozen=True)
class Change:
    """A change of the stream.

    Attributes
    ----------
    row : int
        Rows seen when it showed.
    since : int
        Rows seen when it began, as far as buckets of rows tell.
    statistic, threshold : float
        G of the rows since then against those before, and what it had to exceed.
    shares : float
        Part of G that is owed to the shares of the clusters, from 0 to 1; the rest is owed to how
        well rows fit the clusters.
    distance : float
        Share of the rows since then that would have to be in other cells, from 0 to 1.
    """

    row: int
    since: int
    statistic: float
    threshold: float
    shares: float
    distance: float


@dataclass(frozen=True)
class Watch:
    """What rows since the reference have left, in cells.

    Attributes
    ----------
    begin_at : int
        At which number of rows a reference is made.
    views : tuple of ViewSums
        The reference: a copy of the sums by cluster; empty if there is none.
    weights : array of shape (n_views,)
        How much every view weighed.
    edges : array of shape (K, LEVELS − 1)
        Quantiles of how well sampled rows of every cluster fit it.
    before : int array of shape (K · LEVELS,)
        Rows of the reference's time by cell, as far as they are in no bucket.
    buckets : int array of shape (n_buckets, K · LEVELS)
        The last rows by bucket and cell; the newest is last, and may not be full.
    n_tests : int
        Tests of this stream so far.
    """

    begin_at: int = FIRST
    views: tuple[ViewSums, ...] = ()
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    edges: FloatArray = field(default_factory=lambda: np.zeros((0, LEVELS - 1)))
    before: IntArray = field(default_factory=lambda: np.zeros(0, np.intp))
    buckets: IntArray = field(default_factory=lambda: np.zeros((1, 0), np.intp))
    n_tests: int = 0


def watched(watch: Watch, state: State, X: Sequence[Block]) -> tuple[Watch, Change | None]:
    """Count the rows of a chunk, and tell whether the stream has changed.

    Parameters
    ----------
    watch : Watch
    state : State
        What is known before the chunk. It becomes the reference where there is none yet.
    X : sequence of array or CSR matrix of shape (m, D_v)
        Rows by view, zero where they lack it. Columns may have come since the reference.

    Returns
    -------
    watch : Watch
        After a change it waits for `FIRST` rows, and makes a reference anew.
    change : Change or None
    """
    if not watch.views:
        if state.n_rows < watch.begin_at:
            return watch, None
        watch = _begun(watch, state)
    wide = tuple(
        view.grow(X_v.shape[1]) if X_v.shape[1] > len(view.Q) else view
        for view, X_v in zip(watch.views, X, strict=True)
    )
    watch = replace(watch, views=wide)
    cells, done = _cells(watch, X), 0
    while done < len(cells):
        room = BUCKET - int(watch.buckets[-1].sum())
        some = cells[done : done + room]
        done += len(some)
        buckets = watch.buckets.copy()
        buckets[-1] += np.bincount(some, minlength=buckets.shape[1])
        watch = replace(watch, buckets=buckets)
        if len(some) == room:
            watch, change = _tested(watch, state.n_rows + done)
            if change is not None:
                return Watch(change.row + FIRST, n_tests=watch.n_tests), change
    return watch, None


def _begun(watch: Watch, state: State) -> Watch:
    """Return the watch with a copy of the clusters for its reference, and no rows counted."""
    views = tuple(view.on(slice(None)) for view in state.views)
    rows = state.sample.compact().pieces[0]
    # Columns that came after the sampled rows are zero in these.
    known = [view.on(slice(X_v.shape[1])) for view, X_v in zip(views, rows, strict=True)]
    labels, fit = _placed(rows, known, state.weights)
    K = views[0].n_clusters
    inner = np.arange(1, LEVELS) / LEVELS
    edges = np.tile(np.quantile(fit, inner), (K, 1))
    for k in np.unique(labels):
        edges[k] = np.quantile(fit[labels == k], inner)
    none = np.zeros((1, K * LEVELS), np.intp)
    return Watch(watch.begin_at, views, state.weights.copy(), edges, none[0], none, watch.n_tests)


def _placed(
    X: Sequence[Block], views: Sequence[ViewSums], weights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the cluster of every row, and how well it fits there."""
    fit = fit_to_clusters(X, views, weights)
    # Rounding must not decide.
    return fit.argmax(axis=1), fit.max(axis=1).round(6)


def _cells(watch: Watch, X: Sequence[Block]) -> IntArray:
    """Return the cell of every row: LEVELS · cluster + quantile of fit."""
    labels, fit = _placed(X, watch.views, watch.weights)
    cells: IntArray = LEVELS * labels + (fit[:, np.newaxis] > watch.edges[labels]).sum(axis=1)
    return cells


def _tested(watch: Watch, row: int) -> tuple[Watch, Change | None]:
    """Compare the last rows with all before, and open another bucket."""
    n_tests, total = watch.n_tests + 1, watch.before + watch.buckets.sum(axis=0)
    last = watch.buckets[::-1].cumsum(axis=0)
    level = ALPHA / (n_tests * (n_tests + 1)) / len(SPANS)
    found = []
    for span in SPANS:
        if span <= len(last):
            G, degrees = g_test(last[span - 1], total - last[span - 1])
            threshold = float(chi2.isf(level, degrees)) if degrees else np.inf
            found.append((G / threshold, G, threshold, span))
    strength, G, threshold, span = max(found)
    change = None
    if strength > 1:
        recent, before = last[span - 1], total - last[span - 1]
        by_cluster = [each.reshape(-1, LEVELS).sum(axis=1) for each in (recent, before)]
        apart = np.abs(recent / recent.sum() - before / before.sum()).sum() / 2
        part = g_test(*by_cluster)[0] / G
        change = Change(row, row - span * BUCKET, G, threshold, min(part, 1.0), float(apart))
    gone = max(len(last) + 1 - SPANS[-1], 0)
    none = np.zeros((1, len(total)), np.intp)
    after = replace(
        watch,
        before=watch.before + watch.buckets[:gone].sum(axis=0),
        buckets=np.vstack([watch.buckets[gone:], none]),
        n_tests=n_tests,
    )
    return after, change


def g_test(recent: IntArray, before: IntArray) -> tuple[float, int]:
    """Return G of two sets of rows by cell, with Williams' correction, and its degrees of freedom.

    G = 2 Σ observed · log(observed / expected), which is distributed as chi-squared where both are
    drawn alike. Neighbouring cells are counted as one until they expect `EXPECTED` rows of the
    smaller set.

    Examples
    --------
    >>> G, degrees = g_test(np.array([40, 10, 1, 0]), np.array([200, 200, 2, 3]))
    >>> round(G, 2), degrees
    (16.16, 1)
    """
    n, N = np.array([recent.sum(), before.sum()], float)
    if not n or not N:
        return 0.0, 0
    expected = (recent + before) * min(n, N) / (n + N)
    tables = np.add.reduceat(np.stack([recent, before]).astype(float), _starts(expected), axis=1)
    cells = tables.sum(axis=0)
    degrees = len(cells) - 1
    if degrees < 1:
        return 0.0, 0
    terms = xlogy(tables, tables).sum() - xlogy(cells, cells).sum()
    G = 2 * float(terms - xlogy(n, n) - xlogy(N, N) + xlogy(n + N, n + N))
    both = n + N
    williams = 1 + (both / n + both / N - 1) * (both * (1 / cells).sum() - 1) / (6 * both * degrees)
    return max(G, 0.0) / float(williams), degrees


def _starts(expected: FloatArray) -> list[int]:
    """Return where runs of cells begin that expect `EXPECTED` rows each, the last one too."""
    starts, held = [0], 0.0
    for j, own in enumerate(expected):
        if held >= EXPECTED:
            starts.append(j)
            held = 0.0
        held += own
    return starts if held >= EXPECTED or len(starts) == 1 else starts[:-1]
