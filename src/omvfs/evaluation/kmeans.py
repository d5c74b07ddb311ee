"""Spherical k-means of one view and of several, which judge features by the clusters they give."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from omvfs.data.views import Views
from omvfs.model.arrays import Array, Block, IntArray, dense, squared_row_norms, unit_rows
from omvfs.parameters import seed_of, whole
from omvfs.selector import ReadsViews

# Most similarities and entries of centres held at a time: starts that need more run in groups.
_MOST_CELLS = 2**24


@dataclass(frozen=True)
class Clusters:
    """Clusters of unit rows."""

    # Cluster of every row, of shape (n,).
    labels: IntArray
    # Centres of unit norm, of shape (K, D).
    centers: Array
    # Sum of the cosines of the rows with their centres.
    objective: float
    # Iterations done.
    n_iter: int


@dataclass(frozen=True)
class Assignment:
    """The nearest centres of unit rows, for R partitions side by side."""

    # Cluster of every row, of shape (n, R).
    labels: IntArray
    # Centres of unit norm, of shape (R, K, D).
    centers: Array
    # Sum of the cosines of the rows with their centres, of shape (R,).
    objective: NDArray[np.float64]


def unit_means(X: Block, labels: IntArray, n_clusters: int) -> Array:
    """Return the mean of the rows of every cluster, brought to unit norm."""
    n, R = labels.shape
    cells = (labels + n_clusters * np.arange(R)).ravel()
    # The rows of each cluster one after another: a CSR matrix, clusters by rows, as it is.
    rows = np.argsort(cells, kind="stable") // R
    ends = np.bincount(cells, minlength=R * n_clusters).cumsum()
    parts = np.ones(n * R, X.dtype), rows, np.concatenate([[0], ends])
    members = sp.csr_array(parts, shape=(R * n_clusters, n))
    return np.asarray(unit_rows(dense(members @ X)).reshape(R, n_clusters, X.shape[1]))


def reassign(X: Block, labels: IntArray, n_clusters: int) -> Assignment:
    """Compute the centres of given clusters, and the nearest centre of every row.

    Rows of X are of unit norm, or zero; each column of `labels` is a partition of them. A cluster
    without a centre is given a row that fits its own centre worst. A zero row, which is
    equally near to all centres, keeps its label.
    """
    centers = unit_means(X, labels, n_clusters)
    similarity = _similarity(X, centers)
    zero = squared_row_norms(X) == 0
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
    if whole("n_clusters", n_clusters, least=1) > X.shape[0]:
        raise ValueError(
            f"Got n_clusters={n_clusters} for n_samples={X.shape[0]}; expected at most one cluster "
            "a row."
        )
    n_init, max_iter = whole("n_init", n_init, least=1), whole("max_iter", max_iter, least=1)
    X = unit_rows(X)
    at_once = max(1, _MOST_CELLS // (n_clusters * sum(X.shape)))
    groups = [min(at_once, n_init - done) for done in range(0, n_init, at_once)]
    found = [_side_by_side(X, n_clusters, rng, n_starts, max_iter) for n_starts in groups]
    return max(found, key=lambda clusters: clusters.objective)


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
    distance = np.repeat(squared_row_norms(X)[:, np.newaxis] > 0, n_starts, axis=1).astype(X.dtype)
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


def rounds(X: Sequence[Block], labels: IntArray, n_clusters: int) -> Iterator[list[Assignment]]:
    """Alternate the views without end, and yield what each round leaves of each view.

    A round goes from the last view to the first. Each computes its centres under the labels that
    the next view has now, the last under those of the first, and assigns its rows anew. What a
    round does depends on nothing but the labels of the first view. All have one partition.
    """
    labels = labels[:, np.newaxis]
    while True:
        found = []
        for X_v in reversed(X):
            found.append(reassign(X_v, labels, n_clusters))
            labels = found[-1].labels
        yield found[::-1]


def alternate(
    X: Sequence[Block], labels: IntArray, n_clusters: int, max_iter: int, patience: int
) -> tuple[list[Assignment], int]:
    """Alternate the views until all have gone more than `patience` rounds with no new best.

    Returns the last round, and how many there were. One that leaves the labels of the first view
    as they were is the last, as all after it would be the same.
    """
    best, stale = np.full(len(X), -np.inf), np.zeros(len(X), np.intp)
    for n_iter, last in enumerate(rounds(X, labels, n_clusters), start=1):
        objective = np.array([each.objective[0] for each in last])
        stale = np.where(objective > best, 0, stale + 1)
        best = np.maximum(best, objective)
        same = np.array_equal(last[0].labels[:, 0], labels)
        if (stale > patience).all() or same or n_iter == max_iter:
            break
        labels = last[0].labels[:, 0]
    return last, n_iter


def consensus(X: Sequence[Block], last: Sequence[Assignment]) -> list[Array]:
    """Return by view the centres of the rows on which all views agree.

    A cluster of which a view has no such row keeps the view's own centre.
    """
    agreed = (np.hstack([own.labels for own in last]) == last[0].labels).all(axis=1)
    centers = []
    for X_v, own in zip(X, last, strict=True):
        means = unit_means(X_v[agreed], last[0].labels[agreed], own.centers.shape[1])
        centers.append(np.where(means.any(axis=2, keepdims=True), means, own.centers)[0])
    return centers


def nearest_by_angle(X: Sequence[Block], centers: Sequence[Array]) -> IntArray:
    """Return the cluster of every row to which the sum of its angles over the views is least."""
    angles = [
        np.arccos(np.clip(X_v @ centers_v.T, -1, 1))
        for X_v, centers_v in zip(X, centers, strict=True)
    ]
    return np.asarray(np.sum(angles, axis=0).argmin(axis=1))


@dataclass(eq=False, repr=False, kw_only=True)
class MultiViewSphericalKMeans(ClusterMixin, ReadsViews):  # type: ignore[misc]
    """Multi-view spherical k-means.

    Every row is brought to unit norm in each view. Spherical k-means on the first view gives the
    labels to start from. Then the views take turns: each computes its centres under the labels of
    another and assigns its rows anew. In the end, the centres of a cluster are the unit means of
    the rows on which all views agree, and a row belongs to the cluster to which the sum of its
    angles over the views is least. With one view this is spherical k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views: by column names ``view__feature``, by widths, or by columns
        for each view, see `as_views`. Not for input that comes as views already.
    n_init : int, default=10
        Starts of k-means on the first view; the best is taken.
    max_iter : int, default=100
        Most iterations of k-means on the first view, and most rounds over the views.
    patience : int, default=20
        Stop when every view has gone more than so many rounds without a new best objective.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of every row.
    cluster_centers_ : dict of str to ndarray of shape (n_clusters, n_features_of_view)
        Consensus centres of unit norm by view name.
    objective_ : dict of str to float
        By view name, the sum of the cosines of the rows with the view's own centres when it ended.
    n_iter_ : int
        Rounds done; with one view, iterations of the best start.
    n_features_in_ : int
        Features of all views together.
    feature_names_in_ : ndarray
        Column names, where one X with such names was given.

    Notes
    -----
    The paper has two views. Our choices: with more, each takes the labels of the next, in turn from
    the last to the first, and the last those of the first. An emptied cluster is given a row that
    fits its own centre worst; one on which the views agree nowhere keeps each view's own centre. A
    row that is zero in a view keeps there the label it had in the view before.

    References
    ----------
    S. Bickel, T. Scheffer: Multi-View Clustering, ICDM 2004.

    Examples
    --------
    >>> from omvfs.datasets import make_planted
    >>> from omvfs.evaluation import clustering_accuracy
    >>> planted = make_planted(300, n_features=(90, 60), n_informative=(60, 40), random_state=0)
    >>> labels = MultiViewSphericalKMeans(5, random_state=0).fit_predict(planted.views)
    >>> bool(clustering_accuracy(planted.labels, labels) > 0.9)
    True
    """

    n_clusters: int = field(default=8, kw_only=False)
    views: Any = None
    n_init: int = 10
    max_iter: int = 100
    patience: int = 20
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X.

        Parameters
        ----------
        X : anything `as_views` accepts
            2-D data, a mapping or list of 2-D blocks, or `Views`. Negative values are welcome.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        self
        """
        batch = self._split(X)
        K = self.n_clusters
        patience = whole("patience", self.patience, least=0)
        with self._drawing_if_it_becomes():
            rng = np.random.default_rng(seed_of(self.random_state))
            blocks = _unit_blocks(batch)
            start = spherical_k_means(blocks[0], K, rng, self.n_init, self.max_iter)
            if len(blocks) == 1:
                centers, objective, n_iter = [start.centers], [start.objective], start.n_iter
            else:
                last, n_iter = alternate(blocks, start.labels, K, self.max_iter, patience)
                centers = consensus(blocks, last)
                objective = [float(own.objective[0]) for own in last]
            self._become(
                X,
                batch,
                cluster_centers_=dict(zip(batch.names, centers, strict=True)),
                objective_=dict(zip(batch.names, objective, strict=True)),
                n_iter_=n_iter,
                labels_=nearest_by_angle(blocks, centers),
            )
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of new rows.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        centers = list(self.cluster_centers_.values())
        return nearest_by_angle(_unit_blocks(self._read_next(X)), centers)


def _unit_blocks(batch: Views) -> list[Block]:
    return [unit_rows(block) for block in batch.blocks.values()]
