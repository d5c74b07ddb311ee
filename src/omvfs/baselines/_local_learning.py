"""Local learning: what the neighbours of a row say of it."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, unit_rows
from omvfs.model.graph.neighbours import neighbours

# λ: the ridge of every local regression, as in the code of the authors' single-view method.
_RIDGE = 0.1
# Entries of a dense view that are gathered at a time.
_STRIP_ENTRIES = 1 << 21


def local_residual(X: Block, k: int, ridge: float = _RIDGE) -> sp.csr_array:
    """Return I − A, where (A y)_i is what the neighbours of row i predict of y_i.

    Kernel ridge regression with the cosine kernel: a_i = k_iᵀ (K_i + λI)⁻¹, over the k nearest
    other rows of positive cosine. ‖(I − A) G‖² is the local learning regulariser tr(Gᵀ L G). A row
    without neighbours has no prediction, and is zero: no term speaks of it.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
    k : int
        Neighbours of a row.
    ridge : float
        λ, above 0.

    Returns
    -------
    csr_array of shape (n, n)
        At most k + 1 entries a row.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> local_residual(X, 1, ridge=0.25).toarray()
    array([[ 1. , -0.8,  0. ],
           [-0.8,  1. ,  0. ],
           [ 0. ,  0. ,  0. ]])
    """
    n = X.shape[0]
    k = min(k, max(1, n - 1))
    unit = unit_rows(X)
    S = _nearest_others(unit, k)
    degree = np.diff(S.indptr)
    # Neighbours side by side; places without one have similarity 0 and get the coefficient 0.
    place = np.arange(len(S.indices)) - S.indptr[:-1].repeat(degree)
    rows = np.arange(n).repeat(degree)
    found = np.zeros((n, k), np.intp)
    similarity = np.zeros((n, k))
    found[rows, place], similarity[rows, place] = S.indices, S.data
    height = max(1, _STRIP_ENTRIES // k**2)
    strips = [slice(start, start + height) for start in range(0, n, height)]
    coefficients = np.concatenate([_solved(unit, found[s], similarity[s], ridge) for s in strips])
    A = sp.csr_array((coefficients[rows, place], S.indices, S.indptr), shape=(n, n))
    return sp.csr_array(sp.diags_array((degree > 0).astype(np.float64)) - A)


def _solved(
    unit: Block, found: NDArray[np.intp], similarity: NDArray[np.float64], ridge: float
) -> Array:
    """Return (K_i + λI)⁻¹ k_i of some rows, from their neighbours and similarities with them."""
    n, k = found.shape
    gram = np.zeros((n, k, k))
    for a in range(k):
        for b in range(a):
            gram[:, a, b] = gram[:, b, a] = _row_products(unit, found[:, a], found[:, b])
    there = similarity > 0
    gram *= there[:, :, np.newaxis] * there[:, np.newaxis, :]
    gram[:, np.arange(k), np.arange(k)] = 1 + ridge
    solved: Array = np.linalg.solve(gram, similarity[:, :, np.newaxis])[:, :, 0]
    return solved


def _nearest_others(unit: Block, k: int) -> sp.csr_array:
    """Return the positive cosines of every row with its k nearest others, row by row."""
    n = unit.shape[0]
    # A row is its own nearest, unless others are equal to it.
    S = neighbours(unit, min(k + 1, n), unit).tocoo()
    others = (S.row != S.col) & (S.data > 0)
    rows, columns, values = S.row[others], S.col[others], S.data[others]
    order = np.lexsort((columns, -np.round(values, 10), rows))
    first = np.searchsorted(rows[order], np.arange(n))
    kept = order[np.arange(len(order)) - first[rows[order]] < k]
    S = sp.csr_array((values[kept], (rows[kept], columns[kept])), shape=(n, n))
    S.sort_indices()
    return S


def _row_products(X: Block, left: NDArray[np.intp], right: NDArray[np.intp]) -> Array:
    """Return the products of pairs of rows."""
    if sp.issparse(X):
        return np.asarray(X[left].multiply(X[right]).sum(axis=1)).ravel()
    height = max(1, _STRIP_ENTRIES // max(1, X.shape[1]))
    strips = [slice(start, start + height) for start in range(0, len(left), height)]
    return np.concatenate([np.einsum("ij,ij->i", X[left[s]], X[right[s]]) for s in strips])
