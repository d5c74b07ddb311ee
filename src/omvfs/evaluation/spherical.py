"""Spherical k-means: rows and centres of unit norm, compared by their cosine."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, dense, squared_row_norms, unit_rows
from omvfs.parameters import whole

# Most similarities and entries of centres held at a time: starts that need more run in groups.
_MOST_CELLS = 2**24


@dataclass(frozen=True)
class Clusters:
    """Clusters of unit rows.

    Attributes
    ----------
    labels : int array of shape (n,)
        Cluster of every row.
    centers : array of shape (K, D)
        Centres of unit norm.
    objective : float
        Sum of the cosines of the rows with their centres.
    n_iter : int
        Iterations done.
    """

    labels: IntArray
    centers: Array
    objective: float
    n_iter: int


@dataclass(frozen=True)
class Assignment:
    """The nearest centres of unit rows, for R partitions side by side.

    Attributes
    ----------
    labels : int array of shape (n, R)
        Cluster of every row.
    centers : array of shape (R, K, D)
        Centres of unit norm.
    objective : array of shape (R,)
        Sum of the cosines of the rows with their centres.
    """

    labels: IntArray
    centers: Array
    objective: NDArray[np.float64]


def unit_means(X: Block, labels: IntArray, n_clusters: int) -> Array:
    """Return the mean of the rows of every cluster, brought to unit norm.

    Parameters
    ----------
    X : array or CSR array of shape (n, D)
    labels : int array of shape (n, R)
        Clusters of R partitions.
    n_clusters : int

    Returns
    -------
    array of shape (R, K, D)
        Zero where a cluster has no rows, or its rows cancel.

    Examples
    --------
    >>> unit_means(np.array([[3.0, 1.0], [0.0, 3.0]]), np.array([[0], [0]]), 2)
    array([[[0.6, 0.8],
            [0. , 0. ]]])
    """
    n, R = labels.shape
    cells = (labels + n_clusters * np.arange(R)).ravel()
    # The rows of each cluster one after another: a CSR matrix, clusters by rows, as it is.
    rows = np.argsort(cells, kind="stable") // R
    ends = np.bincount(cells, minlength=R * n_clusters).cumsum()
    parts = np.ones(n * R, X.dtype), rows, np.concatenate([[0], ends])
    members = sp.csr_array(parts, shape=(R * n_clusters, n))
    centers: Array = unit_rows(dense(members @ X)).reshape(R, n_clusters, X.shape[1])
    return centers


def reassign(X: Block, labels: IntArray, n_clusters: int) -> Assignment:
    """Compute the centres of given clusters, and the nearest centre of every row.

    A cluster without a centre is given a row that fits its own centre worst. A zero row, which is
    equally near to all centres, keeps its label.

    Parameters
    ----------
    X : array or CSR array of shape (n, D)
        Rows of unit norm, or zero.
    labels : int array of shape (n, R)
        Clusters of R partitions.
    n_clusters : int

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> reassign(X, np.array([[0], [1], [1]]), 2).labels.ravel()
    array([0, 1, 1])
    >>> reassign(X, np.array([[0], [0], [0]]), 2).labels.ravel()  # the second cluster had no rows
    array([0, 0, 1])
    """
    centers = unit_means(X, labels, n_clusters)
    similarity = _similarity(X, centers)
    zero = _is_zero(X)
    for centers_r, similarity_r in zip(centers, np.moveaxis(similarity, 1, 0), strict=True):
        empty = ~centers_r.any(axis=1)
        if empty.any():
            fit = np.where(empty, -1, similarity_r).max(axis=1)
            fit[zero] = 2  # a zero row is no centre
            worst = np.argsort(fit, kind="stable")[: empty.sum()]
            centers_r[empty] = dense(X[worst])
            similarity_r[:, empty] = X @ centers_r[empty].T
    nearest = np.where(zero[:, np.newaxis], labels, similarity.argmax(axis=2))
    return Assignment(nearest, centers, similarity.max(axis=2).sum(axis=0, dtype=np.float64))


def spherical_k_means(
    X: Block,
    n_clusters: int,
    rng: np.random.Generator,
    n_init: int = 10,
    max_iter: int = 100,
) -> Clusters:
    """Return the best clusters that several k-means++ starts lead to.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        Rows, finite. They are brought to unit norm; zero rows stay zero and belong to no cluster
        more than to another.
    n_clusters : int
        Number of clusters K, at most n.
    rng : Generator
        Draws the starts.
    n_init : int
        Number of starts.
    max_iter : int
        Most iterations of a start.

    Returns
    -------
    Clusters

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [9.0, 1.0], [0.0, 2.0]])
    >>> labels = spherical_k_means(X, 2, np.random.default_rng(0)).labels
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    check_n_clusters(n_clusters, X.shape[0])
    n_init, max_iter = whole("n_init", n_init, least=1), whole("max_iter", max_iter, least=1)
    X = unit_rows(X)
    at_once = max(1, _MOST_CELLS // (n_clusters * sum(X.shape)))
    groups = [min(at_once, n_init - done) for done in range(0, n_init, at_once)]
    found = [_side_by_side(X, n_clusters, rng, n_starts, max_iter) for n_starts in groups]
    return max(found, key=lambda clusters: clusters.objective)


def check_n_clusters(n_clusters: int, n_rows: int) -> int:
    """Refuse more clusters than rows.

    Examples
    --------
    >>> check_n_clusters(8, 5)
    Traceback (most recent call last):
    ValueError: Got n_clusters=8 for n_samples=5; expected at most one cluster a row.
    """
    if whole("n_clusters", n_clusters, least=1) > n_rows:
        raise ValueError(
            f"Got n_clusters={n_clusters} for n_samples={n_rows}; expected at most one cluster a "
            "row."
        )
    return int(n_clusters)


def _side_by_side(
    X: Block, n_clusters: int, rng: np.random.Generator, n_starts: int, max_iter: int
) -> Clusters:
    """Return the best of some starts, whose products with X are one product."""
    centers = _seeds(X, n_clusters, rng, n_starts)
    labels = _similarity(X, centers).argmax(axis=2)
    objective, n_iter = np.zeros(n_starts), np.zeros(n_starts, np.intp)
    running = np.arange(n_starts)
    for _ in range(max_iter):
        found = reassign(X, labels[:, running], n_clusters)
        moving = (found.labels != labels[:, running]).any(axis=0)
        labels[:, running], centers[running] = found.labels, found.centers
        objective[running] = found.objective
        n_iter[running] += 1
        running = running[moving]
        if not running.size:
            break
    best = objective.argmax()
    return Clusters(labels[:, best], centers[best], float(objective[best]), int(n_iter[best]))


def _seeds(X: Block, n_clusters: int, rng: np.random.Generator, n_starts: int) -> Array:
    """Draw rows to start from by k-means++, each far from those before it by 1 - cosine."""
    n = X.shape[0]
    distance = np.repeat(~_is_zero(X)[:, np.newaxis], n_starts, axis=1).astype(X.dtype)
    chosen = np.empty((n_starts, n_clusters), np.intp)
    for k in range(n_clusters):
        total = distance.cumsum(axis=0, dtype=np.float64)
        drawn = (total <= rng.random(n_starts) * total[-1]).sum(axis=0)
        # Where all rows are taken or zero, any of them.
        chosen[:, k] = np.where(drawn < n, drawn, rng.integers(n, size=n_starts))
        distance = np.minimum(distance, np.maximum(1 - X @ dense(X[chosen[:, k]]).T, 0))
    return dense(X[chosen.ravel()]).reshape(n_starts, n_clusters, X.shape[1])


def _similarity(X: Block, centers: Array) -> Array:
    """Return the cosine of every row with the centres of R partitions, of shape (n, R, K)."""
    R, n_clusters, width = centers.shape
    product: Array = X @ centers.reshape(R * n_clusters, width).T
    return product.reshape(X.shape[0], R, n_clusters)


def _is_zero(X: Block) -> NDArray[np.bool_]:
    zero: NDArray[np.bool_] = squared_row_norms(X) == 0
    return zero
