"""A uniform sample of the rows seen so far, of bounded size.

The window only knows the last chunks. What must not depend on the luck of the first chunk, or needs
rows side by side, is worked out on this sample instead: the clusters are settled on it anew as the
stream grows, and features are compared with each other on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from omvfs.model.arrays import Array, Block, IntArray
from omvfs.model.indicator import Indicator
from omvfs.model.stream.rows import Rows


@dataclass(frozen=True)
class Memory:
    """Rows kept from the stream, and how each was counted in A and B.

    Attributes
    ----------
    capacity : int
        Most rows kept.
    counted : Indicator
        Cluster and weight under which each row stands in A and B.
    keep : array of shape (n,)
        What forgetting has left of each row's share in A and B.
    rows : tuple of Rows
        The rows, per view; empty before the first chunk.
    """

    capacity: int
    counted: Indicator
    keep: Array
    rows: tuple[Rows, ...] = field(default=(), compare=False)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The rows, per view, put together; empty before the first chunk."""
        return tuple(rows.block() for rows in self.rows)

    @classmethod
    def of(
        cls, capacity: int, counted: Indicator, keep: Array, blocks: Sequence[Block]
    ) -> "Memory":
        """Return a memory of the rows of blocks."""
        return cls(capacity, counted, keep, tuple(Rows.of(X_v) for X_v in blocks))

    @classmethod
    def empty(cls, capacity: int, n_clusters: int, dtype: np.dtype[Any]) -> "Memory":
        """Return a memory of no rows."""
        nothing = Indicator(np.zeros(0, np.intp), np.zeros(0, dtype), n_clusters)
        return cls(capacity, nothing, np.zeros(0, dtype))

    def __len__(self) -> int:
        return len(self.keep)

    def offer(
        self,
        X: Sequence[Block],
        U: Indicator,
        n_before: int,
        horizon: float,
        rng: np.random.Generator,
    ) -> "Memory":
        """Return the memory after a chunk, every row of the stream being in it equally likely.

        With forgetting, recent rows are the likelier, as they are in A and B.

        Parameters
        ----------
        X : sequence of array or CSR matrix
            Rows of the chunk, per view.
        U : Indicator
            How they were counted.
        n_before : int
            Rows of the stream before the chunk.
        horizon : float
            Rows of the stream, the chunk included, as far as they are not forgotten.
        rng : Generator
            Draws which rows go and come.

        Returns
        -------
        Memory
        """
        n = len(U.labels)
        places = _places(n, n_before, horizon, self.capacity, rng)
        taken = np.flatnonzero(places < self.capacity)
        if not len(taken):
            return self
        places, size = places[taken], min(self.capacity, n_before + n)
        labels, weights, keep = (
            np.concatenate([each, np.zeros(size - len(self), each.dtype)])
            for each in (self.counted.labels, self.counted.weights, self.keep)
        )
        # In the order of the stream, so that of two rows for one place the later stays.
        labels[places], weights[places], keep[places] = U.labels[taken], U.weights[taken], 1
        index, order = taken.tolist(), places.tolist()
        if self.rows:
            parts = zip(self.rows, X, strict=True)
            rows = tuple(held.put(order, X_v, index) for held, X_v in parts)
        else:
            rows = tuple(Rows.of(X_v[:0]).put(order, X_v, index) for X_v in X)
        return Memory(self.capacity, Indicator(labels, weights, U.n_clusters), keep, rows)

    def take(self, rows: IntArray) -> "Memory":
        """Return the memory of some of its rows."""
        taken = tuple(held.take(rows) for held in self.rows)
        return Memory(self.capacity, self.counted.take(rows), self.keep[rows], taken)

    def recount(self, rows: IntArray, U: Indicator) -> "Memory":
        """Return the memory with some of its rows counted anew."""
        labels, weights = self.counted.labels.copy(), self.counted.weights.copy()
        labels[rows], weights[rows] = U.labels, U.weights
        return replace(self, counted=Indicator(labels, weights, U.n_clusters))


def _places(
    n: int, n_before: int, horizon: float, capacity: int, rng: np.random.Generator
) -> IntArray:
    """Return the place each row goes to; places beyond the capacity mean that it is not kept.

    Row number t of the stream (from 0) goes to its own place while there is room, then to a random
    one of t + 1 places, or of as many as there are rows not forgotten: reservoir sampling.
    """
    number = n_before + np.arange(n)
    places = rng.integers(0, np.minimum(number, int(horizon)) + 1)
    return np.where(number < capacity, number, places)
