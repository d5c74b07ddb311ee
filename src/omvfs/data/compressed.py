"""What makes three arrays a sparse matrix: the one check of those that come from anywhere."""

from typing import Any

from numpy.typing import NDArray


def check_compressed(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> None:
    """Refuse arrays that are no compressed sparse matrix; scipy would read and write beyond them.

    scipy's own check looks no further where `indptr` ends in 0, and subtracts, which wraps around.
    Here nothing is subtracted.

    Parameters
    ----------
    data : array
        Values, or blocks of them.
    indices, indptr : array
        Column of every value, and where in them each row begins and the last one ends.
    shape : tuple of int
        Rows and columns; of a matrix that is stored by columns, columns and rows.

    Raises
    ------
    ValueError
        Saying what is wrong, without a word on whose arrays they are.

    Examples
    --------
    >>> import numpy as np
    >>> check_compressed(np.ones(2), np.array([0, 2]), np.array([0, 1, 2]), (2, 3))
    >>> check_compressed(np.ones(2), np.array([0, 3]), np.array([0, 1, 2]), (2, 3))
    Traceback (most recent call last):
    ValueError: an entry is in column 3 of 3, counted from 0
    """
    n, width = shape
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in (indices, indptr)):
        raise ValueError("its places are no lists of whole numbers")
    if len(indptr) != n + 1:
        raise ValueError(f"it has {len(indptr):,} ends for {n:,} rows, one more expected")
    if len(data) != len(indices):
        raise ValueError(f"it has {len(data):,} values for {len(indices):,} places")
    if indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError(
            f"its rows begin at {indptr[0]:,} and end at {indptr[-1]:,}; expected 0 and the "
            f"{len(indices):,} entries it has"
        )
    if (indptr[1:] < indptr[:-1]).any():
        raise ValueError("a row ends before it begins")
    if not len(indices):
        return
    for column in (indices.min(), indices.max()):
        if not 0 <= column < width:
            raise ValueError(f"an entry is in column {column:,} of {width:,}, counted from 0")
