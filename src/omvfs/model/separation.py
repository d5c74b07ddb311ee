"""How well features tell clusters apart, and which of them repeat better ones."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block, dense
from omvfs.model.sums import ViewSums

FloatArray = NDArray[np.float64]
# Exponent of the discount, and better features that each is compared with.
DISCOUNT, COMPARED = 8.0, 1000
# Columns whose correlations are held at a time.
_AT_ONCE = 4096


def variances(view: ViewSums) -> tuple[FloatArray, FloatArray]:
    """Return the variance of every feature between clusters, and in all.

    That between clusters is less what chance gives: total · (K − 1) / (N − 1).

    Examples
    --------
    >>> X, labels = (
    ...     np.array([[0.0, 1.0], [0.0, 2.0], [4.0, 1.0], [4.0, 2.0]]),
    ...     np.array([0, 0, 1, 1]),
    ... )
    >>> between, total = variances(ViewSums.from_rows(X, labels, 2))
    >>> total.tolist(), between.round(2).tolist()
    ([4.0, 0.25], [2.67, 0.0])
    """
    return _variances(view.S.T, view.Q, view.n)


def _variances(S: FloatArray, Q: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances from sums of shape (K, D)."""
    n, N = rows[rows > 0], max(rows.sum(), 1.0)
    mean = S.sum(axis=0) / N
    total = np.maximum(Q / N - mean**2, 0)
    # Σ n_k / N (mean_k − mean)² = Σ mean_k² n_k / N − mean²
    between = np.einsum("kd,kd,k->d", S[rows > 0], S[rows > 0], 1 / (n * N)) - mean**2
    chance = total * ((len(n) - 1) / max(N - 1, 1.0))
    return np.maximum(between - chance, 0), total


def separation(between: FloatArray, total: FloatArray) -> FloatArray:
    """Return the variance between clusters over the standard deviation.

    That is the share of the variance that the clusters explain, times the standard deviation: a
    feature must tell the clusters apart, and vary enough to be seen.
    """
    return np.divide(between, np.sqrt(total), out=np.zeros_like(total), where=total > 0)


def norm(view: ViewSums) -> FloatArray:
    """Return ‖B_j‖, the paper's importance: how much of a feature the clusters reconstruct."""
    B = np.divide(view.S, np.sqrt(view.n), out=np.zeros_like(view.S), where=view.n > 0)
    found: FloatArray = np.linalg.norm(B, axis=1)
    return found


def mean_separation(Q: FloatArray, moved: Iterable[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Return the separation of every feature, averaged over some clusterings of the same rows.

    Parameters
    ----------
    Q : array of shape (D,)
        Sums of squares.
    moved : iterable of (array of shape (K, D), array of shape (K,))
        Sums by cluster, and rows by cluster, of each clustering.
    """
    between, total, n = np.zeros_like(Q), np.zeros_like(Q), 0
    for S, rows in moved:
        own, total = _variances(S, Q, rows)
        between += own
        n += 1
    return separation(between / max(n, 1), total)


def repetition(X: Block, score: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return by how much every feature repeats a better one, and which.

    Of the `COMPARED` best features those with a better score are looked at; repetition is the
    largest r² with one of them, over the rows X of the sample.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
    score : array of shape (D,)

    Returns
    -------
    r_squared : array of shape (D,)
    repeated : int array of shape (D,)
        Which feature it repeats most, −1 if none.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.1, 5.0], [3.0, 6.0, 0.0]])
    >>> r_squared, repeated = repetition(X, np.array([3.0, 2.0, 1.0]))
    >>> r_squared.round(2).tolist(), repeated.tolist()
    ([0.0, 1.0, 0.0], [-1, 0, 1])
    """
    n, D = X.shape
    order = np.argsort(-score, kind="stable")
    best = order[:COMPARED]
    rank = np.empty(D, np.intp)
    rank[order] = np.arange(D)
    top = dense(X[:, best]).astype(np.float64)
    top -= top.mean(axis=0)
    top /= np.maximum(np.linalg.norm(top, axis=0), np.finfo(float).tiny)
    sums = np.asarray(X.sum(axis=0), np.float64).ravel()
    squares = X.multiply(X) if sp.issparse(X) else np.square(X)
    scatter = np.asarray(squares.sum(axis=0), np.float64).ravel() - sums**2 / n
    lengths = np.sqrt(np.maximum(scatter, np.finfo(float).tiny))
    r_squared, repeated = np.zeros(D), np.full(D, -1, np.intp)
    columns = X.tocsc() if sp.issparse(X) else X
    for start in range(0, D, _AT_ONCE):
        own = slice(start, start + _AT_ONCE)
        # The columns of `top` sum to 0, so that those of X need not be centred.
        r = dense(columns[:, own].T @ top) / lengths[own, np.newaxis]
        r[np.arange(len(best)) >= rank[own, np.newaxis]] = 0
        strongest = np.abs(r).argmax(axis=1)
        found = np.minimum(np.square(r[np.arange(len(r)), strongest]), 1)
        r_squared[own] = found
        repeated[own] = np.where(found > 0, best[strongest], -1)
    return r_squared, repeated


def discounted(score: FloatArray, r_squared: FloatArray) -> FloatArray:
    """Return scores times (1 − r²)^DISCOUNT: a feature that repeats a better one loses its own."""
    return score * (1 - r_squared) ** DISCOUNT
