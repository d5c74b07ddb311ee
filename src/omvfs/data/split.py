"""Which columns of one 2-D X make which view: the forms of ``views=``."""

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from omvfs.data.containers import Names, as_names, labels_of
from omvfs.data.schema import listed

Columns: TypeAlias = Literal["prefix"] | Sequence[int] | Mapping[str, Any]
Remainder = Literal["error", "drop"]

_CALLED = re.compile("(.+?)__(.+)", re.DOTALL)


def columns_by_view(
    views: Columns | None, X: Any, width: int, remainder: Remainder = "error"
) -> dict[str, Any] | None:
    """Bring ``views=`` into one form.

    Parameters
    ----------
    views : "prefix", sequence of int, or mapping of str to columns
        By column names ``view__feature``; widths of consecutive views; or columns as indices,
        slice, boolean mask, names, or a callable that returns any of them for X. None for one
        view, or the views that are the first level of the columns.
    X : 2-D data
        That is to be split.
    width : int
        Number of features of X.
    remainder : {"error", "drop"}, default="error"
        Refuse columns that are in no view, or leave them out.

    Returns
    -------
    columns : dict of str to (slice or ndarray of int), or None
        The columns of each view, all of them in range, none of them in two views; None if X is one
        view.

    Examples
    --------
    >>> columns_by_view([3, 2], np.ones((1, 5)), 5)
    {'view_0': slice(0, 3, None), 'view_1': slice(3, 5, None)}
    >>> columns_by_view({"all": lambda X: slice(0, X.shape[1])}, np.ones((1, 5)), 5)
    {'all': slice(0, 5, None)}
    >>> import pandas as pd
    >>> columns_by_view("prefix", pd.DataFrame({"text__cat": [1], "image__x": [2]}), 2)
    {'text': array([0]), 'image': array([1])}
    """
    if views is None or isinstance(views, str):
        return _by_name(views, X)
    if not isinstance(views, Mapping):
        return _by_width(views, width)
    check_view_names(views)
    asked = {view: key(X) if callable(key) else key for view, key in views.items()}
    names = labels_of(X).names
    keys = {view: _column_key(view, key, width, names) for view, key in asked.items()}
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


def depends_on_x(views: Columns | None) -> bool:
    """Tell whether columns are found by a look at X, so that later X must go by what was found.

    Examples
    --------
    >>> depends_on_x("prefix"), depends_on_x({"text": len}), depends_on_x([3, 2])
    (True, True, False)
    """
    if isinstance(views, Mapping):
        return any(map(callable, views.values()))
    return views is None or isinstance(views, str)


def view_of(name: str) -> str | None:
    """Return the view of a column that is called ``view__feature``, None if it is not.

    Examples
    --------
    >>> view_of("text__cat"), view_of("text__cat__s"), view_of("cat"), view_of("__cat")
    ('text', 'text', None, None)
    """
    called = _CALLED.fullmatch(name)
    return called[1] if called else None


def own_names(view: str, names: Names) -> Names:
    """Return names of features without that of their view, if all of them begin with it.

    Examples
    --------
    >>> own_names("text", np.array(["text__cat", "text__dog"], dtype=object))
    array(['cat', 'dog'], dtype=object)
    """
    prefix = f"{view}__"
    if all(name.startswith(prefix) and name != prefix for name in names):
        return as_names([name.removeprefix(prefix) for name in names])
    return names


def _by_name(views: str | None, X: Any) -> dict[str, Any] | None:
    """Return the columns of each view by what they are called, None if they are of one."""
    labels = labels_of(X)
    if views not in (None, "prefix"):
        raise ValueError(
            f"Got views={views!r}; expected 'prefix', widths, or columns by view name."
        )
    told: Sequence[str | None] | None = labels.views
    if told is None:
        if views is None:
            return None
        if labels.names is None:
            raise ValueError(
                'Got views="prefix", but X has no column names; expected names "view__feature". '
                'Pass a data frame, as ColumnTransformer gives by set_output(transform="pandas"), '
                "or views, as omvfs.ViewTransformer gives in its place."
            )
        told = [view_of(name) for name in labels.names]
        odd = [name for name, view in zip(labels.names, told, strict=True) if view is None]
        if odd:
            more = f" and {len(odd) - 5:,} more" if len(odd) > 5 else ""
            raise ValueError(
                f'Got views="prefix", but X has columns that are not called "view__feature": '
                f"{listed(odd[:5])}{more}. Leave them out or rename them; of a ColumnTransformer, "
                "keep verbose_feature_names_out=True."
            )
    found: dict[str, list[int]] = {}
    for column, view in enumerate(told):
        found.setdefault(str(view), []).append(column)
    return {view: np.array(columns, np.intp) for view, columns in found.items()}


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
