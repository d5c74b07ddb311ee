"""The plainest methods, which every honest comparison needs: chance, column sum and variance."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis

from omvfs.baselines.base import Found, OfflineSelector, PerViewStreamSelector
from omvfs.data.blocks import Block
from omvfs.data.views import Views
from omvfs.model.arrays import column_sums
from omvfs.parameters import seed_of

# Rows, means and scatters.
Moments: TypeAlias = tuple[int, NDArray[np.float64], NDArray[np.float64]]


@dataclass(eq=False, repr=False, kw_only=True)
class RandomScore(OfflineSelector):
    """Random scores, drawn view after view: what chance gives.

    Parameters
    ----------
    {shared}
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> RandomScore(random_state=0).fit(np.ones((2, 5))).scores_.shape
    (5,)
    """

    random_state: Any = None

    def _score_views(self, batch: Views) -> Found:
        # One generator for all: views as wide as each other must not have the same scores.
        rng = np.random.default_rng(seed_of(self.random_state))
        widths = batch.widths.items()
        return {name: rng.random((width,)) for name, width in widths}, {}


@dataclass(eq=False, repr=False, kw_only=True)
class ColumnSum(PerViewStreamSelector):
    """Mean of each column: what a method must beat to be more than a count of words.

    Parameters
    ----------
    {shared}
    {batch}

    Examples
    --------
    >>> ColumnSum().fit(np.array([[1.0, 0.0], [2.0, 4.0]])).scores_
    array([1.5, 2. ])
    """

    def _start(self, X: Block) -> NDArray[np.float64]:
        return np.zeros(X.shape[1])

    def _learn(self, state: NDArray[np.float64], X: Block) -> NDArray[np.float64]:
        return state + column_sums(X)

    def _score_state(self, state: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
        return state / n_rows


@dataclass(eq=False, repr=False, kw_only=True)
class Variance(PerViewStreamSelector):
    """Variance of each column.

    Parameters
    ----------
    {shared}
    {batch}

    Examples
    --------
    >>> Variance().fit(np.array([[1.0, 0.0], [3.0, 0.0]])).scores_
    array([1., 0.])
    """

    def _start(self, X: Block) -> Moments:
        return 0, np.zeros(X.shape[1]), np.zeros(X.shape[1])

    def _learn(self, state: Moments, X: Block) -> Moments:
        # Chan, Golub and LeVeque: the scatter of two sets of rows from their means and scatters.
        n, mean, scatter = state
        m = X.shape[0]
        mean_new, variance_new = mean_and_variance(X)
        step = mean_new - mean
        return (
            n + m,
            mean + step * (m / (n + m)),
            scatter + variance_new * m + step**2 * (n * m / (n + m)),
        )

    def _score_state(self, state: Moments, n_rows: int) -> NDArray[np.float64]:
        return state[2] / n_rows


def mean_and_variance(X: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both of every column, in double precision."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        return np.asarray(mean, np.float64), np.asarray(variance, np.float64)
    return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
