"""Rows less their mean, without filling what is sparse."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from omvfs.baselines._spectral import FloatArray, in_double
from omvfs.model.arrays import Block, scale_columns


@dataclass(frozen=True)
class Centred:
    """X less a mean row, kept apart where X is sparse.

    Attributes
    ----------
    X : array or csr_array of shape (n, d)
        In double precision; columns that are constant, but for rounding error, are 0.
    mean : array of shape (d,)
        What is to be taken off every row; 0 of a dense X, which is centred.
    squares : float
        ‖X − 1 meanᵀ‖².

    Examples
    --------
    >>> X = Centred.of(sp.csr_array([[1.0, 5.0], [3.0, 5.0]]))
    >>> X.times(np.eye(2))
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> X.transposed_times(np.array([[1.0], [0.0]]))
    array([[-1.],
           [ 0.]])
    """

    X: Block
    mean: FloatArray
    squares: float

    @classmethod
    def of(cls, X: Block) -> "Centred":
        """Return some rows, at least one, less their mean."""
        rounding = 100 * float(np.finfo(X.dtype).eps)
        X = in_double(X)
        mean, variance = mean_and_variance(X)
        varies = variance > (rounding * mean) ** 2
        squares = X.shape[0] * float(variance[varies].sum())
        if sp.issparse(X):
            return cls(scale_columns(X, varies.astype(np.float64)), mean * varies, squares)
        return cls((X - mean) * varies, np.zeros_like(mean), squares)

    def times(self, B: FloatArray) -> FloatArray:
        """Return the product with B."""
        product: FloatArray = np.asarray(self.X @ B - self.mean @ B)
        return product

    def transposed_times(self, U: FloatArray) -> FloatArray:
        """Return the transpose times U."""
        product: FloatArray = np.asarray(self.X.T @ U - np.outer(self.mean, U.sum(axis=0)))
        return product


def mean_and_variance(X: Block) -> tuple[FloatArray, FloatArray]:
    """Return both of every column, in double precision.

    Examples
    --------
    >>> mean_and_variance(np.array([[1.0, 5.0], [3.0, 5.0]]))
    (array([2., 5.]), array([1., 0.]))
    """
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        return np.asarray(mean, np.float64), np.asarray(variance, np.float64)
    return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
