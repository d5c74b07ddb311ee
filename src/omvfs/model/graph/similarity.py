"""The paper's similarity of rows, and the Laplacian of any."""

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray, squared_row_norms


def gaussian(X: Block, Y: Block | None = None, sigma: float = 1.0) -> Array:
    """Return the dense Gaussian similarities exp(−‖x − y‖² / (2σ²)) of the rows of X and Y.

    The paper names the Gaussian kernel and nothing more: σ, and the 2, are our choice.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
    Y : array or CSR matrix of shape (m, D), optional
        X itself by default.
    sigma : float
        Width σ of the kernel.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> gaussian(np.array([[0.0], [2.0]]), sigma=2.0).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    other = X if Y is None else Y
    products = X @ other.T
    W: Array = products.toarray() if sp.issparse(products) else products
    W *= -2
    W += squared_row_norms(X)[:, np.newaxis]
    W += squared_row_norms(other)
    # Rounding can make the distance of two equal rows negative, or of a row from itself positive.
    np.maximum(W, 0, out=W)
    if Y is None:
        np.fill_diagonal(W, 0)
    W /= -2 * sigma**2
    np.exp(W, out=W)
    return W


def among(W: Array, rows: IntArray | None) -> Array:
    """Return dense similarities, without those of rows that are not among some; None for all.

    Examples
    --------
    >>> among(np.ones((2, 2)), np.array([1]))
    array([[0., 0.],
           [0., 1.]])
    """
    if rows is None:
        return W
    own = np.zeros_like(W)
    own[np.ix_(rows, rows)] = W[np.ix_(rows, rows)]
    return own


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
