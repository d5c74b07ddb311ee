"""The paper's two figures of runtime: against the number of rows, and of features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from paper.base import Claim, Experiment, Place, Row, Task
from paper.figures import band, pyplot
from paper.methods import OURS, PRINTED, make
from paper.page import table
from paper.rows import is_twin, names, those
from paper.runtime_claims import (
    at,
    claims_of,
    medians,
    ratios_by_size,
    times,
)
from paper.sets import at_hand, load, twins
from paper.timing import CHUNK, TimedPass, shown, spread, steepness

SETS = ("reuters", "youtube")
SIZES, QUICK_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000), (1_000, 2_000)
SHARES, QUICK_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0), (0.1, 1.0)
# Rows of the figure against features.
SHORT, QUICK_SHORT = 5_000, 2_000
TURNS = 3
# Rows that a method reads at the most: in the first turn, and in each later one. With as many
# features and clusters as youtube has, offline and printed are too slow for more.
REACH = {
    OURS: (100_000, 100_000),
    "FSDS": (100_000, 3_000),
    PRINTED: (3_000, 0),
    "MVUFS": (10_000, 0),
}
YOUTUBE = {PRINTED: (1_000, 0), "MVUFS": (0, 0)}
QUICK = {PRINTED: (1_000, 0), "MVUFS": (1_000, 0)}
WIDE = (OURS, "FSDS")

_DONE = """\
Processor time on one thread: `partial_fit` over chunks of {chunk:,} rows, then the scores; of
MVUFS, which is offline, `fit` of all rows. In each turn the methods take turns too, from one number
of rows to the next. Median (lowest to highest) of the turns; slow methods go far, or run at all,
only in the first, and ratios are of the same turns. {twins}Seconds are this machine's: compare
them with each other only.
"""
_TWINS = "Twins have the shape of the paper's sets, and time follows shape, not meaning. "
_FEATURES = """\
The same share of the features of each view, drawn at random, a larger one with all of the smaller;
{rows:,} rows, of unit norm again.
"""


class Runtime(Experiment):
    """Figures "Runtime v.s. the Data size" and "Runtime v.s. the feature dimension"."""

    name = "runtime"
    title = "Runtime against rows and against features"
    timed = True

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return a task a turn and set, those of rows first."""
        sets = sorted([*at_hand(place, SETS), *twins(place, SETS)])
        turns = 1 if place.quick else TURNS
        return [
            Task(do, {"against": against, "data": data, "turn": turn})
            for against, do in (("rows", against_rows), ("features", against_features))
            for turn in range(turns)
            for data in (sets[:1] if place.quick else sets)
        ]

    def section(self, rows: Sequence[Row]) -> str:
        """Return how time was measured, and the times, their ratios and exponents."""
        are_twins = any(is_twin(row["data"]) for row in rows)
        parts = [_DONE.format(chunk=CHUNK, twins=_TWINS if are_twins else "")]
        for against in names(rows, "against"):
            found = those(rows, against=against)
            parts.append(f"### Against {against}")
            if against == "features":
                parts.append(_FEATURES.format(rows=found[0]["rows"]))
            parts += [_table(those(found, data=data), against) for data in names(found, "data")]
            parts.append(_exponents(found, against))
        return "\n\n".join(part.strip() for part in parts)

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return a figure against rows and one against features, a panel a set."""
        return {
            against: _figure(those(rows, against=against), against)
            for against in names(rows, "against")
        }

    def claims(self, rows: Sequence[Row]) -> Sequence[Claim]:
        """Return what the paper says of both figures."""
        return claims_of(rows)


def reach(method: str, data: str, turn: int, quick: bool) -> int:
    """Return how many rows a method reads at the most, 0 if it does not run.

    Examples
    --------
    >>> reach("FSDS", "reuters", 0, False), reach("FSDS", "reuters", 1, False)
    (100000, 3000)
    >>> reach("MVUFS", "reuters", 0, False), reach("MVUFS", "youtube-twin", 0, False)
    (10000, 0)
    """
    known = REACH | (YOUTUBE if data.startswith("youtube") else {}) | (QUICK if quick else {})
    return known[method][min(turn, 1)]


def against_rows(place: Place, against: str, data: str, turn: int) -> list[Row]:
    """Return the times of all methods at every number of rows."""
    sizes = QUICK_SIZES if place.quick else SIZES
    rows = load(data, place, sizes[-1])
    limits = {method: reach(method, data, turn, place.quick) for method in REACH}
    passes = {
        method: TimedPass(make(method, rows.n_classes, turn), rows.views)
        for method, limit in limits.items()
        if limit
    }
    width = sum(X.shape[1] for X in rows.views.values())
    found = []
    for size in sorted({min(size, len(rows.labels)) for size in sizes}):
        for method, each in passes.items():
            if size <= limits[method]:
                found.append({"method": method, "share": 1.0, "features": width, **each.to(size)})
    return found


def against_features(place: Place, against: str, data: str, turn: int) -> list[Row]:
    """Return the times of both online methods for every share of the features."""
    whole = load(data, place, (QUICK_SIZES if place.quick else SIZES)[-1])
    rows = whole.take(slice(QUICK_SHORT if place.quick else SHORT))
    rng = np.random.default_rng(turn)
    order = {name: rng.permutation(X.shape[1]) for name, X in rows.views.items()}
    found = []
    for share in QUICK_SHARES if place.quick else SHARES:
        views = {}
        for name, X in rows.views.items():
            columns = np.sort(order[name][: max(1, round(share * X.shape[1]))])
            views[name] = normalize(X[:, columns])
        width = sum(X.shape[1] for X in views.values())
        for method in WIDE:
            each = TimedPass(make(method, rows.n_classes, turn), views).to(len(rows.labels))
            found.append({"method": method, "share": share, "features": width, **each})
    return found


def _table(rows: Sequence[Row], against: str) -> str:
    """Return the times of one set, and how they stand to ours."""
    methods = names(rows, "method")
    others = [method for method in methods if method != OURS]
    ratios = {method: ratios_by_size(rows, method, against) for method in others}
    lines = []
    for size in sorted(names(rows, against)):
        found = at(rows, against, size)
        name = f"{size:,}"
        if against == "features":
            name += f" ({100 * found[0]['share']:.0f} %)"
        ranking = [row["ranking"] for row in those(found, method=OURS)]
        cells = [shown(times(found, method)) for method in methods]
        cells.append(shown([spread(ranking)[0]]))
        found_ratios = ([each[size]] if size in each else [] for each in ratios.values())
        cells += [shown(each) for each in found_ratios]
        lines.append([name, *cells])
    head = [f"{rows[0]['data']}, {against}", *(f"{method}, s" for method in methods)]
    head += ["scores of OMVFS, s", *(f"{method} / OMVFS" for method in others)]
    return table(lines, head)


def _exponents(rows: Sequence[Row], against: str) -> str:
    """Return the slope of log time by set and method: over all sizes, and at the end."""
    lines = []
    for data in names(rows, "data"):
        own = those(rows, data=data)
        for method in names(own, "method"):
            by_size = medians(own, method, against)
            if len(by_size) > 1:
                whole, last = steepness(by_size)
                sizes = f"{min(by_size):,} to {max(by_size):,}"
                lines.append([data, method, sizes, f"{whole:.2f}", f"{last:.2f}"])
    head = ["set", "method", against, "exponent", "between the last two"]
    return "Slope of the logarithm of time:\n\n" + table(lines, head)


def _figure(rows: Sequence[Row], against: str) -> Any:
    """Return medians on logarithmic axes, with a band from lowest to highest."""
    plots = pyplot()
    from matplotlib.ticker import LogLocator

    sets = names(rows, "data")
    figure, panels = plots.subplots(
        1, len(sets), figsize=(4.2 * len(sets), 3.4), squeeze=False, layout="constrained"
    )
    order = list(REACH)
    for axes, data in zip(panels[0], sets, strict=True):
        own = those(rows, data=data)
        for method in names(own, "method"):
            by_size = {
                size: spread(times(at(own, against, size), method))
                for size in medians(own, method, against)
            }
            middle, low, high = zip(*by_size.values(), strict=True)
            band(axes, list(by_size), middle, low, high, method, order.index(method))
        axes.set(xscale="log", yscale="log", title=data, xlabel=against)
        sizes = sorted(names(own, against))
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.minorticks_off()
        axes.tick_params(axis="x", labelrotation=30)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("processor time, s")
    # The first panel has all methods.
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure
