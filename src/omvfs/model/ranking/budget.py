"""So many features in all, shared between views by what those next in rank are worth."""

from collections.abc import Sequence

import numpy as np

from omvfs.model.arrays import Array


def share_budget(worths: Sequence[Array], total: int) -> tuple[int, ...]:
    """Return how many features each view gives, its best first, so that their worth is most.

    A view gives at least one. What a feature is worth is the mean over those about its rank, so
    that worth falls from rank to rank: the least such means that do, as isotonic regression finds
    them. Among equals the view of the larger part that is left comes first, so that views whose
    features are all alike give the same part.

    Parameters
    ----------
    worths : sequence of array of shape (D_v,)
        What the features of each view are worth, in the order of their ranks, on a scale that all
        views have in common.
    total : int
        Features in all, at least one for each view.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> share_budget([np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.7, 0.6])], 4)
    (1, 3)
    >>> share_budget([np.ones(10), np.ones(30)], 8)
    (2, 6)
    """
    widths = [len(each) for each in worths]
    if total >= sum(widths):
        return tuple(widths)
    fallen = np.concatenate([falling_means(each) for each in worths])
    view = np.repeat(np.arange(len(widths)), widths)
    place = np.concatenate([np.arange(width) for width in widths])
    first = place == 0
    order = np.lexsort((view, place / np.repeat(widths, widths), -fallen, ~first))
    counts = np.bincount(view[order[:total]], minlength=len(widths))
    return tuple(int(n) for n in counts)


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
