"""How well features tell clusters apart, and which of them repeat better ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block, column_sums, dense, in_faster_kind, squared_entries
from omvfs.model.sums import ViewSums, indicator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
# Exponent of the discount, and better features that each is compared with.
DISCOUNT, COMPARED = 4.0, 1000
# Columns whose correlations are held at a time.
_AT_ONCE = 4096


def total_variance(view: ViewSums) -> FloatArray:
    """Return the variance of every feature over all rows.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [4.0, 1.0], [4.0, 2.0]])
    >>> total_variance(ViewSums.from_rows(X, np.array([0, 0, 1, 1]), 2)).tolist()
    [4.0, 0.25]
    """
    total = view.Q / max(view.n.sum(), 1.0) - view.mean**2
    # What may be rounding of the sums is no variance.
    return np.where(total > np.finfo(float).eps * view.Q, total, 0)


def _weights(n: FloatArray) -> FloatArray:
    """Return 1 / (n_k N), and 0 for clusters without rows."""
    found: FloatArray = np.divide(1, n * max(n.sum(), 1.0), out=np.zeros_like(n), where=n > 0)
    return found


def spread(total: FloatArray) -> FloatArray:
    """Return the standard deviation of every feature over that of a typical one of its view.

    Typical is the root of the mean variance of the features that vary at all: what is measured by
    it has no units, so that features of all views compare.

    Examples
    --------
    >>> spread(np.array([16.0, 4.0, 0.0, 1.0])).round(2).tolist()
    [1.51, 0.76, 0.0, 0.38]
    """
    varies = total[total > 0]
    return np.sqrt(total / varies.mean()) if len(varies) else np.zeros_like(total)


def separation(between: FloatArray, total: FloatArray) -> FloatArray:
    """Return the share of the variance that the clusters explain, times the spread.

    A feature must tell the clusters apart, and vary enough to be seen.
    """
    return spread(total) * explained(between, total)


def explained(between: FloatArray, total: FloatArray) -> FloatArray:
    """Return the share of the variance that the clusters explain, η², from 0 to 1."""
    return np.divide(between, total, out=np.zeros_like(total), where=total > 0)


def norm(view: ViewSums) -> FloatArray:
    """Return ‖B_j‖, the paper's importance: how much of a feature the clusters reconstruct."""
    B = np.divide(view.S, np.sqrt(view.n), out=np.zeros_like(view.S), where=view.n > 0)
    found: FloatArray = np.linalg.norm(B, axis=1)
    return found


def coverage(view: ViewSums) -> FloatArray:
    """Return how well every feature tells its cluster from the others, beside the best that does.

    For each cluster, what its membership explains of the variance of a feature that its rows have
    more of, times the spread, over that of the best feature of the cluster; of the clusters, the
    largest. So each cluster, however small, has a feature of score 1.

    Examples
    --------
    >>> X = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    >>> coverage(ViewSums.from_rows(X, np.array([0, 0, 0, 1]), 2)).tolist()
    [1.0, 1.0]
    """
    total, n = total_variance(view), view.n.sum()
    rest = np.maximum(n - view.n, 0)
    means, others = view.S * _inverse(view.n), (view.S.sum(axis=1, keepdims=True) - view.S)
    above = np.maximum(means - others * _inverse(rest), 0)
    between = view.n * rest / max(n, 1.0) ** 2 * above**2
    chance = total[:, np.newaxis] / max(n - 1, 1.0)
    scale = np.divide(spread(total), total, out=np.zeros_like(total), where=total > 0)
    found = np.maximum(between - chance, 0) * scale[:, np.newaxis]
    best: FloatArray = (found * _inverse(found.max(axis=0, initial=0))).max(axis=1)
    return best


