"""Rows of one view, held one by one where a few are exchanged, and as one block where none is."""

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

    To exchange a few rows of many costs no more than these if each is held by itself. Rows that are
    read from a file, or taken from others to be looked at, stay one block until one is exchanged.

    Attributes
    ----------
    width : int
        Number of features.
    held : tuple of list of array, or Block
        By row, its entries and where they are: all of a dense one but for zeros at its end, and
        None; the stored ones of a sparse one, and their columns. Or all rows in one block.

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
    held: tuple[list[Array], list[IntArray] | None] | Block

    @classmethod
    def of(cls, X: Block, index: Iterable[int] | None = None) -> "Rows":
        """Return copies of some rows of a block, by default of all."""
        if index is None:
            return cls(X.shape[1], sp.csr_array(X, copy=True) if sp.issparse(X) else X.copy())
        return cls(X.shape[1], _one_by_one(X, index))

    def __len__(self) -> int:
        return len(self.held[0]) if isinstance(self.held, tuple) else int(self.held.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse."""
        if isinstance(self.held, tuple):
            return self.held[1] is not None
        return bool(sp.issparse(self.held))

    def put(self, places: Iterable[int], X: Block, index: Iterable[int] | None = None) -> "Rows":
        """Return the rows with some of a block in certain places, the next free ones included.

        Of two rows for one place the later stays. A view is sparse if any of its rows is.
        """
        index = range(X.shape[0]) if index is None else index
        if self.is_sparse != sp.issparse(X):
            rows = X[list(index)]
            return self._sparse().put(places, sp.csr_array(rows))
        (values, columns), (new, where) = self._by_row(), _one_by_one(X, index)
        order = list(places)
        put = _with(values, order, new)
        if columns is None or where is None:
            return Rows(self.width, (put, None))
        return Rows(self.width, (put, _with(columns, order, where)))

    def take(self, index: IntArray) -> "Rows":
        """Return some of the rows."""
        if not isinstance(self.held, tuple):
            return Rows(self.width, self.held[index])
        values, columns = self.held
        chosen = index.tolist()
        own = None if columns is None else [columns[i] for i in chosen]
        return Rows(self.width, ([values[i] for i in chosen], own))

    def below(self, other: "Rows") -> "Rows":
        """Return these rows and below them others of the same width; sparse if any of them is."""
        if self.is_sparse != other.is_sparse:
            return self._sparse().below(other._sparse())
        (values, columns), (more, where) = self._by_row(), other._by_row()
        both = None if columns is None or where is None else [*columns, *where]
        return Rows(self.width, ([*values, *more], both))

    def grow(self, width: int) -> "Rows":
        """Return the rows with empty columns behind those that are there."""
        if width < self.width:
            raise ValueError(f"Got {width:,} columns; expected at least the {self.width:,} so far.")
        if isinstance(self.held, tuple):
            return Rows(width, self.held)
        if self.is_sparse:
            parts = self.held.data, self.held.indices, self.held.indptr
            return Rows(width, sp.csr_array(parts, shape=(len(self), width)))
        return Rows(width, np.pad(self.held, ((0, 0), (0, width - self.width))))

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
        if not len(self):
            return Rows(width, ([], [] if self.is_sparse else None))
        return Rows.of(place_columns(self.block(), places, width))

    def block(self) -> Block:
        """Return the rows as an array or a CSR matrix, which is not to be written to."""
        if not isinstance(self.held, tuple):
            return self.held
        values, columns = self.held
        n = len(values)
        if columns is None:
            if any(len(row) < self.width for row in values):
                whole = np.zeros((n, self.width), values[0].dtype)
                for into, row in zip(whole, values, strict=True):
                    into[: len(row)] = row
                return whole
            return np.array(values).reshape(n, self.width)
        if not n:
            return sp.csr_array((0, self.width))
        ends = np.zeros(n + 1, np.int64)
        np.cumsum([len(each) for each in values], out=ends[1:])
        entries = np.concatenate(values), np.concatenate(columns)
        return sp.csr_array((*entries, ends), shape=(n, self.width))

    def _by_row(self) -> tuple[list[Array], list[IntArray] | None]:
        if isinstance(self.held, tuple):
            return self.held
        return _one_by_one(self.held, range(len(self)))

    def _sparse(self) -> "Rows":
        return self if self.is_sparse else Rows.of(sp.csr_array(self.block()))


def _one_by_one(X: Block, index: Iterable[int]) -> tuple[list[Array], list[IntArray] | None]:
    """Return copies of some rows of a block, each by itself: entries, and where they are."""
    if not sp.issparse(X):
        return [X[i].copy() for i in index], None
    ends = X.indptr.tolist()
    spans = [(ends[i], ends[i + 1]) for i in index]
    # Copies: a slice would keep the whole block alive.
    values = [X.data[start:stop].copy() for start, stop in spans]
    return values, [X.indices[start:stop].copy() for start, stop in spans]


def _with(held: list[T], places: Iterable[int], come: list[T]) -> list[T]:
    """Return a list with others in some places, or behind it."""
    held = list(held)
    for place, row in zip(places, come, strict=True):
        held[place : place + 1] = [row]
    return held
