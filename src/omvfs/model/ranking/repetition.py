"""What is left of a feature's score after better ones that it repeats."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, column_sums, squared_entries

# What is left of a feature after one that it repeats, up to rounding.
_REPEATED = 1e-12


@dataclass(frozen=True)
class Repetition:
    """Scores of the features of a view, and which better feature each repeats most.

    Attributes
    ----------
    own : array of shape (D,)
        Scores of the features by themselves.
    scores : array of shape (D,)
        What is left of them; see `discount_repetition`.
    repeated : int array of shape (D,)
        Of the features taken before it, the one that each correlates with most; −1 if it correlates
        with none, if its own score is 0, and if nothing was discounted.
    correlations : array of shape (D,)
        With that feature; 0 where there is none.
    """

    own: Array
    scores: Array
    repeated: IntArray
    correlations: NDArray[np.float64]

    @property
    def left(self) -> NDArray[np.float64]:
        """What part of each feature's own score is left; all of one that has none."""
        return np.divide(self.scores, self.own, out=np.ones(len(self.own)), where=self.own > 0)

    @classmethod
    def none(cls, scores: Array) -> "Repetition":
        """Return scores of which nothing is discounted."""
        n = len(scores)
        return cls(scores, scores, np.full(n, -1, np.intp), np.zeros(n))


def discount_repetition(scores: Array, rows: Block, strength: float, n_steps: int) -> Array:
    """Return scores in which a feature that repeats a better one counts for less.

    Features are taken one after another by score × (1 − r²)^strength, where r is the largest
    correlation with a feature taken before. A feature's new score is what it was worth when taken,
    which never rises from one to the next; features not taken in `n_steps` keep what they are worth
    at the end. So sorting by the new score gives the order of taking.

    Parameters
    ----------
    scores : array of shape (D,)
        Nonnegative scores of the features by themselves.
    rows : array or CSR matrix of shape (n, D)
        Rows on which to correlate features.
    strength : float
        Exponent; 0 leaves the scores as they are.
    n_steps : int
        Features to take.

    Returns
    -------
    array of shape (D,)

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [2.0, 4.0, 1.0]])
    >>> discount_repetition(np.array([3.0, 2.0, 1.0]), rows, 2.0, n_steps=3).round(3)
    array([3., 0., 1.])
    """
    if strength <= 0:
        return np.asarray(scores, dtype=np.float64).copy()
    return find_repetition(scores, rows, strength, n_steps).scores


def find_repetition(scores: Array, rows: Block, strength: float, n_steps: int) -> Repetition:
    """Return what `discount_repetition` returns, and what it found on the way.

    With a strength of 0 nothing is discounted, and what repeats what is found all the same.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [2.0, 4.0, 1.0]])
    >>> found = find_repetition(np.array([3.0, 2.0, 1.0]), rows, 2.0, n_steps=3)
    >>> found.repeated, found.correlations.round(3)
    (array([-1,  0, -1]), array([0., 1., 0.]))
    """
    worth = np.asarray(scores, dtype=np.float64).copy()
    n = rows.shape[0]
    if n < 3:
        return Repetition.none(worth)
    means = column_sums(rows) / n
    variances = column_sums(squared_entries(rows)) / n - means**2
    # Rounding leaves a constant column a variance of about this.
    varied = variances > 1e-12 * np.maximum(means**2, np.finfo(float).tiny)
    deviations = np.where(varied, np.sqrt(np.maximum(variances, 0)), np.inf)
    by_feature = rows.T.tocsr() if sp.issparse(rows) else rows.T

    final = worth.copy()
    left = np.ones(len(worth))
    repeated, correlations = np.full(len(worth), -1, np.intp), np.zeros(len(worth))
    value = np.where(worth > 0, worth, -1)
    for _ in range(min(n_steps, int(np.count_nonzero(worth > 0)))):
        j = int(value.argmax())
        final[j], value[j] = value[j], -1
        covariance = by_feature @ _dense_row(by_feature, j) / n - means * means[j]
        r = covariance / (deviations * deviations[j])
        own = 1 - r**2
        # Rounding leaves a perfect repetition about this much, which a root would magnify.
        own[own < _REPEATED] = 0
        less = np.flatnonzero((own < left) & (value >= 0))
        left[less], repeated[less], correlations[less] = own[less], j, r[less]
        value[less] = final[less] = worth[less] * own[less] ** strength
    return Repetition(worth, final, repeated, np.clip(correlations, -1, 1))


def _dense_row(X: Block, i: int) -> Array:
    """Return a row as an array; indexing a CSR matrix would take longer than the product."""
    if not sp.issparse(X):
        row: Array = X[i]
        return row
    entries = slice(X.indptr[i], X.indptr[i + 1])
    row = np.zeros(X.shape[1], X.dtype)
    row[X.indices[entries]] = X.data[entries]
    return row
