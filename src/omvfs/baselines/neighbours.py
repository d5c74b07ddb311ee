"""Who is near whom.

Rows may be a dense array or a CSR matrix; neither is made dense as a whole.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.baselines.products import product_strips
from omvfs.model.arrays import Array, Block, IntArray, squared_row_norms, unit_rows

# Relative difference up to which similarities in single precision are taken for equal.
NEAR = 1e-5
# So many times the neighbours that are asked for may be held at most.
_HELD = 8


def neighbours(X: Block, k: int, Y: Block | None = None) -> sp.csr_array:
    """Join every row of X with its k nearest rows, weighted by cosine similarity.

    Only positive similarities make an edge, so that an empty row is isolated. Among equally similar
    rows the first are taken. Memory is bounded by a strip of similarities, whatever the number of
    rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
    k : int
        Neighbours of a row.
    Y : array or CSR matrix of shape (m, D), optional
        Where to look for neighbours. By default among the other rows of X.

    Returns
    -------
    csr_array of shape (n, n) or (n, m)
        Without Y symmetric: two rows are joined if either is a neighbour of the other. With Y,
        row i holds the neighbours of row i of X.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    >>> neighbours(X, 1).toarray().round(2)
    array([[0. , 1. , 0.6, 0. ],
           [1. , 0. , 0. , 0. ],
           [0.6, 0. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    if k < 1:
        raise ValueError(f"A row must have at least 1 neighbour; got k={k}.")
    unit = unit_rows(X)
    other = unit if Y is None else unit_rows(Y)
    found = []
    for start, S in product_strips(unit, other):
        if Y is None:
            S[np.arange(len(S)), np.arange(start, start + len(S))] = 0
        found.append(_edges(S, k))
    if not found:
        return sp.csr_array((unit.shape[0], other.shape[0]), dtype=X.dtype)
    W = sp.vstack(found, format="csr")
    return W if Y is not None else sp.csr_array(W.maximum(W.T))


def nearest(X: Block, k: int) -> sp.csr_array | None:
    """Return the cosines of every row with all others that may be among its k nearest.

    The first k among equals are among them, and all that are as near but for the rounding error of
    single precision. So a graph and a vote of the same rows need not both look for them.

    Returns
    -------
    csr_array of shape (n, n), or None
        None if so many are equally near that they are better looked for twice than held.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    >>> nearest(X, 1).toarray().round(2)
    array([[0. , 1. , 0. , 0. ],
           [1. , 0. , 0. , 0. ],
           [0.6, 0.6, 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    unit, found = unit_rows(X), []
    for start, S in product_strips(unit, unit):
        S[np.arange(len(S)), np.arange(start, start + len(S))] = 0
        low = _below_largest(S, k) if k < S.shape[1] else np.zeros((len(S), 1), S.dtype)
        least = np.maximum(low * (1 - 2 * NEAR) - 2 / _digits(S), _smallest(S))
        rows, columns = np.nonzero(least <= S)
        if len(rows) > _HELD * k * len(S):
            return None
        found.append(sp.csr_array((S[rows, columns], (rows, columns)), shape=S.shape))
    return sp.vstack(found, format="csr") if found else None


def normalised_neighbours(
    X: Sequence[Block], k: int, near: Sequence[sp.csr_array | None] = ()
) -> list[sp.csr_array]:
    """Return per view Ŵ = D^-½ W D^-½, W joining every row with its k nearest by cosine.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
    k : int
    near : sequence of (csr_array of shape (n, n), or None)
        What `nearest` has found of each view, if it was asked.

    Examples
    --------
    >>> normalised_neighbours([np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])], 1)[0].toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    graphs = []
    for X_v, near_v in zip(X, near or [None] * len(X), strict=True):
        most = min(k, max(1, X_v.shape[0] - 1))
        W = neighbours(X_v, most) if near_v is None else _joined(near_v, most)
        degree = np.asarray(W.sum(axis=1)).ravel()
        scale = np.zeros_like(degree)
        np.divide(1, np.sqrt(degree), out=scale, where=degree > 0)
        D = sp.diags_array(scale)
        graphs.append(sp.csr_array(D @ W @ D))
    return graphs


def k_nearest(X: Block, k: int) -> IntArray:
    """Return the k nearest other rows of every row by Euclidean distance, the nearest first.

    Among equally near rows the first are taken. Memory is bounded by a strip of products, whatever
    the number of rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        Best centred if dense: distances come from products, which round in proportion to the rows.
    k : int
        Neighbours of a row; at most all others.

    Returns
    -------
    array of shape (n, min(k, n - 1))

    Examples
    --------
    >>> k_nearest(np.array([[0.0], [1.0], [3.0], [3.0]]), 2)
    array([[1, 2],
           [0, 2],
           [3, 1],
           [2, 1]])
    """
    n = X.shape[0]
    k = min(k, n - 1)
    found = np.empty((n, k), np.intp)
    if not k:
        return found
    norms = squared_row_norms(X)
    for start, S in product_strips(X, X):
        stop = start + len(S)
        # x·y − ‖y‖²/2 = (‖x‖² − ‖x − y‖²) / 2 orders the rows y as their nearness does.
        S -= norms / 2
        S[np.arange(len(S)), np.arange(start, stop)] = -np.inf
        columns = _k_largest(S, k, float(np.finfo(S.dtype).min), norms[start:stop, np.newaxis])[1]
        found[start:stop] = columns.reshape(-1, k)
    return found


def _edges(S: Array, k: int) -> sp.csr_array:
    """Keep the k largest positive entries of every row, the first among equals."""
    if k >= S.shape[1]:
        return sp.csr_array(np.maximum(S, 0))
    rows, columns = _k_largest(S, k, _smallest(S))
    return sp.csr_array((S[rows, columns], (rows, columns)), shape=S.shape)


def _joined(near: sp.csr_array, k: int) -> sp.csr_array:
    """Join every row with the first k of those that may be nearest to it, as `neighbours` does."""
    rows, columns = near.tocoo().coords
    kept = _first(rows, columns, np.rint(near.data * _digits(near)), k)
    parts = near.data[kept], (rows[kept], columns[kept])
    W = sp.csr_array(parts, shape=near.shape)
    return sp.csr_array(W.maximum(W.T))


def _k_largest(
    S: Array, k: int, least: float, size: Array | None = None
) -> tuple[IntArray, IntArray]:
    """Return where the k largest entries of every row are, row by row, the largest first.

    Entries below `least` do not count. With `size`, the squared norm of every row, entries are
    (‖x‖² − ‖x − y‖²) / 2; else they are about 1. Fewer than all columns are asked for.
    """
    low = _below_largest(S, k)
    digits = _digits(S)
    span = np.ones_like(low) if size is None else size - low
    grain = digits / np.maximum(span, digits * np.finfo(S.dtype).tiny)
    rows, columns = np.nonzero(np.maximum(low - 2 / grain, least) <= S)
    kept = _first(rows, columns, np.rint(S[rows, columns] * grain[rows, 0]), k)
    return rows[kept], columns[kept]


def _below_largest(S: Array, k: int) -> Array:
    """Return what is not above the k-th largest entry of each row, and leaves few to sort."""
    m = S.shape[1]
    groups = np.maximum.reduceat(S, np.arange(0, m, max(1, m // (5 * k))), axis=1)
    low: Array = np.partition(groups, -k, axis=1)[:, [-k]]
    return low


def _first(rows: IntArray, columns: IntArray, values: Array, k: int) -> IntArray:
    """Return which k entries of every row are the largest, the largest first, of rows in order."""
    order = np.lexsort((columns, -values, rows))
    first = np.searchsorted(rows, np.arange(rows.max(initial=-1) + 1))
    found: IntArray = order[np.arange(len(rows)) - first[rows] < k]
    return found


def _digits(S: Block) -> float:
    """Return by what to multiply similarities so that those equal but for rounding error are equal.

    They are common among counts, and must not be told apart.
    """
    return 1e10 if S.dtype == np.float64 else 1e5


def _smallest(S: Array) -> float:
    return float(np.finfo(S.dtype).smallest_subnormal)
