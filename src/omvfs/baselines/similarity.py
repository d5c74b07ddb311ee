"""The Laplacian of a similarity of rows, and its signs."""

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Block


def laplacian(W: Block, normalised: bool = False) -> Block:
    """Return the Laplacian L = D − W of Eq. (offline), where D holds the row sums of W.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric similarity.
    normalised : bool
        Return D^-½ (D − W) D^-½ instead, which gives every row the same say. Isolated rows are
        zero in both forms: no term speaks of them.

    Returns
    -------
    array or csr_array of shape (n, n)

    Examples
    --------
    >>> laplacian(np.array([[0.0, 2.0], [2.0, 0.0]]))
    array([[ 2., -2.],
           [-2.,  2.]])
    >>> laplacian(np.array([[0.0, 2.0], [2.0, 0.0]]), normalised=True).round(12)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    degree = np.asarray(W.sum(axis=1)).ravel()
    if sp.issparse(W):
        L = sp.csr_array(sp.diags_array(degree, dtype=W.dtype) - W)
    else:
        L = np.diag(degree) - W
    if normalised:
        scale = np.zeros_like(degree)
        joined = degree > 0
        scale[joined] = 1 / np.sqrt(degree[joined])
        if sp.issparse(L):
            D = sp.diags_array(scale)
            L = sp.csr_array(D @ L @ D)
        else:
            L = scale[:, np.newaxis] * L * scale
    return L


def split_signs(M: Block) -> tuple[Block, Block]:
    """Return M⁺ = (|M| + M) / 2 and M⁻ = (|M| − M) / 2 of Eq. (update_u_all); M = M⁺ − M⁻.

    Examples
    --------
    >>> positive, negative = split_signs(np.array([[1.0, -2.0]]))
    >>> positive, negative
    (array([[1., 0.]]), array([[0., 2.]]))
    """
    if sp.issparse(M):
        return sp.csr_array(M.maximum(0)), sp.csr_array((-M).maximum(0))
    return np.maximum(M, 0), np.maximum(-M, 0)
