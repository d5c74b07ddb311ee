"""How figures look: told apart by everyone, in grey as well, the same bits for the same rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from omvfs.disk import replacing_text
from omvfs.plots import COLOURS, matplotlib
from paper.base import Row
from paper.rows import names, those

# A marker for each colour; ours is the first.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def pyplot() -> Any:
    """Return matplotlib's pyplot, set up; without matplotlib, say how to get it."""
    mpl = matplotlib()
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "omvfs", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt

    return plt


def band(
    axes: Any, x: Sequence[float], middle: Any, low: Any, high: Any, label: str, place: int
) -> None:
    """Draw a line in a band.

    Parameters
    ----------
    axes : matplotlib axes
    x : sequence of float
    middle, low, high : sequence of float
        The line, and the borders of the band.
    label : str
    place : int
        Which of the colours and markers; from the ninth on the line is dashed.
    """
    colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
    style = "-" if place < len(COLOURS) else "--"
    axes.plot(x, middle, style, color=colour, marker=marker, markersize=4, label=label)
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def line_against(
    column: str, axes: Any, rows: Sequence[Row], metric: str, label: str, place: int
) -> None:
    """Draw a mean by the values of a column, and a band of a standard deviation to either side."""
    x = sorted(names(rows, column))
    runs = [[row[metric] for row in those(rows, **{column: at})] for at in x]
    means, spread = (np.array([of(values) for values in runs]) for of in (np.mean, np.std))
    band(axes, x, means, means - spread, means + spread, label, place)


def save(figure: Any, path: Path) -> None:
    """Write a figure as SVG, without a date: the same figure gives the same file."""
    with replacing_text(path) as file:
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    pyplot().close(figure)
