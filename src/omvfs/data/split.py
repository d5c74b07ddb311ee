"""Which columns of one 2-D X make which view: the forms of ``views=``."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from omvfs.data.containers import Names
from omvfs.data.schema import listed

Columns: TypeAlias = Sequence[int] | Mapping[str, Any]
Remainder = Literal["error", "drop"]


def columns_by_view(
    views: Columns, width: int, names: Names | None, remainder: Remainder = "error"
) -> dict[str, Any]:
    """Bring ``views=`` into one form.

    Parameters
    ----------
    views : sequence of int, or mapping of str to columns
        Widths of consecutive views; or columns as indices, slice, boolean mask or names.
    width : int
        Number of features of X.
    names : ndarray of str objects, or None
        Column names of X.
    remainder : {"error", "drop"}, default="error"
        Refuse columns that are in no view, or leave them out.

    Returns
    -------
    columns : dict of str to (slice or ndarray of int)
        The columns of each view, all of them in range, none of them in two views.

    Examples
    --------
    >>> columns_by_view([3, 2], 5, None)
    {'view_0': slice(0, 3, None), 'view_1': slice(3, 5, None)}
    """
    if not isinstance(views, Mapping):
        return _by_width(views, width)
    check_view_names(views)
    keys = {view: _column_key(view, key, width, names) for view, key in views.items()}
    _check_once(keys, width, names, remainder)
    return keys


def _check_once(
    keys: Mapping[str, Any], width: int, names: Names | None, remainder: Remainder
) -> None:
    """Refuse columns that are in two views, and those that are in none unless they are dropped."""
    if remainder not in get_args(Remainder):
        raise ValueError(f"Got remainder={remainder!r}; expected {listed(get_args(Remainder))}.")

    def called(column: int) -> str:
        return repr(str(column) if names is None else names[column])

    taken = np.zeros(width, np.intp)
    for key in keys.values():
        np.add.at(taken, np.arange(width)[key], 1)
    if (taken > 1).any():
        twice = int(np.argmax(taken > 1))
        own = [view for view, key in keys.items() if twice in np.arange(width)[key]]
        raise ValueError(
            f"Column {called(twice)} is in views {listed(own)} at once, or twice in one; expected "
            "it in one. Correct views=, or pass a dict of blocks."
        )
    if remainder == "error" and (taken == 0).any():
        left = np.flatnonzero(taken == 0)
        shown = ", ".join(map(called, left[:5])) + (", ..." if len(left) > 5 else "")
        raise ValueError(
            f"Got {len(left):,} of {width:,} columns in no view: {shown}. Add them to a view of "
            "views=, or pass remainder='drop' to leave them out."
        )


def check_view_names(views: Mapping[Any, Any]) -> None:
    """Refuse no views at all, and names that are not strings."""
    if not views or not all(isinstance(name, str) for name in views):
        raise TypeError(f"Got views {listed(views)}; expected at least one, each named by a str.")


def _by_width(views: Sequence[int], width: int) -> dict[str, Any]:
    widths = [operator.index(each) for each in views]
    if min(widths, default=0) < 1 or sum(widths) != width:
        raise ValueError(
            f"Got views={widths}, {sum(widths):,} features in all; X has {width:,}. "
            "Pass positive widths that add up to the features of X, or columns by view name."
        )
    stops = np.cumsum(widths).tolist()
    starts = [0, *stops[:-1]]
    return {f"view_{i}": slice(*edges) for i, edges in enumerate(zip(starts, stops, strict=True))}


def _column_key(view: str, columns: Any, width: int, names: Names | None) -> Any:
    """Turn the columns of a view, in any form, into a slice or an array of indices."""
    if isinstance(columns, slice):
        key, beyond = np.arange(width)[columns], (columns.stop or 0) > width
    else:
        key, beyond = _indices(view, np.asarray(columns), width, names), False
    if key.ndim != 1 or not key.size or key.dtype.kind not in "iu":
        raise ValueError(
            f"View {view!r} has columns {columns!r}; expected at least one index, a slice, a mask "
            f"of {width:,} entries, or column names. Correct views=."
        )
    if beyond or key.max() >= width or key.min() < -width:
        raise ValueError(
            f"View {view!r} has columns {columns!r}, but X has {width:,} features, counted from 0. "
            "Correct views=."
        )
    return columns if isinstance(columns, slice) else key


def _indices(view: str, columns: Any, width: int, names: Names | None) -> Any:
    if columns.dtype == bool and columns.shape == (width,):
        return np.flatnonzero(columns)
    if columns.dtype.kind not in "UO":
        return columns
    if names is None:
        raise ValueError(
            f"View {view!r} has columns by name, but X has no column names. "
            "Pass a data frame, or indices."
        )
    position = {name: i for i, name in enumerate(names)}
    asked = columns.ravel().tolist()
    unknown = [name for name in asked if name not in position]
    if unknown:
        raise ValueError(
            f"View {view!r} has columns that X lacks: {listed(unknown)}. Correct views=."
        )
    return np.array([position[name] for name in asked], dtype=np.intp)
