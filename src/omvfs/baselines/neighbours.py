"""The nearest other rows of every row, by cosine or by distance; the first among equals.

Rows may be a dense array or a CSR matrix, which is made dense only if that is not much larger.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray, dense, squared_row_norms, unit_rows

# Products of rows with rows that are held at a time.
_STRIP_ENTRIES = 1 << 22
# Rows are made dense if that takes so many times the room of their entries at most: it is faster.
_ROOM = 8


def neighbours(X: Block, k: int) -> sp.csr_array:
    """Join every row with its k nearest others, weighted by cosine; either may choose the other.

    Only positive cosines make an edge, so that an empty row is isolated.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    >>> neighbours(X, 1).toarray().round(2)
    array([[0. , 1. , 0.6, 0. ],
           [1. , 0. , 0. , 0. ],
           [0.6, 0. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    W = nearest_by_cosine(X, k)
    return sp.csr_array(W.maximum(W.T))


def nearest_by_cosine(X: Block, k: int) -> sp.csr_array:
    """Return the positive cosines of every row with its k nearest others, row by row."""
    unit = unit_rows(X)
    found = []
    for start, S in _strips(unit):
        S[np.arange(len(S)), np.arange(start, start + len(S))] = 0
        rows, columns = _k_largest(S, k, float(np.finfo(S.dtype).smallest_subnormal))
        found.append(sp.csr_array((S[rows, columns], (rows, columns)), shape=S.shape))
    return sp.vstack(found, format="csr")


def k_nearest(X: Block, k: int) -> IntArray:
    """Return the k nearest other rows of every row by Euclidean distance, the nearest first.

    Distances come from products, which round in proportion to the rows: a dense X is best centred.

    Examples
    --------
    >>> k_nearest(np.array([[0.0], [1.0], [3.0], [3.0]]), 2)
    array([[1, 2],
           [0, 2],
           [3, 1],
           [2, 1]])
    """
    k = min(k, X.shape[0] - 1)
    found = np.empty((X.shape[0], k), np.intp)
    norms = squared_row_norms(X)
    for start, S in _strips(X) if k else ():
        stop = start + len(S)
        # x·y − ‖y‖²/2 = (‖x‖² − ‖x − y‖²) / 2 orders the rows y as their nearness does.
        S -= norms / 2
        S[np.arange(len(S)), np.arange(start, stop)] = -np.inf
        columns = _k_largest(S, k, float(np.finfo(S.dtype).min), norms[start:stop, np.newaxis])[1]
        found[start:stop] = columns.reshape(-1, k)
    return found


def _strips(X: Block) -> Iterator[tuple[int, Array]]:
    """Yield the products of all rows with all, some rows at a time, and the number of the first."""
    if sp.issparse(X) and X.nnz * _ROOM >= X.shape[0] * X.shape[1]:
        X = dense(X)
    # Transposed once: a product would bring a transpose into rows anew for every strip.
    across = X.T.tocsr() if sp.issparse(X) else X.T
    height = max(1, _STRIP_ENTRIES // max(1, X.shape[0]))
    for start in range(0, X.shape[0], height):
        yield start, dense(X[start : start + height] @ across)


def _k_largest(
    S: Array, k: int, least: float, size: Array | None = None
) -> tuple[IntArray, IntArray]:
    """Return where the k largest entries of every row are, row by row, the largest first.

    Entries below `least` do not count. Those equal but for rounding error are equal, as they are
    common among counts. With `size`, the squared norm of every row, entries are
    (‖x‖² − ‖x − y‖²) / 2; else they are about 1.
    """
    k, digits = min(k, S.shape[1]), 1e10 if S.dtype == np.float64 else 1e5
    low = np.partition(S, -k, axis=1)[:, [-k]]
    span = np.ones_like(low) if size is None else size - low
    grain = digits / np.maximum(span, digits * np.finfo(S.dtype).tiny)
    rows, columns = np.nonzero(np.maximum(low - 2 / grain, least) <= S)
    order = np.lexsort((columns, -np.rint(S[rows, columns] * grain[rows, 0]), rows))
    first = np.searchsorted(rows, np.arange(len(S)))
    kept = order[np.arange(len(rows)) - first[rows] < k]
    return rows[kept], columns[kept]
