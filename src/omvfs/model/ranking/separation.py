"""How far a feature sets clusters apart: by the sums of all rows, and a sample of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, squared_entries
from omvfs.model.indicator import Indicator, transposed_product

# Rounding leaves a constant column a variance of about this, relative to its squared mean.
_CONSTANT = 1e-12
# The ratio of a feature that a cluster of the sample has less often than this is about 1.
_PRIOR = 3.0


@dataclass(frozen=True)
class ClusterMeans:
    """The means of the features of a view in each cluster, of all rows, and their variances.

    Attributes
    ----------
    M : array of shape (D, K)
        Means, in units of `unit`.
    shares : array of shape (K,)
        Share of rows of each cluster.
    variances : array of shape (D,)
        Variance between clusters plus that within; 0 for constant features.
    unit : float
        Squares of very large and very small numbers are lost: all is divided by this.
    """

    M: NDArray[np.float64]
    shares: NDArray[np.float64]
    variances: NDArray[np.float64]
    unit: float

    @property
    def between(self) -> NDArray[np.float64]:
        """Variance between clusters, of every feature."""
        found: NDArray[np.float64] = _between(self.M, self.shares)
        return found


def cluster_means(
    X: Block, U: Indicator, shares: Array, B: Array, sums: NDArray[np.float64]
) -> ClusterMeans:
    """Return the means of all rows of a view in each cluster, by their sums and a sample of them.

    B has means of all rows, B_jk / s_k, but rows weigh by how far they lie along their cluster,
    which makes clusters look purer than they are. A sample has what the mean would be if all rows
    weighed alike, over what it is; and the variance within clusters, over the mean. Both are
    ratios, taken for all rows (ratio estimators). Of features that the sample hardly has the first
    is about 1; of those that it lacks the second is that of all features.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        A sample of the rows, in one view, nonnegative.
    U : Indicator
        Their clusters, with the weights under which they stand in B.
    shares : array of shape (n,)
        What forgetting has left of each row's part in B.
    B : array of shape (D, K)
        Σ u x over all rows.
    sums : array of shape (K,)
        Σ u over all rows.
    """
    shares = shares.astype(np.float64)
    alike = Indicator(U.labels, shares, U.n_clusters)
    counts, largest = alike.sums, float(abs(X).max()) if X.shape[0] and X.shape[1] else 0.0
    if largest == 0 or counts.sum() <= 0:
        D, K = B.shape
        return ClusterMeans(np.zeros((D, K)), np.full(K, 1 / K), np.zeros(D), 1.0)
    X = (X / largest).astype(np.float64, copy=False)
    shares_of_clusters = counts / counts.sum()
    by_row = _means(X, alike)
    here = by_row @ shares_of_clusters
    squares = _means(squared_entries(X), alike) @ shares_of_clusters
    usual = squares.sum() / here.sum()
    size = np.divide(squares, here, out=np.full_like(squares, usual), where=squares > 0)

    by_weight = _means(X, Indicator(U.labels, shares * U.weights, U.n_clusters))
    little = _PRIOR * size[:, np.newaxis] / np.where(counts > 0, counts, 1)
    of_all = np.divide(B, sums * largest, out=np.zeros(B.shape), where=sums > 0)
    M = of_all * (by_row + little) / (by_weight + little)

    means = M @ shares_of_clusters
    within = np.maximum(squares - np.square(by_row) @ shares_of_clusters, 0)
    within = means * np.divide(within, here, out=np.full_like(within, usual), where=here > 0)
    whole = _between(M, shares_of_clusters) + within
    varied = whole > _CONSTANT * np.maximum(means**2, np.finfo(float).tiny)
    return ClusterMeans(M, shares_of_clusters, np.where(varied, whole, 0), largest)


def explained_shares(means: ClusterMeans) -> NDArray[np.float64]:
    """Return η², the share of every feature's variance that the clusters explain.

    Without units, so that features of all views compare; 0 for a constant one.

    Examples
    --------
    >>> X = np.array([[1.0, 8.0], [1.0, 0.0], [0.0, 8.0], [0.0, 0.0]])
    >>> U = Indicator(np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> explained_shares(cluster_means(X, U, np.ones(4), X.T @ U.dense(), U.sums)).round(1)
    array([1., 0.])
    """
    whole = means.variances
    return np.divide(means.between, whole, out=np.zeros_like(whole), where=whole > 0)


def separation(means: ClusterMeans) -> NDArray[np.float64]:
    """Return the variance between clusters over the root of the whole, of every feature.

    η² = between / whole, the share of a feature's variance that the clusters explain, is blind to
    how much of it there is: a word of one row is explained whole. The variance between clusters
    alone likes what varies most, whatever for. This is η² times the standard deviation.

    Returns
    -------
    array of shape (D,)
        In units of the feature; 0 for a constant one.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0, 4.0], [1.0, 0.0, 4.0], [0.0, 1.0, 4.0], [0.0, 0.0, 4.0]])
    >>> U = Indicator(np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> separation(cluster_means(X, U, np.ones(4), X.T @ U.dense(), U.sums)).round(1)
    array([0.5, 0. , 0. ])
    """
    whole = means.variances
    roots = np.sqrt(np.where(whole > 0, whole, 1))
    found: NDArray[np.float64] = np.where(whole > 0, means.between / roots, 0)
    return found * means.unit


def _between(M: Array, shares: Array) -> NDArray[np.float64]:
    """Return the variance of the means of clusters, of every feature."""
    found: NDArray[np.float64] = np.square(M - (M @ shares)[:, np.newaxis]) @ shares
    return found


def _means(X: Block, U: Indicator) -> Array:
    """Return the mean of every feature in each cluster, rows by their weights."""
    sums = U.sums
    return transposed_product(X, U) / np.where(sums > 0, sums, 1)
