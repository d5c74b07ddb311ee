"""Clusters of the rows of an embedding from many random starts, which race.

All starts are worked on at once, as products of one matrix: rows are few and dimensions fewer, so
that one start at a time would spend most of its time between the products.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, IntArray, in_ties, squared_row_norms, tie_width
from omvfs.model.constrained.alternate import unmoved

# Most iterations of one start. After the first few only the better ones, one in so many, go on.
_MAX_ITER, _HEAT, _PROMOTED = 30, 4, 4
# Entries of the projections of all starts that are held at once.
_AT_ONCE = 1 << 21


@dataclass(frozen=True)
class Starts:
    """Clusters of the same rows, of several starts.

    Attributes
    ----------
    directions : array of shape (n_starts, K, D)
        Unit directions.
    labels : int array of shape (n_starts, n)
        The nearest direction of every row.
    energies : array of shape (n_starts,)
        What they explain of the rows: Σ_i (x_i · c_{k(i)})².
    """

    directions: Array
    labels: IntArray
    energies: NDArray[np.float64]

    def best_first(self) -> IntArray:
        """Return the starts, those that explain most first; of equal ones the first."""
        order: IntArray = np.argsort(-in_ties(self.energies), kind="stable")
        return order


def raced(E: Array, n_clusters: int, rng: np.random.Generator, n_init: int) -> IntArray:
    """Return the clusters that explain most of the rows of an embedding, of several starts.

    Parameters
    ----------
    E : array of shape (n, n_dimensions)
        The rows, of unit norm.
    n_clusters : int
    rng : Generator
    n_init : int
        Number of random starts; the better go on.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> E = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> labels = raced(E, 2, np.random.default_rng(0), n_init=4)
    >>> labels[0] == labels[2], labels[0] == labels[1]
    (np.True_, np.False_)
    """
    # Single precision is enough to tell starts apart.
    E = E.astype(np.float32)
    begun = kmeans_plusplus_directions(E, n_clusters, rng, n_init)
    heated = _in_parts(E, begun, _HEAT)
    promoted = heated.directions[heated.best_first()[: -(-n_init // _PROMOTED)]]
    found = _in_parts(E, promoted, _MAX_ITER - _HEAT)
    best: IntArray = found.labels[found.best_first()[0]]
    return best


def _in_parts(X: Array, directions: Array, max_iter: int) -> Starts:
    """Alternate as many starts at once as there is room for."""
    size = max(1, _AT_ONCE // max(1, directions.shape[1] * len(X)))
    places = range(0, len(directions), size)
    parts = [alternate(X, directions[i : i + size], max_iter) for i in places]
    return Starts(
        np.concatenate([part.directions for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.energies for part in parts]),
    )


def kmeans_plusplus_directions(
    X: Array, n_clusters: int, rng: np.random.Generator, n_starts: int
) -> Array:
    """Return directions of rows drawn in turn, each with a chance of what is unexplained of it.

    The rule of k-means++ for directions: given those drawn, ‖x_i‖² − max_k (x_i · c_k)² is left of
    row i.

    Parameters
    ----------
    X : array of shape (n, D)
    n_clusters : int
    rng : Generator
    n_starts : int
        How often to do so.

    Returns
    -------
    array of shape (n_starts, K, D)
        Zeros where nothing was left.
    """
    squares = squared_row_norms(X)
    left = np.repeat(squares.astype(np.float64)[np.newaxis], n_starts, axis=0)
    # Less than this is left of a row by rounding.
    rest = tie_width(squares)
    unit = X / np.sqrt(np.where(squares > 0, squares, 1))[:, np.newaxis]
    drawn = np.zeros((n_starts, n_clusters, X.shape[1]), X.dtype)
    starts = np.arange(n_starts)
    for k in range(n_clusters):
        total = np.cumsum(left, axis=1)
        aims = rng.random(n_starts) * total[:, -1]
        # The first row whose sum is above the aim; a sum of zeros has none.
        rows = np.minimum((total <= aims[:, np.newaxis]).sum(axis=1), len(X) - 1)
        has = total[:, -1] > 0
        drawn[has, k] = unit[rows[has]]
        along = drawn[:, k] @ X.T
        np.minimum(left, np.maximum(squares - np.square(along), 0), out=left)
        left[starts, rows] = 0
        left[left < rest] = 0
    return drawn


def alternate(X: Array, directions: Array, max_iter: int) -> Starts:
    """Alternate the half-steps without graph or sparsity, where both are exact and cheap.

    Parameters
    ----------
    X : array of shape (n, D)
    directions : array of shape (n_starts, K, D)
        Unit directions of several starts, each by itself.
    max_iter : int

    Returns
    -------
    Starts
    """
    squares, across = squared_row_norms(X), np.ascontiguousarray(X.T)
    directions = directions.copy()
    going, before = np.arange(len(directions)), np.full((len(directions), len(X)), -1)
    for _ in range(max_iter):
        labels, weights = _placed(directions[going], across)
        for each, own in zip(labels, weights, strict=True):
            _fill_empty(each, own, directions.shape[1], squares)
        directions[going] = _means(X, labels, weights, directions.shape[1])
        pairs = zip(labels, before[going], strict=True)
        moved = np.array([not unmoved(now, then) for now, then in pairs], bool)
        before[going] = labels
        going = going[moved]
        if not len(going):
            break
    labels, weights = _placed(directions, across)
    return Starts(directions, labels, np.square(weights, dtype=np.float64).sum(axis=1))


def _placed(directions: Array, across: Array) -> tuple[IntArray, Array]:
    """Return the nearest direction of every row by start, and its projection on it.

    Parameters
    ----------
    directions : array of shape (n_starts, K, D)
    across : array of shape (D, n)
        The rows as columns.
    """
    P = directions @ across
    largest = P.max(axis=1, initial=-np.inf)
    sizes = np.maximum(largest, -P.min(axis=1, initial=np.inf))
    # As of `best_cluster`: the first of those that are equal but for rounding error.
    eps = np.finfo(P.dtype).eps
    noise = 10 * eps * sizes.max(axis=1, initial=0, keepdims=True)
    slack = np.maximum(0.1 * np.sqrt(eps) * sizes, noise)
    labels = ((largest - slack)[:, np.newaxis] <= P).argmax(axis=1)
    return labels, np.take_along_axis(P, labels[:, np.newaxis], axis=1)[:, 0]


def _means(X: Array, labels: IntArray, weights: Array, n_clusters: int) -> Array:
    """Return the unit directions of the weighted sums of the rows of each cluster."""
    n_starts, n = labels.shape
    U = np.zeros((n_starts, n_clusters, n), X.dtype)
    np.put_along_axis(U, labels[:, np.newaxis], weights[:, np.newaxis], axis=1)
    sums = (U.reshape(-1, n) @ X).reshape(n_starts, n_clusters, -1)
    norms = np.linalg.norm(sums, axis=2, keepdims=True)
    unit: Array = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)
    return unit


def _fill_empty(labels: IntArray, weights: Array, n_clusters: int, squares: Array) -> None:
    """Give every empty cluster the row of which its own cluster leaves most unexplained."""
    counts = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return
    left = squares - np.square(weights)
    left[left < tie_width(squares)] = 0
    for k in empty:
        row = int(in_ties(np.where(counts[labels] > 1, left, 0)).argmax())
        if counts[labels[row]] < 2 or left[row] <= 0:
            break
        counts[labels[row]] -= 1
        counts[k] += 1
        labels[row], weights[row], left[row] = k, np.sqrt(squares[row]), 0
