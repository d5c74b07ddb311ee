"""How far selections by halves of the sample agree, corrected for chance."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omvfs.model.holdout import halves, on_rows
from omvfs.model.learning import Answers, Criterion

# Of a normal variable, how far 95 % are within.
_WITHIN = 1.959964


class StabilityIndex(NamedTuple):
    """How far selections agree: 1 if all are the same, about 0 if they are drawn by chance.

    Attributes
    ----------
    value : float
    low, high : float
        The 95 % confidence interval.
    """

    value: float
    low: float
    high: float


def stability_index(selected: NDArray[np.bool_]) -> StabilityIndex:
    """Return the stability of selections of features.

    Φ = 1 − Σ_f s_f² / (d · k̄/d · (1 − k̄/d)), where s_f² = M/(M − 1) p_f (1 − p_f) is the variance
    of whether feature f is selected, p_f the share of the M selections that have it, and k̄ the mean
    number of features selected of d. It is corrected for chance whatever the numbers selected, and
    asymptotically normal, which gives the interval.

    Parameters
    ----------
    selected : bool array of shape (M, d)
        Which features each of at least two selections has.

    Returns
    -------
    StabilityIndex
        1 where there is nothing to choose, as all features are selected, or none.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown: On the Stability of Feature Selection Algorithms, Journal of
    Machine Learning Research 18, 2018. Definition 4 and Theorem 7.

    Examples
    --------
    >>> stability_index(np.array([[True, False, False], [True, False, False]])).value
    1.0
    >>> stability_index(np.array([[True, False], [False, True]])).value
    -1.0
    """
    M, d = selected.shape
    # Counts, not shares, so that what is always selected is so exactly.
    counts, sizes = selected.sum(axis=0), selected.sum(axis=1)
    mean = float(sizes.mean()) / d
    by_chance = mean * (1 - mean)
    if by_chance <= 0:
        return StabilityIndex(1.0, 1.0, 1.0)
    shares = counts / M
    variance = M / (M - 1) * float(np.mean(shares * (1 - shares)))
    value = 1 - variance / by_chance
    overlap, own = selected @ shares / d, sizes / d
    parts = overlap - own * mean + value / 2 * (2 * own * mean - own - mean + 1)
    spread = 4 / M**2 * float(np.sum(np.square((parts - parts.mean()) / by_chance)))
    half = _WITHIN * float(np.sqrt(spread))
    return StabilityIndex(value, value - half, value + half)


def selections(
    answers: Answers, sizes: Sequence[int], n: int, criterion: Criterion = "separation"
) -> list[NDArray[np.bool_]]:
    """Return which features are selected by random halves of the sample.

    Each of n halves is clustered and ranked as if it were all: another seed, other rows. `sizes`
    are numbers of features by view. Returns an array of shape (n, D_v) by view.
    """
    seed, n_rows = answers.settings.seed, len(answers.state.sample)
    found = [np.zeros((n, X.shape[1]), bool) for X in answers.rows]
    # One half of each halving, so that all are drawn alike.
    for i, (rows, _) in enumerate(islice(halves(n_rows, n, seed), 0, None, 2)):
        scores = on_rows(answers, rows, seed + i).scores(criterion)
        for selected, own, size in zip(found, scores, sizes, strict=True):
            selected[i, np.argsort(-own, kind="stable")[:size]] = True
    return found
