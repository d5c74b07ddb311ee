"""Which features together make clusters stand out of the noise."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, dense
from omvfs.model.columns import on_columns
from omvfs.model.ranking.separation import ClusterMeans

# The first features are judged beside so many of the best by themselves, as if these were taken.
_BESIDE = 30
# Features whose gain is worked out at once.
_AT_ONCE = 16
# Most features to take: those behind them, as covariances of all would not fit into memory.
_MOST = 1000
# Sparse rows are multiplied in 4 ns a pair of entries, dense ones in 0.02 ns a pair of columns.
_SPARSE = 1 / 200
# Digits behind the point that count: gains that differ less are equal but for rounding error.
_DIGITS = 10
# Of more clusters each is told from the rest only: there are too many pairs.
_MOST_CLUSTERS = 24


def signal_order(
    X: Block, shares: Array, means: ClusterMeans, scores: Array, n_steps: int
) -> IntArray:
    """Return features one after another, each the one that adds most signal for its noise.

    Clusters a and b are as easy to tell by features S as d²_ab(S) = Σ_j∈S (m_ja − m_jb)², the
    squared distance of their means, is large beside ‖C_SS‖_F, what squared distances vary by for
    any other reason: C is the covariance of the features over all rows. So a set is good if
    Σ_ab w_ab log d²_ab − log ‖C_SS‖_F is large, w_ab the share of pairs of rows that it concerns. A
    feature that repeats another adds to the noise more than its share; one that tells apart
    clusters that few others do adds more to the signal.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        A sample of the rows.
    shares : array of shape (n,)
        What forgetting has left of them.
    means : ClusterMeans
        Of all rows.
    scores : array of shape (D,)
        What features are worth by themselves; those of 0 are not taken.
    n_steps : int
        Features to take, as far as there are so many, and 1,000 at most.

    Returns
    -------
    int array
        The features taken, in this order, each once.

    Examples
    --------
    >>> from omvfs.model.indicator import Indicator
    >>> from omvfs.model.ranking.separation import cluster_means, separation
    >>> rng, labels = np.random.default_rng(0), np.arange(200) % 2
    >>> X = labels[:, np.newaxis] * [1.1, 0, 1.0] + rng.random((200, 3))
    >>> X[:, 1] = X[:, 0]  # a repetition
    >>> U = Indicator(labels, np.ones(200), 2)
    >>> means = cluster_means(X, U, np.ones(200), X.T @ U.dense(), U.sums)
    >>> signal_order(X, np.ones(200), means, separation(means), 3)
    array([0, 2, 1])
    """
    n_steps = min(n_steps, _MOST)
    C = _candidates(scores, means.variances, n_steps)
    if not len(C):
        return C
    apart, weights = _apart(means, C)
    covariance = _Covariance(X, C, shares, means)
    own = np.square(means.variances[C])
    beside = np.argsort(-scores[C], kind="stable")[:_BESIDE]
    signal = np.maximum(apart[beside].sum(axis=0), np.finfo(float).tiny)
    between = np.stack([np.square(covariance.of(j)[beside]) for j in beside])
    total, crossed = float(between.sum()), np.zeros(len(C))
    free, taken = np.ones(len(C), bool), np.empty(min(n_steps, len(C)), np.intp)
    # What a feature adds to the signal only falls as others are taken, so what it added some steps
    # ago is a bound: only the few of the largest bounds are worked out anew.
    adds, known_at = np.full(len(C), np.inf), np.full(len(C), -1)
    for step in range(len(taken)):
        costs = 0.5 * np.log1p((own + 2 * crossed) / total)
        while True:
            bounds = np.where(free, np.round(adds - costs, _DIGITS), -np.inf)
            j = int(bounds.argmax())
            if known_at[j] == step:
                break
            some = _largest(bounds, _AT_ONCE) if step else np.arange(len(C))
            adds[some] = np.log1p(apart[some] / signal) @ weights
            known_at[some] = step
        taken[step], free[j] = j, False
        signal += apart[j]
        total += own[j] + 2 * crossed[j]
        crossed += np.square(covariance.of(j))
    return C[taken]


def _apart(means: ClusterMeans, columns: IntArray) -> tuple[Array, Array]:
    """Return squared differences of the means of pairs of clusters, and the weights of pairs."""
    there = np.flatnonzero(means.shares > 0)
    M, shares = means.M[np.ix_(columns, there)], means.shares[there]
    if len(there) > _MOST_CLUSTERS:
        apart, weights = np.square(M - (M @ shares)[:, np.newaxis]), shares
    else:
        a, b = np.triu_indices(len(there), 1)
        apart, weights = np.square(M[:, a] - M[:, b]), shares[a] * shares[b]
    return apart, weights / max(weights.sum(), np.finfo(float).tiny)


def _largest(values: Array, n: int) -> IntArray:
    """Return where the n largest values are, in no order."""
    if len(values) <= n:
        return np.arange(len(values))
    return np.argpartition(values, -n)[-n:]


def score_in_order(order: IntArray, scores: Array, worth: Array) -> NDArray[np.float64]:
    """Return scores by which features stand in an order, and behind it by other scores.

    Parameters
    ----------
    order : int array
        The best features, the best first.
    scores : array of shape (D,)
        By which the others stand behind them.
    worth : array of shape (D,)
        Features for which this is 0 have a score of 0.

    Returns
    -------
    array of shape (D,)
        One over the rank.

    Examples
    --------
    >>> score_in_order(np.array([2]), np.array([3.0, 2.0, 1.0]), np.ones(3)).round(2)
    array([0.5 , 0.33, 1.  ])
    """
    by_score = np.argsort(-scores, kind="stable")
    behind = np.ones(len(scores), bool)
    behind[order] = False
    ranks = np.empty(len(scores))
    ranks[np.concatenate([order, by_score[behind[by_score]]])] = np.arange(1, len(scores) + 1)
    found: NDArray[np.float64] = np.where(worth > 0, 1 / ranks, 0)
    return found


def _candidates(scores: Array, variances: NDArray[np.float64], n_steps: int) -> IntArray:
    """Return the features that may be taken: the best by themselves, and those that vary most."""
    good = np.flatnonzero(scores > 0)
    if len(good) <= 3 * n_steps:
        return good
    best = np.argsort(-scores[good], kind="stable")[: 2 * n_steps]
    most_varied = np.argsort(-variances[good], kind="stable")[:n_steps]
    return np.sort(good[np.union1d(best, most_varied)])


def _pairs(rows: Block) -> float:
    """Return how many pairs of entries the same row has."""
    if not sp.issparse(rows):
        return np.inf
    counts = np.diff(rows.indptr).astype(np.float64)
    return float(counts @ counts)


class _Covariance:
    """The covariance of some features: variances of all rows, the rest by the sample.

    Of sparse rows it is written out for one feature at a time: few are asked for.
    """

    def __init__(self, X: Block, columns: IntArray, shares: Array, means: ClusterMeans) -> None:
        rows = on_columns(X, columns).astype(np.float64, copy=False) / means.unit
        p = shares.astype(np.float64) / shares.sum()
        self._mean = np.asarray(rows.T @ p)
        if _pairs(rows) > _SPARSE * rows.shape[0] * rows.shape[1] ** 2:
            rows = dense(rows)
        if sp.issparse(rows):
            self._products = (rows.T @ (sp.diags_array(p) @ rows)).tocsr()
        else:
            # Of rows with themselves BLAS works out one half.
            halves = rows * np.sqrt(p)[:, np.newaxis]
            self._products = halves.T @ halves
        self._variances = means.variances[columns]

    def of(self, j: int) -> Array:
        """Return the covariance of a feature with all."""
        if sp.issparse(self._products):
            entries = slice(*self._products.indptr[j : j + 2])
            row = np.zeros(len(self._mean))
            row[self._products.indices[entries]] = self._products.data[entries]
        else:
            row = self._products[j].copy()
        row -= self._mean[j] * self._mean
        row[j] = self._variances[j]
        return row
