"""Whether a stream has changed: rows counted in cells, the last of them compared with all before.

The clusters of a model follow the stream, so the watch has clusters of its own that are held still,
the reference: those of the first rows, or of the first since the last change. Every row that comes
after them is put into a cell: its cluster, and how well it fits there. As long as nothing changes,
these rows are drawn alike whatever the reference is, so that their counts differ by chance alone.
The G test says how likely that is, of the counts by cluster and of those by fit.

Nothing depends on how the stream is cut into chunks, nor on what the model does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2

from omvfs.model.arrays import Block
from omvfs.model.clustering import cluster, embedded
from omvfs.model.sample import Sample
from omvfs.model.sums import ViewSums, fit_to_clusters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Presence = NDArray[np.bool_] | None

Kind = Literal["shares", "fit"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# The chance that a stream that never changes is ever said to have changed, at most.
ALPHA = 0.01
# Rows of which the reference is made, and its clusters.
FIRST, CLUSTERS = 1000, 8
# Rows of a cluster are told apart by how well they fit: so many quantiles.
LEVELS = 4
# Rows that are counted together, and how many such buckets are the last rows, by turns.
BUCKET, SPANS = 200, (1, 2, 4, 8, 16)
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
    kind : {"shares", "fit"}
        What changed: how many rows are in which clusters; or how well they fit them, as when words
        change their meaning, new ones come, or rows begin to lack a view.
    statistic, threshold : float
        G of the rows since then against those before, and what it had to exceed.
    distance : float
        Share of the rows since then that would have to be elsewhere, from 0 to 1.
    """

    row: int
    since: int
    kind: Kind
    statistic: float
    threshold: float
    distance: float

    def later(self, n_rows: int) -> "Change":
        """Return the change as it is in a stream that has so many rows before."""
        return replace(self, row=self.row + n_rows, since=self.since + n_rows)


@dataclass(frozen=True)
class Watch:
    """What rows have left: the reference, and how many rows since then are in which cells.

    Attributes
    ----------
    first : Sample
        Rows of which the reference will be made; of no rows once it is.
    views : tuple of ViewSums
        The reference: sums by cluster; empty until it is made.
    weights : array of shape (n_views,)
        How much every view weighs.
    edges : array of shape (CLUSTERS, LEVELS − 1)
        Quantiles of how well the rows of every cluster fit it.
    before : int array of shape (CLUSTERS · LEVELS,)
        Rows since the reference by cell, as far as they are in no bucket.
    buckets : int array of shape (n_buckets, CLUSTERS · LEVELS)
        The last rows by bucket and cell; the newest is last, and not full.
    n_rows, n_tests : int
        Rows and tests of this stream so far.
    """

    first: Sample
    views: tuple[ViewSums, ...] = ()
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    edges: FloatArray = field(default_factory=lambda: np.zeros((CLUSTERS, LEVELS - 1)))
    before: IntArray = field(default_factory=lambda: np.zeros(CLUSTERS * LEVELS, np.intp))
    buckets: IntArray = field(default_factory=lambda: np.zeros((1, CLUSTERS * LEVELS), np.intp))
    n_rows: int = 0
    n_tests: int = 0

    @classmethod
    def empty(cls, n_views: int, n_rows: int = 0) -> "Watch":
        """Return the watch of a stream of which so many rows were not watched."""
        return cls(Sample.empty(FIRST, n_views), n_rows=n_rows)

    def with_views(self, order: Sequence[int | None]) -> "Watch":
        """Return the watch with its views in an order; None is for one that rows lack."""
        watch = replace(self, first=self.first.with_views(order))
        if not self.views:
            return watch
        # The reference does not know those that come later.
        none = ViewSums.zeros(0, CLUSTERS)
        views = tuple(none if v is None else self.views[v] for v in order)
        weights = np.array([0.0 if v is None else self.weights[v] for v in order])
        return replace(watch, views=views, weights=weights)

    def fits(self, widths: Sequence[int]) -> bool:
        """Tell whether it can be of a stream whose views have so many columns."""
        first, cells = self.first, CLUSTERS * LEVELS
        n = sum(piece[0].shape[0] for piece in first.pieces if piece)
        rows = first.size == FIRST and len(first.keys) == n < FIRST
        rows = rows and all(
            len(piece) == len(widths)
            and all(X.shape[1] <= D for X, D in zip(piece, widths, strict=True))
            for piece in first.pieces
        )
        counted = self.before.shape == (cells,) and self.buckets.shape[1:] == (cells,)
        counted = counted and 1 <= len(self.buckets) <= SPANS[-1]
        counted = counted and 0 <= self.buckets[-1].sum() < BUCKET
        made = not self.views or len(self.views) == len(self.weights) == len(widths)
        pairs = zip(self.views, widths, strict=False)
        made = made and all(v.S.shape == (len(v.Q), CLUSTERS) and len(v.Q) <= D for v, D in pairs)
        return rows and counted and made and self.edges.shape == (CLUSTERS, LEVELS - 1)


