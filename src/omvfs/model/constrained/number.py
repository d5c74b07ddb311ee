"""How many clusters there are, as far as rows can tell without classes.

Two halves of the rows are clustered, each by itself, and all rows are placed in the clusters of
either. What both tell of where rows belong is there to be found; what only one tells is its own.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, project
from omvfs.model.columns import on_own_columns
from omvfs.model.constrained.alternate import best_cluster
from omvfs.model.constrained.init import mean_directions, raced, singular_space, unit
from omvfs.model.constrained.reach import Reach
from omvfs.model.partitions import entropy, information
from omvfs.model.presence import Presence, take
from omvfs.model.settings import Settings

# Numbers of clusters that are tried: each larger than the one before by so much, at least by one;
# up to the root of the number of rows, and no more than so many.
_GROWTH, _MOST = 1.2, 50
# How often the rows are halved, when something is asked and on the way; and one random start in so
# many. Dimensions of the singular space, per cluster.
_SPLITS, _SPLITS_ON_THE_WAY = 2, 1
_STARTS, _STARTS_ON_THE_WAY = 4, 8
_DIMENSIONS = 2
# What is not shared counts by so much.
_UNSHARED = 0.5
# Relative difference up to which fewer clusters are as good: a curve may be flat at its top.
_NEAR = 0.05


@dataclass(frozen=True, eq=False)
class ClusterCurve:
    """What rows tell of how many clusters there are, for each number that was tried.

    Attributes
    ----------
    n_clusters : int array of shape (n,)
        Numbers of clusters.
    shared : array of shape (n,)
        What two halves of the rows both tell of where rows belong, in bits: the mutual information
        of their clusters, less what chance would give.
    unshared : array of shape (n,)
        What a half tells beside that: the entropy of its clusters, less what is shared.
    spread : array of shape (n,)
        Standard deviation of the criterion between ways to halve the rows; 0 of one.

    Examples
    --------
    >>> each = np.array([0.9, 1.5, 1.6]), np.array([0.1, 0.1, 0.5])
    >>> curve = ClusterCurve(np.array([2, 3, 4]), *each, np.zeros(3))
    >>> curve.best, curve.criterion
    (3, array([0.85, 1.45, 1.35]))
    >>> print(curve)
      clusters  shared  unshared  criterion
             2    0.90      0.10       0.85
             3    1.50      0.10       1.45  <
             4    1.60      0.50       1.35
    """

    n_clusters: IntArray
    shared: NDArray[np.float64]
    unshared: NDArray[np.float64]
    spread: NDArray[np.float64]

    @property
    def criterion(self) -> NDArray[np.float64]:
        """What is shared less half of what is not.

        Clusters beyond those that are there add to the last. Half, as too few clusters lose more
        than too many.
        """
        return self.shared - _UNSHARED * self.unshared

    @property
    def best(self) -> int:
        """The fewest clusters whose criterion is within a twentieth of the largest."""
        most = float(self.criterion.max())
        enough = self.criterion >= most - _NEAR * abs(most)
        return int(self.n_clusters[enough.argmax()])

    def __str__(self) -> str:
        lines = ["  clusters  shared  unshared  criterion"]
        columns = self.n_clusters, self.shared, self.unshared, self.criterion
        for k, shared, unshared, criterion in zip(*columns, strict=True):
            mark = "  <" if k == self.best else ""
            lines.append(f"{k:>10}  {shared:6.2f}  {unshared:8.2f}  {criterion:9.2f}{mark}")
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
    >>> from omvfs.selectors.settings import resolve
    >>> settings = resolve(OMVFS("auto")._all_params, ["x"])
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(3, 9), 30, axis=0) + 0.1 * rng.random((90, 9))
    >>> cluster_curve([X], rng, settings).best
    3
    """
    rows, rng = [on_own_columns(X_v)[1] for X_v in X], copy.deepcopy(rng)
    n = rows[0].shape[0]
    tried = numbers_to_try(n)
    found = np.zeros((_SPLITS_ON_THE_WAY if on_the_way else _SPLITS, len(tried), 2))
    n_init = -(-settings.n_init // (_STARTS_ON_THE_WAY if on_the_way else _STARTS))
    if tried[-1] > 1:
        for own in found:
            order = rng.permutation(n)
            halves = order[: n // 2], order[n // 2 :]
            one, other = (_placed(rows, present, half, tried, rng, n_init) for half in halves)
            own[:] = [_information(*pair) for pair in zip(one, other, strict=True)]
    shared, unshared = np.moveaxis(found.mean(axis=0), -1, 0)
    spread = np.std(found[..., 0] - found[..., 1], axis=0, ddof=min(1, len(found) - 1))
    return ClusterCurve(tried, shared, unshared, spread)


def _placed(
    X: Sequence[Block],
    present: Presence,
    half: IntArray,
    tried: IntArray,
    rng: np.random.Generator,
    n_init: int,
) -> list[IntArray]:
    """Return all rows in clusters that some of them make, for each number of clusters."""
    own, has = [X_v[half] for X_v in X], take(present, half)
    E = singular_space(own, _DIMENSIONS * int(tried[-1]), rng, has)
    found = []
    for k in tried.tolist():
        labels = raced(unit(E[:, : _DIMENSIONS * k]), k, rng, n_init)
        directions = mean_directions(own, labels, k, has)
        P: Array = Reach.of(directions, present).fit(project(X, directions))
        found.append(best_cluster(P).labels)
    return found


def _information(a: IntArray, b: IntArray) -> tuple[float, float]:
    """Return what two partitions share beyond chance, and what either has beside, in bits.

    Of n rows in J and K parts that have nothing to do with each other, 2n times the mutual
    information is distributed as χ² of (J − 1)(K − 1) degrees of freedom, which is its mean.
    """
    parts = [np.bincount(labels) / len(labels) for labels in (a, b)]
    free = float(np.prod([np.count_nonzero(shares) - 1 for shares in parts]))
    shared = max(0.0, information(a, b) - free / (2 * len(a)))
    total = float(np.mean([entropy(shares) for shares in parts]))
    return shared / np.log(2), max(0.0, total - shared) / np.log(2)
