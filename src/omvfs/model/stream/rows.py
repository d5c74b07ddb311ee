"""Rows of one view, held one by one, so that to exchange a few costs no more than these."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray
from omvfs.model.columns import place_columns

T = TypeVar("T")


@dataclass(frozen=True)
class Rows:
    """Rows of one view, dense or sparse.

    Attributes
    ----------
    width : int
        Number of features.
    values : list of array
        Entries of every row: all of a dense one, but for zeros at its end, the stored ones of a
        sparse one.
    columns : list of int array, or None
        Where the entries of every row are; None if rows are dense.

    Examples
    --------
    >>> rows = Rows.of(sp.csr_array([[0.0, 1.0], [2.0, 0.0]]))
    >>> rows.put([1, 2], np.array([[3.0, 4.0], [5.0, 6.0]])).block().toarray()
    array([[0., 1.],
           [3., 4.],
           [5., 6.]])
    >>> rows.take(np.array([1])).block().toarray()
    array([[2., 0.]])
    """

    width: int
    values: list[Array]
    columns: list[IntArray] | None

    @classmethod
    def of(cls, X: Block, index: Iterable[int] | None = None) -> "Rows":
        """Return copies of some rows of a block, by default of all."""
        index = range(X.shape[0]) if index is None else index
        if not sp.issparse(X):
            return cls(X.shape[1], [X[i].copy() for i in index], None)
        ends = X.indptr.tolist()
        spans = [(ends[i], ends[i + 1]) for i in index]
        # Copies: a slice would keep the whole block alive.
        values = [X.data[start:stop].copy() for start, stop in spans]
        columns = [X.indices[start:stop].copy() for start, stop in spans]
        return cls(X.shape[1], values, columns)

    def put(self, places: Iterable[int], X: Block, index: Iterable[int] | None = None) -> "Rows":
        """Return the rows with some of a block in certain places, the next free ones included.

        Of two rows for one place the later stays. A view is sparse if any of its rows is.
        """
        new = Rows.of(X, index)
        if (new.columns is None) != (self.columns is None):
            return self._sparse().put(places, sp.csr_array(new.block()))
        values, columns = _with(self.values, places, new.values), None
        if self.columns is not None and new.columns is not None:
            columns = _with(self.columns, places, new.columns)
        return Rows(self.width, values, columns)

    def take(self, index: IntArray) -> "Rows":
        """Return some of the rows."""
        chosen = index.tolist()
        columns = None if self.columns is None else [self.columns[i] for i in chosen]
        return Rows(self.width, [self.values[i] for i in chosen], columns)

    def below(self, other: "Rows") -> "Rows":
        """Return these rows and below them others of the same width; sparse if any of them is."""
        if (self.columns is None) != (other.columns is None):
            return self._sparse().below(other._sparse())
        columns = None
        if self.columns is not None and other.columns is not None:
            columns = [*self.columns, *other.columns]
        return Rows(self.width, [*self.values, *other.values], columns)

    def grow(self, width: int) -> "Rows":
        """Return the rows with empty columns behind those that are there."""
        if width < self.width:
            raise ValueError(f"Got {width:,} columns; expected at least the {self.width:,} so far.")
        return Rows(width, self.values, self.columns)

    def place(self, places: IntArray, width: int) -> "Rows":
        """Return the rows with their columns in certain places among others, which are empty.

        Parameters
        ----------
        places : int array of shape (width,)
            Negative for a column that is left out.
        width : int
            Columns there are then.

        Examples
        --------
        >>> rows = Rows.of(np.array([[1.0, 2.0, 3.0]]))
        >>> rows.place(np.array([2, -1, 0]), 4).block()
        array([[3., 0., 1., 0.]])
        """
        return (
            Rows.of(place_columns(self.block(), places, width))
            if self.values
            else Rows(width, [], self.columns)
        )

    def block(self) -> Block:
        """Return the rows as an array or a CSR matrix."""
        n = len(self.values)
        if self.columns is None:
            if any(len(row) < self.width for row in self.values):
                whole = np.zeros((n, self.width), self.values[0].dtype)
                for into, row in zip(whole, self.values, strict=True):
                    into[: len(row)] = row
                return whole
            return np.array(self.values).reshape(n, self.width)
        if not n:
            return sp.csr_array((0, self.width))
        ends = np.zeros(n + 1, np.int64)
        np.cumsum([len(each) for each in self.values], out=ends[1:])
        entries = np.concatenate(self.values), np.concatenate(self.columns)
        return sp.csr_array((*entries, ends), shape=(n, self.width))

    def _sparse(self) -> "Rows":
        return self if self.columns is not None else Rows.of(sp.csr_array(self.block()))


def _with(held: list[T], places: Iterable[int], come: list[T]) -> list[T]:
    """Return a list with others in some places, or behind it."""
    held = list(held)
    for place, row in zip(places, come, strict=True):
        held[place : place + 1] = [row]
    return held
