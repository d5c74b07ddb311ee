"""From V to a ranking: what a feature tells of the clusters, and what others tell already."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, column_sums, squared_entries
from omvfs.model.objective import row_norms

# What is left of a feature after one that it repeats, up to rounding.
_REPEATED = 1e-12

Named = Literal["norm", "contrast", "information", "balanced"]
# f(V, masses, sums), as `contrast` takes them, gives one score for every row of V.
Criterion = Named | Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Ranking:
    """How features are to be ranked by what was learned.

    Attributes
    ----------
    criterion : {"norm", "contrast", "information", "balanced"} or callable
        What makes a feature good by itself.
    diversity : float
        How strongly a feature that repeats a better one is discounted.
    recency : float
        Say of the most recent rows, if they differ from those before.
    n_steps : int
        Features of a view to take one after another as repetition is discounted.
    """

    # A callable may be comparable only.
    criterion: Criterion = field(hash=False)
    diversity: float
    recency: float
    n_steps: int

    def relevance(self, V: Array, masses: Array, sums: Array) -> Array:
        """Return the score of every feature of a view by itself; see `relevance`."""
        return relevance(V, masses, sums, self.criterion)

    def discount(self, scores: Array, rows: Block) -> Array:
        """Return the scores of a view, repetition discounted; see `discount_repetition`."""
        return discount_repetition(scores, rows, self.diversity, self.n_steps)


def norm(V: Array) -> Array:
    """Return ‖V_j‖, the paper's importance: how much of feature j the clusters reconstruct.

    Examples
    --------
    >>> norm(np.array([[3.0, 4.0]]))
    array([5.])
    """
    return row_norms(V)


def contrast(V: Array, masses: Array, sums: Array) -> Array:
    """Return ‖V_j − (V_j·â)â‖: what is left of a feature's row without its even share.

    A feature that every row has to the same amount has V_jk ∝ Σ_i u_ik / √masses_k, however
    frequent it is: its contrast is 0.

    Parameters
    ----------
    V : array of shape (D, K)
    masses : array of shape (K,)
        Σ_i u_ik² of the clusters.
    sums : array of shape (K,)
        Σ_i u_ik.

    Examples
    --------
    >>> V = np.array([[1.0, 1.0], [2.0, 0.0]])
    >>> contrast(V, np.ones(2), np.ones(2)).round(3)
    array([0.   , 1.414])
    """
    even = np.divide(sums, np.sqrt(masses), out=np.zeros_like(sums), where=masses > 0)
    even = (even / max(np.linalg.norm(even), np.finfo(V.dtype).tiny)).astype(V.dtype)
    return row_norms(V - np.outer(V @ even, even))


def information(V: Array, masses: Array, sums: Array) -> Array:
    """Return the information each feature carries about the clusters.

    Σ_k b_jk log((b_jk / b_j) / (s_k / s)): the amount of the feature, b_j, times the divergence of
    its distribution over the clusters from that of a feature that every row has to the same amount.

    Parameters
    ----------
    V : array of shape (D, K)
    masses : array of shape (K,)
        Σ_i u_ik² of the clusters.
    sums : array of shape (K,)
        Σ_i u_ik.

    Examples
    --------
    >>> V = np.array([[1.0, 1.0], [2.0, 0.0]])
    >>> information(V, np.ones(2), np.ones(2)).round(3)
    array([0.   , 1.386])
    """
    total = sums.sum()
    if total <= 0:
        return np.zeros(len(V), V.dtype)
    amount = V * np.sqrt(masses).astype(V.dtype)
    amounts = amount.sum(axis=1, keepdims=True)
    share = np.divide(amount, amounts, out=np.zeros_like(amount), where=amounts > 0)
    expected = np.where(sums > 0, sums / total, 1).astype(V.dtype)
    logs = np.log(share / expected, out=np.zeros_like(share), where=share > 0)
    bits: Array = np.maximum((amount * logs).sum(axis=1), 0)
    return bits


def relevance(V: Array, masses: Array, sums: Array, criterion: Criterion) -> Array:
    """Return the score of every feature by itself.

    ``balanced`` is norm^¼ × information^¾: the first asks for features that many rows have, the
    second for features that tell clusters apart; a good set needs both.

    Parameters
    ----------
    V : array of shape (D, K)
    masses, sums : array of shape (K,)
        Σ_i u_ik² and Σ_i u_ik of the clusters.
    criterion : {"norm", "contrast", "information", "balanced"} or callable
        A callable is given copies, and its scores must be finite and nonnegative.

    Returns
    -------
    array of shape (D,)
    """
    if callable(criterion):
        return _checked(criterion(V.copy(), masses.copy(), sums.copy()), V)
    if criterion == "norm":
        return norm(V)
    if criterion == "contrast":
        return contrast(V, masses, sums)
    if criterion == "information":
        return information(V, masses, sums)
    if criterion == "balanced":
        balanced: Array = norm(V) ** 0.25 * information(V, masses, sums) ** 0.75
        return balanced
    raise ValueError(f"Got criterion={criterion!r}; expected one of {get_args(Named)}.")


def _checked(scores: Any, V: Array) -> Array:
    """Return the scores that a callable gave, in the precision of V."""
    given = np.asarray(scores)
    if given.shape != V.shape[:1] or given.dtype.kind not in "biuf":
        got = f"{type(scores).__name__} of shape {given.shape} and dtype {given.dtype}"
    else:
        with np.errstate(over="ignore"):
            found: Array = given.astype(V.dtype)
        bad = ~(np.isfinite(found) & (found >= 0))
        if not bad.any():
            return found
        got = f"{found[bad][0]} for feature {int(bad.argmax())}"
    raise ValueError(
        f"Got criterion that gave {got}; expected {len(V)} finite scores of at least 0, one for "
        f"each row of a V of shape {V.shape}."
    )


def discount_repetition(
    scores: Array, rows: Block, strength: float, n_steps: int
) -> NDArray[np.float64]:
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
    worth = np.asarray(scores, dtype=np.float64).copy()
    n = rows.shape[0]
    if strength <= 0 or n < 3:
        return worth
    means = column_sums(rows) / n
    variances = column_sums(squared_entries(rows)) / n - means**2
    # Rounding leaves a constant column a variance of about this.
    varied = variances > 1e-12 * np.maximum(means**2, np.finfo(float).tiny)
    deviations = np.where(varied, np.sqrt(np.maximum(variances, 0)), np.inf)
    by_feature = rows.T.tocsr() if sp.issparse(rows) else rows.T

    final = worth.copy()
    left = np.ones(len(worth))
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
        left[less] = own[less]
        value[less] = final[less] = worth[less] * own[less] ** strength
    return final


def _dense_row(X: Block, i: int) -> Array:
    """Return a row as an array; indexing a CSR matrix would take longer than the product."""
    if not sp.issparse(X):
        row: Array = X[i]
        return row
    entries = slice(X.indptr[i], X.indptr[i + 1])
    row = np.zeros(X.shape[1], X.dtype)
    row[X.indices[entries]] = X.data[entries]
    return row
