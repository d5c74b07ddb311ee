"""The last s chunks: their rows and their U."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from omvfs.model.arrays import Array, Block, stack


@dataclass(frozen=True)
class Window:
    """The last chunks of the stream, the newest last.

    Attributes
    ----------
    size : int or None
        Most chunks held; None never drops one.
    chunks : tuple of (tuple of block)
        Rows of every chunk, per view.
    U : tuple of array of shape (m, K)
        Cluster indicator of every chunk, in the units of A and B.

    Examples
    --------
    >>> window = Window(2)
    >>> for value in (1.0, 2.0, 3.0):
    ...     window = window.append([np.full((1, 1), value)], U=np.ones((1, 1)))
    >>> window.rows()[0].ravel()
    array([2., 3.])
    """

    size: int | None
    chunks: tuple[tuple[Block, ...], ...] = ()
    U: tuple[Array, ...] = ()

    def __len__(self) -> int:
        return len(self.chunks)

    def append(self, X: Sequence[Block], U: Array) -> "Window":
        """Return the window with a copy of a new chunk, the oldest dropped if it is full.

        A copy, as a source may use its buffer again, or cut its chunks from one large array.
        """
        first = 0 if self.size is None else max(0, len(self) + 1 - self.size)
        chunks, indicators = (*self.chunks, tuple(X_v.copy() for X_v in X)), (*self.U, U)
        return replace(self, chunks=chunks[first:], U=indicators[first:])

    def rows(self) -> list[Block]:
        """Return the rows held, per view."""
        return [stack(parts) for parts in zip(*self.chunks, strict=True)]

    def indicator(self) -> Array:
        """Return U of the rows held."""
        return np.concatenate(self.U)

    def with_indicator(self, U: Array) -> "Window":
        """Return the window with another U of the rows held."""
        ends = np.cumsum([len(part) for part in self.U])
        return replace(self, U=tuple(np.split(U, ends[:-1])))
