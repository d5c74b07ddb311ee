"""Where the lines of a report's pictures go, in the units of the picture."""

import math
from collections.abc import Sequence
from typing import Any

# A picture, what is left free for its labels, and a small one within a line of text.
WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 34, 12, 10, 22
SPARK_WIDTH, SPARK_HEIGHT = 72, 18


def chart(
    x: Sequence[float],
    y: Sequence[float | None],
    spread: Sequence[float | None] | None = None,
    *,
    high: float | None = None,
    log: bool = False,
    marks: Sequence[float] = (),
) -> dict[str, Any]:
    """Return a line from 0 up, the band of its spread, marks along it, and labels of both axes.

    Parameters
    ----------
    x : sequence of float
        Rising.
    y : sequence of (float or None)
        Where None, the line has a gap.
    spread : sequence of (float or None), default=None
        How far the band goes to both sides.
    high : float, default=None
        Where the picture ends above; by default where the line is highest.
    log : bool, default=False
        Whether x is on a scale of ratios.
    marks : sequence of float
        Places along x.

    Examples
    --------
    >>> drawn = chart([1, 2, 3], [0.0, 0.5, 1.0], high=1, marks=[2])
    >>> drawn["line"], drawn["marks"]
    ('M34 128L171 69L308 10', [171.0])
    >>> drawn["y_labels"]
    [(128, '0'), (69.0, '0.5'), (10, '1')]
    """
    scale = math.log if log else float
    known = [each for each in y if each is not None]
    top = high if high is not None else max(known, default=0.0)
    top = top if top > 0 else 1.0
    start, end = scale(x[0]), scale(x[-1])
    span, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(value: float) -> float:
        part = (scale(value) - start) / (end - start) if end > start else 0.5
        return round(LEFT + span * min(max(part, 0.0), 1.0), 1)

    def down(value: float) -> float:
        return round(TOP + tall * (1 - min(max(value / top, 0.0), 1.0)), 1)

    band = ""
    if spread is not None and len(known) == len(y):
        sides = [(across(a), b or 0.0, s or 0.0) for a, b, s in zip(x, y, spread, strict=True)]
        there = [f"{a:g} {down(b + s):g}" for a, b, s in sides]
        back = [f"{a:g} {down(b - s):g}" for a, b, s in reversed(sides)]
        band = f"M{'L'.join(there + back)}Z"
    places = sorted({0, len(x) // 2, len(x) - 1})
    return {
        "line": _path(
            (across(a), None if b is None else down(b)) for a, b in zip(x, y, strict=True)
        ),
        "band": band,
        "marks": [across(each) for each in marks],
        "x_labels": [(across(x[i]), brief(x[i])) for i in places],
        "y_labels": [
            (HEIGHT - BOTTOM, "0"),
            (TOP + tall / 2, brief(top / 2)),
            (TOP, brief(top)),
        ],
    }


def spark(ranks: Sequence[int], most: int) -> str:
    """Return a small line of ranks, the best at the top, with gaps where there is none.

    Parameters
    ----------
    ranks : sequence of int
        0 where it is not known.
    most : int
        The last rank that has a place.

    Examples
    --------
    >>> spark([0, 10, 1], 10)
    'M36 16L71 2'
    """
    step = (SPARK_WIDTH - 2) / max(1, len(ranks) - 1)
    high, tall = math.log(max(2, most)), SPARK_HEIGHT - 4
    return _path(
        (round(1 + i * step, 1), round(2 + tall * min(1.0, math.log(rank) / high), 1))
        if rank > 0
        else (0.0, None)
        for i, rank in enumerate(ranks)
    )


def brief(value: float) -> str:
    """Return a number in a few letters.

    Examples
    --------
    >>> brief(50_000), brief(1_523), brief(0.25), brief(2_500_000), brief(200)
    ('50k', '1.5k', '0.25', '2.5M', '200')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return (
                f"{value / size:.3g}" + letter
                if value / size >= 10
                else f"{value / size:.2g}" + letter
            )
    return f"{value:.3g}"


def _path(points: Any) -> str:
    """Return points as a path; one that is alone is a dot."""
    runs: list[list[str]] = [[]]
    for across, down in points:
        if down is None:
            runs.append([])
        else:
            runs[-1].append(f"{across:g} {down:g}")
    return "".join(f"M{'L'.join(run)}" + ("h0" if len(run) == 1 else "") for run in runs if run)
