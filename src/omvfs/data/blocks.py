"""One block of data: the rows of one view, as a C-ordered array or a canonical CSR matrix."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from omvfs.data.compressed import check_compressed
from omvfs.data.containers import Labels, Names, columns_of_texts, labels_of, values_of
from omvfs.data.mappings import are_mappings, read_mappings
from omvfs.wording import Sentence, Setting

FloatArray: TypeAlias = NDArray[np.floating[Any]]
Block: TypeAlias = FloatArray | sp.csr_array | sp.csr_matrix
Negative: TypeAlias = Literal["error", "clip", "allow"]


def read_block(X: Any, view: str | None = None) -> tuple[Block, Labels]:
    """Read anything 2-D as a block, and what its columns and rows are called.

    Structure is checked here; values are checked by `check_values`. The caller's data is never
    written to, and shared rather than copied where the layout allows.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, AnnData, xarray DataArray, or list of mappings
        Any sparse format; any eager frame that narwhals reads; rows of numbers by name.
    view : str, default=None
        The name errors speak of. Without one, X is a plain X: errors are scikit-learn's own.

    Returns
    -------
    block : Block
        float32 stays float32, everything else becomes float64.
    labels : Labels
        Names of the columns, index of the rows.
    """
    if are_mappings(X):
        block, names, has = read_mappings(X, view or "X")
        return block, Labels(names, present=has, by_name=True)
    check_unmasked(X, f"View {view or 'X'!r}")
    try:
        if view is not None and sp.issparse(X) and X.dtype.kind in "fiub":
            # It has no names, and all that `check_array` would ask of numbers is asked here.
            return _csr(X), Labels()
        labels = labels_of(X)
        # Emptiness in a view gets our own message, which knows the other views.
        least = 1 if view is None else 0
        array = check_array(
            values_of(X),
            accept_sparse=True,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=least,
            ensure_min_features=least,
            input_name="X",
        )
        block = _csr(array) if sp.issparse(array) else _dense(array)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        remedy = _of_texts(X) if "could not convert string" in str(error) else ""
        if view is None and isinstance(error, kind) and not remedy:
            raise
        # What offers itself as an array and is none here, a tensor of a GPU say, tells it somehow.
        raise kind(f"View {view or 'X'!r}: {error}{remedy}") from error
    return block, labels


def _of_texts(X: Any) -> str:
    """Tell which columns of a frame are no numbers, and what to do; nothing if all are."""
    found = columns_of_texts(X)
    if not found:
        return ""
    named = ", ".join(map(repr, found[:5])) + (f" and {len(found) - 5:,} more" * (len(found) > 5))
    return (
        f". Of its columns, {named} hold texts or categories: leave them out, or make numbers of "
        "them with omvfs.ViewTransformer."
    )


def check_unmasked(X: Any, what: str) -> None:
    """Refuse masked values: NumPy would use what they hide.

    Parameters
    ----------
    X : array-like or sparse matrix
        Or a list of rows, any of which may be masked.
    what : str
        What errors call it.

    Examples
    --------
    >>> check_unmasked(np.ma.masked_equal([[1.0, -9.0]], -9.0), "View 'text'")
    Traceback (most recent call last):
    ValueError: View 'text' has masked values, 1 of 2; expected values that are all there. Pass \
