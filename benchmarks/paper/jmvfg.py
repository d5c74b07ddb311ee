"""The protocol of JMVFG's Table II: one ranking over all views, k-means on 5 % to 40 % of it."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.blocks import Block, hstack
from omvfs.datasets import load_folder, make_planted
from paper.base import Claim, Experiment, Place, Row, Task
from paper.by_labels import best_percent, best_setting, percent
from paper.figures import line_against, pyplot
from paper.jmvfg_claims import HANDWRITTEN, TABLE, jmvfg_claims
from paper.joint import PERCENTS, evaluate_joint_ranking, in_unit_range
from paper.methods import (
    EVERYTHING,
    LITTLE_MEMORY,
    METHODS,
    MULTI_VIEW,
    OURS,
    PRINTED,
    grid,
    make,
)
from paper.page import table
from paper.rows import NMI, defaults, mean, names, setting, those
from paper.sets import Shuffled, at_hand

# Of the real sets, those with at most so many features in all and so many rows. The table's own
# methods hold matrices of features by features and of rows by rows.
MOST_FEATURES, MOST_ROWS = 5_000, 3_000
SETS = (HANDWRITTEN, "bdgp", "cora")
# Orders of the rows and seeds of k-means: 20 runs on the table's set, 10 on the others.
USUAL, EFFORT = (2, 5), {HANDWRITTEN: (2, 10)}
# Settings beside the default: on the table's set, on one order, at most so many, as many seeds.
GRID, GRID_SEEDS = 4, 10
OUR_GRID: list[Row] = [{"criterion": "norm"}, {"sample_size": 500}]
OUR_GRID += [{"sample_size": 1000}, {"prepare": None}]
# As many as there are colours.
FIGURE = (OURS, PRINTED, "JMVFG", "ACSL", "MVUFS", "MCFS", "FSDS", "variance")


class Jmvfg(Experiment):
    """Table II of the paper of JMVFG, in which OMVFS has a column."""

    name = "jmvfg"
    title = "By the protocol of a later paper: one ranking over all views"

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return a task a method, setting and order, on every set."""
        sets = at_hand(place, SETS) or ["planted"]
        found = []
        for data in sets[:1] if place.quick else sets:
            n_orders, seeds = (1, 2) if place.quick else EFFORT.get(data, USUAL)
            for method in methods():
                what = {"data": data, "method": method}
                runs: list[Row] = [
                    {"params": {}, "order": order, "seeds": seeds} for order in range(n_orders)
                ]
                if data == HANDWRITTEN and not place.quick:
                    runs += [
                        {"params": params, "order": 0, "seeds": GRID_SEEDS}
                        for params in (OUR_GRID if method == OURS else few(grid(method)))
                    ]
                found += [Task(judge, {**what, **run}) for run in runs]
        return found

    def section(self, rows: Sequence[Row]) -> str:
        """Return what was run, the table beside the printed one, and the other sets."""
        parts = [_DONE, _runs(rows)]
        if own := those(rows, data=HANDWRITTEN):
            parts += [_BESIDE, _beside(own)]
        parts += [_SETS, _by_set(defaults(rows)), _AHEAD, _ahead(defaults(rows))]
        return "\n\n".join(parts)

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return NMI by the share of features, a picture a set, in one figure."""
        return {"sets": _by_percent(defaults(rows))}

    def claims(self, rows: Sequence[Row]) -> Sequence[Claim]:
        """Return what the table says beside what was seen."""
        return jmvfg_claims(rows)


_DONE = f"""\
As in Table II of Fang, Huang, Wang, Tang: *Joint Multi-View Unsupervised Feature Selection and
Graph Learning* (IEEE TETCI 2023). Every feature is scaled to [0, 1]. There is one ranking over all
views: the scores of a method of several views are compared as they are; a method of one view reads
all views side by side. How to compare scores over views is **our choice**, and it matters: where
one-view methods score each view by itself, some gain and some lose several points. k-means
(Euclidean, 5 starts) clusters the rows on the best 5 % to 40 % of all features, in steps of 5 %.
NMI is divided by the larger entropy, and stands in per cent. Sets: the real ones at hand with at
most {MOST_FEATURES:,} features and {MOST_ROWS:,} rows, all their views. The best percentage, and
the best setting, **are chosen with the labels**, by the figures that are shown, as in that paper;
without labels nobody can choose so. The mean over percentages chooses nothing."""
_BESIDE = f"""\
Handwritten (mfeat, six views), the printed table beside ours. Its figures are tuned with labels.
Our best setting is of the default and at most {GRID} others, {GRID_SEEDS} runs on one order:"""
_SETS = """\
All sets in the fixed defaults: the mean over percentages, and the best percentage by the labels:"""
_AHEAD = "Where another default is ahead of OMVFS, mean over percentages:"


def methods() -> list[str]:
    """Return the methods that are compared."""
    return [each for each in METHODS if each != LITTLE_MEMORY]


def few(settings: Sequence[Row], most: int = GRID) -> list[Row]:
    """Return at most so many settings, evenly spread over all.

    Examples
    --------
    >>> few([{"a": i} for i in range(9)], 4)
    [{'a': 0}, {'a': 3}, {'a': 6}]
    """
    return list(settings[:: max(1, math.ceil(len(settings) / most))])


def judge(place: Place, data: str, method: str, params: Row, order: int, seeds: int) -> list[Row]:
    """Return ACC and NMI of one ranking over all views, by the share of features."""
    views, labels = Shuffled.of(*scaled(data, place))(order)
    selector = make(method, len(np.unique(labels)), order, **params)
    blocks = dict(views.blocks)
    if type(selector).__name__ not in MULTI_VIEW:
        blocks = {"all": hstack(list(blocks.values()))}
    scores = selector.fit(blocks).scores_
    percents: Sequence[int | None] = PERCENTS[:: 3 if place.quick else 1]
    if method == EVERYTHING:
        percents = [None]
    return evaluate_joint_ranking(blocks, labels, scores, percents, seeds=seeds)


@lru_cache(maxsize=1)
def scaled(data: str, place: Place) -> tuple[dict[str, Block], NDArray[np.intp]]:
    """Return all views of a set, every feature from 0 to 1, and classes; planted rows by name."""
    if data == "planted":
        planted = make_planted(500, n_features=(200, 150), random_state=0)
        return in_unit_range(planted.views), planted.labels.astype(np.intp)
    assert place.data is not None, data
    views, labels = load_folder(place.data / data)
    assert labels is not None, data
    return in_unit_range(views), np.unique(labels, return_inverse=True)[1]


def _runs(rows: Sequence[Row]) -> str:
    told = []
    for data in names(rows, "data"):
        own = those(defaults(rows), data=data)
        orders = len(names(own, "order"))
        told.append(f"{data}: {orders} order(s) of the rows × {own[0]['seeds']} seed(s) of k-means")
    return f"Fixed defaults: {'; '.join(told)}."


def _beside(rows: Sequence[Row]) -> str:
    """Return the printed table beside ours, the best default first."""
    fixed = {method: best_percent(rows, method=method) for method in names(rows, "method")}
    order = sorted(fixed, key=lambda method: -fixed[method].nmi)
    lines = []
    for method in order:
        best = best_setting(rows, method=method)
        tuned = f"{best.told()}, {setting(best.params)}" if best.params else best.told()
        has_grid = any(row["params"] for row in those(rows, method=method))
        printed = percent(TABLE.get(method, math.nan))
        untouched = percent(mean(defaults(rows), method=method))
        lines.append([method, printed, tuned if has_grid else "–", fixed[method].told(), untouched])
    others = [[m, percent(nmi), *["–"] * 3] for m, nmi in TABLE.items() if m not in fixed]
    head = ["", "as printed", "best setting and percentage", "default, best percentage"]
    return table([*lines, *others], [*head, "default, mean over percentages"])


def _by_set(rows: Sequence[Row]) -> str:
    sets = names(rows, "data")

    def over_sets(method: str) -> float:
        return float(np.mean([mean(rows, method=method, data=data) for data in sets]))

    lines = []
    for method in sorted(names(rows, "method"), key=lambda m: -np.nan_to_num(over_sets(m), nan=-1)):
        cells = []
        for data in sets:
            own = those(rows, data=data, method=method)
            cells += [percent(mean(own)), best_percent(own).told()]
        lines.append([method, *cells, percent(over_sets(method))])
    head = [f"{data}, {what}" for data in sets for what in ("mean", "best")]
    return table(lines, ["", *head, "mean of means"])


def _ahead(rows: Sequence[Row]) -> str:
    lines = []
    for data in names(rows, "data"):
        own = those(rows, data=data)
        gain = {m: mean(own, method=m) - mean(own, method=OURS) for m in names(own, "method")}
        best = sorted((m for m in gain if gain[m] >= 0.0005), key=lambda m: -gain[m])
        lines.append(f"* {data}: {', '.join(f'{m} +{100 * gain[m]:.1f}' for m in best) or 'none'}")
    return "\n".join(lines)


def _by_percent(rows: Sequence[Row]) -> Any:
    sets = names(rows, "data")
    figure, (pictures,) = pyplot().subplots(
        1, len(sets), figsize=(max(5.0, 3.4 * len(sets)), 3.8), squeeze=False, layout="constrained"
    )
    for data, axes in zip(sets, pictures, strict=True):
        own = those(rows, data=data)
        for place, method in enumerate(FIGURE):
            if found := those(own, method=method):
                line_against("percent", axes, found, NMI, method, place)
        everything = mean(own, method=EVERYTHING)
        if not math.isnan(everything):
            axes.axhline(everything, color="#666666", ls=":", label=EVERYTHING)
        axes.set(title=data, xlabel="% of all features")
    pictures[0].set_ylabel("NMI, fixed default")
    handles = pictures[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=5)
    return figure
