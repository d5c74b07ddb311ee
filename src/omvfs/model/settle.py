"""Clusters of a set of rows from several starts, for the first chunk and for the memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omvfs.model.arrays import Array, Block, project, squared_row_norms
from omvfs.model.constrained import Indicator, transposed_product
from omvfs.model.solve import nearest, unit_directions


@dataclass(frozen=True)
class Clusters:
    """Clusters of a set of rows.

    Attributes
    ----------
    directions : list of array of shape (D_v, K)
        Unit directions, over all views together.
    energy : float
        What they explain of the rows: Σ_i (x_i · c_{k(i)})².
    """

    directions: list[Array]
    energy: float


def best_start(
    X: Sequence[Block],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    warm: Sequence[Array] | None = None,
    max_iter: int = 30,
) -> list[Array]:
    """Return the directions that explain most of the rows, out of several starts.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
    n_clusters : int
    rng : Generator
    n_init : int
        Number of random starts.
    warm : sequence of array of shape (D_v, K), optional
        Directions known so far: one more start.
    max_iter : int
        Most iterations of a start.

    Returns
    -------
    list of array of shape (D_v, K)

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> directions = best_start([X], 2, np.random.default_rng(0), n_init=3)
    >>> np.sort(directions[0].argmax(axis=0))
    array([0, 1])
    """
    squares = np.sum([squared_row_norms(X_v) for X_v in X], axis=0)
    starts = [] if warm is None else [list(warm)]
    starts += [seeds(X, squares, n_clusters, rng) for _ in range(n_init)]
    found = [alternate(X, start, squares, max_iter) for start in starts]
    return max(found, key=lambda clusters: clusters.energy).directions


def seeds(
    X: Sequence[Block], squares: Array, n_clusters: int, rng: np.random.Generator
) -> list[Array]:
    """Return directions of rows drawn in turn, each with a chance of what is unexplained of it.

    The rule of k-means++ for directions: given those drawn, ‖x_i‖² − max_k (x_i · c_k)² is left of
    row i.
    """
    left = np.asarray(squares, dtype=np.float64)
    chosen: list[int] = []
    for _ in range(n_clusters):
        total = np.cumsum(left)
        if total[-1] <= 0:
            break
        row = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
        row = min(row, len(left) - 1)
        chosen.append(row)
        c = [_dense_rows(X_v, [row]).T / np.sqrt(squares[row]) for X_v in X]
        left = np.minimum(left, np.maximum(squares - np.square(project(X, c).ravel()), 0))
        left[row] = 0
    spare = n_clusters - len(chosen)
    return unit_directions([np.pad(_dense_rows(X_v, chosen).T, ((0, 0), (0, spare))) for X_v in X])


def alternate(X: Sequence[Block], start: list[Array], squares: Array, max_iter: int) -> Clusters:
    """Alternate the half-steps without graph or sparsity, where both are exact and cheap."""
    directions = start
    labels = None
    for _ in range(max_iter):
        U = _fill_empty(nearest(project(X, directions)), squares)
        directions = unit_directions([transposed_product(X_v, U) for X_v in X])
        if labels is not None and np.count_nonzero(U.labels != labels) * 1000 < len(labels):
            break
        labels = U.labels
    return Clusters(directions, float(nearest(project(X, directions)).masses.sum()))


def _fill_empty(U: Indicator, squares: Array) -> Indicator:
    """Give every empty cluster the row of which its own cluster leaves most unexplained."""
    counts = np.bincount(U.labels, minlength=U.n_clusters)
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return U
    left = squares - np.square(U.weights)
    labels, weights = U.labels.copy(), U.weights.copy()
    for k in empty:
        row = int(np.where(counts[labels] > 1, left, 0).argmax())
        if counts[labels[row]] < 2 or left[row] <= 0:
            break
        counts[labels[row]] -= 1
        counts[k] += 1
        labels[row], weights[row], left[row] = k, np.sqrt(squares[row]), 0
    return Indicator(labels, weights, U.n_clusters)


def _dense_rows(X: Block, rows: list[int]) -> Array:
    picked = X[rows]
    dense: Array = picked if isinstance(picked, np.ndarray) else picked.toarray()
    return dense
