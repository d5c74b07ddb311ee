"""What rows leave of a view: plain sums by cluster, which can be added, faded, moved and grown.

With U_ik = 1 / √n_k for the rows i of cluster k, UᵀU = I and U ≥ 0 hold exactly, and S / √n is the
paper's B = XᵀU.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block, dense

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
# Columns of a view: those of a sparse chunk that are not empty, or all.
Columns = IntArray | slice


@dataclass(frozen=True)
class ViewSums:
    """Sums over the rows that have a view.

    Attributes
    ----------
    S : array of shape (D, K)
        Sum of every feature over the rows of every cluster.
    Q : array of shape (D,)
        Sum of its squares over all rows.
    n : array of shape (K,)
        Rows of every cluster, as far as they have not faded.
    norms : array of shape (K,)
        Squared norms of the columns of S, kept up to date so that a chunk need not read all of S.
    """

    S: FloatArray
    Q: FloatArray
    n: FloatArray
    norms: FloatArray

    @classmethod
    def zeros(cls, n_features: int, n_clusters: int) -> "ViewSums":
        """Return the sums of no rows."""
        shape = n_features, n_clusters
        return cls(np.zeros(shape), np.zeros(n_features), *np.zeros((2, n_clusters)))

    @classmethod
    def from_rows(cls, X: Block, labels: IntArray, n_clusters: int) -> "ViewSums":
        """Return the sums of some rows.

        Examples
        --------
        >>> sums = ViewSums.from_rows(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([0, 1]), 2)
        >>> sums.S.tolist(), sums.Q.tolist(), sums.n.tolist()
        ([[1.0, 3.0], [2.0, 0.0]], [10.0, 4.0], [1.0, 1.0])
        """
        n = np.bincount(labels, minlength=n_clusters).astype(np.float64)
        S = sums_by_cluster(X, labels, n_clusters)
        squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
        Q = np.asarray(squares.sum(axis=0), np.float64).ravel()
        return cls(S, Q, n, (S**2).sum(axis=0))

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.n)

    def __add__(self, other: "ViewSums") -> "ViewSums":
        """Return the sums of both."""
        S = self.S + other.S
        return ViewSums(S, self.Q + other.Q, self.n + other.n, (S**2).sum(axis=0))

    def decay(self, rho: float) -> "ViewSums":
        """Return the sums with every row counting `rho` of what it did."""
        if rho == 1:
            return self
        return ViewSums(rho * self.S, rho * self.Q, rho * self.n, rho**2 * self.norms)

    def relabel(self, X: Block, before: IntArray, after: IntArray, n_clusters: int) -> "ViewSums":
        """Return the sums in other clusters, as a sample X of the rows has moved to them.

        Rows of the sample move exactly; all others of a cluster in the same proportions.
        """
        moves = np.zeros((self.n_clusters, n_clusters))
        np.add.at(moves, (before, after), 1)
        shares = _shares(moves)
        rest = self.S - sums_by_cluster(X, before, self.n_clusters)
        S = rest @ shares + sums_by_cluster(X, after, n_clusters)
        # A sample may hold rows that have faded from the sums.
        n = np.maximum(self.n - moves.sum(axis=1), 0) @ shares + moves.sum(axis=0)
        return ViewSums(S, self.Q, n, (S**2).sum(axis=0))

    def relabelings(
        self, X: Block, before: IntArray, after: Sequence[IntArray], n_clusters: int
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield sums of shape (K, D) and rows by cluster for other clusters of the sample."""
        rest = np.ascontiguousarray((self.S - sums_by_cluster(X, before, self.n_clusters)).T)
        for labels in after:
            moves = np.zeros((self.n_clusters, n_clusters))
            np.add.at(moves, (before, labels), 1)
            shares = _shares(moves)
            n = np.maximum(self.n - moves.sum(axis=1), 0) @ shares + moves.sum(axis=0)
            yield shares.T @ rest + _by_cluster(X, labels, n_clusters), n

    def on(self, columns: Columns) -> "ViewSums":
        """Return copies on some columns."""
        return replace(self, S=self.S[columns].copy(), Q=self.Q[columns].copy())

    def grow(self, n_features: int) -> "ViewSums":
        """Return the sums with columns that no row had so far behind those there are."""
        return self.place(np.arange(len(self.Q)), n_features)

    def place(self, places: IntArray, n_features: int) -> "ViewSums":
        """Return the sums with their columns in certain places among so many."""
        wide = ViewSums.zeros(n_features, self.n_clusters)
        wide.S[places], wide.Q[places] = self.S, self.Q
        return replace(self, S=wide.S, Q=wide.Q)


