"""The terms of the objective, Eq. (offline) and Eq. (online2) of the paper, one function each.

X may be a dense array or a CSR matrix and is never made dense; no n-by-D product is ever formed.
Sums are accumulated in double precision whatever the arrays hold.
"""

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block


def squared_norm(X: Block) -> float:
    """Return ‖X‖²_F."""
    entries = np.ravel(X.data if sp.issparse(X) else X).astype(np.float64, copy=False)
    return float(entries @ entries)


def inner(P: Array, Q: Array) -> float:
    """Return ⟨P, Q⟩, the sum of entrywise products."""
    return float(np.sum(np.multiply(P, Q, dtype=np.float64)))


def reconstruction(X: Block, U: Array, V: Array) -> float:
    """Return ‖X − U Vᵀ‖²_F, the first term of Eq. (offline), for one view.

    Expanded as ‖X‖² − 2⟨XᵀU, V⟩ + ⟨UᵀU, VᵀV⟩, so that U Vᵀ is never formed. A perfect fit may come
    out a rounding error below zero, and is given as zero.

    Examples
    --------
    >>> U, V = np.array([[1.0], [2.0]]), np.array([[3.0], [0.0]])
    >>> reconstruction(np.array([[3.0, 1.0], [6.0, 0.0]]), U, V)
    1.0
    """
    value = squared_norm(X) - 2 * inner(X.T @ U, V) + inner(U.T @ U, V.T @ V)
    return max(0.0, value)


def smoothness(U: Array, L: Block) -> float:
    """Return tr(Uᵀ L U), the graph term of Eq. (offline); L may be dense or sparse."""
    return inner(U, L @ U)


def row_norms(V: Array) -> Array:
    """Return the ℓ2 norm of every row of V: the paper's importance of every feature."""
    return np.asarray(np.sqrt(np.einsum("jk,jk->j", V, V)))


def l21(V: Array) -> float:
    """Return ‖V‖_{2,1}, the sum of the row norms: the sparsity term of Eq. (offline)."""
    return float(np.sum(row_norms(V), dtype=np.float64))


def orthogonality_gap(U: Array) -> float:
    """Return ‖UᵀU − I‖_F, by how far U misses the constraint of Eq. (offline)."""
    return float(np.linalg.norm(U.T @ U - np.eye(U.shape[1])))
