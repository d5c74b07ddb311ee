"""How much of the clusters the selected features alone reproduce, without classes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    project,
    squared_row_norms,
    times,
    unit_rows,
)
from omvfs.model.columns import on_columns
from omvfs.model.constrained.alternate import best_cluster
from omvfs.model.constrained.init import mean_directions
from omvfs.model.constrained.reach import Reach
from omvfs.model.partitions import every_other, shared_information
from omvfs.model.presence import Presence, of_those, take, who_has

# How many features: so many of each view, or by view.
Size: TypeAlias = int | tuple[int, ...]

# Most rounds in which clusters are found on the selected features; few rows move after the third.
_ROUNDS = 5


@dataclass(frozen=True)
class Rows:
    """Rows of all views and their clusters.

    Attributes
    ----------
    X : list of array or CSR matrix of shape (n, D_v)
    labels : int array of shape (n,)
    present : array of shape (n, n_views), or None
        Which rows have which views; None if all have all.
    weights : tuple of float
        What the squares of each view count by; empty if all count alike.
    """

    X: Sequence[Block]
    labels: IntArray
    present: Presence = None
    weights: tuple[float, ...] = ()

    def of_view(self, v: int) -> "Rows":
        """Return the rows that have a view, in it alone."""
        rows = who_has(self.present, v)
        return Rows([of_those(self.X[v], rows)], of_those(self.labels, rows))

    def on(self, columns: Sequence[IntArray]) -> "Rows":
        """Return the rows on some columns of each view, of unit norm there, or of its weight."""
        return self.keeping(columns).of_unit_norm()

    def keeping(self, columns: Sequence[IntArray]) -> "Rows":
        """Return the rows on some columns of each view, as they are."""
        return replace(self, X=[on_columns(X_v, c) for X_v, c in zip(self.X, columns, strict=True)])

    def of_unit_norm(self) -> "Rows":
        """Return the rows of unit norm in each view, or of its weight."""
        unit = [unit_rows(X_v) for X_v in self.X]
        if self.weights:
            unit = [times(X_v, w**0.5) for X_v, w in zip(unit, self.weights, strict=True)]
        return replace(self, X=unit)

    def take(self, rows: IntArray | NDArray[np.bool_]) -> "Rows":
        """Return some of the rows."""
        X, labels = [X_v[rows] for X_v in self.X], self.labels[rows]
        return Rows(X, labels, take(self.present, rows), self.weights)


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
    rows = asked if has.all() else asked.take(has)
    labels = _nearest(rows, known, n_clusters)
    for _ in range(_ROUNDS):
        before, labels = labels, _nearest(rows, replace(rows, labels=labels), n_clusters)
        if np.array_equal(labels, before):
            break
    found = np.full(len(has), n_clusters)
    found[has] = labels
    return shared_information(asked.labels, found)


def _nearest(rows: Rows, centred: Rows, n_clusters: int) -> IntArray:
    """Return the cluster of every row whose mean is nearest by cosine, in the views it has."""
    means = mean_directions(centred.X, centred.labels, n_clusters, centred.present)
    P = Reach.of(means, rows.present).fit(project(rows.X, means))
    return best_cluster(P).labels


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


class Halved:
    """Rows of which one half was looked at, and features are judged on the other.

    Parameters
    ----------
    rows : Rows
    looked_at, judged : int array
        Both halves.
    n_clusters : int
    """

    def __init__(self, rows: Rows, looked_at: IntArray, judged: IntArray, n_clusters: int) -> None:
        self._known, self._asked = rows.take(looked_at), rows.take(judged)
        self._n_clusters = n_clusters

    def together(self, scores: Sequence[Array], size: Size) -> float:
        """Return how much of the clusters the best features of all views reproduce."""
        return reproduced(*self._on_best(scores, size), self._n_clusters)

    def each(self, scores: Sequence[Array], size: Size, alone: bool = True) -> list[float]:
        """Return how much the best features reproduce together, then those of each view alone."""
        a, b = self._on_best(scores, size)
        views = range(len(scores)) if alone else ()
        judged = [(a, b), *((a.of_view(v), b.of_view(v)) for v in views)]
        return [reproduced(*both, self._n_clusters) for both in judged]

    def _on_best(self, scores: Sequence[Array], size: Size) -> tuple[Rows, Rows]:
        sizes = (size,) * len(scores) if isinstance(size, int) else size
        pairs = zip(scores, sizes, strict=True)
        best = [np.sort(np.argsort(-scores_v, kind="stable")[:n]) for scores_v, n in pairs]
        return self._known.on(best), self._asked.on(best)


def agreements(
    rows: Rows,
    rank: Callable[[IntArray], Sequence[Array]],
    sizes: Sequence[Size],
    n_clusters: int,
    halved: Iterable[tuple[IntArray, IntArray]],
    alone: bool = True,
) -> NDArray[np.float64]:
    """Return how much of the clusters the best features of each view reproduce, by their number.

    Features are ranked on one half of the rows and judged on the other.

    Parameters
    ----------
    rows : Rows
    rank : callable
        Given which rows may be looked at, returns the scores of the features of each view.
    sizes : sequence of (int or tuple of int)
        Numbers of features, the same of each view or by view.
    n_clusters : int
    halved : iterable of (int array, int array)
        Rows to look at, and those to judge on; see `halves`.
    alone : bool, default=True
        Whether views are judged alone too.

    Returns
    -------
    array of shape (number of halves, 1 + n_views, n_sizes), or (number of halves, 1, n_sizes)
        A judgement a half: of all views together, then of each alone.
    """
    found = []
    for looked_at, judged in halved:
        half, scores = Halved(rows, looked_at, judged, n_clusters), rank(looked_at)
        found.append(np.transpose([half.each(scores, size, alone) for size in sizes]))
    return np.stack(found)
