"""Whether the last rows of a stream are what came before: a test that holds over a whole stream.

Every row is put in a cell of each of some variables, and counted. Cells of the last rows are then
compared with those of all before them, again and again as the stream goes on. Nothing is asked of
the rows but that they are drawn alike as long as nothing changes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw, xlogy

Counts = NDArray[np.int64]

# The chance that a stream that never changes is ever said to have changed, at most.
ALPHA = 0.01
# Rows that are counted together, and how many such buckets are the last rows, by turns.
BUCKET = 200
SPANS = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True)
class Change:
    """The clearest sign that the last rows are not what came before.

    Attributes
    ----------
    variable : int
        By which one it shows.
    n_rows : int
        How many of the last rows it is that are different.
    statistic : float
        Their divergence from the rows before, see `divergences`.
    threshold : float
        What it would have to exceed.
    distance : float
        Share of the last rows that would have to be in other cells.
    """

    variable: int
    n_rows: int
    statistic: float
    threshold: float
    distance: float

    @property
    def strength(self) -> float:
        """The statistic over its threshold: above 1 it is a change."""
        return self.statistic / self.threshold


def divergences(recent: Counts, before: Counts, widths: Sequence[int]) -> NDArray[np.float64]:
    """Return n KL(p ‖ r) + N KL(q ‖ r) for every variable: how far two sets of rows differ.

    p are the shares of the n recent rows in the cells of a variable, q those of the N rows before,
    r of both together. It is the logarithm of a likelihood ratio.

    Parameters
    ----------
    recent, before : int array of shape (..., n_cells)
        Rows in each cell, the variables side by side.
    widths : sequence of int
        Cells of every variable.

    Examples
    --------
    >>> divergences(np.array([[4, 0], [2, 2]]), np.array([2, 2]), [2]).round(3).ravel()
    array([1.726, 0.   ])
    """
    starts = np.cumsum([0, *widths[:-1]])

    def entropies(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        totals = np.add.reduceat(counts, starts, axis=-1)
        terms = np.add.reduceat(xlogy(counts, counts), starts, axis=-1)
        found: NDArray[np.float64] = terms - xlogy(totals, totals)
        return found

    now, then = recent.astype(np.float64), before.astype(np.float64)
    found: NDArray[np.float64] = entropies(now) + entropies(then) - entropies(now + then)
    return np.maximum(found, 0)


def threshold(n_cells: int, log_odds: float) -> float:
    """Return what the divergence of rows that are drawn alike exceeds with chance e^−log_odds.

    At most, for any number of rows. For n KL(p ‖ true shares) the moment generating function is at
    most that of a gamma distribution of shape n_cells − 1 (Agrawal, "Finite-sample concentration of
    the multinomial in relative entropy", 2020). The divergence of two sets of rows is at most the
    sum of two such; so P(divergence ≥ x) ≤ e^−x (e x / d)^d with d = 2 (n_cells − 1), for x ≥ d.

    Parameters
    ----------
    n_cells : int
        Of the variable.
    log_odds : float
        Above 0.

    Examples
    --------
    >>> x = threshold(5, 20.0)
    >>> round(x - 8 * (1 + math.log(x / 8)), 6)
    20.0
    >>> threshold(1, 20.0)
    inf
    """
    d = 2 * (n_cells - 1)
    if d == 0:
        return math.inf
    # y − log y − 1 = log_odds / d, the larger root of two.
    root = lambertw(-math.exp(-1 - log_odds / d), -1)
    return -d * float(root.real)


def log_odds_of(n_tests: int, n_variables: int) -> float:
    """Return what all comparisons of one test, the n-th of a stream, share of the chance of error.

    The n-th test may be wrong with chance `ALPHA` / (n (n + 1)): these add up to `ALPHA`, however
    long the stream is.

    Examples
    --------
    >>> chances = [len(SPANS) * math.exp(-log_odds_of(n, 1)) for n in range(1, 1000)]
    >>> round(sum(chances), 4)
    0.01
    """
    return math.log(n_tests * (n_tests + 1) * len(SPANS) * n_variables / ALPHA)


def latest_change(
    recent: Counts, before: Counts, widths: Sequence[int], n_tests: int
) -> Change | None:
    """Return the clearest change among the last buckets of rows, None if there is none.

    Parameters
    ----------
    recent : int array of shape (n_buckets, n_cells)
        Rows in each cell by bucket, the newest last.
    before : int array of shape (n_cells,)
        Rows of all buckets before these.
    widths : sequence of int
        Cells of every variable.
    n_tests : int
        Which test of the stream it is, from 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def buckets(n, shares):
    ...     return rng.multinomial(BUCKET, shares, n)
    >>> before = buckets(20, [0.25, 0.25, 0.25, 0.25]).sum(axis=0)
    >>> latest_change(buckets(2, [0.25, 0.25, 0.25, 0.25]), before, [4], 22) is None
    True
    >>> latest_change(buckets(2, [0.7, 0.1, 0.1, 0.1]), before, [4], 22).n_rows
    400
    """
    spans = np.array([span for span in SPANS if span <= len(recent)])
    total = recent.sum(axis=0) + before
    # Rows of the last buckets, one more at a time.
    last = recent[::-1].cumsum(axis=0)[spans - 1]
    found = divergences(last, total - last, widths)
    log_odds = log_odds_of(n_tests, len(widths))
    by_width = {width: threshold(width, log_odds) for width in set(widths)}
    least = np.array([by_width[width] for width in widths])
    clear = found / least
    s, variable = np.unravel_index(int(clear.argmax()), clear.shape)
    if clear[s, variable] <= 1:
        return None
    apart = distances(last[s], total - last[s], widths)
    return Change(
        int(variable),
        int(spans[s]) * BUCKET,
        float(found[s, variable]),
        float(least[variable]),
        float(apart[variable]),
    )


def distances(recent: Counts, before: Counts, widths: Sequence[int]) -> NDArray[np.float64]:
    """Return the total variation of the cells of two sets of rows, for every variable.

    0 if they are alike, 1 if they have no cell in common; 0 where one of them has no rows.

    Parameters
    ----------
    recent, before : int array of shape (n_cells,)
    widths : sequence of int

    Examples
    --------
    >>> distances(np.array([4, 0, 1, 3]), np.array([2, 2, 1, 3]), [2, 2])
    array([0.5, 0. ])
    """
    starts = np.cumsum([0, *widths[:-1]])
    n, n_before = (max(1, int(each[: widths[0]].sum())) for each in (recent, before))
    if not (recent.any() and before.any()):
        return np.zeros(len(widths))
    found: NDArray[np.float64] = np.add.reduceat(np.abs(recent / n - before / n_before), starts) / 2
    return found
