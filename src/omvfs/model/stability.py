"""How far selections by halves of the sample agree, corrected for chance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omvfs.model.learning import Answers
from omvfs.model.sums import ViewSums

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


def selections(answers: Answers, sizes: Sequence[int], n: int) -> list[NDArray[np.bool_]]:
    """Return which features are selected by random halves of the sample.

    Each half is clustered and ranked as if it were all: another seed, other rows.

    Parameters
    ----------
    answers : Answers
    sizes : sequence of int
        How many features of every view are selected.
    n : int
        How often the sample is halved.

    Returns
    -------
    list of bool array of shape (n, D_v)
        By view, for `stability_index`.
    """
    rng = np.random.default_rng(answers.settings.seed)
    n_rows = len(answers.state.sample)
    found = [np.zeros((n, X.shape[1]), bool) for X in answers.rows]
    for i in range(n):
        rows = np.sort(rng.permutation(n_rows)[: n_rows // 2])
        for selected, scores, size in zip(found, _of_rows(answers, rows, i), sizes, strict=True):
            selected[i, np.argsort(-scores, kind="stable")[:size]] = True
    return found


def _of_rows(answers: Answers, rows: NDArray[np.intp], i: int) -> list[NDArray[np.float64]]:
    """Return the scores of all features by view, by some rows of the sample alone."""
    state, K = answers.state, answers.clustering.n_clusters
    blocks = tuple(X[rows] for X in answers.rows)
    sample = replace(
        state.sample,
        pieces=(blocks,),
        keys=state.sample.keys[rows],
        labels=np.zeros(len(rows), np.intp),
        present=state.sample.present[rows],
    )
    views = []
    for v, X in enumerate(blocks):
        has = np.flatnonzero(sample.present[:, v])
        views.append(ViewSums.from_rows(X[has], sample.labels[has], 1))
    settings = replace(answers.settings, n_clusters=K, seed=answers.settings.seed + i)
    return Answers(replace(state, views=tuple(views), sample=sample), settings).scores
