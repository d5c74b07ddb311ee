"""How much of the clusters the selected features alone reproduce, without classes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, project, squared_row_norms, unit_rows
from omvfs.model.columns import on_columns
from omvfs.model.constrained.alternate import best_cluster
from omvfs.model.constrained.init import mean_directions
from omvfs.model.partitions import every_other, shared_information

# Most rounds in which clusters are found on the selected features; few rows move after the third.
_ROUNDS = 5


@dataclass(frozen=True)
class Rows:
    """Rows of all views and their clusters.

    Attributes
    ----------
    X : list of array or CSR matrix of shape (n, D_v)
    labels : int array of shape (n,)
    """

    X: Sequence[Block]
    labels: IntArray

    def of_view(self, v: int) -> "Rows":
        """Return the rows in one view alone."""
        return Rows([self.X[v]], self.labels)

    def on(self, columns: Sequence[IntArray]) -> "Rows":
        """Return the rows on some columns of each view, of unit norm there."""
        held = [on_columns(X_v, c) for X_v, c in zip(self.X, columns, strict=True)]
        return Rows([unit_rows(X_v) for X_v in held], self.labels)


def reproduced(known: Rows, asked: Rows, n_clusters: int) -> float:
    """Return how far clusters found on some features agree with those that rows have.

    Spherical k-means on the rows that are asked, from the centres of others. If the features tell
    little of the clusters, it starts off the mark; if they tell more of something else, it goes
    there. Rows that have none of the features are a part of their own.

    Parameters
    ----------
    known, asked : Rows
        Different rows, on the features, of unit norm in each view.
    n_clusters : int

    Returns
    -------
    float
        Normalised mutual information of both partitions of the rows that are asked.

    Examples
    --------
    >>> X = [np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])]
    >>> good, poor = Rows(X, np.array([0, 0, 1, 1])), Rows(X, np.array([0, 1, 0, 1]))
    >>> reproduced(good, good, 2), reproduced(poor, poor, 2)
    (1.0, 0.0)
    """
    has = np.sum([squared_row_norms(X_v) for X_v in asked.X], axis=0) > 0
    rows = [X_v[has] for X_v in asked.X]
    labels = _nearest(rows, known, n_clusters)
    for _ in range(_ROUNDS):
        before, labels = labels, _nearest(rows, Rows(rows, labels), n_clusters)
        if np.array_equal(labels, before):
            break
    found = np.full(len(has), n_clusters)
    found[has] = labels
    return shared_information(asked.labels, found)


def _nearest(X: Sequence[Block], centred: Rows, n_clusters: int) -> IntArray:
    """Return the cluster of every row whose mean is nearest by cosine."""
    return best_cluster(project(X, mean_directions(centred.X, centred.labels, n_clusters))).labels


def halves(
    labels: IntArray, n_clusters: int, n_splits: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield two halves of the rows, and the same the other way round, of some random splits.

    Each half has every other row of each cluster.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [(len(a), len(b)) for a, b in halves(np.array([0, 0, 1, 1]), 2, 1, rng)]
    [(2, 2), (2, 2)]
    """
    for _ in range(n_splits):
        order = rng.permutation(len(labels))
        mask = every_other(labels[order], n_clusters)
        first, second = np.sort(order[mask]), np.sort(order[~mask])
        yield first, second
        yield second, first


def agreements(
    rows: Rows,
    rank: Callable[[IntArray], Sequence[Array]],
    sizes: Sequence[int],
    n_clusters: int,
    n_splits: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return how much of the clusters the best features of each view reproduce, by their number.

    Features are ranked on one half of the rows and judged on the other.

    Parameters
    ----------
    rows : Rows
    rank : callable
        Given which rows may be looked at, returns the scores of the features of each view.
    sizes : sequence of int
        Numbers of features a view.
    n_clusters, n_splits : int
    rng : Generator
        Draws the halves.

    Returns
    -------
    array of shape (2 n_splits, 1 + n_views, n_sizes)
        A judgement a half: of all views together, then of each alone.
    """
    n_views = len(rows.X)
    found = []
    for looked_at, judged in halves(rows.labels, n_clusters, n_splits, rng):
        orders = [np.argsort(-scores, kind="stable") for scores in rank(looked_at)]
        known, asked = (
            Rows([X_v[half] for X_v in rows.X], rows.labels[half]) for half in (looked_at, judged)
        )
        own = np.empty((1 + n_views, len(sizes)))
        for i, size in enumerate(sizes):
            best = [np.sort(order[:size]) for order in orders]
            a, b = known.on(best), asked.on(best)
            own[0, i] = reproduced(a, b, n_clusters)
            for v in range(n_views):
                own[1 + v, i] = reproduced(a.of_view(v), b.of_view(v), n_clusters)
        found.append(own)
    return np.stack(found)
