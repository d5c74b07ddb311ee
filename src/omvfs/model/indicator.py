"""A cluster indicator with one nonzero a row, as nonnegativity and orthogonality make it."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, sums_by_label


@dataclass(frozen=True)
class Indicator:
    """A cluster indicator U with at most one nonzero a row.

    Attributes
    ----------
    labels : int array of shape (n,)
        Cluster k(i) of every row.
    weights : array of shape (n,)
        u_i ≥ 0. A row of weight 0 belongs to no cluster; its label is that of the nearest.
    n_clusters : int
        Number of columns K.

    Examples
    --------
    >>> U = Indicator(np.array([0, 1, 1]), np.array([2.0, 3.0, 4.0]), 2)
    >>> U.masses
    array([ 4., 25.])
    >>> U.unit().dense()
    array([[1. , 0. ],
           [0. , 0.6],
           [0. , 0.8]])
    """

    labels: IntArray
    weights: Array
    n_clusters: int

    @property
    def masses(self) -> NDArray[np.float64]:
        """The diagonal of UᵀU."""
        squares = np.square(self.weights, dtype=np.float64)
        return sums_by_label(self.labels, squares, self.n_clusters)

    @property
    def sums(self) -> NDArray[np.float64]:
        """Σ_i u_i over the rows of each cluster."""
        return sums_by_label(self.labels, self.weights, self.n_clusters)

    def unit(self) -> "Indicator":
        """Return U with columns of norm 1; empty columns stay empty."""
        # By the largest weight first: the squares of tiny weights underflow.
        largest = np.zeros(self.n_clusters, self.weights.dtype)
        np.maximum.at(largest, self.labels, self.weights)
        largest[largest == 0] = 1
        scaled = Indicator(self.labels, self.weights / largest[self.labels], self.n_clusters)
        norms = np.sqrt(scaled.masses)
        norms[norms == 0] = 1
        weights = (scaled.weights / norms[self.labels]).astype(self.weights.dtype, copy=False)
        return Indicator(self.labels, weights, self.n_clusters)

    def take(self, rows: slice | IntArray) -> "Indicator":
        """Return the indicator of some of the rows."""
        return Indicator(self.labels[rows], self.weights[rows], self.n_clusters)

    def transposed(self) -> sp.csc_array:
        """Return Uᵀ, K by n, with one stored entry a column."""
        n = len(self.labels)
        shape = (self.n_clusters, n)
        return sp.csc_array((self.weights, self.labels, np.arange(n + 1)), shape=shape)

    def dense(self) -> Array:
        """Return U, n by K."""
        U = np.zeros((len(self.labels), self.n_clusters), self.weights.dtype)
        U[np.arange(len(self.labels)), self.labels] = self.weights
        return U


def transposed_product(X: Block, U: Indicator) -> Array:
    """Return XᵀU, D by K, at the cost of the nonzeros of X, whatever K is.

    Examples
    --------
    >>> U = Indicator(np.array([0, 1, 1]), np.array([1.0, 1.0, 2.0]), 2)
    >>> transposed_product(np.array([[1.0, 5.0], [1.0, 0.0], [1.0, 1.0]]), U)
    array([[1., 3.],
           [5., 2.]])
    """
    if not sp.issparse(X):
        return np.asarray((U.transposed().tocsr() @ X).T)
    K, shape = U.n_clusters, (X.shape[1], U.n_clusters)
    counts = np.diff(X.indptr)
    cells = np.multiply(X.indices, K, dtype=np.intp)
    cells += np.repeat(U.labels, counts)
    amounts = X.data * np.repeat(U.weights, counts)
    product = np.bincount(cells, amounts, X.shape[1] * K)
    return product.reshape(shape).astype(U.weights.dtype, copy=False)