what they stand for, such as X.filled(0), or leave these rows out.
    """
    parts = X if isinstance(X, list | tuple) else [getattr(X, "data", X) if sp.issparse(X) else X]
    masked = [part for part in parts if isinstance(part, np.ma.MaskedArray)]
    if hidden := sum(np.count_nonzero(np.ma.getmaskarray(part)) for part in masked):
        size = sum(part.size for part in masked)
        raise ValueError(
            f"{what} has masked values, {hidden:,} of {size:,}; expected values that are all "
            "there. Pass what they stand for, such as X.filled(0), or leave these rows out."
        )


def _float_type(dtype: np.dtype[Any]) -> type[np.float32] | type[np.float64]:
    if dtype.kind not in "fiub":
        raise TypeError(f"Got dtype {dtype}; expected numbers. Encode the data as numbers first.")
    return np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64


def _dense(array: NDArray[Any]) -> FloatArray:
    if array.dtype.kind == "O":  # a frame of objects: check_array converts only arrays of them
        array = array.astype(np.float64)
    return np.ascontiguousarray(array, dtype=_float_type(array.dtype))


def _csr(matrix: Any) -> Block:
    if matrix.ndim != 2:
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D sparse array instead.")
    # As floats first: int8 duplicates would be summed in int8.
    safe = _with_proved_indices(matrix)
    return _canonical(safe.astype(_float_type(safe.dtype), copy=False).tocsr())


def _canonical(csr: Any) -> Block:
    """Sorted, without duplicates and explicit zeros; on a copy if that takes any change."""
    if not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr


def tidy_block(X: Any) -> Block:
    """Return what was worked out of a block as one: C-ordered, or canonical CSR.

    Its indices are trusted; but values may have become zero.

    Examples
    --------
    >>> tidy_block(sp.csr_array([[1e-200, 1.0]]) * 1e-200).nnz
    1
    """
    if getattr(X, "format", "csr") != "csr" or X.dtype not in (np.float32, np.float64):
        kind = getattr(X, "format", "array")
        raise TypeError(f"Got {kind} of dtype {X.dtype}; expected an array or CSR of floats.")
    return _canonical(X) if sp.issparse(X) else np.ascontiguousarray(X)


def _with_proved_indices(matrix: Any) -> Any:
    """Put the arrays of `matrix` into a new object whose indices are known to be in range.

    scipy's products and conversions trust the indices, and crash on bad ones. The object is new
    because pruning is done in place, and because the flags of the old one may be stale.
    """
    # Of scipy's own class: others, such as AnnData's of some rows, are made in another way.
    new = getattr(sp, f"{matrix.format}_{'array' if isinstance(matrix, sp.sparray) else 'matrix'}")
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            return _proved(new((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape))
        if matrix.format == "coo":
            return new((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
        if matrix.format == "dia":
            return new((matrix.data, matrix.offsets), shape=matrix.shape)
        if matrix.format == "lil" and [*map(len, matrix.rows)] != [*map(len, matrix.data)]:
            raise ValueError("rows and data must have the same lengths")
        return matrix.tocoo()  # LIL and DOK hold Python objects: this makes and checks arrays
    except (IndexError, ValueError) as error:
        raise ValueError(
            f"the {matrix.format.upper()} matrix of shape {matrix.shape} is corrupt: {error}. "
            "Build it again from its entries."
        ) from error


def _proved(safe: Any) -> Any:
    """Check the arrays of a compressed matrix, without the room to spare that some have."""
    rows, columns = safe.shape
    if safe.format == "bsr":
        rows, columns = rows // safe.blocksize[0], columns // safe.blocksize[1]
    if 0 <= (n := int(safe.indptr[-1])) < len(safe.indices):
        safe.data, safe.indices = safe.data[:n], safe.indices[:n]
    shape = (columns, rows) if safe.format == "csc" else (rows, columns)
    check_compressed(safe.data, safe.indices, safe.indptr, shape)
    return safe


def check_values(block: Block, view: str, names: Names | None, negative: Negative) -> Block:
    """Refuse what is not finite, what has no finite square, and what is negative.

    Parameters
    ----------
    block : Block
        The block to check.
    view : str
        The name errors speak of.
    names : ndarray of str objects, or None
        Feature names, for the errors.
    negative : {"error", "clip", "allow"}
        What to do with negative values.

    Returns
    -------
    block : Block
        The same block, or a clipped copy.
    """
    values = _values(block)
    with np.errstate(over="ignore", invalid="ignore"):
        # One pass finds them all: NaN, inf and overflow each make the sum of squares not finite.
        energy = values @ values
    if not np.isfinite(energy):
        raise ValueError(_why_not_finite(block, view, names))
    if negative == "allow" or not values.size or values.min() >= 0:
        return block
    if negative == "clip":
        return _clipped(block)
    entry = int(np.argmax(values < 0))
    raise ValueError(
        Sentence(
            f"Negative values in data: view {view!r} holds {values[entry]:g} at "
            f"{_place(block, entry, names)}; expected values >= 0. Pass ",
            Setting("negative", "clip"),
            " to set them to 0, or ",
            Setting("negative", "shift"),
            " to shift the column up.",
        )
    )


def _values(block: Any) -> FloatArray:
    """Return the stored values as one flat array, without copying."""
    values: FloatArray = block.data if sp.issparse(block) else np.ravel(block)
    return values


def _clipped(block: Any) -> Block:
    if not sp.issparse(block):
        return np.maximum(block, 0)
    block = block.copy()
    np.maximum(block.data, 0, out=block.data)
    block.eliminate_zeros()
    return block


def _why_not_finite(block: Any, view: str, names: Names | None) -> str:
    values = _values(block)
    if np.isnan(values).any():
        place = _place(block, int(np.argmax(np.isnan(values))), names)
        return (
            f"Input X contains NaN: view {view!r}, {place}; expected finite values. "
            "Impute the missing values or drop these rows."
        )
    if np.isinf(values).any():
        place = _place(block, int(np.argmax(np.isinf(values))), names)
        return (
            f"Input X contains infinity: view {view!r}, {place}; expected finite values. "
            "Replace it or drop these rows."
        )
    entry = int(np.argmax(np.abs(values)))
    return (
        f"Input X contains a value too large for {values.dtype}: view {view!r} holds "
        f"{values[entry]:g} at {_place(block, entry, names)}; expected a finite sum of squares. "
        "Scale the view down" + (", or give it as float64." if values.dtype == np.float32 else ".")
    )


def _place(block: Any, entry: int, names: Names | None) -> str:
    """Say where in the block its `entry`-th stored value is."""
    if sp.issparse(block):
        row = int(np.searchsorted(block.indptr, entry, side="right")) - 1
        column = int(block.indices[entry])
    else:
        row, column = divmod(entry, block.shape[1])
    feature = "" if names is None else f" (feature {names[column]!r})"
    return f"row {row}, column {column}{feature}"


def take_rows(block: Any, key: Any) -> Block:
    """Rows of a block: a view of a dense block's memory where `key` is a plain slice."""
    return block[key] if sp.issparse(block) else np.ascontiguousarray(block[key])


