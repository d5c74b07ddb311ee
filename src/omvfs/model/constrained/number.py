"""How many clusters there are, as far as rows can tell without classes.

Clusters that are there are known to every view. Some rows are clustered, others are placed in the
clusters by one view alone, and the other views tell whether those placed together are alike.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, column_sums, project
from omvfs.model.columns import Columns, on_columns, on_own_columns
from omvfs.model.concordance import (
    FEWEST_ROWS,
    chance_error,
    likeness,
    rows_alone,
    together,
)
from omvfs.model.constrained.alternate import best_cluster
from omvfs.model.constrained.init import mean_directions, singular_space, unit
from omvfs.model.constrained.race import raced
from omvfs.model.constrained.reach import Reach
from omvfs.model.constrained.view_weights import Correlation
from omvfs.model.presence import Presence, can_judge, of_those, take
from omvfs.model.settings import AUTO, Settings

# Numbers of clusters that are tried: each larger than the one before by so much, at least by one;
# up to the root of the number of rows, and no more than so many.
_GROWTH, _MOST = 1.2, 50
# How often the rows are halved, when something is asked and on the way; and one random start in so
# many. Dimensions of the singular space, per cluster.
_SPLITS, _SPLITS_ON_THE_WAY = 2, 1
_STARTS, _STARTS_ON_THE_WAY = 4, 8
_DIMENSIONS = 2
# Rows that are compared, each with each, at most.
_MOST_ROWS = 500

# Some of the features: columns by view.
Part: TypeAlias = Mapping[int, Columns]


@dataclass(frozen=True, eq=False)
class ClusterCurve:
    """What rows tell of how many clusters there are, for each number that was tried.

    Attributes
    ----------
    n_clusters : int array of shape (n,)
        Numbers of clusters.
    halves : array of shape (n_halves, n)
        How far rows that one view places in the same cluster are alike by the others: the
        correlation of both, at most 1 and 0 by chance. Of each half of the rows, placed in clusters
        of the other half.

    Examples
    --------
    >>> halves = np.array([[0.3, 0.5, 0.52], [0.2, 0.6, 0.59]])
    >>> curve = ClusterCurve(np.array([2, 3, 4]), halves)
    >>> curve.best, curve.criterion, round(curve.error, 3)
    (3, array([0.25 , 0.55 , 0.555]), 0.076)
    >>> print(curve)
      clusters  criterion  spread
             2      0.250   0.071
             3      0.550   0.071  <
             4      0.555   0.049
    """

    n_clusters: IntArray
    halves: NDArray[np.float64]

    @property
    def criterion(self) -> NDArray[np.float64]:
        """The mean of all halves. It rises as long as clusters are alike inside, then falls."""
        mean: NDArray[np.float64] = self.halves.mean(axis=0)
        return mean

    @property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of the criterion between halves."""
        found: NDArray[np.float64] = self.halves.std(axis=0, ddof=1)
        return found

    @property
    def error(self) -> float:
        """Standard error of the difference of two numbers' criteria.

        By what is left of all values without the means of halves and of numbers (a randomised block
        design): of a few halves, each number by itself would tell little of it.
        """
        h, n = self.halves.shape
        left = self.halves - self.halves.mean(axis=1, keepdims=True)
        left -= left.mean(axis=0)
        return float(np.sqrt(2 * np.sum(left**2) / max(1, (h - 1) * (n - 1)) / h))

    @property
    def best(self) -> int:
        """The fewest clusters whose criterion is within one standard error of the largest."""
        enough = self.criterion >= self.criterion.max() - self.error
        return int(self.n_clusters[enough.argmax()])

    def __str__(self) -> str:
        lines = ["  clusters  criterion  spread"]
        for k, own, spread in zip(self.n_clusters, self.criterion, self.spread, strict=True):
            mark = "  <" if k == self.best else ""
            lines.append(f"{k:>10}  {own:9.3f}  {spread:6.3f}{mark}")
        return "\n".join(lines)

    __repr__ = __str__


def numbers_to_try(n_rows: int) -> IntArray:
    """Return the numbers of clusters to try for so many rows; 1 where there are too few.

    Examples
    --------
    >>> numbers_to_try(200), numbers_to_try(3)
    (array([ 2,  3,  4,  5,  6,  7,  8, 10, 12, 14]), array([1]))
    """
    most, tried, k = min(int(np.sqrt(n_rows)), _MOST), [], 2
    while k <= most:
        tried.append(k)
        k = max(k + 1, round(_GROWTH * k))
    return np.array(tried or [1], np.intp)