def _shares(moves: FloatArray) -> FloatArray:
    """Return which share of a cluster goes where; one without rows in the sample stays."""
    totals = moves.sum(axis=1, keepdims=True)
    stay = np.eye(*moves.shape)
    if moves.shape[0] > moves.shape[1]:
        # Clusters beyond the new number go to the first.
        stay[moves.shape[1] :, 0] = 1
    return np.where(totals > 0, moves / np.maximum(totals, 1), stay)


def sums_by_cluster(X: Block, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return the sum of every feature over the rows of every cluster, of shape (D, K)."""
    return np.ascontiguousarray(_by_cluster(X, labels, n_clusters).T)


def _by_cluster(X: Block, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return the same of shape (K, D)."""
    n = len(labels)
    if sp.issparse(X):
        rows = sp.csr_array((np.ones(n), (labels, np.arange(n))), shape=(n_clusters, n))
        found: FloatArray = dense(rows @ X).astype(float, copy=False)
        return found
    of_cluster = np.zeros((n_clusters, n))
    of_cluster[labels, np.arange(n)] = 1
    product: FloatArray = of_cluster @ X
    return product


def added(view: ViewSums, X: Block, labels: IntArray) -> tuple[Columns, ViewSums]:
    """Return what rows change: which columns of the sums, and what is there with them.

    A sparse chunk reads and writes the columns that are not empty in it, and no others.

    Parameters
    ----------
    view : ViewSums
    X : array or CSR matrix of shape (m, D)
    labels : int array of shape (m,)

    Examples
    --------
    >>> columns, after = added(ViewSums.zeros(3, 2), sp.csr_array([[0.0, 2.0, 0.0]]), np.array([1]))
    >>> columns.tolist(), after.S.tolist(), after.norms.tolist()
    ([1], [[0.0, 2.0]], [0.0, 4.0])
    """
    K = view.n_clusters
    columns: Columns = slice(None)
    if sp.issparse(X):
        columns, where = np.unique(X.indices, return_inverse=True)
        X = sp.csr_array((X.data, where.ravel(), X.indptr), shape=(X.shape[0], len(columns)))
    new, old = ViewSums.from_rows(X, labels, K), view.on(columns)
    S = old.S + new.S
    norms = view.norms + ((S**2).sum(axis=0) - (old.S**2).sum(axis=0))
    return columns, ViewSums(S, old.Q + new.Q, view.n + new.n, np.maximum(norms, 0))


def fit_to_clusters(
    X: Sequence[Block], views: Sequence[ViewSums], weights: FloatArray
) -> FloatArray:
    """Return how far every row lies along every cluster: weighted cosines, summed over the views.

    A row that lacks a view is zero there, and has no say by it. One product with S a view.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (m, D_v)
    views : sequence of ViewSums
    weights : array of shape (n_views,)

    Returns
    -------
    array of shape (m, K)
    """
    fit = np.zeros((X[0].shape[0], views[0].n_clusters))
    for X_v, view, weight in zip(X, views, weights, strict=True):
        lengths = np.sqrt(np.outer(squared_lengths(X_v), view.norms))
        product = dense(X_v @ view.S)
        fit += weight * np.divide(product, lengths, out=np.zeros_like(fit), where=lengths > 0)
    return fit


def squared_lengths(X: Block) -> FloatArray:
    """Return the squared norm of every row."""
    if sp.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        found: FloatArray = np.bincount(rows, X.data.astype(float) ** 2, X.shape[0]).astype(float)
    else:
        found = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return found
