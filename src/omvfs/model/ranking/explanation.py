"""Why a feature is ranked as it is: its clusters, its rows, what it repeats and displaces."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    dense,
    rounding,
    scale_columns,
    squared_entries,
)
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.ranking.criteria import Named
from omvfs.model.ranking.repetition import Repetition

# The criteria, from what is nearest to the default to the paper's.
RULES: tuple[Named, ...] = "separation", "balanced", "information", "contrast", "norm"
# Features looked at together, so that no copy of B is made.
_STRIP = 16_384
# A feature is displaced if less than this is left of its score.
_MOST_LOST = 0.5


def strengths(B: Array, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of each feature the rows of each cluster have, over what all rows have.

    (B_jk / s_k) / (b_j / s), s_k = Σ_i u_ik: 1 for a feature that every row has to the same amount,
    however frequent it is. B_jk is V_jk √masses_k before sparsity shrinks a feature's row of V as a
    whole, so that of V the ratio is the same; and it is known where V is 0.

    Parameters
    ----------
    B : array of shape (D, K)
        Σ u x over all rows; the scale of a column does not matter.
    sums : array of shape (K,)
        Σ u over all rows.

    Returns
    -------
    array of shape (D, K)
        0 for a feature that no row has, and for a cluster without rows.

    Examples
    --------
    >>> strengths(np.array([[1.0, 3.0], [4.0, 0.0]]), np.array([1.0, 3.0]))
    array([[1., 1.],
           [4., 0.]])
    """
    B = B.astype(np.float64)
    amounts = B.sum(axis=1, keepdims=True)
    means = np.divide(amounts, sums.sum(), out=np.zeros_like(amounts), where=sums.sum() > 0)
    by_cluster = np.divide(B, sums, out=np.zeros_like(B), where=sums > 0)
    ratios: NDArray[np.float64] = np.divide(
        by_cluster, means, out=np.zeros_like(B), where=means > 0
    )
    return ratios


