"""Comparing two ways to divide the same rows."""

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import IntArray


def entropy(shares: NDArray[np.float64]) -> float:
    """Return −Σ p log p, with 0 log 0 = 0.

    Examples
    --------
    >>> entropy(np.array([0.0, 1.0])), round(entropy(np.array([0.5, 0.5])), 3)
    (0.0, 0.693)
    """
    held = shares[shares > 0]
    return max(0.0, -float(np.sum(held * np.log(held))))


def shared_information(a: IntArray, b: IntArray) -> float:
    """Return the normalised mutual information of two partitions, I(a; b) / √(H(a) H(b)).

    0 where either has one part only.

    Parameters
    ----------
    a, b : int array of shape (n,)
        Part of every row, counted from 0.

    Examples
    --------
    >>> shared_information(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    >>> shared_information(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    0.0
    """
    if not len(a):
        return 0.0
    found, shares = _information(a, b)
    entropies = [entropy(p) for p in shares]
    if min(entropies) <= 0:
        return 0.0
    return float(min(1.0, max(0.0, found / np.sqrt(entropies[0] * entropies[1]))))


def _information(a: IntArray, b: IntArray) -> tuple[float, list[NDArray[np.float64]]]:
    """Return the mutual information of two partitions but for rounding, and shares of parts."""
    n, width = len(a), int(b.max()) + 1
    counts = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width).reshape(-1, width)
    # Counts are added, not shares: the share of one part alone is 1 and not almost 1.
    table, rows, columns = counts / n, counts.sum(axis=1) / n, counts.sum(axis=0) / n
    held = counts > 0
    found = np.sum(table[held] * np.log(table[held] / np.outer(rows, columns)[held]))
    return float(found), [rows, columns]


def every_other(labels: IntArray, n_parts: int) -> NDArray[np.bool_]:
    """Return which rows are the first, third, fifth … of their part.

    Examples
    --------
    >>> every_other(np.array([0, 1, 0, 0, 1]), 2)
    array([ True,  True, False,  True, False])
    """
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=n_parts)
    firsts = np.cumsum(counts) - counts
    odd = np.empty(len(order), bool)
    odd[order] = (np.arange(len(order)) - firsts[labels[order]]) % 2 == 0
    return odd