def take_columns(block: Any, key: Any) -> Block:
    """Columns of a block, its kind kept."""
    if not sp.issparse(block):
        return np.ascontiguousarray(block[:, key])
    taken = block[:, key]
    taken.sort_indices()  # columns asked for out of order leave the rows unsorted
    return taken


def vstack(blocks: Sequence[Block]) -> Block:
    """Rows below rows; sparse if any block is sparse."""
    return _stack(blocks, sp.vstack, np.vstack)


def hstack(blocks: Sequence[Block]) -> Block:
    """Put blocks side by side; the result is sparse if any block is sparse.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks with equal numbers of rows.

    Returns
    -------
    block : Block
        A CSR array if any block is one, else a CSR matrix if any block is one, else dense.

    Examples
    --------
    >>> import numpy as np
    >>> hstack([np.ones((2, 1)), np.zeros((2, 2))])
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """
    return _stack(blocks, sp.hstack, np.hstack)


def _stack(blocks: Sequence[Block], sparse_stack: Any, dense_stack: Any) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    kinds = {type(block) for block in blocks if sp.issparse(block)}
    if not kinds:
        return dense_stack(blocks)
    kind = sp.csr_array if sp.csr_array in kinds else sp.csr_matrix
    return kind(sparse_stack([kind(block) for block in blocks], format="csr"))
