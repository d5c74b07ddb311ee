"""Why a feature has its rank, in parts that add up; and which features stand for a cluster."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block
from omvfs.model.learning import Answers
from omvfs.model.separation import discounted, total_variance
from omvfs.model.sums import ViewSums

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


def explained(answers: Answers, v: int, j: int) -> dict[str, Any]:
    """Return the parts of the score of column j of view v, as `omvfs.results.Explanation` has them.

    A feature it repeats is a column, and None stands for no such feature and no such cluster.
    """
    sums = answers.reclustered.views[v].on(np.array([j]))
    scores, (r_squared, repeated) = answers.scores()[v], answers.repetitions[v]
    deviation = float(np.sqrt(total_variance(sums)[0]))
    rows = answers.rows[v][np.flatnonzero(answers.state.sample.present[:, v])]
    mean, means = float(sums.mean[0]), means_by_cluster(sums)[0]
    above = np.where(means > mean, carried(sums)[0], 0)
    return {
        "score": float(scores[j]),
        "share": float(answers.separations[v][j]) / deviation if deviation else 0.0,
        "deviation": deviation,
        "kept": float(discounted(1.0, r_squared[j])),
        "repeats": int(repeated[j]) if repeated[j] >= 0 else None,
        "r_squared": float(r_squared[j]),
        "mean": mean,
        "means": tuple(means.tolist()),
        "cluster": int(above.argmax()) if above.any() else None,
        "share_of_rows": float(shares_of_rows(rows[:, [j]])[0]),
    }


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


def shares_of_rows(X: Block) -> FloatArray:
    """Return the share of rows in which every feature is not 0.

    Examples
    --------
    >>> shares_of_rows(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [5.0, 0.0]]))
    array([0.75, 0.25])
    """
    if sp.issparse(X):
        counts = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
    else:
        counts = np.count_nonzero(X, axis=0)
    return np.asarray(counts / max(X.shape[0], 1), np.float64)
