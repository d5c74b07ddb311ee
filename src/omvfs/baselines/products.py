"""Products of rows with rows, each column multiplied in the way that is cheapest.

Rows may be a dense array or a CSR matrix. Products of sparse rows take time by the pairs of entries
that meet and by the products that are not zero; those of dense ones by their columns. So columns
that many rows have are multiplied as dense ones, and those that few have as they are.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray, dense
from omvfs.model.columns import on_columns

# Entries of the dense strip of products, or of rows made dense, held at a time.
STRIP_ENTRIES = 1 << 19
# The same for products of dense rows with themselves, of which BLAS works out one half if they are
# asked for at once: those of the 2,000 rows that a reservoir has by default.
_SQUARE_ENTRIES = 1 << 22
# What an entry costs, in ns, on one thread of an x86-64 server, double precision. Two sparse rows:
# every pair of entries that meet, and every product that is not zero. A sparse row with dense ones:
# every entry of it and of them. Dense rows: every column. Before, to make an entry dense; and to
# sort out those of some columns.
_PAIR, _FOUND, _WIDE, _DENSE, _FILL, _SORT = 2.3, 22.0, 0.8, 0.03, 2.0, 8.0
# Rows are made dense only if that takes so many times the room of their entries at most.
_ROOM = 8


def product_strips(X: Block, Y: Block) -> Iterator[tuple[int, Array]]:
    """Yield the products of the rows of X and Y in dense strips, each with its first row.

    A strip may be written to, and is written over by the next.

    Examples
    --------
    >>> X = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    >>> [(start, S.tolist()) for start, S in product_strips(X, X)]
    [(0, [[5.0, 6.0], [6.0, 9.0]])]
    """
    n, m = X.shape[0], Y.shape[0]
    if not (sp.issparse(X) and sp.issparse(Y)):
        yield from _beside_dense(X, Y)
        return
    (few, many), (others, wide) = _parts(X, Y)
    # Transposed once: a product would bring a transpose into rows anew for every strip.
    across, wide = others.T.tocsr(), dense(wide)
    if full := many.nnz * _WIDE > n * many.shape[1] * _DENSE:
        # Of rows with themselves BLAS works out one half, if it sees that they are the same.
        many = wide if X is Y else many
    else:
        wide = np.asfortranarray(wide)
    height = min(n, _height(m, many.shape[1] if full and X is not Y else 1))
    room = np.empty((height, m), np.result_type(X.dtype, Y.dtype))
    for start in range(0, n, max(1, height)):
        rows = slice(start, min(n, start + height))
        S = room[: rows.stop - start]
        if few.nnz:
            (few[rows] @ across).toarray(out=S)
        if many.shape[1]:
            asked = dense(many[rows]) if full else many[rows]
            S = S + asked @ wide.T if few.nnz else asked @ wide.T
        elif not few.nnz:
            S[:] = 0
        yield start, S


def _beside_dense(X: Block, Y: Block) -> Iterator[tuple[int, Array]]:
    """Yield strips of products of rows of which some are dense."""
    if X is Y and X.shape[0] ** 2 <= _SQUARE_ENTRIES:
        yield 0, X @ X.T
        return
    X_full, Y_full = _is_full(X), _is_full(Y)
    Y = dense(Y) if Y_full else Y
    height = _height(Y.shape[0], X.shape[1] if X_full else 1)
    for start in range(0, X.shape[0], height):
        rows = X[start : start + height]
        yield start, (dense(rows) if X_full else rows) @ Y.T


def _is_full(X: Block) -> bool:
    """Tell whether a CSR matrix has so many entries that an array is better beside another."""
    return bool(sp.issparse(X) and X.nnz * _ROOM >= X.shape[0] * X.shape[1])


def _height(*widths: int) -> int:
    """Return how many rows of some widths make a strip."""
    return max(1, STRIP_ENTRIES // max(1, *widths))


def _parts(X: Block, Y: Block) -> list[tuple[Block, Block]]:
    """Return of two CSR matrices the columns to multiply as they are, and those as dense ones."""
    n, m = X.shape[0], Y.shape[0]
    none = [sp.csr_array((rows, 0), dtype=each.dtype) for rows, each in ((n, X), (m, Y))]
    # So few products that it would take longer to look at the columns.
    if (_FOUND * n + _PAIR * X.nnz) * m < _SORT * Y.nnz:
        return [(X, none[0]), (Y, none[1])]
    common, rest = _columns(X, Y)
    if not len(common):
        return [(X, none[0]), (Y, none[1])]
    if len(common) == X.shape[1]:
        return [(none[0], X), (none[1], Y)]
    return [(on_columns(each, rest), on_columns(each, common)) for each in (X, Y)]


def _columns(X: Block, Y: Block) -> tuple[IntArray, IntArray]:
    """Return which columns of two CSR matrices to multiply as dense ones, and which as they are.

    Columns that only one of them has are in neither. The more pairs of rows have a column the
    better it is dense: in this order, as many are as is cheapest by the costs above.
    """
    n, m = X.shape[0], Y.shape[0]
    x, y = (np.bincount(rows.indices, minlength=rows.shape[1]) for rows in (X, Y))
    there = np.flatnonzero((x > 0) & (y > 0))
    pairs = x[there] * y[there].astype(np.float64)
    order = np.argsort(-pairs, kind="stable")
    most = min(len(there), (_ROOM * Y.nnz + STRIP_ENTRIES) // max(1, m))
    taken = np.arange(most + 1, dtype=np.float64)
    met, entries = (
        np.concatenate([[0.0], np.cumsum(each[order[:most]])]) for each in (pairs, x[there])
    )
    left = np.maximum(pairs.sum() - met, 0)
    # Numbers of half the length are quicker to multiply where they are side by side.
    length = np.result_type(X.dtype, Y.dtype).itemsize / 8
    whole = _DENSE * n * m * taken + _FILL * n * taken
    beside = np.minimum(_WIDE * m * entries, whole) + _FILL * m * taken
    found = n * m * -np.expm1(-left / max(1, n * m))
    cost = length * beside + _PAIR * left + _FOUND * found
    # Columns are sorted out unless all go the same way.
    cost[1 : len(there)] += _SORT * (X.nnz + Y.nnz)
    common = int(cost.argmin())
    return np.sort(there[order[:common]]), np.sort(there[order[common:]])
