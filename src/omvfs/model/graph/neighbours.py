"""Who is near whom.

Rows may be a dense array or a CSR matrix; neither is made dense as a whole.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray, squared_row_norms, unit_rows

# Entries of the dense strip of similarities held at a time while looking for neighbours.
STRIP_ENTRIES = 1 << 21


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


def normalised_neighbours(X: Sequence[Block], k: int) -> list[sp.csr_array]:
    """Return per view Ŵ = D^-½ W D^-½, W joining every row with its k nearest by cosine.

    Examples
    --------
    >>> normalised_neighbours([np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])], 1)[0].toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    graphs = []
    for X_v in X:
        W = neighbours(X_v, min(k, max(1, X_v.shape[0] - 1)))
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


def product_strips(X: Block, Y: Block) -> Iterator[tuple[int, Array]]:
    """Yield the products of the rows of X and Y in dense strips, each with its first row.

    A strip may be written to, and is written over by the next.
    """
    n, m = X.shape[0], Y.shape[0]
    height = max(1, STRIP_ENTRIES // max(1, m))
    # Transposed once: a product would bring a transpose into rows anew for every strip.
    sparse = sp.issparse(X) and sp.issparse(Y)
    across = Y.T.tocsr() if sparse else Y.T
    room = np.empty((min(height, n), m), np.result_type(X.dtype, Y.dtype)) if sparse else None
    for start in range(0, n, height):
        products = X[start : start + height] @ across
        yield start, products if room is None else products.toarray(out=room[: products.shape[0]])


def _edges(S: Array, k: int) -> sp.csr_array:
    """Keep the k largest positive entries of every row, the first among equals."""
    if k >= S.shape[1]:
        return sp.csr_array(np.maximum(S, 0))
    rows, columns = _k_largest(S, k, float(np.finfo(S.dtype).smallest_subnormal))
    return sp.csr_array((S[rows, columns], (rows, columns)), shape=S.shape)


def _k_largest(
    S: Array, k: int, least: float, size: Array | None = None
) -> tuple[IntArray, IntArray]:
    """Return where the k largest entries of every row are, row by row, the largest first.

    Entries below `least` do not count. With `size`, the squared norm of every row, entries are
    (‖x‖² − ‖x − y‖²) / 2; else they are about 1. Fewer than all columns are asked for.
    """
    n, m = S.shape
    # The k-th largest of the maxima of groups bounds the k-th largest entry from below, and leaves
    # few entries to sort.
    groups = np.maximum.reduceat(S, np.arange(0, m, max(1, m // (5 * k))), axis=1)
    low = np.partition(groups, -k, axis=1)[:, [-k]]
    # Equal similarities are common among counts, and must not be told apart by rounding error.
    digits = 1e10 if S.dtype == np.float64 else 1e5
    span = np.ones_like(low) if size is None else size - low
    grain = digits / np.maximum(span, digits * np.finfo(S.dtype).tiny)
    rows, columns = np.nonzero(np.maximum(low - 2 / grain, least) <= S)
    R = np.rint(S[rows, columns] * grain[rows, 0])
    order = np.lexsort((columns, -R, rows))
    first = np.searchsorted(rows, np.arange(n))
    kept = order[np.arange(len(rows)) - first[rows] < k]
    return rows[kept], columns[kept]
