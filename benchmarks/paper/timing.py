"""Time of learning: a pass that stops on its way, and what repeated times come to."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from omvfs.data.blocks import Block
from paper.base import Row

CHUNK = 1000
T = TypeVar("T")


class TimedPass:
    """A method on its way through rows, chunk by chunk, and the time that it took so far.

    A method without `partial_fit` has no way: it begins anew at each stop.

    Parameters
    ----------
    model : selector
    views : dict of str to block
    chunk : int
        Rows of a chunk.
    """

    def __init__(self, model: Any, views: Mapping[str, Block], chunk: int = CHUNK) -> None:
        self._model, self._views, self._chunk = model, views, chunk
        self._spent, self._done = np.zeros(2), 0

    def to(self, stop: int) -> Row:
        """Learn the rows before `stop` that are not learned yet, and ask for scores.

        Returns
        -------
        dict
            ``rows``, processor time in ``seconds``, the part of it that the scores took in
            ``ranking``, and ``wall`` time, of all rows so far. What cuts rows is not timed.
        """
        if hasattr(self._model, "partial_fit"):
            while self._done < stop:
                self._learn(self._done, min(self._done + self._chunk, stop))
        else:
            self._spent[:] = 0
            self._learn(0, stop)
        ranking, _ = timed(lambda: self._model.view_scores_)
        seconds, wall = self._spent + ranking
        return {
            "rows": stop,
            "seconds": float(seconds),
            "ranking": float(ranking[0]),
            "wall": float(wall),
        }

    def _learn(self, start: int, stop: int) -> None:
        rows = {name: X[start:stop] for name, X in self._views.items()}
        learn = getattr(self._model, "partial_fit", self._model.fit)
        self._spent += timed(lambda: learn(rows))[0]
        self._done = stop


def timed(work: Callable[[], T]) -> tuple[tuple[float, float], T]:
    """Return processor time and wall time of a call, in seconds, and what it returns."""
    worked, began = time.process_time(), time.perf_counter()
    found = work()
    return (time.process_time() - worked, time.perf_counter() - began), found


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return median, lowest and highest.

    Examples
    --------
    >>> spread([3.0, 1.0, 2.5])
    (2.5, 1.0, 3.0)
    """
    return float(np.median(values)), float(np.min(values)), float(np.max(values))


def shown(values: Sequence[float]) -> str:
    """Return a median in three digits, with lowest and highest where they differ.

    Examples
    --------
    >>> shown([2.0]), shown([3.0, 0.01234, 12345.6]), shown([])
    ('2', '3 (0.0123 to 12,300)', '–')
    """
    if not values:
        return "–"
    middle, low, high = map(three_digits, spread(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def exponent(costs: Mapping[Any, float]) -> float:
    """Return p of the cost ∝ sizeᵖ that fits costs by size best, on logarithms.

    Examples
    --------
    >>> round(exponent({1: 2.0, 10: 20.0, 100: 200.0}), 6)
    1.0
    """
    x, y = np.log(list(costs)), np.log(list(costs.values()))
    return float(np.polyfit(x, y, 1)[0])


def steepness(costs: Mapping[Any, float]) -> tuple[float, float]:
    """Return the exponents of a cost over all sizes, and between the last two.

    Examples
    --------
    >>> [round(each, 2) for each in steepness({1: 1.0, 10: 1.0, 100: 10.0})]
    [0.5, 1.0]
    """
    return exponent(costs), exponent(dict(list(costs.items())[-2:]))


def three_digits(value: float) -> str:
    """Return a value in three digits, without exponents.

    Examples
    --------
    >>> three_digits(12345.6), three_digits(999.6), three_digits(0.01234)
    ('12,300', '1,000', '0.0123')
    """
    if abs(value) < 999.5:
        return f"{value:.3g}"
    step = 10 ** (len(str(int(abs(value)))) - 3)
    return f"{round(value / step) * step:,}"
