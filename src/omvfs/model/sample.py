"""A random sample of the rows of a stream, of bounded size, that can be merged with others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block, stack
from omvfs.model.columns import place_columns, widen_columns

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
# Rows that may be held, over those that are asked for, before the others are let go.
_ROOM = 1.5


@dataclass(frozen=True)
class Sample:
    """The rows of the largest keys so far.

    Every row of a stream has a random key. Which rows are kept depends on the keys alone: two
    samples are merged by putting their rows together, and keeping those of the largest keys. Rows
    are held as they came, in pieces, so that a chunk that adds a few costs a few.

    Attributes
    ----------
    size : int
        Most rows of the sample.
    pieces : tuple of (tuple of Block)
        Rows by view, one piece after another; somewhat more than `size`.
    keys : array of shape (n,)
        Keys of the rows of all pieces.
    labels : int array of shape (n,)
        Their clusters.
    present : bool array of shape (n, n_views)
        Which of them have which views.
    arrived : int array of shape (n,)
        Rows of the stream with each of them.
    """

    size: int
    pieces: tuple[tuple[Block, ...], ...]
    keys: FloatArray
    labels: IntArray
    present: NDArray[np.bool_]
    arrived: IntArray

    @classmethod
    def empty(cls, size: int, n_views: int) -> "Sample":
        """Return the sample of no rows."""
        no_rows = np.zeros((0, n_views), bool)
        return cls(size, (), np.zeros(0), np.zeros(0, np.intp), no_rows, np.zeros(0, np.intp))

    def __len__(self) -> int:
        return min(self.size, len(self.keys))

    def offered(
        self,
        X: Sequence[Block],
        keys: FloatArray,
        labels: IntArray,
        present: NDArray[np.bool_] | None = None,
        n_before: int = 0,
    ) -> "Sample":
        """Return the sample of the rows so far and some more.

        Parameters
        ----------
        X : sequence of array or CSR matrix of shape (m, D_v)
        keys : array of shape (m,)
        labels : int array of shape (m,)
        present : bool array of shape (m, n_views), optional
        n_before : int
            Rows of the stream before these.

        Examples
        --------
        >>> sample = Sample.empty(2, 1)
        >>> for i, key in enumerate([0.5, 0.9, 0.1, 0.7]):
        ...     sample = sample.offered([np.full((1, 1), i)], np.array([key]), np.array([0]))
        >>> sample.compact().pieces[0][0].ravel().tolist()
        [1, 3]
        """
        kept = np.flatnonzero(keys > self._least())
        if not len(kept):
            return self
        has = np.ones((len(kept), len(X)), bool) if present is None else present[kept]
        after = Sample(
            self.size,
            (*self.pieces, tuple([block[kept] for block in X])),
            np.concatenate([self.keys, keys[kept]]),
            np.concatenate([self.labels, labels[kept]]),
            np.concatenate([self.present, has]),
            np.concatenate([self.arrived, n_before + 1 + kept]),
        )
        return after.compact() if len(after.keys) > _ROOM * self.size else after

    def __add__(self, other: "Sample") -> "Sample":
        """Return the sample of the rows of both."""
        joined = Sample(
            self.size,
            (*self.pieces, *other.pieces),
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.present, other.present]),
            np.concatenate([self.arrived, other.arrived]),
        )
        return joined.compact()

    def _least(self) -> float:
        """Return the key that a row must exceed to be kept."""
        if len(self.keys) < self.size or not self.size:
            return -np.inf if self.size else np.inf
        return float(np.partition(self.keys, -self.size)[-self.size])

    def compact(self) -> "Sample":
        """Return the same sample, its rows in one piece and no others, in the order they came."""
        if len(self.pieces) <= 1 and len(self.keys) <= self.size:
            return self
        kept = np.sort(np.argsort(-self.keys, kind="stable")[: self.size])
        blocks = (_stacked(views)[kept] for views in zip(*self.pieces, strict=True))
        keys, labels, present = self.keys[kept], self.labels[kept], self.present[kept]
        return Sample(self.size, (tuple(blocks),), keys, labels, present, self.arrived[kept])

    def with_views(self, order: Sequence[int | None]) -> "Sample":
        """Return the sample with its views in an order; None is for one that its rows lack."""
        pieces = (
            tuple(sp.csr_array((own[0].shape[0], 0)) if v is None else own[v] for v in order)
            for own in self.pieces
        )
        present = np.zeros((len(self.present), len(order)), bool)
        for place, v in enumerate(order):
            present[:, place] = False if v is None else self.present[:, v]
        return replace(self, pieces=tuple(pieces), present=present)

    def grow(self, widths: Sequence[int]) -> "Sample":
        """Return the sample with columns that its rows did not have yet."""
        pieces = tuple(
            tuple(widen_columns(X, width) for X, width in zip(piece, widths, strict=True))
            for piece in self.pieces
        )
        return replace(self, pieces=pieces)

    def place(self, given: Sequence[tuple[IntArray, int]]) -> "Sample":
        """Return the sample with the columns of every view in certain places among so many."""
        compact = self.compact().grow([len(places) for places, _ in given])
        pieces = tuple(
            tuple(place_columns(X, *own) for X, own in zip(piece, given, strict=True))
            for piece in compact.pieces
        )
        return replace(compact, pieces=pieces)

    def relabel(self, labels: IntArray) -> "Sample":
        """Return the sample, in one piece, in other clusters."""
        return replace(self.compact(), labels=labels)


def _stacked(blocks: Sequence[Block]) -> Block:
    """Return rows of some blocks in one; columns that earlier ones do not have yet are empty."""
    width = max(block.shape[1] for block in blocks)
    return stack([widen_columns(block, width) for block in blocks])
