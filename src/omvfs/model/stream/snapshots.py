"""The best features and the clusters of rows along the stream: few snapshots, evenly thinned."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, IntArray

# So many are too many: then every other one is let go. Odd, so that the first and the last stay.
MOST = 99
# Features of a view in a snapshot, and of all views together; clusters whose shares it has. So many
# that 98 of them stay below a megabyte.
_TOP, _CELLS, CLUSTERS = 100, 2000, 500
# Rows from one to the next, at least: a share of the features there are, which is what a snapshot
# costs, and so many for each view. Without a graph rows are learned so many times as fast.
_SHARE, _ROWS_PER_VIEW, _FASTER = 0.5, 200, 10


def n_top(n_views: int) -> int:
    """Return how many features of a view a snapshot has room for.

    Examples
    --------
    >>> n_top(2), n_top(100), n_top(10_000)
    (100, 20, 1)
    """
    return max(1, min(_TOP, _CELLS // n_views))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The best features after some rows, and the clusters of those since the snapshot before.

    Attributes
    ----------
    n_rows : int
        Rows seen then.
    top : int32 array of shape (n_views, n_top)
        Columns of the best features of each view, the best first; −1 for none, or for one that was
        forgotten since.
    shares : float32 array of shape (K,)
        Of the rows since the snapshot before, those of each cluster, as they were placed when they
        came; empty if nobody knows, or of more than 500 clusters.
    """

    n_rows: int
    top: NDArray[np.int32]
    shares: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))


@dataclass(frozen=True, eq=False)
class Snapshots:
    """The best features and the clusters of rows along the stream.

    Attributes
    ----------
    taken : tuple of Snapshot
        In order.
    gap : int
        Rows from one to the next, at least, since they were thinned: as many as between the others.
    placed : int64 array of shape (K,)
        Rows since the last snapshot by the clusters that they were placed in; empty for none.

    Examples
    --------
    >>> some = Snapshots()
    >>> for n in range(1, 300):
    ...     some = some.add(Snapshot(n, np.array([[3, 1]], np.int32)))
    >>> len(some.taken), some.taken[0].n_rows, some.taken[-1].n_rows
    (54, 1, 299)
    """

    taken: tuple[Snapshot, ...] = ()
    gap: int = 0
    placed: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def due(self, n_rows: int, widths: Sequence[int], fast: bool = False) -> bool:
        """Tell whether another is to be taken.

        Parameters
        ----------
        n_rows : int
            Rows seen.
        widths : sequence of int
            D_v of each view.
        fast : bool, default=False
            Whether rows are learned without a graph: then more of them are waited for.
        """
        since = n_rows - (self.taken[-1].n_rows if self.taken else 0)
        apart = _SHARE * sum(widths) + _ROWS_PER_VIEW * len(widths)
        return since >= max(self.gap, (_FASTER if fast else 1) * apart)

    def count(self, U: Array) -> "Snapshots":
        """Return these with the rows of a chunk counted in their clusters.

        Where there are more or fewer clusters than before, nothing else is counted any more.

        Parameters
        ----------
        U : array of shape (m, K)
            A row is in the cluster where it has the most.
        """
        K = U.shape[1]
        if K > CLUSTERS:
            return self if not len(self.placed) else replace(self, placed=self.placed[:0])
        placed = np.bincount(U.argmax(axis=1), minlength=K)
        return replace(self, placed=placed + self.placed if len(self.placed) == K else placed)

    @property
    def shares(self) -> NDArray[np.float32]:
        """Of the rows since the last snapshot, those of each cluster; empty if there are none."""
        total = int(self.placed.sum())
        return (self.placed / total if total else self.placed[:0]).astype(np.float32)

    def add(self, snapshot: Snapshot) -> "Snapshots":
        """Return these and another one, thinned if they are too many; rows are counted from 0."""
        taken, anew = (*self.taken, snapshot), np.zeros(0, np.int64)
        if len(taken) < MOST:
            return replace(self, taken=taken, placed=anew)
        left = tuple(_with_those_before(taken, i) for i in range(0, len(taken), 2))
        return Snapshots(left, (left[-1].n_rows - left[0].n_rows) // (len(left) - 1), anew)

    def place(self, places: Sequence[IntArray]) -> "Snapshots":
        """Return the snapshots with columns in other places.

        Parameters
        ----------
        places : sequence of int array of shape (D_v,)
            Where each column of a view goes, −1 for nowhere.
        """
        moved = []
        for snapshot in self.taken:
            pairs = zip(snapshot.top, places, strict=True)
            top = [np.where(own < 0, -1, to[own]) for own, to in pairs]
            moved.append(replace(snapshot, top=np.array(top, np.int32)))
        return replace(self, taken=tuple(moved))


def _with_those_before(taken: Sequence[Snapshot], i: int) -> Snapshot:
    """Return a snapshot with the shares of the rows since the last but one before it.

    Of those since the last one alone if there were more or fewer clusters before.
    """
    own = taken[i]
    if i < 1 or len(own.shares) != len(taken[i - 1].shares):
        return own
    start = taken[i - 2].n_rows if i > 1 else 0
    part = (own.n_rows - taken[i - 1].n_rows) / (own.n_rows - start)
    shares = part * own.shares + (1 - part) * taken[i - 1].shares
    return replace(own, shares=shares.astype(np.float32))


def overlap(before: NDArray[np.int32], after: NDArray[np.int32]) -> float:
    """Return the share of the features at the top that were there before; NaN if there are none.

    Parameters
    ----------
    before, after : int array of shape (n_views, n_top)
        As a snapshot has them.

    Examples
    --------
    >>> overlap(np.array([[4, 2, -1]]), np.array([[2, 7, 4]])).__round__(2)
    0.67
    """
    n = kept = 0
    for was, own in zip(before.tolist(), after.tolist(), strict=True):
        here = set(own) - {-1}
        n, kept = n + len(here), kept + len(here.intersection(was))
    return kept / n if n else math.nan
