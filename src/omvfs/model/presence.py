"""Which rows have which views.

A row that lacks a view is a row of zeros there, and this tells it from one that has the view and
nothing in it. None stands for rows that have every view, as most do: nothing is asked of them.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Block, IntArray

# Rows by views, True where a row has the view.
Presence: TypeAlias = NDArray[np.bool_] | None


def tidy(present: Presence) -> Presence:
    """Return who has what, None if all have everything.

    Examples
    --------
    >>> tidy(np.ones((3, 2), bool)) is None
    True
    """
    return None if present is None or present.all() else present


def take(present: Presence, rows: Any) -> Presence:
    """Return who has what of some rows."""
    return None if present is None else tidy(present[rows])


def below(parts: Sequence[tuple[Presence, int]], n_views: int) -> Presence:
    """Return who has what of rows below each other.

    Parameters
    ----------
    parts : sequence of (Presence, int)
        Of each part, and how many rows it has.
    n_views : int

    Examples
    --------
    >>> below([(None, 1), (np.array([[True, False]]), 1)], 2)
    array([[ True,  True],
           [ True, False]])
    """
    if all(present is None for present, _ in parts):
        return None
    return np.concatenate(
        [np.ones((n, n_views), bool) if present is None else present for present, n in parts]
    )


def who_has(present: Presence, v: int) -> IntArray | None:
    """Return which rows have a view, None if all do.

    Examples
    --------
    >>> who_has(np.array([[True, False], [True, True]]), 1), who_has(None, 1)
    (array([1]), None)
    """
    if present is None or present[:, v].all():
        return None
    return np.flatnonzero(present[:, v])


def can_judge(present: Presence, v: int) -> IntArray | None:
    """Return by which rows to tell how far a view agrees with clusters, None for all.

    Those that have the view and another. Where a view is all that a row has, it alone has decided
    on its cluster, and agrees with it whatever it is worth. If there are none, all that have it.

    Examples
    --------
    >>> can_judge(np.array([[True, False], [True, True], [False, True]]), 0)
    array([1])
    """
    if present is None:
        return None
    rows = np.flatnonzero(present[:, v] & (present.sum(axis=1) > 1))
    return rows if len(rows) else who_has(present, v)


def of_those(a: Any, rows: IntArray | None) -> Any:
    """Return the rows of something that have a view, see `who_has`; itself if all do."""
    return a if rows is None else a[rows]


def having(X: Sequence[Block], present: Presence) -> list[Block]:
    """Return for each view the rows that have it."""
    return [of_those(X_v, who_has(present, v)) for v, X_v in enumerate(X)]