def cluster_curve(
    X: Sequence[Block],
    rng: np.random.Generator,
    settings: Settings,
    on_the_way: bool = False,
    present: Presence = None,
) -> ClusterCurve:
    """Return what rows tell of how many clusters there are.

    If views have nothing to do with each other, or there is one alone, halves of the features take
    their place.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
        The rows, their columns scaled.
    rng : Generator
        Not drawn from: a copy is.
    settings : Settings
    on_the_way : bool, default=False
        With little effort.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all.

    Examples
    --------
    >>> from omvfs import OMVFS
    >>> from omvfs.constraints import resolve
    >>> settings = resolve(OMVFS("auto")._all_params, ["x"])
    >>> rng = np.random.default_rng(0)
    >>> X = np.eye(3).repeat(30, axis=0).repeat(4, axis=1) + 0.1 * rng.random((90, 12))
    >>> cluster_curve([X], rng, settings).best
    3
    """
    rows, rng = _Rows([on_own_columns(X_v)[1] for X_v in X], present), copy.deepcopy(rng)
    n, n_splits = X[0].shape[0], _SPLITS_ON_THE_WAY if on_the_way else _SPLITS
    tried = numbers_to_try(n)
    if n < 2 * FEWEST_ROWS:
        return ClusterCurve(tried, np.zeros((2 * n_splits, len(tried))))
    n_init = -(-settings.n_init // (_STARTS_ON_THE_WAY if on_the_way else _STARTS))
    pairs = []
    for _ in range(n_splits):
        order = rng.permutation(n)
        one, other = order[: n // 2], order[n // 2 :]
        for known, asked in ((one, other), (other, one)):
            own = rows.take(known)
            pairs.append((own, own.clusters(tried, rng, n_init), rows.take(asked[:_MOST_ROWS])))
    weights = [1.0 if w is None or w == AUTO else float(w) for w in settings.view_weight]
    views: list[Part] = [{v: slice(None)} for v in range(len(X))]
    if len(views) > 1:
        curve = ClusterCurve(tried, np.stack([_told(*pair, views, weights) for pair in pairs]))
        chance = chance_error(min(n // 2, _MOST_ROWS))
        if Correlation(float(curve.criterion.max()), chance).is_certain:
            return curve
    halves: list[Part] = [dict(enumerate(c)) for c in zip(*map(_halved, rows.X), strict=True)]
    return ClusterCurve(tried, np.stack([_told(*pair, halves, weights) for pair in pairs]))


@dataclass(frozen=True)
class _Rows:
    """Some of the rows, and which have which views."""

    X: Sequence[Block]
    present: Presence

    def take(self, rows: IntArray) -> "_Rows":
        """Return some of them."""
        return _Rows([X_v[rows] for X_v in self.X], take(self.present, rows))

    def clusters(
        self, tried: IntArray, rng: np.random.Generator, n_init: int
    ) -> dict[int, IntArray]:
        """Return the cluster of every row by the number of clusters."""
        E = singular_space(self.X, _DIMENSIONS * int(tried[-1]), rng, self.present)
        return {k: raced(unit(E[:, : _DIMENSIONS * k]), k, rng, n_init) for k in tried.tolist()}


def _halved(X: Block) -> tuple[IntArray, IntArray]:
    """Return halves of the features: every other one, the most frequent first."""
    order = np.argsort(-column_sums(X), kind="stable")
    return order[::2], order[1::2]


def _told(
    known: _Rows,
    clusters: Mapping[int, IntArray],
    asked: _Rows,
    parts: Sequence[Part],
    weights: Sequence[float],
) -> NDArray[np.float64]:
    """Return how far rows that a part places in a cluster are alike by other parts, mean of all.

    Parameters
    ----------
    known : _Rows
    clusters : mapping of int to int array
        The cluster of each of these, by the number of clusters.
    asked : _Rows
        Others, that are to be placed.
    parts : sequence of Part
        Of which each places rows.
    weights : sequence of float
        By how much each view counts.

    Returns
    -------
    array of shape (len(clusters),)
    """
    X = [[on_columns(asked.X[v], own) for v, own in part.items()] for part in parts]
    alike = [
        np.sum([weights[v] * likeness(X_v) for v, X_v in zip(part, own, strict=True)], axis=0)
        for part, own in zip(parts, X, strict=True)
    ]
    total, says = np.sum(alike, axis=0), [sum(weights[v] for v in part) for part in parts]
    judges = [_judges(part, asked.present) for part in parts]
    others = [rows_alone(total - own, rows) for own, rows in zip(alike, judges, strict=True)]
    found = []
    for k, labels in clusters.items():
        directions = mean_directions(known.X, labels, k, known.present)
        told = []
        for part, own, rows, by in zip(parts, X, judges, others, strict=True):
            along = [directions[v][c] for v, c in part.items()]
            has = None if asked.present is None else asked.present[:, list(part)]
            P: Array = Reach.of(along, has).fit(project(own, along))
            told.append(together(best_cluster(of_those(P, rows)).labels, by))
        found.append(np.average(told, weights=says))
    return np.array(found)


def _judges(part: Part, present: Presence) -> IntArray | None:
    """Return which rows tell how far a part agrees with others, None for all."""
    return can_judge(present, next(iter(part))) if len(part) == 1 else None
