"""So many features in all: one order over all views, each view's best first."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array


def joint_places(worths: Sequence[Array], lean: float) -> list[NDArray[np.float64]]:
    """Return the place of every feature among those of all views, the first being 1.

    The best feature of each view comes first. After that the same part of each view (`lean` 0),
    or the feature that is worth most (1), or between both: by the geometric mean of the places that
    it has by either.

    What a feature is worth is the mean over those about its rank, so that worth falls from rank to
    rank: the least such means that do, as isotonic regression finds them. Among equals the view of
    the larger part that is left comes first, so that views whose features are all alike give the
    same part.

    Parameters
    ----------
    worths : sequence of array of shape (D_v,)
        What the features of each view are worth, in the order of their ranks, on a scale that all
        views have in common.
    lean : float
        Between 0 and 1.

    Returns
    -------
    list of array of shape (D_v,)
        By rank, so that they rise.

    Examples
    --------
    >>> worths = [np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.7, 0.6])]
    >>> joint_places(worths, 1.0)
    [array([1., 5., 6.]), array([2., 3., 4.])]
    >>> joint_places(worths, 0.0)
    [array([1., 3., 5.]), array([2., 4., 6.])]
    """
    by_part = _places([np.ones(len(each)) for each in worths])
    by_worth = _places([falling_means(each) for each in worths])
    both = zip(by_part, by_worth, strict=True)
    return _places([-(part ** (1 - lean)) * worth**lean for part, worth in both])


def share_budget(places: Sequence[Array], total: int) -> tuple[int, ...]:
    """Return how many features each view gives: those of the first places, one at least.

    More in all are more of each view, or as many.

    Parameters
    ----------
    places : sequence of array of shape (D_v,)
        See `joint_places`.
    total : int
        Features in all, at least one for each view.

    Examples
    --------
    >>> worths = [np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.7, 0.6])]
    >>> share_budget(joint_places(worths, 1.0), 4)
    (1, 3)
    >>> share_budget(joint_places([np.ones(10), np.ones(30)], 0.0), 8)
    (2, 6)
    """
    return tuple(int(np.count_nonzero(each <= total)) for each in places)


def _places(worths: Sequence[Array]) -> list[NDArray[np.float64]]:
    """Return places by worths that never rise from rank to rank, the best of each view first."""
    widths = [len(each) for each in worths]
    view = np.repeat(np.arange(len(widths)), widths)
    rank = np.concatenate([np.arange(width) for width in widths])
    # Half a feature more, so that parts are those of the nearest numbers (Sainte-Laguë).
    part = (rank + 0.5) / np.repeat(widths, widths)
    order = np.lexsort((view, part, -np.concatenate(worths), rank > 0))
    places = np.empty(len(order))
    places[order] = np.arange(1, len(order) + 1)
    return np.split(places, np.cumsum(widths)[:-1])


def falling_means(worths: Array) -> Array:
    """Return the nearest numbers that never rise, by squares: means of neighbours where they would.

    Examples
    --------
    >>> falling_means(np.array([3.0, 1.0, 2.0, 0.0]))
    array([3. , 1.5, 1.5, 0. ])
    """
    means: list[float] = []
    sizes: list[int] = []
    for worth in worths.tolist():
        mean, size = worth, 1
        while means and means[-1] < mean:
            before, n = means.pop(), sizes.pop()
            mean, size = (before * n + mean * size) / (n + size), n + size
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, np.float64), sizes)