def heights(strength: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by what features of some strengths compare as those that stand for a cluster.

    (strength − 1) √(p/(1 − p)) for a cluster of a share p: the correlation with being in it of a
    feature whose standard deviation is its mean.

    Parameters
    ----------
    strength : array of shape (D, K)
    sums : array of shape (K,)
        As `strengths` takes them.

    Examples
    --------
    >>> heights(np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([1.0, 1.0]))
    array([[ 0.,  0.],
           [ 1., -1.]])
    """
    rest = sums.sum() - sums
    odds = np.divide(sums, rest, out=np.zeros_like(sums), where=rest > 0)
    found: NDArray[np.float64] = (strength - 1) * np.sqrt(odds)
    return found


def leading_clusters(B: Array, sums: NDArray[np.float64]) -> IntArray:
    """Return the cluster that each feature stands for most.

    Of the clusters above the even share, the one that carries most of the variance between
    clusters, s_k (strength_jk − 1)². The strength alone would favour clusters of few rows, where
    chance makes it large.

    Parameters
    ----------
    B : array of shape (D, K)
    sums : array of shape (K,)
        As `strengths` takes them.

    Returns
    -------
    int array of shape (D,)
        −1 for a feature that all clusters have alike, or none.

    Examples
    --------
    >>> leading_clusters(np.array([[2.0, 3.0], [4.0, 0.0], [0.0, 5.0]]), np.array([2.0, 3.0]))
    array([-1,  0,  1])
    """
    found = np.full(len(B), -1, np.intp)
    for start in range(0, len(B), _STRIP):
        strip = slice(start, start + _STRIP)
        above = np.maximum(strengths(B[strip], sums) - 1, 0)
        above[above < rounding(B.dtype)] = 0
        parts = sums * np.square(above)
        found[strip] = np.where(parts.any(axis=1), parts.argmax(axis=1), -1)
    return found


def shares_of_rows(
    X: Block, shares: Array, zeros: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the share of rows that have each feature: in which it is not 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        A sample of the rows, nonnegative.
    shares : array of shape (n,)
        What forgetting has left of each row.
    zeros : array of shape (D,), optional
        What a 0 has become where columns are raised, by default 0; up to rounding.

    Returns
    -------
    array of shape (D,)

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> shares_of_rows(X, np.array([1.0, 1.0, 2.0]))
    array([0.5, 0.5])
    >>> shares_of_rows(X, np.ones(3), zeros=np.array([1.0, 0.0])).round(2)
    array([0.33, 0.33])
    """
    weights = shares.astype(np.float64)
    if zeros is not None and zeros.any():
        counts = weights @ (np.abs(dense(X) - zeros) > rounding(X.dtype) * zeros)
    elif sp.issparse(X):
        entries = weights.repeat(np.diff(X.indptr)) * (X.data != 0)
        counts = np.bincount(X.indices, entries, X.shape[1]).astype(np.float64, copy=False)
    else:
        counts = weights @ (X != 0)
    # Rounding may leave a feature of all rows a little more than that.
    found: NDArray[np.float64] = np.minimum(counts / weights.sum(), 1)
    return found


def membership_correlations(X: Block, U: Indicator) -> NDArray[np.float64]:
    """Return the correlation of every feature with being a row of each cluster.

    Neither a feature that all rows have nor one that hardly any has correlates with much, and its
    units do not matter: features of different views compare.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        A sample of the rows on the features asked for.
    U : Indicator
        Their clusters, with what forgetting has left of each row as weights.

    Returns
    -------
    array of shape (D, K)
        0 for a constant feature, and for a cluster of no rows or of all.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0, 4.0], [1.0, 0.0, 4.0], [0.0, 1.0, 4.0], [0.0, 0.0, 4.0]])
    >>> membership_correlations(X, Indicator(np.array([0, 0, 1, 1]), np.ones(4), 2))
    array([[ 1., -1.],
           [ 0.,  0.],
           [ 0.,  0.]])
    """
    sums = U.sums
    n = float(sums.sum())
    if n <= 0 or not X.shape[1]:
        return np.zeros((X.shape[1], U.n_clusters))
    # Squares of very large and very small numbers are lost.
    largest = dense(abs(X).max(axis=0)).ravel().astype(np.float64)
    X = scale_columns(X, 1 / np.where(largest > 0, largest, 1))
    U = Indicator(U.labels, U.weights.astype(np.float64), U.n_clusters)
    products = transposed_product(X, U) / n
    means = products.sum(axis=1, keepdims=True)
    squares = transposed_product(squared_entries(X), U).sum(axis=1, keepdims=True) / n
    variances = squares - means**2
    p = sums / n
    below = np.sqrt(np.maximum(variances, 0) * (p * (1 - p)))
    # Rounding leaves a constant column a variance of about this.
    varied = (variances > 1e-12 * means**2) & (p > 0) & (p < 1)
    found = np.divide(products - means * p, below, out=np.zeros_like(products), where=varied)
    correlations: NDArray[np.float64] = np.clip(found, -1, 1)
    return correlations


def place_of(scores: Array, j: int) -> int:
    """Return the rank of one feature, 1 = best; among equal scores the first is better.

    Examples
    --------
    >>> [place_of(np.array([0.2, 0.9, 0.2]), j) for j in range(3)]
    [2, 1, 3]
    """
    better = np.count_nonzero(scores > scores[j]) + np.count_nonzero(scores[:j] == scores[j])
    return 1 + int(better)


def displaced_by(found: Repetition, j: int, most: int) -> IntArray:
    """Return the best features, by their own scores, that lost most of them to another.

    Parameters
    ----------
    found : Repetition
    j : int
        The feature that they repeat.
    most : int
        How many at most.

    Examples
    --------
    >>> own, left = np.array([5.0, 3.0, 4.0, 2.0]), np.array([5.0, 1.0, 3.0, 0.0])
    >>> displaced_by(Repetition(own, left, np.array([-1, 0, 0, 0]), np.ones(4)), 0, most=3)
    array([1, 3])
    """
    theirs = np.flatnonzero(found.repeated == j)
    theirs = theirs[found.scores[theirs] < _MOST_LOST * found.own[theirs]]
    return theirs[np.argsort(-found.own[theirs], kind="stable")[:most]]
