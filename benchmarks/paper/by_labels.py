"""The percentage, and the setting, that are best by the labels: what papers report."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paper.base import Row
from paper.rows import NMI, defaults, distinct, mean, names, those


@dataclass(frozen=True)
class Choice:
    """What was chosen with the labels, and what it has by the same rows.

    Attributes
    ----------
    nmi : float
        NaN if there are no rows.
    percent : int or None
        Per cent of all features; None for all.
    params : dict
        The setting; empty for the default.
    """

    nmi: float
    percent: int | None = None
    params: Row | None = None

    def told(self) -> str:
        """Return the NMI in per cent, and at how many features.

        Examples
        --------
        >>> Choice(0.8768, 15).told(), Choice(0.7, None).told(), Choice(math.nan).told()
        ('87.7 (15 %)', '70.0', '–')
        """
        if math.isnan(self.nmi):
            return "–"
        return percent(self.nmi) + ("" if self.percent is None else f" ({self.percent} %)")


def percent(nmi: float) -> str:
    """Return an NMI in per cent, as the papers print it.

    Examples
    --------
    >>> percent(0.8741), percent(math.nan)
    ('87.4', '–')
    """
    return "–" if math.isnan(nmi) else f"{100 * nmi:.1f}"


def best_percent(rows: Sequence[Row], **what: Any) -> Choice:
    """Return the percentage with the highest mean NMI in the fixed default."""
    return _best(those(defaults(rows), **what), {})


def best_setting(rows: Sequence[Row], **what: Any) -> Choice:
    """Return the setting and percentage with the highest mean NMI, the default among them.

    All settings are compared on the orders that were tried beside the default; without any, on all.
    """
    own = those(rows, **what)
    tried = distinct(row["params"] for row in own if row["params"])
    orders = names([row for row in own if row["params"]] or own, "order")
    same = [row for row in own if row["order"] in orders]
    choices = [_best(those(same, params=params), params) for params in ({}, *tried)]
    return max(choices, key=lambda choice: -1.0 if math.isnan(choice.nmi) else choice.nmi)


def _best(rows: Sequence[Row], params: Row) -> Choice:
    choices = [Choice(mean(rows, NMI, percent=each), each, params) for each in _percents(rows)]
    return max(choices, key=lambda choice: choice.nmi, default=Choice(math.nan))


def _percents(rows: Sequence[Row]) -> list[int | None]:
    return names(rows, "percent")
