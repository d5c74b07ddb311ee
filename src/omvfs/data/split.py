"""Which columns of one 2-D X make which view: the forms of ``views=``."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from omvfs.data.blocks import Names
from omvfs.data.schema import listed

Columns: TypeAlias = Sequence[int] | Mapping[str, Any]


def columns_by_view(views: Columns, width: int, names: Names | None) -> dict[str, Any]:
    """Bring ``views=`` into one form.

    Parameters
    ----------
    views : sequence of int, or mapping of str to columns
        Widths of consecutive views; or columns as indices, slice, boolean mask or names.
    width : int
        Number of features of X.
    names : ndarray of str objects, or None
        Column names of X.

    Returns
    -------
    columns : dict of str to (slice or ndarray of int)
        The columns of each view, all of them in range.

    Examples
    --------
    >>> columns_by_view([3, 2], 5, None)
    {'view_0': slice(0, 3, None), 'view_1': slice(3, 5, None)}
    """
    if not isinstance(views, Mapping):
        return _by_width(views, width)
    check_view_names(views)
    return {view: _column_key(view, key, width, names) for view, key in views.items()}


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
