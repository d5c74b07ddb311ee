"""Whether the most recent rows are what came before, and what that means for a ranking.

Over all rows a feature that has come to matter lately tells little, however much it tells of what
comes now. So when the stream has drifted, some of the places go to features by recent rows.
"""

import copy
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, squared_row_norms, stack
from omvfs.model.columns import Columns, on_own_columns
from omvfs.model.presence import Presence, below, take

# Shares of clusters differ if this part of the rows is in others, beyond what chance explains.
_OTHERWISE = 0.1
# Standard errors by which a difference is more than chance.
_CLEAR = 4.0


def cluster_shares_drifted(recent: IntArray, sample: IntArray, n_clusters: int) -> bool:
    """Tell whether recent rows are in other clusters than rows of the reservoir.

    Parameters
    ----------
    recent, sample : int array
        Clusters of the rows.
    n_clusters : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> even = rng.integers(0, 4, 2000)
    >>> cluster_shares_drifted(rng.integers(0, 4, 1000), even, 4)
    False
    >>> cluster_shares_drifted(rng.integers(0, 3, 1000), even, 4)
    True
    """
    now, ever = (
        np.bincount(labels, minlength=n_clusters) / len(labels) for labels in (recent, sample)
    )
    variances = ever * (1 - ever) * (1 / len(recent) + 1 / len(sample))
    # Of a normal variable, the mean and the variance of its distance from 0.
    by_chance = float(np.sqrt(2 / np.pi * variances).sum()) / 2
    error = float(np.sqrt((1 - 2 / np.pi) * variances.sum())) / 2
    return bool(np.abs(now - ever).sum() / 2 > by_chance + _CLEAR * error + _OTHERWISE)


def explained_energy_drifted(
    rows: Sequence[Block],
    sample: Sequence[Block],
    rng: np.random.Generator,
    explained: Callable[[list[Block], list[Block], tuple[Presence, Presence]], NDArray[np.float64]],
    present: tuple[Presence, Presence] = (None, None),
) -> bool:
    """Tell whether recent rows are better explained by one another than by rows before.

    Clusters found on one half of them are compared with clusters found on as many rows of the
    sample, by how much of the other half they explain; and again with the halves exchanged and
    other rows of the sample, so that luck with one of them does not do. As some recent rows are in
    the sample too, a drift that has just begun may go unnoticed.

    Parameters
    ----------
    rows, sample : sequence of array or CSR matrix of shape (n, D_v)
        Recent rows and a sample of all, no fewer, their columns scaled.
    rng : Generator
        Draws rows of the sample; not changed.
    explained : callable
        ``explained(some, others, present)`` returns how much of the squared norm of each of the
        others clusters of some rows explain; `present` tells which views either have.
    present : tuple of Presence
        Which recent rows have which views, and which of the sample.
    """
    n = rows[0].shape[0]
    chosen = copy.deepcopy(rng).permutation(sample[0].shape[0])[:n]
    control = [X_v[chosen] for X_v in sample]
    # On the columns that any of them has: of all columns there may be far more.
    X = [on_own_columns(stack(parts))[1] for parts in zip(rows, control, strict=True)]
    has = below([(present[0], n), (take(present[1], chosen), len(chosen))], len(X))

    def explain_more(some: IntArray, others: IntArray) -> bool:
        rest = [X_v[others] for X_v in X]
        ours, theirs = (
            explained([X_v[i] for X_v in X], rest, (take(has, i), take(has, others)))
            for i in (some, n + some)
        )
        norms = np.sum([squared_row_norms(X_v) for X_v in rest], axis=0)
        gain = (ours - theirs)[norms > 0] / norms[norms > 0]
        return len(gain) > 1 and bool(gain.mean() > _CLEAR * gain.std() / np.sqrt(len(gain)))

    even, odd = np.arange(0, n, 2), np.arange(1, n, 2)
    return explain_more(even, odd) and explain_more(odd, even)


def worst_ranks(scored: Sequence[tuple[Columns, Array]], width: int) -> NDArray[np.float64]:
    """Return the worst rank of every feature by several parts of the recent rows.

    What is found in rows without clusters differs from one part to the next: features that are good
    by chance in one of them are seldom good in all.

    Parameters
    ----------
    scored : sequence of tuple of columns and array
        By part, the features that it has, and their scores by its rows alone.
    width : int
        Features of the view.

    Returns
    -------
    array of shape (width,)
        1 is the best; infinite where a part scores 0.

    Examples
    --------
    >>> all_features = slice(None)
    >>> scores = np.array([5.0, 3.0, 2.0, 1.0]), np.array([6.0, 0.0, 3.0, 4.0])
    >>> worst_ranks([(all_features, each) for each in scores], 4)
    array([ 1., inf,  3.,  4.])
    """
    worst = np.zeros(width)
    for columns, scores in scored:
        ranks = np.empty(len(scores))
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        ranks[scores <= 0] = np.inf
        own = np.full(width, np.inf)
        own[columns] = ranks
        worst = np.maximum(worst, own)
    return worst


def share_places(scores: Array, recent: NDArray[np.float64], share: float) -> Array:
    """Give the scores of one view out anew, so that recent rows have a share of the best places.

    Whatever n is, the n best features then hold the best (1 − share) n by all rows, and the best
    share · n by recent ones. Features that are among both leave room for more of either.

    Parameters
    ----------
    scores : array of shape (D,)
        By all rows.
    recent : array of shape (D,)
        Ranks by recent rows.
    share : float
        Between 0 and 1.

    Returns
    -------
    array of shape (D,)
        The same values in another order.

    Examples
    --------
    >>> scores = np.array([9.0, 8.0, 7.0, 6.0, 5.0])
    >>> share_places(scores, np.array([3.0, np.inf, np.inf, 2.0, 1.0]), 0.5)
    array([9., 7., 5., 6., 8.])
    """
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    with np.errstate(divide="ignore", over="ignore"):
        due = np.minimum(ranks / np.float64(1 - share), recent / np.float64(share))
    given = np.empty_like(scores)
    given[np.lexsort((ranks, due))] = scores[order]
    return given
