"""The paper's figure on large sets: ACC and NMI by the number of features, of online methods.

What is selected is judged on real sets. Twins are run for time only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omvfs.evaluation.protocol import PAPER_SIZES, evaluate_selection
from paper.base import Claim, Experiment, Place, Row, Task
from paper.figures import line_against, pyplot
from paper.large_claims import large_claims, passes, scored
from paper.methods import OURS, PRINTED, make
from paper.page import table
from paper.rows import ACC, NMI, NMI_GEOMETRIC, cell, is_twin, mean, names, those
from paper.sets import LARGE, LabelledSet, at_hand, load, twins
from paper.timing import shown, timed

CHUNK = 1000
# Methods that read the whole stream. The printed one is slow and reads the first rows only; ours
# reads those too, to stand beside it.
WHOLE = (OURS, "FSDS", "column sum", "variance")
FIRST = 10_000
SEEDS, CLUSTERED = 2, 10_000
ORDERS = 2
QUICK_ROWS = 6_000


class Large(Experiment):
    """Figure "Performance with different # features on large datasets"."""

    name = "large"
    title = "Large sets: performance by the number of features"
    timed = True

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return a task a method and order, on every set."""
        paper = ("reuters", "youtube")
        sets = [*at_hand(place, [*LARGE, *paper]), *twins(place, paper)]
        if place.quick:
            sets = sets[:2]
        found = []
        for data in sets:
            if is_twin(data):
                found += [Task(time_pass, {"data": data, "method": m, "order": 0}) for m in WHOLE]
                continue
            how = {
                "data": data,
                "seeds": 1 if place.quick else SEEDS,
                "clustered": 3_000 if place.quick else CLUSTERED,
            }
            runs: list[Row] = [
                {"method": method, "first": None, "order": order}
                for method in WHOLE
                for order in range(1 if place.quick else ORDERS)
            ]
            first = 2 * CHUNK if place.quick else FIRST
            runs += [{"method": m, "first": first, "order": 0} for m in (OURS, PRINTED)]
            found += [Task(judge, {**how, **run}) for run in runs]
        return found

    def section(self, rows: Sequence[Row]) -> str:
        """Return what was run, the figures by the number of features, and times."""
        parts = [_done(rows)]
        if found := scored(rows):
            parts.append(_table(found))
        return "\n\n".join([*parts, _TIME, _times(rows)])

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return ACC and NMI by the number of features, a figure a real set."""
        found = scored(rows)
        return {data: _by_size(those(found, data=data), data) for data in names(found, "data")}

    def claims(self, rows: Sequence[Row]) -> Sequence[Claim]:
        """Return what the paper says of its figure."""
        return large_claims(rows)


_TWINS = """\
Twins of the paper's sets are run for time only: on reuters-twin column sums alone reach an NMI of
0.999, so that a twin can tell nothing of a selection."""
_TIME = """\
Processor time of one pass on one thread, scores included, in seconds (lowest to highest of the
orders). Seconds are this machine's: compare them with each other only. How time grows is in
"Runtime"."""


def judge(
    place: Place,
    data: str,
    seeds: int,
    clustered: int,
    method: str,
    first: int | None,
    order: int,
) -> list[Row]:
    """Return ACC and NMI of what a method selects from the stream, or from its first rows.

    They are of some rows of the set, drawn at random, the same for every method and order.
    """
    labelled = load(data, place, QUICK_ROWS if place.quick else None)
    n_rows = len(labelled.labels)
    about, scores = _learned(labelled, method, order, first)
    # Of a seed that no order has: else an order would be judged by the rows that it reads first.
    drawn = np.random.default_rng([1, 0]).permutation(n_rows)[:clustered]
    some = labelled.take(drawn)
    sizes = PAPER_SIZES[:: 2 if place.quick else 1]
    rows = evaluate_selection(some.views, some.labels, {method: scores}, sizes, seeds=seeds)
    return [about | row for row in rows]


def time_pass(place: Place, data: str, method: str, order: int) -> list[Row]:
    """Return how long a pass over a set takes, and nothing of what it selects."""
    labelled = load(data, place, QUICK_ROWS if place.quick else None)
    return [_learned(labelled, method, order, None)[0]]


def _learned(labelled: LabelledSet, method: str, order: int, first: int | None) -> tuple[Row, Any]:
    """Return what a pass read and took, and the scores of a method."""
    n_rows = len(labelled.labels)
    stream = labelled.take(np.random.default_rng(order).permutation(n_rows)[:first])
    # In single precision, as the files have them.
    single = {view: X.astype(np.float32) for view, X in stream.views.items()}
    selector = make(method, labelled.n_classes, order, batch_size=CHUNK)
    (seconds, _), scores = timed(lambda: selector.fit(single).view_scores_)
    return {"rows": n_rows, "read": len(stream.labels), "seconds": seconds}, scores


def _done(rows: Sequence[Row]) -> str:
    """Return what was run, from the rows themselves."""
    sets, found = [], scored(rows)
    for data in names(rows, "data"):
        own = those(rows, data=data)
        reads = [f"{row['read']:,}" for row in those(own, method=PRINTED)[:1]]
        sets.append(
            f"{data}: {own[0]['rows']:,} rows"
            + "".join(f", the printed method the first {read}" for read in reads)
            + f", {len(names(own, 'order'))} order(s)"
        )
    parts = [f"Fixed defaults, chunks of {CHUNK:,} rows. {'; '.join(sets)}."]
    if found:
        parts.append(
            "The printed method is slow and reads the first rows only; OMVFS on the same rows "
            "stands beside it. Clusters are of at most "
            f"{found[0]['clustered']:,} rows of each set, drawn at random, the same for all, "
            f"{found[0]['seeds']} seed(s)."
        )
    if any(is_twin(data) for data in names(rows, "data")):
        parts.append(_TWINS)
    return " ".join(parts)


def _times(rows: Sequence[Row]) -> str:
    sets = names(rows, "data")
    found = passes(rows)
    labels = dict.fromkeys((method, first) for _, method, first in found)
    lines = [
        [_label(*label), *(shown(found.get((data, *label), [])) for data in sets)]
        for label in labels
    ]
    return table(lines, ["", *sets])


def _table(rows: Sequence[Row]) -> str:
    sizes = sorted(names(rows, "p"))
    lines = []
    for data in names(rows, "data"):
        for (method, first), own in _lines(those(rows, data=data)).items():
            cells = [f"{mean(own, p=p):.3f} / {mean(own, ACC, p=p):.3f}" for p in sizes]
            means = [cell(own), cell(own, NMI_GEOMETRIC), cell(own, ACC)]
            lines.append([data, _label(method, first), *cells, *means])
    head = ["set", "NMI / ACC at p =", *map(str, sizes)]
    return table(lines, [*head, "mean NMI", "mean geometric NMI", "mean ACC"])


def _lines(rows: Sequence[Row]) -> dict[tuple[str, int | None], list[Row]]:
    """Return the rows of one set by method and how much it has read."""
    found: dict[tuple[str, int | None], list[Row]] = {}
    for row in rows:
        found.setdefault((row["method"], row["first"]), []).append(row)
    return found


def _label(method: str, first: int | None) -> str:
    return method if first is None else f"{method}, first {first:,} rows"


def _by_size(rows: Sequence[Row], data: str) -> Any:
    plt = pyplot()
    figure, pair = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for metric, axes in zip((ACC, NMI), pair, strict=True):
        for place, ((method, first), own) in enumerate(_lines(rows).items()):
            line_against("p", axes, own, metric, _label(method, first), place)
        title = metric.removesuffix(" max")
        axes.set(title=data, xlabel="features per view", ylabel=title)
    figure.legend(*pair[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
