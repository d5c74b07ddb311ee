"""Small array helpers of the mathematics, for dense arrays and CSR matrices alike."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.intp]
# A dense array or a CSR matrix. scipy ships no types, so a checker cannot tell them apart.
Block: TypeAlias = Any
# Products of a block as full as this are faster dense, and one as large as this is not made so.
_FULL, _LARGE = 0.05, 2**24


def column_sums(X: Block) -> NDArray[np.float64]:
    """Return the sum of every column, in double precision."""
    if sp.issparse(X):
        return np.bincount(X.indices, X.data, X.shape[1]).astype(np.float64, copy=False)
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()


def squared_entries(X: Block) -> Block:
    """Return X ∘ X, in double precision."""
    if not sp.issparse(X):
        return np.square(X, dtype=np.float64)
    squares = np.square(X.data, dtype=np.float64)
    return sp.csr_array((squares, X.indices, X.indptr), shape=X.shape)


def squared_row_norms(X: Block, dtype: Any = None) -> Array:
    """Return ‖x_i‖² of every row, by default in the precision of X."""
    dtype = X.dtype if dtype is None else dtype
    if not sp.issparse(X):
        return np.asarray(np.einsum("ij,ij->i", X, X, dtype=dtype))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows, np.square(X.data, dtype=dtype), X.shape[0]).astype(dtype, copy=False)


def dense(X: Block) -> Array:
    """Return a block that is small enough as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else np.asarray(X))


def part_of(X: Block, rows: IntArray, columns: IntArray) -> Block:
    """Return some rows and columns of a block."""
    return X[:, columns][rows] if sp.issparse(X) else X[np.ix_(rows, columns)]


def in_faster_kind(X: Block) -> Block:
    """Return a block as an array, if it is sparse and its products are faster so."""
    cells = X.shape[0] * X.shape[1]
    return X.toarray() if sp.issparse(X) and _FULL * cells <= X.nnz and cells <= _LARGE else X


def unit_rows(X: Block) -> Block:
    """Return X with rows of unit norm, as an array or a CSR array; zero rows stay zero.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [3e-200, 4e-200]]))
    array([[0.6, 0.8],
           [0. , 0. ],
           [0.6, 0.8]])
    """
    with np.errstate(over="ignore"):
        norms = np.sqrt(squared_row_norms(X))
    limits = np.finfo(norms.dtype)
    lost = (norms < np.sqrt(limits.tiny) / limits.eps) | (norms > np.sqrt(limits.max))
    if lost.any():
        # Of rows that are empty there is nothing to lose.
        lost &= np.diff(X.indptr) > 0 if sp.issparse(X) else X.any(axis=1)
    if lost.any():
        # The squares of entries so small or so large are lost: by the largest entry first.
        # Of a copy, as scipy sorts the columns of rows in place to find it.
        largest = abs(X.copy()).max(axis=1)
        largest = dense(largest).ravel() if sp.issparse(X) else largest
        X = rows_divided(X, np.where(lost, largest, 1))
        norms = np.where(lost, np.sqrt(squared_row_norms(X)), norms)
    return rows_divided(X, norms)


def rows_divided(X: Block, sizes: Array) -> Block:
    """Return X with row i divided by size i; a size of 0 counts as 1."""
    sizes = np.where(sizes > 0, sizes, 1).astype(X.dtype, copy=False)
    if sp.issparse(X):
        # A copy of the indices too: sorting those of one would spoil the other.
        divided = sp.csr_array(X, copy=True)
        divided.data *= (1 / sizes).repeat(np.diff(X.indptr))
        return divided
    return X / sizes[:, np.newaxis]


def rounding(dtype: np.dtype[Any]) -> float:
    """Return what may be rounding error beside 1, well above that of a sum."""
    return 1e-10 if dtype == np.float64 else 1e-5


def significant(values: Array, dtype: np.dtype[Any] | None = None) -> NDArray[np.float64]:
    """Return values rounded to the digits that do not depend on the processor.

    Sums in another order, or by another kernel of BLAS, differ in their last digits. Scores rounded
    so are equal where they are equal but for rounding error, and the order of columns decides.

    Parameters
    ----------
    values : array
    dtype : dtype, default=None
        Precision of the data that the values come from; by default that of the values.

    Examples
    --------
    >>> a, b = significant(np.array([0.1 + 0.2, 0.3]))
    >>> bool(a == b), round(float(a), 9)
    (True, 0.3)
    """
    bits = 33 if (values.dtype if dtype is None else dtype) == np.float64 else 20
    mantissas, exponents = np.frexp(np.asarray(values, np.float64))
    return np.asarray(np.ldexp(np.round(mantissas * 2.0**bits), exponents - bits))


def project(X: Sequence[Block], V: Sequence[Array]) -> Array:
    """Return Σ_v X_v V_v, rows by clusters."""
    total: Array = np.asarray(X[0] @ V[0])
    for X_v, V_v in zip(X[1:], V[1:], strict=True):
        total = total + X_v @ V_v
    return total


def stack(parts: Sequence[Block]) -> Block:
    """Put the rows of several blocks of one view below each other.

    Rows that lack the view are sparse and empty, whatever others are.
    """
    if len(parts) == 1:
        return parts[0]
    if not all(map(sp.issparse, parts)):
        parts = [dense(X) if sp.issparse(X) and not X.nnz else X for X in parts]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def scale_columns(X: Block, scale: Array) -> Block:
    """Return X with column j multiplied by scale_j."""
    if not sp.issparse(X):
        return X * scale
    # Entry by entry: a product would leave the columns of a row out of order.
    scaled = sp.csr_array(X, copy=True)
    scaled.data = scaled.data * scale[scaled.indices]
    return scaled


def times(X: Block, factor: float) -> Block:
    """Return X multiplied by a number, X itself if that is 1; a CSR matrix shares its indices."""
    if factor == 1:
        return X
    if not sp.issparse(X):
        return X * X.dtype.type(factor)
    return sp.csr_array((X.data * X.dtype.type(factor), X.indices, X.indptr), shape=X.shape)
