"""Differences between rows that belong together, and figures in words."""

from collections.abc import Iterable, Sequence

import numpy as np

from omvfs.experiments._base import Row


def told(values: Sequence[float], signed: bool = False) -> str:
    """Return mean and spread of values as text.

    Examples
    --------
    >>> told([0.5, 0.7]), told([0.25], signed=True)
    ('0.600 ± 0.100', '+0.250')
    """
    if not values:
        return "–"
    spread = f" ± {np.std(values):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):{'+' if signed else ''}.3f}{spread}"


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
