"""What a feature tells of the clusters by itself."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from omvfs.model.arrays import Array
from omvfs.model.objective import row_norms

# By V alone; by rows and their clusters, one by one ("separation") or as a set ("signal"), and the
# one of these two that the rows decide for.
ByV = Literal["norm", "contrast", "information", "balanced"]
ByRows = Literal["separation", "signal", "auto"]
Named = Literal[ByRows, ByV]
# f(V, masses, sums), as `contrast` takes them, gives one score for every row of V.
Criterion = Named | Callable[[Any, Any, Any], Any]


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
    raise ValueError(f"Got criterion={criterion!r}; expected one of {get_args(ByV)}.")


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