def watched(
    watch: Watch, X: Sequence[Block], present: Presence = None, seed: int = 0
) -> tuple[Watch, list[Change]]:
    """Count the rows of a chunk, and tell where the stream has changed.

    Rows of X are zero in views they lack. Columns may have come since the last chunk. After each
    change a reference is made anew of the next rows.
    """
    changes, done, m = [], 0, X[0].shape[0]
    while done < m:
        rows = slice(done, done + _room(watch))
        chunk = [X_v[rows] for X_v in X]
        done += chunk[0].shape[0]
        watch = replace(watch, n_rows=watch.n_rows + chunk[0].shape[0])
        if watch.views:
            watch, change = _counted(watch, chunk)
            if change is not None:
                changes.append(change)
                anew = Watch.empty(len(X))
                watch = replace(anew, n_rows=watch.n_rows, n_tests=watch.n_tests)
        else:
            keys, labels = np.zeros((2, chunk[0].shape[0]))
            has = None if present is None else present[rows]
            watch = replace(watch, first=watch.first.offered(chunk, keys, labels.astype(int), has))
            if not _room(watch):
                watch = _begun(watch, seed)
    return watch, changes


def _room(watch: Watch) -> int:
    """Return how many rows there are to the next test, or to the reference."""
    return BUCKET - int(watch.buckets[-1].sum()) if watch.views else FIRST - len(watch.first)


def _begun(watch: Watch, seed: int) -> Watch:
    """Return the watch with the clusters of the first rows for its reference."""
    first = watch.first.compact()
    rows, has = first.pieces[0], first.present
    found = cluster([embedded(X, has[:, v]) for v, X in enumerate(rows)], CLUSTERS, seed)
    views = tuple(
        ViewSums.from_rows(X[has[:, v]], found.labels[has[:, v]], CLUSTERS)
        for v, X in enumerate(rows)
    )
    labels, fit = _placed(rows, views, found.view_weights)
    inner = np.arange(1, LEVELS) / LEVELS
    edges = np.tile(np.quantile(fit, inner), (CLUSTERS, 1))
    for k in np.unique(labels):
        edges[k] = np.quantile(fit[labels == k], inner)
    none = Sample.empty(FIRST, len(rows))
    return replace(watch, first=none, views=views, weights=found.view_weights, edges=edges)


def _counted(watch: Watch, X: Sequence[Block]) -> tuple[Watch, Change | None]:
    """Count rows of one bucket, and test if it is full."""
    views = tuple(
        view.grow(X_v.shape[1]) if X_v.shape[1] > len(view.Q) else view
        for view, X_v in zip(watch.views, X, strict=True)
    )
    labels, fit = _placed(X, views, watch.weights)
    # A fit that equals edges lies amid them: of rows that all fit alike, more and less show.
    over = np.sign(fit[:, np.newaxis] - watch.edges[labels]).sum(axis=1).astype(np.intp)
    cells = LEVELS * labels + (over + LEVELS - 1) // 2
    buckets = watch.buckets.copy()
    buckets[-1] += np.bincount(cells, minlength=buckets.shape[1])
    counted = replace(watch, views=views, buckets=buckets)
    return (counted, None) if _room(counted) else _tested(counted)


def _placed(
    X: Sequence[Block], views: Sequence[ViewSums], weights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the cluster of every row, and how well it fits there."""
    fit = fit_to_clusters(X, views, weights)
    # Rounding must not decide.
    return fit.argmax(axis=1), fit.max(axis=1).round(6)


def _tested(watch: Watch) -> tuple[Watch, Change | None]:
    """Compare the last rows with all before, and open another bucket."""
    n_tests, total = watch.n_tests + 1, watch.before + watch.buckets.sum(axis=0)
    last = watch.buckets[::-1].cumsum(axis=0)
    level = ALPHA / (n_tests * (n_tests + 1)) / (len(SPANS) * len(KINDS))
    change, clearest = None, 1.0
    for span in (span for span in SPANS if span <= len(last)):
        both = np.stack([last[span - 1], total - last[span - 1]]).reshape(2, CLUSTERS, LEVELS)
        for kind, (recent, before) in zip(KINDS, (both.sum(axis=2), both.sum(axis=1)), strict=True):
            G, degrees = g_test(recent, before)
            threshold = float(chi2.isf(level, degrees)) if degrees else np.inf
            if clearest * threshold < G:
                clearest, since = G / threshold, watch.n_rows - span * BUCKET
                apart = np.abs(recent / recent.sum() - before / before.sum()).sum() / 2
                change = Change(watch.n_rows, since, kind, G, threshold, float(apart))
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
