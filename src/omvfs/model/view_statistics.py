"""What rows leave of one view: sums over those that have it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    column_sums,
    squared_entries,
    squared_row_norms,
)
from omvfs.model.columns import Columns
from omvfs.model.objective import squared_norm

# The sums that have a value for every column of a view.
BY_COLUMN = "B", "sums", "squares"


@dataclass(frozen=True)
class ViewStatistics:
    """What rows leave of one view: sums over those that have it.

    Attributes
    ----------
    masses : array of shape (K,) or (K, K)
        A_v = Σ_i U_iᵀU_i; of an `Indicator` its diagonal, as there is nothing else.
    weight_sums : array of shape (K,)
        Σ_i u_i of each cluster.
    B : array of shape (D_v, K)
        Σ_i X_iᵀU_i, for unscaled columns.
    sums, squares : array of shape (D_v,), or None
        Σ x and Σ x² of every column; None if nothing asks for them, which scaling and raising
        columns do.
    decayed_n_rows : float
        Rows, as far as they have not faded.
    energy : float
        Σ ‖x‖² of the rows, as far as they have not faded.
    filled_rows : float
        Those of the rows that are not empty, as far as they have not faded.
    filled_columns : int
        Columns that are not empty, if they are counted; also where these are sums over some of the
        columns only.
    n_features : int
        D_v, also where these are sums over some of the columns only.
    """

    masses: NDArray[np.float64]
    weight_sums: NDArray[np.float64]
    B: Array
    sums: NDArray[np.float64] | None = None
    squares: NDArray[np.float64] | None = None
    decayed_n_rows: float = 0.0
    energy: float = 0.0
    filled_rows: float = 0.0
    filled_columns: int = 0
    n_features: int = field(kw_only=True)

    @property
    def diagonal_masses(self) -> NDArray[np.float64]:
        """The diagonal of A_v."""
        return np.diagonal(self.masses) if self.masses.ndim == 2 else self.masses

    def check_fits(self, other: "ViewStatistics") -> None:
        """Refuse sums of another shape, and rows whose columns one side only has counted."""
        shapes = [(each.masses.shape, each.B.shape) for each in (self, other)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"Got masses and B of shapes {shapes[1]}; expected {shapes[0]}.")
        uncounted = self if self.sums is None else other
        if (self.sums is None) != (other.sums is None) and uncounted.decayed_n_rows:
            raise ValueError("Got rows with columns counted and rows without; expected one kind.")

    def with_each(self, work: Callable[[Any], Any], names: Sequence[str]) -> "ViewStatistics":
        """Return a copy in which some sums, as far as they are there, are what some work makes."""
        held = {name: getattr(self, name) for name in names}
        return replace(self, **{name: work(a) for name, a in held.items() if a is not None})

    def counted(self, given: tuple[Block, int]) -> "ViewStatistics":
        """Return the sums with rows counted, so many of which have the view, and their columns."""
        X, n = given
        energy, filled_rows = _energy(X)
        view = replace(
            self,
            decayed_n_rows=self.decayed_n_rows + n,
            energy=self.energy + energy,
            filled_rows=self.filled_rows + filled_rows,
        )
        if view.sums is None or view.squares is None:
            return view
        squares = view.squares + column_sums(squared_entries(X))
        new = int(np.count_nonzero(squares)) - int(np.count_nonzero(view.squares))
        return replace(
            view,
            sums=view.sums + column_sums(X),
            squares=squares,
            filled_columns=view.filled_columns + new,
        )

    def recounted(self) -> "ViewStatistics":
        """Return the sums, which are of all columns, with those that are not empty counted anew."""
        if self.squares is None:
            return self
        return replace(self, filled_columns=int(np.count_nonzero(self.squares)))

    def on(self, columns: Columns) -> "ViewStatistics":
        """Return copies on some columns."""
        if isinstance(columns, slice):
            return self.with_each(lambda a: a[columns].copy(), BY_COLUMN)
        # The fastest of NumPy's ways.
        return self.with_each(lambda a: a.take(columns, axis=0), BY_COLUMN)

    def grow(self, width: int) -> "ViewStatistics":
        """Return the sums with columns that no row had so far."""
        if width == len(self.B):
            return self
        longer = self.with_each(lambda a: lengthened(a, width), BY_COLUMN)
        return replace(longer, n_features=width)

    def place(self, given: tuple[IntArray, int]) -> "ViewStatistics":
        """Return the sums with their columns in certain places among so many."""
        places, width = given

        def among(a: Any) -> Any:
            wide = np.zeros((width, *a.shape[1:]), a.dtype)
            wide[places] = a
            return wide

        return replace(self.with_each(among, BY_COLUMN), n_features=width)

    def shift(self, d: NDArray[np.float64]) -> "ViewStatistics":
        """Return the sums of rows with columns raised."""
        assert self.sums is not None
        assert self.squares is not None
        n = self.decayed_n_rows
        added = 2 * d * self.sums + n * d**2
        return replace(
            self,
            energy=self.energy + float(added.sum()),
            filled_rows=n if d.any() else self.filled_rows,
            sums=self.sums + n * d,
            squares=self.squares + added,
            B=self.B + np.outer(d, self.weight_sums).astype(self.B.dtype),
        ).recounted()


def _energy(X: Block) -> tuple[float, int]:
    """Return ‖X‖², and how many rows are not empty."""
    if sp.issparse(X):
        return squared_norm(X), int(np.count_nonzero(np.diff(X.indptr)))
    squares = squared_row_norms(X)
    return float(squares.sum(dtype=np.float64)), int(np.count_nonzero(squares))


# Of this many rows at least, and by this factor, arrays are made longer than they need be.
_LEAST, _FACTOR = 64, 1.5


class _Roomy(np.ndarray[Any, Any]):
    """An array that was made to have room: others that happen to be longer are none of ours."""


def lengthened(a: NDArray[Any], length: int) -> NDArray[Any]:
    """Return an array with rows of zeros behind those that are there.

    It shares what is there with the array, as far as that has room and may be written into; else it
    is a copy with room for more.

    Parameters
    ----------
    a : array
    length : int
        At least that of the array.

    Examples
    --------
    >>> longer = lengthened(np.ones((2, 1)), 3)
    >>> longer.tolist(), np.shares_memory(longer, lengthened(longer, 4))
    ([[1.0], [1.0], [0.0]], True)
    """
    n = len(a)
    if length < n:
        raise ValueError(f"Got {length:,} columns; expected at least the {n:,} so far.")
    if length == n:
        return a
    whole = _whole(a)
    if whole is not None and len(whole) >= length and not whole[n:length].any():
        return whole[:length].view(np.ndarray)
    longer = _Roomy((max(_LEAST, int(_FACTOR * length)), *a.shape[1:]), a.dtype)
    longer[:n], longer[n:] = a, 0
    return longer[:length].view(np.ndarray)


def _whole(a: NDArray[Any]) -> NDArray[Any] | None:
    """Return the longer array that an array is the beginning of, None if it has no room."""
    whole: Any = a.base
    if not a.flags.writeable or not isinstance(whole, _Roomy):
        return None
    while isinstance(whole.base, _Roomy):
        whole = whole.base
    same_start = whole.ctypes.data == a.ctypes.data
    alike = whole.dtype == a.dtype and whole.shape[1:] == a.shape[1:] and a.flags.c_contiguous
    return whole.view(np.ndarray) if same_start and alike else None
