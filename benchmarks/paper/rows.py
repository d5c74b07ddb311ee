"""What several experiments ask of rows of ACC and NMI: means, spreads, and the best setting."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from paper.base import Row, Verdict
from paper.page import table

ACC, NMI, NMI_GEOMETRIC = "ACC", "NMI max", "NMI geometric"


def those(rows: Iterable[Row], **what: Any) -> list[Row]:
    """Return the rows that have these values.

    Examples
    --------
    >>> those([{"a": 1, "b": 2}, {"a": 3, "b": 2}], a=3)
    [{'a': 3, 'b': 2}]
    """
    return [row for row in rows if all(row.get(key) == value for key, value in what.items())]


def names(rows: Iterable[Row], column: str) -> list[Any]:
    """Return the values of a column, each once, in the order of their first rows.

    Examples
    --------
    >>> names([{"p": 2}, {"p": 1}, {"p": 2}], "p")
    [2, 1]
    """
    return list(dict.fromkeys(row[column] for row in rows if column in row))


def mean(rows: Iterable[Row], metric: str = NMI, **what: Any) -> float:
    """Return the mean of a figure over the rows that have these values; NaN if none has."""
    values = [row[metric] for row in those(rows, **what)]
    return float(np.mean(values)) if values else math.nan


def curve(rows: Iterable[Row], metric: str = NMI, **what: Any) -> dict[int, float]:
    """Return the mean of a figure by the number of features, the smallest first."""
    found = those(rows, **what)
    return {p: mean(found, metric, p=p) for p in sorted(names(found, "p"))}


def mean_and_spread(values: Sequence[float], signed: bool = False) -> str:
    """Return the mean as text, with the standard deviation where there are several values.

    Examples
    --------
    >>> mean_and_spread([0.5, 0.7]), mean_and_spread([0.25], signed=True), mean_and_spread([])
    ('0.600 ± 0.100', '+0.250', '–')
    """
    if not len(values):
        return "–"
    spread = f" ± {np.std(values):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):{'+' if signed else ''}.3f}{spread}"


def cell(rows: Iterable[Row], metric: str = NMI, **what: Any) -> str:
    """Return a mean, with the spread over the orders of the rows where there are several.

    Examples
    --------
    >>> rows = [{"order": 0, "ACC": 0.5}, {"order": 1, "ACC": 0.7}]
    >>> cell(rows, "ACC"), cell(rows, "ACC", order=1), cell(rows, "ACC", order=2)
    ('0.600 ± 0.100', '0.700', '–')
    """
    found = those(rows, **what)
    return mean_and_spread([mean(found, metric, order=order) for order in names(found, "order")])


def paired(these: Iterable[Row], those: Iterable[Row], key: str, by: Sequence[str]) -> list[float]:
    """Return by how much these rows are above those that have the same under some keys.

    Examples
    --------
    >>> paired([{"order": 0, "NMI": 0.5}], [{"order": 0, "NMI": 0.25}], "NMI", ["order"])
    [0.25]
    """
    known = {tuple(row[each] for each in by): row[key] for row in those}
    places = [(tuple(row[each] for each in by), row[key]) for row in these]
    return [value - known[place] for place, value in places if place in known]


def defaults(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the fixed defaults."""
    return those(rows, params={})


def best_of_grid(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the setting that is best by the labels, of each method with a grid.

    The setting with the highest mean NMI is the best, the default among them. It is chosen by the
    labels, and reported on the same rows: what nobody can reach who has none.
    """
    best = []
    for data in names(rows, "data"):
        tried = [row for row in those(rows, data=data) if row["params"]]
        for method in names(tried, "method"):
            orders = names(those(tried, method=method), "order")
            own = [row for row in those(rows, data=data, method=method) if row["order"] in orders]
            settings = [{}, *distinct(row["params"] for row in own if row["params"])]
            means = [mean(own, params=each) for each in settings]
            best += those(own, params=settings[int(np.nanargmax(means))])
    return best


def setting(params: Mapping[str, Any]) -> str:
    """Return a setting as text.

    Examples
    --------
    >>> setting({}), setting({"sparsity": 0.1, "graph_weight": 3.0})
    ('default', 'sparsity=0.1, graph_weight=3.0')
    """
    return ", ".join(f"{name}={value}" for name, value in params.items()) or "default"


def is_twin(data: str) -> bool:
    """Return whether a set is a twin, of which nothing about the real one can be said."""
    return data.endswith("-twin")


def real(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of sets that are no twins."""
    return [row for row in rows if not is_twin(row["data"])]


def judged(holds: Mapping[str, bool]) -> Verdict:
    """Return the verdict on what holds or not by set: on real ones, of which all must agree.

    Examples
    --------
    >>> judged({"fox": True, "cnn-twin": False}), judged({"fox": False})
    ('reproduced', 'not reproduced')
    >>> judged({"cnn-twin": True})
    'not judged'
    """
    found = [held for data, held in holds.items() if not is_twin(data) and data != "planted"]
    if not found:
        return "not judged"
    return "reproduced" if all(found) else "not reproduced"


def means_table(rows: Sequence[Row]) -> str:
    """Return a table of mean NMI by method and set, the best first, and of means over real sets."""
    sets = names(rows, "data")
    own = names(real(rows), "data") or sets
    methods = names(rows, "method")

    def over_sets(method: str, metric: str) -> float:
        return float(np.mean([mean(rows, metric, method=method, data=data) for data in own]))

    methods.sort(key=lambda method: -np.nan_to_num(over_sets(method, NMI), nan=-1))
    lines = []
    for method in methods:
        cells = [cell(rows, method=method, data=data) for data in sets]
        over = [over_sets(method, metric) for metric in (NMI, NMI_GEOMETRIC, ACC)]
        lines.append([method, *cells, *("–" if math.isnan(x) else f"{x:.3f}" for x in over)])
    return table(lines, ["", *sets, "mean", "mean, geometric NMI", "mean ACC"])


def distinct(values: Iterable[Row]) -> list[Row]:
    """Return values that need no hash, each once, in the order of their first.

    Examples
    --------
    >>> distinct([{"a": 1}, {}, {"a": 1}])
    [{'a': 1}, {}]
    """
    found: list[Row] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
