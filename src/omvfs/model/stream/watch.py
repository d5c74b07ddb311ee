"""Rows counted by clusters that stay as they are, so that a change of the stream shows.

The clusters of the model follow the stream: what it does with rows changes though the rows do not.
So a copy of them, the yardstick, is held still, and rows that come after it are measured by it. As
long as nothing changes these are drawn alike, in cells that were laid out before they came.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, IntArray
from omvfs.model.presence import Presence, take
from omvfs.model.stream.change import BUCKET, SPANS, Change, Counts, latest_change

Kind = Literal["shares", "meaning", "views"]

# Rows are told apart by how well they are explained, among those of their cluster: so many ways.
LEVELS = 5
# Rows by which the levels are laid out: so many a cluster, and at least so many.
_ROWS_PER_CLUSTER, _FEWEST = 20, 200
# A cluster of fewer rows than this has the levels of all.
_OWN_LEVELS = 2 * LEVELS
# What is explained is told apart up to this many digits: rounding must not decide.
_DIGITS = 6


@dataclass(frozen=True)
class Yardstick:
    """Clusters by which rows are measured.

    Attributes
    ----------
    V : tuple of array of shape (D_v, K)
        Their unit directions, times what columns and views are multiplied by.
    V_sq_norms : array of shape (n_views, K)
        Squared norms of the unit directions in each view.
    factors : tuple of array of shape (1,) or (D_v,)
        What the squares of columns are multiplied by.
    raised : tuple of array of shape (D_v,), or None
        By how much columns were raised since; None if none were.
    """

    V: tuple[Array, ...]
    V_sq_norms: NDArray[np.float64]
    factors: tuple[NDArray[np.float64], ...]
    raised: tuple[NDArray[np.float64], ...] | None = None

    def shift(self, delta: Sequence[NDArray[np.float64]]) -> "Yardstick":
        """Return the yardstick for rows whose columns are raised by as much more."""
        before = self.raised or tuple(np.zeros(len(V_v)) for V_v in self.V)
        return replace(self, raised=tuple(r + d for r, d in zip(before, delta, strict=True)))


@dataclass(frozen=True)
class Watch:
    """What rows since the yardstick have left, in cells.

    Attributes
    ----------
    n_clusters, n_views : int
    since : int
        Rows seen at the last event, or 0.
    until : int
        Rows to have seen before the next yardstick is made.
    yardstick : Yardstick or None
    measured : array of shape (n, 2)
        Clusters of the first rows and how well they are explained, until the levels are laid out.
    levels : array of shape (K + 1, LEVELS − 1), or None
        By cluster, and for rows of none, what is explained from one level to the next.
    open : int array of shape (n_cells,)
        The bucket that is not full, by cell.
    recent : int array of shape (n_buckets, n_cells)
        The last full ones, the newest last.
    before : int array of shape (n_cells,)
        All full ones before these.
    n_tests : int
        Tests of the stream so far.
    """

    n_clusters: int
    n_views: int
    since: int = 0
    until: int = 0
    yardstick: Yardstick | None = None
    measured: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    levels: NDArray[np.float64] | None = None
    open: Counts = field(default_factory=lambda: np.zeros(0, np.int64))
    recent: Counts = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    before: Counts = field(default_factory=lambda: np.zeros(0, np.int64))
    n_tests: int = 0

    @property
    def widths(self) -> tuple[int, ...]:
        """Cells of clusters, and of none; of how well they explain; and of having a view or not."""
        return self.n_clusters + 1, LEVELS, *(2,) * self.n_views

    @staticmethod
    def kind(variable: int) -> Kind:
        """Return what a change of a variable is a change of."""
        kinds: tuple[Kind, ...] = get_args(Kind)
        return kinds[min(variable, 2)]

    def by(self, yardstick: Yardstick) -> "Watch":
        """Return the watch that begins with a yardstick."""
        n = sum(self.widths)
        none = np.zeros(n, np.int64)
        return replace(
            self,
            yardstick=yardstick,
            measured=np.zeros((0, 2)),
            levels=None,
            open=none,
            recent=np.zeros((0, n), np.int64),
            before=none,
        )

    def begun_anew(self, n_rows: int, until: int) -> "Watch":
        """Return the watch after an event: what came before it counts no more.

        Parameters
        ----------
        n_rows : int
            Rows seen at the event.
        until : int
            Rows to have seen before rows are measured again.
        """
        anew = Watch(self.n_clusters, self.n_views, since=n_rows, until=until)
        return replace(anew, n_tests=self.n_tests)

    def shift(self, delta: Sequence[NDArray[np.float64]]) -> "Watch":
        """Return the watch for rows whose columns are raised."""
        if self.yardstick is None:
            return self
        return replace(self, yardstick=self.yardstick.shift(delta))

    def take(
        self, labels: IntArray, explained: NDArray[np.float64], present: Presence
    ) -> tuple["Watch", Change | None, int]:
        """Count rows, and test for a change whenever a bucket is full.

        Parameters
        ----------
        labels : int array of shape (n,)
            Clusters of the rows by the yardstick, `n_clusters` for none.
        explained : array of shape (n,)
            Share of each row that its cluster explains.
        present : array of shape (n, n_views), or None
            Which rows have which views.

        Returns
        -------
        watch : Watch
        change : Change or None
        n_taken : int
            Rows up to the change, all if there is none.
        """
        explained = np.round(explained, _DIGITS)
        watch, start = self._laid_out(labels, explained)
        if watch.levels is None:
            return watch, None, len(labels)
        rest = slice(start, None)
        cells = watch._cells(labels[rest], explained[rest], take(present, rest))
        done, room = 0, BUCKET - int(watch.open[: self.n_clusters + 1].sum())
        while done < len(cells):
            some = cells[done : done + room]
            counted = np.bincount(some.ravel(), minlength=len(watch.open))
            watch = replace(watch, open=watch.open + counted)
            done, room = done + len(some), room - len(some)
            if not room:
                watch, change = watch._closed()
                room = BUCKET
                if change is not None:
                    return watch, change, start + done
        return watch, None, len(labels)

    @property
    def total(self) -> Counts:
        """All rows that were counted, by cell."""
        total: Counts = self.before + self.recent.sum(axis=0) + self.open
        return total

    def last(self, n_rows: int) -> tuple[Counts, Counts]:
        """Return the last rows by cell, at least so many in whole buckets, and all before them."""
        n = min(-(-n_rows // BUCKET), len(self.recent))
        last = self.recent[len(self.recent) - n :].sum(axis=0) + self.open
        return last, self.total - last

    def _closed(self) -> tuple["Watch", Change | None]:
        """Return the watch with its bucket full, and the change that shows by it."""
        recent = np.vstack([self.recent, self.open])
        before, gone = self.before, len(recent) - SPANS[-1]
        if gone > 0:
            before, recent = before + recent[:gone].sum(axis=0), recent[gone:]
        watch = replace(
            self,
            open=np.zeros_like(self.open),
            recent=recent,
            before=before,
            n_tests=self.n_tests + 1,
        )
        return watch, latest_change(recent, before, self.widths, watch.n_tests)

    def _laid_out(self, labels: IntArray, explained: NDArray[np.float64]) -> tuple["Watch", int]:
        """Return the watch with its levels, as soon as it can have them, and the rows for that."""
        if self.levels is not None:
            return self, 0
        needed = max(_FEWEST, _ROWS_PER_CLUSTER * self.n_clusters) - len(self.measured)
        some = np.column_stack([labels[:needed], explained[:needed]])
        measured = np.vstack([self.measured, some])
        if len(some) < needed:
            return replace(self, measured=measured), len(some)
        levels = _levels(measured[:, 0].astype(np.intp), measured[:, 1], self.n_clusters + 1)
        return replace(self, measured=np.zeros((0, 2)), levels=levels), len(some)

    def _cells(
        self, labels: IntArray, explained: NDArray[np.float64], present: Presence
    ) -> IntArray:
        """Return the cell of every row, for each variable."""
        assert self.levels is not None
        n, first = len(labels), np.cumsum([0, *self.widths[:-1]])
        cells = np.ones((n, len(self.widths)), np.intp)
        cells[:, 0] = labels
        cells[:, 1] = (explained[:, np.newaxis] > self.levels[labels]).sum(axis=1)
        if present is not None:
            cells[:, 2:] = present
        cells += first
        return cells


def _levels(labels: IntArray, explained: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return quantiles of what is explained by cluster; those of all where a cluster has few rows.

    Examples
    --------
    >>> _levels(np.repeat([0, 1], [12, 2]), np.arange(14) / 10, 2).round(2)
    array([[0.22, 0.44, 0.66, 0.88],
           [0.26, 0.52, 0.78, 1.04]])
    """
    inner = np.arange(1, LEVELS) / LEVELS
    levels = np.tile(np.quantile(explained, inner), (n, 1))
    for k in range(n):
        own = explained[labels == k]
        if len(own) >= _OWN_LEVELS:
            levels[k] = np.quantile(own, inner)
    return levels
