"""The last s chunks: their rows and their U; and the most recent rows, which may be more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, stack
from omvfs.model.columns import place_columns, widen_columns
from omvfs.model.presence import Presence, below, take
from omvfs.model.stream.offset import raise_rows


@dataclass(frozen=True)
class Window:
    """The last chunks of the stream, the newest last.

    Attributes
    ----------
    size : int or None
        Chunks that are in the window; None never drops one.
    chunks : tuple of (tuple of block)
        Rows of every chunk held, per view.
    U : tuple of array of shape (m, K)
        Cluster indicator of every chunk held, in the units of A and B.
    at_hand : int
        Rows that `last` must be able to return: chunks stay as long as they are needed for these.
    presences : tuple of Presence
        Which rows of every chunk held have which views.

    Examples
    --------
    >>> window = Window(2, at_hand=3)
    >>> for value in (1.0, 2.0, 3.0, 4.0):
    ...     window = window.append([np.full((1, 1), value)], U=np.ones((1, 1)))
    >>> window.rows()[0].ravel()
    array([3., 4.])
    >>> window.last(3)[0].ravel()
    array([2., 3., 4.])
    """

    size: int | None
    chunks: tuple[tuple[Block, ...], ...] = ()
    U: tuple[Array, ...] = ()
    at_hand: int = 0
    presences: tuple[Presence, ...] = ()

    def __len__(self) -> int:
        return len(self.chunks)

    def append(self, X: Sequence[Block], U: Array, present: Presence = None) -> "Window":
        """Return the window with a copy of a new chunk, without those that are needed no more.

        A copy, as a source may use its buffer again, or cut its chunks from one large array.
        """
        chunk = tuple(X_v.copy() for X_v in X)
        return self + replace(self, chunks=(chunk,), U=(U,), presences=(present,))

    def __add__(self, later: "Window") -> "Window":
        """Return the window with later chunks, without those that are needed no more."""
        longer = replace(
            self,
            chunks=(*self.chunks, *later.chunks),
            U=(*self.U, *later.U),
            presences=(*self.presences, *later.presences),
        )
        first = min(longer._first, longer._first_of(self.at_hand))
        return replace(
            longer,
            chunks=longer.chunks[first:],
            U=longer.U[first:],
            presences=longer.presences[first:],
        )

    def emptied(self) -> "Window":
        """Return the window without any chunk."""
        return replace(self, chunks=(), U=(), presences=())

    @property
    def n_rows(self) -> int:
        """Rows held."""
        return sum(map(len, self.U))

    def rows(self) -> list[Block]:
        """Return the rows of the window, per view; no views if no chunk is held."""
        return [stack(parts) for parts in zip(*self.chunks[self._first :], strict=True)]

    def last(self, n: int) -> list[Block]:
        """Return the n most recent rows, per view, or as many as are held."""
        first = self._first_of(n)
        return [stack(parts)[-n:] for parts in zip(*self.chunks[first:], strict=True)]

    def present(self) -> Presence:
        """Return which rows of the window have which views."""
        return self._presence_from(self._first)

    def last_present(self, n: int) -> Presence:
        """Return which of the n most recent rows have which views."""
        found = self._presence_from(self._first_of(n))
        return take(found, slice(-n, None))

    def indicator(self) -> Array:
        """Return U of the rows of the window."""
        return np.concatenate(self.U[self._first :])

    def with_indicator(self, U: Array) -> "Window":
        """Return the window with another U of its rows."""
        before, within = self.U[: self._first], self.U[self._first :]
        ends = np.cumsum([len(part) for part in within])
        return replace(self, U=(*before, *np.split(U, ends[:-1])))

    def grow(self, widths: Sequence[int]) -> "Window":
        """Return the window with columns that no row had so far behind those that are there."""
        return self._each(lambda X_v, D: widen_columns(X_v, D), widths)

    def place(self, places: Sequence[IntArray], widths: Sequence[int]) -> "Window":
        """Return the window with the columns of its rows in certain places, negative for none.

        Parameters
        ----------
        places : sequence of int array of shape (D_v,)
        widths : sequence of int
            Columns of each view then.
        """
        given = list(zip(places, widths, strict=True))
        return self._each(lambda X_v, own: place_columns(X_v, *own), given)

    def _each(self, work: Callable[[Block, Any], Block], given: Sequence[Any]) -> "Window":
        made = tuple(
            tuple(work(X_v, own) for X_v, own in zip(chunk, given, strict=True))
            for chunk in self.chunks
        )
        return replace(self, chunks=made)

    def relabel(self, moves: Array) -> "Window":
        """Return the window with the clusters moved, see `Statistics.relabel`."""
        return replace(self, U=tuple(U @ moves.astype(U.dtype, copy=False) for U in self.U))

    def shift(self, delta: Sequence[NDArray[np.float64]]) -> "Window":
        """Return the window with the columns of its rows raised."""
        held = zip(self.chunks, self.presences, strict=True)
        return replace(self, chunks=tuple(tuple(raise_rows(X, delta, has)) for X, has in held))

    def _presence_from(self, first: int) -> Presence:
        held = list(zip(self.presences, map(len, self.U), strict=True))[first:]
        return below(held, len(self.chunks[0])) if held else None

    @property
    def _first(self) -> int:
        """Which of the chunks held is the first in the window."""
        return 0 if self.size is None else max(0, len(self) - self.size)

    def _first_of(self, n: int) -> int:
        """Which of the chunks held is the first of those that the last n rows are in."""
        first = len(self)
        while first and n > 0:
            first -= 1
            n -= len(self.U[first])
        return first
