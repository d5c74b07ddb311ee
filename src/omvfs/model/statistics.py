"""Sums over all rows for some columns: read, added to, and put back in place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, column_sums, squared_entries
from omvfs.model.columns import Columns, put_rows
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.state import Settings, State, scale_factors


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
            [_taken(each, c) for each, c in zip(parts, columns, strict=True)] if parts else []
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
            put_rows(state.B[v], c, self.B[v])
            if self.sums:
                state.sums[v][c] = self.sums[v]
                state.squares[v][c] = self.squares[v]


@dataclass(frozen=True)
class Change:
    """Totals of some columns before a chunk and after it."""

    before: Totals
    after: Totals


def _taken(values: NDArray[Any], columns: Columns) -> NDArray[Any]:
    """Return a copy of what some columns have; `take` is the fastest of NumPy's ways."""
    return values.copy() if isinstance(columns, slice) else values.take(columns, axis=0)