def _inverse(values: FloatArray) -> FloatArray:
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def mean_separation(
    view: ViewSums,
    X: Block,
    weights: FloatArray,
    before: IntArray,
    after: Sequence[IntArray],
    n_clusters: int,
) -> FloatArray:
    """Return the separation of every feature, averaged over some clusterings of the sample.

    The variance between clusters is averaged over the clusterings in `after`, each with the sums
    that ``view.relabel`` moves to it, but worked out for all of them at a time. What chance gives,
    total · (K − 1) / (N − 1), is subtracted.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [4.0, 1.0], [4.0, 2.0]])
    >>> labels = np.array([0, 0, 1, 1])
    >>> sums = ViewSums.from_rows(X, labels, 2)
    >>> mean_separation(sums, X, np.ones(4), labels, [labels], 2).round(2).tolist()
    [0.91, 0.0]
    """
    total = total_variance(view)
    moves = [view.moves(weights, before, labels, n_clusters) for labels in after]
    shares = np.hstack([own for own, _ in moves])
    by_cluster = np.concatenate([_weights(n) for _, n in moves]) / len(moves)
    filled = np.mean([np.count_nonzero(n) for _, n in moves])
    is_in = np.hstack([indicator(labels, n_clusters) for labels in after])
    # Rows of the sample leave their clusters in the old proportions, and enter the new ones.
    enter = weights[:, np.newaxis] * (is_in - indicator(before, view.n_clusters) @ shares)
    mean, between = view.mean, np.empty_like(total)
    fast = in_faster_kind(X)
    columns, enter = (fast.tocsc(), enter) if sp.issparse(fast) else (fast, enter.astype(X.dtype))
    for start in range(0, len(total), _AT_ONCE):
        own = slice(start, start + _AT_ONCE)
        # Σ n_k / N (mean_k − mean)² = Σ mean_k² n_k / N − mean²
        S = view.S[own] @ shares + dense(columns[:, own].T @ enter)
        between[own] = S**2 @ by_cluster - mean[own] ** 2
    chance = total * ((filled - 1) / max(view.n.sum() - 1, 1.0))
    return separation(np.maximum(between - chance, 0), total)


def repetition(X: Block, score: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return by how much every feature repeats a better one, and which.

    Of the `COMPARED` best features those with a better score are looked at; repetition is the
    correlation with the one of them that it is correlated with most, over the rows X of the sample.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
    score : array of shape (D,)

    Returns
    -------
    r : array of shape (D,)
    repeated : int array of shape (D,)
        Which feature it repeats most, −1 if none.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.1, 5.0], [3.0, 6.0, 0.0]])
    >>> r, repeated = repetition(X, np.array([3.0, 2.0, 1.0]))
    >>> abs(r.round(2)).tolist(), repeated.tolist()
    ([0.0, 1.0, 0.03], [-1, 0, 1])
    """
    found, repeated = np.zeros(X.shape[1]), np.full(X.shape[1], -1, np.intp)
    # A column that is constant in the sample repeats nothing.
    scatter = _scatter(X)
    columns = np.flatnonzero(scatter > 0)
    columns = columns[np.argsort(-score[columns], kind="stable")]
    if not len(columns):
        return found, repeated
    scale = 1 / np.sqrt(scatter[columns])
    rows = (
        X.tocsc()[:, columns] @ sp.diags_array(scale) if sp.issparse(X) else X[:, columns] * scale
    )
    rows = rows.astype(np.float32)
    top = dense(rows[:, :COMPARED])
    top -= top.mean(axis=0)
    for start in range(0, len(columns), _AT_ONCE):
        own = columns[start : start + _AT_ONCE]
        # The columns of `top` sum to 0, so that those of X need not be centred.
        r = dense(rows[:, start : start + _AT_ONCE].T @ top)
        # Only with better ones, which stand before.
        r[np.arange(start, start + len(own))[:, np.newaxis] <= np.arange(top.shape[1])] = 0
        strongest = np.abs(r).argmax(axis=1)
        found[own] = np.clip(r[np.arange(len(own)), strongest].astype(np.float64), -1, 1)
        repeated[own] = np.where(found[own] != 0, columns[strongest], -1)
    return found, repeated


def _scatter(X: Block) -> FloatArray:
    """Return the sum of squared differences from the mean, by column; rounding is not one."""
    sums, squared = column_sums(X), column_sums(squared_entries(X))
    found: FloatArray = squared - sums**2 / max(X.shape[0], 1)
    return np.where(found > X.shape[0] * np.finfo(float).eps * squared, found, 0)


def discounted(score: Any, r: Any) -> Any:
    """Return scores times (1 − r²)^DISCOUNT: a feature that repeats a better one loses its own."""
    return score * (1 - r**2) ** DISCOUNT
