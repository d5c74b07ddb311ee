"""What rows leave of a view: plain sums by cluster, which can be added, faded, moved and grown.

With U_ik = 1 / √n_k for the rows i of cluster k, UᵀU = I and U ≥ 0 hold exactly, and S / √n is the
paper's B = XᵀU.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block, dense, squared_entries, squared_row_norms

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
    def from_rows(
        cls, X: Block, labels: IntArray, n_clusters: int, weights: FloatArray | None = None
    ) -> "ViewSums":
        """Return the sums of some rows, each by its weight; by default all count alike.

        Examples
        --------
        >>> sums = ViewSums.from_rows(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([0, 1]), 2)
        >>> sums.S.tolist(), sums.Q.tolist(), sums.n.tolist()
        ([[1.0, 3.0], [2.0, 0.0]], [10.0, 4.0], [1.0, 1.0])
        """
        weights = np.ones(len(labels)) if weights is None else weights
        S = dense(X.T @ (weights[:, np.newaxis] * indicator(labels, n_clusters))).astype(float)
        n = np.bincount(labels, weights, n_clusters).astype(float)
        return cls(S, squared_entries(X).T @ weights, n, _norms(S))

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.n)

    @property
    def mean(self) -> FloatArray:
        """Mean of every feature over all rows."""
        found: FloatArray = self.S.sum(axis=1) / max(self.n.sum(), 1.0)
        return found

    def __add__(self, other: "ViewSums") -> "ViewSums":
        """Return the sums of both."""
        S = self.S + other.S
        # What ‖S‖² gains, so that some columns tell the norms of all.
        norms = self.norms + np.einsum("dk,dk->k", other.S, S + self.S)
        return ViewSums(S, self.Q + other.Q, self.n + other.n, np.maximum(norms, 0))

    def decay(self, rho: float) -> "ViewSums":
        """Return the sums with every row counting `rho` of what it did."""
        if rho == 1:
            return self
        return ViewSums(rho * self.S, rho * self.Q, rho * self.n, rho**2 * self.norms)

    def relabel(
        self, X: Block, weights: FloatArray, before: IntArray, after: IntArray, n_clusters: int
    ) -> "ViewSums":
        """Return the sums in other clusters, as a sample X of the rows has moved to them.

        Rows of the sample, each by the weight that it has in the sums, move exactly; all others of
        a cluster in the same proportions.
        """
        shares, n = self.moves(weights, before, after, n_clusters)
        leave = weights[:, np.newaxis] * indicator(before, self.n_clusters)
        enter = weights[:, np.newaxis] * indicator(after, n_clusters)
        S = (self.S - dense(X.T @ leave)) @ shares + dense(X.T @ enter)
        return ViewSums(S, self.Q, n, _norms(S))

    def moves(
        self, weights: FloatArray, before: IntArray, after: IntArray, n_clusters: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return which share of a cluster goes where as a sample moves, and rows by new cluster."""
        moves = np.zeros((self.n_clusters, n_clusters))
        np.add.at(moves, (before, after), 1)
        shares = _shares(moves)
        rest = np.maximum(self.n - np.bincount(before, weights, self.n_clusters), 0)
        return shares, rest @ shares + np.bincount(after, weights, n_clusters)

    def on(self, columns: Columns) -> "ViewSums":
        """Return copies on some columns."""
        if isinstance(columns, slice):
            return replace(self, S=self.S[columns].copy(), Q=self.Q[columns].copy())
        return replace(self, S=self.S.take(columns, axis=0), Q=self.Q.take(columns))

    def grow(self, n_features: int) -> "ViewSums":
        """Return the sums with columns that no row had so far behind those there are."""
        return self.place(np.arange(len(self.Q)), n_features)

    def place(self, places: IntArray, n_features: int) -> "ViewSums":
        """Return the sums with their columns in certain places among so many."""
        wide = ViewSums.zeros(n_features, self.n_clusters)
        wide.S[places], wide.Q[places] = self.S, self.Q
        return replace(self, S=wide.S, Q=wide.Q)


def _norms(S: FloatArray) -> FloatArray:
    """Return the squared norm of every column."""
    norms: FloatArray = np.einsum("dk,dk->k", S, S)
    return norms


def _shares(moves: FloatArray) -> FloatArray:
    """Return which share of a cluster goes where; one without rows in the sample stays."""
    totals = moves.sum(axis=1, keepdims=True)
    stay = np.eye(*moves.shape)
    if moves.shape[0] > moves.shape[1]:
        # Clusters beyond the new number go to the first.
        stay[moves.shape[1] :, 0] = 1
    return np.where(totals > 0, moves / np.maximum(totals, 1), stay)


def indicator(labels: IntArray, n_clusters: int) -> FloatArray:
    """Return 1 where a row is in a cluster and 0 elsewhere, of shape (n, K)."""
    is_in = np.zeros((len(labels), n_clusters))
    is_in[np.arange(len(labels)), labels] = 1
    return is_in


def on_filled(view: ViewSums, X: Block) -> tuple[Columns, Block, ViewSums]:
    """Return the columns that are not empty in some rows, and both the rows and the sums on them.

    A sparse chunk reads and writes these columns, and no others; a dense one all.

    Examples
    --------
    >>> X = sp.csr_array([[0.0, 2.0, 0.0]])
    >>> columns, rows, sums = on_filled(ViewSums.zeros(3, 2), X)
    >>> columns.tolist(), rows.toarray().tolist(), sums.S.tolist()
    ([1], [[2.0]], [[0.0, 0.0]])
    """
    if not sp.issparse(X):
        return slice(None), X, view.on(slice(None))
    is_filled = np.zeros(X.shape[1], bool)
    is_filled[X.indices] = True
    columns = np.flatnonzero(is_filled)
    places = np.empty(X.shape[1], X.indices.dtype)
    places[columns] = np.arange(len(columns))
    rows = sp.csr_array((X.data, places[X.indices], X.indptr), shape=(X.shape[0], len(columns)))
    return columns, rows, view.on(columns)


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
        lengths = np.outer(np.sqrt(squared_row_norms(X_v, np.float64)), np.sqrt(view.norms))
        product = dense(X_v @ view.S)
        fit += weight * np.divide(product, lengths, out=np.zeros_like(fit), where=lengths > 0)
    return fit
