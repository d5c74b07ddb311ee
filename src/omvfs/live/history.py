"""How a run went so far, in few points however long it is."""

from collections.abc import Iterable
from typing import Any

# Points that are kept at most.
POINTS = 240

# Seconds, rows, rows a second, bytes held.
Point = tuple[float, int, float, int]


class History:
    """Points along a run; when they are too many, every other one goes.

    Parameters
    ----------
    points : iterable of Point, default=()
        Of the run before, if this one goes on with it.

    Examples
    --------
    >>> history = History()
    >>> for i in range(1000):
    ...     history.add((float(i), i, 1.0, 0))
    >>> len(history.points) <= POINTS, history.points[-1][1], history.points[0][1]
    (True, 999, 0)
    """

    def __init__(self, points: Iterable[Point] = ()) -> None:
        self._kept = list(points)[-POINTS:]
        self._last: Point | None = None
        self._step = 0.0

    @property
    def points(self) -> list[Point]:
        """The points, in order; the last that was added is among them."""
        return self._kept if self._last is None else [*self._kept, self._last]

    def add(self, point: Point) -> None:
        """Add a point that is later than all others."""
        self._last = point
        if self._kept and point[0] - self._kept[-1][0] < self._step:
            return
        self._kept.append(point)
        self._last = None
        if len(self._kept) >= POINTS:
            self._kept = self._kept[::2]
            self._step = (self._kept[-1][0] - self._kept[0][0]) / len(self._kept)

    def back_to(self, n_rows: int) -> None:
        """Forget what was after so many rows, which are learned from again."""
        self._kept = [point for point in self.points if point[1] <= n_rows]
        self._last = None


def read_points(given: Any) -> list[Point]:
    """Return the points of a file that may hold anything: those that are some, in order.

    Examples
    --------
    >>> read_points([[0.5, 10, 20.0, 1000], "x", [0.1, 20, 1.0, 0], [1.5, 20, float("nan"), 0]])
    [(0.5, 10, 20.0, 1000)]
    """
    found: list[Point] = []
    for each in given if isinstance(given, list) else ():
        if not isinstance(each, list) or len(each) != 4:
            continue
        if not all(type(n) in (int, float) and 0 <= n < 1e18 for n in each):
            continue
        point = float(each[0]), int(each[1]), float(each[2]), int(each[3])
        if not found or (point[0] >= found[-1][0] and point[1] >= found[-1][1]):
            found.append(point)
    return found
