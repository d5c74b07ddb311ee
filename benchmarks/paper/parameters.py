"""The parameter study: weights, chunk and what else can be set, against the number of features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paper.base import Claim, Experiment, Place, Row, Task
from paper.figures import line_against, pyplot
from paper.methods import OURS, PRINTED, make
from paper.page import table
from paper.rows import ACC, NMI, cell, judged, mean, names, real, those
from paper.sets import at_hand, load

# The paper's grid, and what it holds fixed: β at α's turn, α at β's.
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
FIXED = {"graph_weight": {"sparsity": 1.0}, "sparsity": {"graph_weight": 10.0}}
BATCHES = (50, 100, 200, 400, 800)
# What is varied, by method. Ours has no α and β: around its defaults, the rest as it is.
STUDY: Mapping[str, Mapping[str, Sequence[Any]]] = {
    OURS: {
        "batch_size": BATCHES,
        "n_clusters": (0.5, 1.0, 1.5, 2.0),
        "sample_size": (200, 500, 2000),
    },
    PRINTED: {
        "graph_weight": GRID,
        "sparsity": GRID,
        "batch_size": BATCHES,
        "window": (1, 2, 4, 8, None),
    },
}
LABELS = {
    "graph_weight": "α",
    "sparsity": "β",
    "batch_size": "m, rows of a chunk",
    "window": "s, chunks of the window",
    "n_clusters": "K, times the classes",
    "sample_size": "rows of the sample",
}
SIZES = (100, 200, 400, 600)
# A range of mean NMI over the values of a parameter that is not much.
RANGE = 0.05


class Parameters(Experiment):
    """The figures of the parameter study."""

    name = "parameters"
    title = "Parameters"

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return a task for every set, method, parameter, value and order: one fit."""
        fox = at_hand(place, ["fox"]) or ["fox-twin"]
        sets = [*fox, *at_hand(place, ["reuters600"])]
        size: Row = {"n_rows": None, "sizes": list(SIZES)}
        if place.quick:
            sets, size = sets[-1:], {"n_rows": 400, "sizes": [100, 300]}
        return [
            Task(fit, {"data": data, "method": method, **each, "order": order, **size})
            for data in sets
            for method in STUDY
            for each in _values(method, place.quick)
            for order in range(1 if place.quick else _orders(method, data, each["varied"]))
        ]

    def section(self, rows: Sequence[Row]) -> str:
        """Return what was done, and mean scores by value."""
        cells = []
        for data in names(rows, "data"):
            for method, varied in _varied(those(rows, data=data)):
                mine = those(rows, data=data, method=method, varied=varied)
                values = names(mine, "value")
                shown = [f"{_value(v)}: {cell(mine, NMI, value=v)}" for v in values]
                cells.append([data, method, LABELS[varied], ", ".join(shown)])
        head = ["set", "method", "varied", "NMI, mean over the numbers of features"]
        return f"{_DONE}\n\n{table(cells, head)}"

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return for every set and method scores against the number of features."""
        return {
            f"{data}-{method.replace(' ', '-').lower()}": _figure(
                those(rows, data=data, method=method), f"{data}, {method}"
            )
            for data in names(rows, "data")
            for method in names(rows, "method")
        }

    def claims(self, rows: Sequence[Row]) -> Sequence[Claim]:
        """Return what the paper says of parameters, beside what was seen."""
        found = []
        for method in names(rows, "method"):
            mine = those(rows, method=method)
            if method == PRINTED:
                found.append(insensitive(mine, method, ("graph_weight", "sparsity"), _WEIGHTS))
            found += [
                insensitive(mine, method, ("batch_size",), _BATCH),
                more_is_better(mine, method),
            ]
        return [*found, *(_beside(rows, *each) for each in _BESIDE if _has(rows, *each))]


_DONE = """\
One parameter is varied at a time. As published: α with β = 1, β with α = 10, over the paper's grid;
m and s with α = β = 1. Ours has neither α nor β; the rest is as it is by default. K is given in
units of the number of classes. The rows are shuffled in every order of the stream. Figures show the
mean and the spread over orders."""
_WEIGHTS = "For most cases OMVFS is not very sensitive to α and β (as published)."
_BATCH = "The performance is very stable under different batch sizes."
_BESIDE = (
    (OURS, "n_clusters"),
    (OURS, "sample_size"),
    (PRINTED, "window"),
)


def fit(
    place: Place,
    data: str,
    method: str,
    varied: str,
    value: Any,
    order: int,
    n_rows: int | None,
    sizes: list[int],
) -> list[Row]:
    """Fit a method with one parameter set, and judge what it selects."""
    rows = load(data, place, n_rows)
    shuffled = rows.take(np.random.default_rng(order).permutation(len(rows.labels)))
    K = rows.n_classes
    params = {**(FIXED.get(varied, {}) if method == PRINTED else {}), varied: value}
    if varied == "n_clusters":
        params, K = {}, max(2, round(value * K))
    model = make(method, K, order, n_features_per_view=max(sizes), **params)
    return rows.judge(model.fit(shuffled.views).view_scores_, sizes, seeds=1)


def insensitive(rows: Sequence[Row], method: str, varied: Sequence[str], paper: str) -> Claim:
    """Tell whether the mean NMI over all sizes moves little with the value of parameters."""
    seen: list[str] = []
    holds: dict[str, bool] = {}
    for data in names(rows, "data"):
        for name in varied:
            means = _means(rows, data, name)
            low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            spread = means[high] - means[low]
            holds[data] = holds.get(data, True) and spread <= RANGE
            seen.append(
                f"{data}, {LABELS[name].split(',')[0]}: from {means[low]:.3f} at {_value(low)} to "
                f"{means[high]:.3f} at {_value(high)}"
            )
    why = f"Not very sensitive: a range of at most {RANGE} over the values tried."
    text = f"{method}, NMI over all sizes. {'; '.join(seen)}."
    return Claim(paper, text, judged(holds), why)


def more_is_better(rows: Sequence[Row], method: str) -> Claim:
    """Tell whether the score rises with the number of features, over all settings tried."""
    seen, holds = [], {}
    sizes = sorted(names(rows, "p"))
    for data in names(rows, "data"):
        means = [mean(rows, NMI, data=data, p=p) for p in sizes]
        holds[data] = means[-1] > means[0]
        best = sizes[int(np.argmax(means))]
        scores = ", ".join(f"{each:.3f}" for each in means)
        seen.append(f"{data}: {scores} (most at {best})")
    paper = "The performance does increase with the number of selected features."
    text = f"{method}, NMI of {', '.join(map(str, sizes))} features. {'; '.join(seen)}."
    return Claim(paper, text, judged(holds), "Rises: the most features are above the fewest.")


def _beside(rows: Sequence[Row], method: str, varied: str) -> Claim:
    """Tell how the score depends on something that the paper does not vary."""
    seen = []
    for data in names(real(rows) or rows, "data"):
        means = _means(those(rows, method=method), data, varied)
        shown = ", ".join(f"{_value(value)}: {score:.3f}" for value, score in means.items())
        seen.append(f"{data}: {shown}")
    text = f"{method}, NMI by {LABELS[varied]}. {'; '.join(seen)}."
    return Claim("(Not varied.)", text, "not in the paper")


def _has(rows: Sequence[Row], method: str, varied: str) -> bool:
    return bool(those(rows, method=method, varied=varied))


def _means(rows: Sequence[Row], data: str, varied: str) -> dict[Any, float]:
    mine = those(rows, data=data, varied=varied)
    return {value: mean(mine, NMI, value=value) for value in names(mine, "value")}


def _values(method: str, quick: bool) -> list[Row]:
    """Return what is varied and how; of few values if there is little time."""
    return [
        {"varied": varied, "value": value}
        for varied, values in STUDY[method].items()
        for value in (values[:: max(1, len(values) // 2)] if quick else values)
    ]


def _orders(method: str, data: str, varied: str) -> int:
    """Return how many orders of the stream there are; the printed method is slow."""
    if method == OURS:
        return 3
    return 2 if data.startswith("fox") and varied != "window" else 1


def _varied(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["method"], row["varied"]) for row in rows))


def _value(value: Any) -> str:
    return "all" if value is None else f"{value:g}"


def _figure(rows: Sequence[Row], title: str) -> Any:
    """Return NMI above ACC, a column for every parameter."""
    varied = names(rows, "varied")
    shape = (3.2 * len(varied), 5.5)
    figure, axes = pyplot().subplots(2, len(varied), figsize=shape, squeeze=False, sharey="row")
    for column, name in enumerate(varied):
        mine = those(rows, varied=name)
        for each, metric in zip(axes[:, column], (NMI, ACC), strict=True):
            for place, value in enumerate(names(mine, "value")):
                drawn = those(mine, value=value)
                line_against("p", each, drawn, metric, _value(value), place)
            axes[0, column].legend(title=LABELS[name], fontsize=7, title_fontsize=7)
        axes[1, column].set_xlabel("features per view")
    for each, metric in zip(axes[:, 0], (NMI, ACC), strict=True):
        each.set_ylabel(metric)
    figure.suptitle(title)
    figure.tight_layout()
    return figure
