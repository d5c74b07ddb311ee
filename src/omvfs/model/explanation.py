"""Why a feature has its rank, in parts that add up; and which features stand for a cluster."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Block, dense
from omvfs.model.learning import Answers
from omvfs.model.separation import discounted, spread, total_variance
from omvfs.model.sums import ViewSums, indicator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
# Rows whose entries are held once more at a time.
_AT_ONCE = 256


def notes(answers: Answers, v: int) -> dict[str, Any]:
    """Return what is known of every feature of a view, as `omvfs.results.FeatureNotes` has it."""
    sums, (r, repeats) = answers.reclustered.views[v], answers.repetitions[v]
    means, parts = means_by_cluster(sums), carried(sums)
    above = np.where(means > sums.mean[:, np.newaxis], parts, 0)
    cluster = np.where(above.any(axis=1), above.argmax(axis=1), -1)
    each, n = np.arange(len(cluster)), sums.n.sum()
    n_in, S_in = sums.n[cluster], sums.S[each, cluster]
    has = np.flatnonzero(answers.state.sample.present[:, v])
    counts, sizes = _counts(answers.rows[v][has], answers.clustering.labels[has], len(sums.n))
    filled, own = counts.sum(axis=1), counts[each, cluster]
    size = sizes[cluster]
    separations, wide = answers.separations[v], spread(total_variance(answers.state.views[v]))
    return {
        "explained": _ratio(separations, wide),
        "spread": wide,
        "novelty": discounted(1.0, r),
        "score": answers.scores()[v],
        "cluster": cluster,
        "share_of_rows": filled / max(len(has), 1),
        "share_in": _ratio(own, size),
        "share_out": _ratio(filled - own, sizes.sum() - size),
        "mean_in": _ratio(S_in, n_in),
        "mean_out": _ratio(sums.S.sum(axis=1) - S_in, n - n_in),
        "repeats": repeats,
        "r": r,
    }


def _counts(X: Block, labels: IntArray, K: int) -> tuple[FloatArray, FloatArray]:
    """Return in how many rows of each cluster each feature is not 0, and how many rows it has."""
    # In single precision, which counts the rows of a sample exactly: products of bool have no BLAS.
    members, counts = indicator(labels, K), np.zeros((X.shape[1], K))
    for start in range(0, X.shape[0], _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        filled = (X[some] != 0).astype(np.float32)
        counts += dense(filled.T @ members[some].astype(np.float32))
    return counts, members.sum(axis=0)


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    found: FloatArray = np.divide(a, b, out=np.zeros_like(b), where=b > 0)
    return found


def means_by_cluster(sums: ViewSums) -> FloatArray:
    """Return the mean of every feature over the rows of every cluster, of shape (D, K).

    Examples
    --------
    >>> sums = ViewSums.from_rows(np.array([[1.0], [3.0], [8.0]]), np.array([0, 0, 2]), 3)
    >>> means_by_cluster(sums)
    array([[ 2., nan,  8.]])
    """
    found: FloatArray = np.full(sums.S.shape, np.nan)
    return np.divide(sums.S, sums.n, out=found, where=sums.n > 0)


def carried(sums: ViewSums) -> FloatArray:
    """Return the share of a feature's variance between clusters that each cluster carries.

    n_k (mean_k − mean)² over its sum: rows of a feature that tells clusters apart add up to 1.

    Examples
    --------
    >>> X = np.array([[4.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    >>> carried(ViewSums.from_rows(X, np.array([0, 1, 1, 2]), 3)).round(2)
    array([[0.75, 0.17, 0.08],
           [0.  , 0.  , 0.  ]])
    """
    mean = sums.mean[:, np.newaxis]
    parts = sums.n * np.square(np.nan_to_num(means_by_cluster(sums)) - mean)
    whole = parts.sum(axis=1, keepdims=True)
    # Means that are equal may differ by rounding.
    tells = whole > 1e-24 * sums.Q[:, np.newaxis]
    found: FloatArray = np.divide(parts, whole, out=np.zeros_like(parts), where=tells)
    return found


def standing_for(answers: Answers, v: int, k: int, n: int) -> tuple[IntArray, FloatArray]:
    """Return the features that stand for a cluster, those that do most first.

    What counts is the part of its score that the cluster carries; only features whose mean in the
    cluster is above that of all rows are looked at.

    Parameters
    ----------
    answers : Answers
    v, k : int
        The view, and the cluster.
    n : int
        How many features at most.

    Returns
    -------
    features : int array
    parts : array
        Of the score of each, what the cluster carries.
    """
    sums = answers.reclustered.views[v]
    means = means_by_cluster(sums)[:, k]
    parts = np.where(means > sums.mean, answers.scores()[v] * carried(sums)[:, k], 0)
    best = np.argsort(-parts, kind="stable")[:n]
    best = best[parts[best] > 0]
    return best, parts[best]
