"""Sums over all rows for some columns: read, added to, and put back in place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, column_sums, squared_entries
from omvfs.model.constrained import Indicator, transposed_product
from omvfs.model.state import Settings, State, scale_factors

Columns = IntArray | slice


@dataclass(frozen=True)
class Totals:
    """What a state knows of some columns of every view; a copy.

    A chunk has few of the columns there are, so that to change these, and no others, makes its
    cost independent of their number.

    Attributes
    ----------
    columns : list of int array or slice
        Which columns, per view.
    B : list of array of shape (D_v, K)
    sums, squares : list of array of shape (D_v,)
    """

    columns: list[Columns]
    B: list[Array]
    sums: list[NDArray[np.float64]]
    squares: list[NDArray[np.float64]]

    @classmethod
    def of(cls, state: State, columns: Sequence[Columns]) -> "Totals":
        """Return a copy of what a state knows of some columns."""
        B, sums, squares = (
            [np.array(each[c]) for each, c in zip(parts, columns, strict=True)] if parts else []
            for parts in (state.B, state.sums, state.squares)
        )
        return cls(list(columns), B, sums, squares)

    def counted(self, X: Sequence[Block]) -> "Totals":
        """Return the totals with rows on these columns added to the sums, if there are any."""
        if not self.sums:
            return self
        sums = [s + column_sums(X_v) for s, X_v in zip(self.sums, X, strict=True)]
        squares = [
            q + column_sums(squared_entries(X_v)) for q, X_v in zip(self.squares, X, strict=True)
        ]
        return replace(self, sums=sums, squares=squares)

    def placed(self, X: Sequence[Block], U: Indicator) -> "Totals":
        """Return the totals with XᵀU of rows on these columns added to B."""
        B: list[Array] = [
            B_v + transposed_product(X_v, U) for X_v, B_v in zip(X, self.B, strict=True)
        ]
        return replace(self, B=B)

    def scaled(self, settings: Settings) -> list[Array]:
        """Return B for columns of unit norm, if that is how they are taken."""
        if not settings.scale_columns:
            return self.B
        factors = [scale_factors(q, B_v.dtype) for q, B_v in zip(self.squares, self.B, strict=True)]
        return [B_v * s[:, np.newaxis] for B_v, s in zip(self.B, factors, strict=True)]

    def put_into(self, state: State) -> None:
        """Put these values in the place of those that a state has, in its own arrays."""
        for v, c in enumerate(self.columns):
            state.B[v][c] = self.B[v]
            if self.sums:
                state.sums[v][c] = self.sums[v]
                state.squares[v][c] = self.squares[v]


@dataclass(frozen=True)
class Change:
    """Totals of some columns before a chunk and after it."""

    before: Totals
    after: Totals


def touched(X: Block) -> Columns:
    """Return the columns in which a CSR matrix has entries; all columns of an array.

    Examples
    --------
    >>> touched(sp.csr_array([[0.0, 1.0, 2.0]]))
    array([1, 2])
    """
    if not sp.issparse(X):
        return slice(None)
    has = np.zeros(X.shape[1], bool)
    has[X.indices] = True
    return np.flatnonzero(has)


def on_columns(X: Block, columns: Columns) -> Block:
    """Return rows on some columns, all that they have entries in among them or not.

    Examples
    --------
    >>> on_columns(sp.csr_array([[0.0, 1.0, 2.0]]), np.array([0, 2])).toarray()
    array([[0., 2.]])
    """
    if isinstance(columns, slice):
        return X
    if not sp.issparse(X):
        return X[:, columns]
    place = np.zeros(X.shape[1], np.int32)
    place[columns] = np.arange(1, len(columns) + 1, dtype=np.int32)
    indices = place[X.indices]
    data, indptr = X.data, X.indptr
    if not indices.all():
        here = indices > 0
        ends = np.concatenate([[0], np.cumsum(here)])
        data, indices, indptr = data[here], indices[here], ends[indptr]
    return sp.csr_array((data, indices - 1, indptr), shape=(X.shape[0], len(columns)))
