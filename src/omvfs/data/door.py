"""The one door for data: `as_views` reads and validates whatever comes."""

from collections.abc import Mapping
from typing import Any, get_args

from omvfs.data.blocks import Block, Negative, check_values, take_columns
from omvfs.data.collections import check_shapes, holds_views
from omvfs.data.lacking import (
    Missing,
    blanked,
    check_some_view,
    lacks,
    refuse_missing,
    shown,
)
from omvfs.data.mappings import are_mappings
from omvfs.data.reading import read_one
from omvfs.data.schema import NewFeatures, Schema, listed
from omvfs.data.split import Columns, Remainder
from omvfs.data.views import FINITE, NONNEGATIVE, READ, Views, matched


def as_views(
    X: Any,
    *,
    views: Columns | None = None,
    remainder: Remainder = "error",
    like: Schema | None = None,
    negative: Negative = "error",
    missing: Missing = "error",
    new_features: NewFeatures = "error",
) -> Views:
    """Read and validate a batch, whatever its form.

    Parameters
    ----------
    X : 2-D data, mapping or sequence of 2-D blocks, rows by name, MuData, or Views
        One 2-D X may be an array or what offers itself as one, a sparse matrix, a data frame, rows
        of numbers, AnnData or xarray's DataArray; all else, and what is not in memory, is refused
        by its name. A list is read as views only if every element has a 2-D shape, else as one
        array. Views whose rows have labels are put in the order of the first of them. Rows by name
        are a list of mappings, ``[{"cat": 2.0}, {}, None]``: the second has nothing in it, the
        third lacks the view. They are one X, or a view among others.
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How to split one 2-D X: by column names ``view__feature``, by the widths of consecutive
        views, or by view name the columns as indices, slice, boolean mask, column names, or a
        callable that finds them in X, such as scikit-learn's `make_column_selector`. By default X
        is one view, named ``X``; where columns have levels, the first of them makes the views.
        A ``view__`` that all features of a view begin with is no part of their names.
    remainder : {"error", "drop"}, default="error"
        Refuse columns of one 2-D X that are in no view, or leave them out.
    like : Schema, default=None
        Schema of an earlier batch, which this one must match. Views of the same names in another
        order are put into this order; feature names that this batch lacks are taken from it.
    negative : {"error", "clip", "allow"}, default="error"
        Refuse negative values, set them to 0, or let them in.
    missing : {"error", "allow"}, default="error"
        Refuse rows that lack a view, or let them in: those that `Views` was told of, and rows of a
        dense view that are NaN throughout. They hold zeros there, and `Views.present` tells of
        them. A row that lacks all views is refused, as is any other NaN.
    new_features : {"error", "grow"}, default="error"
        Refuse a batch of other features than those of `like`; of rows by name, one that has
        features which `like` has not. Or leave features that have names as they come, for others
        to match them: then views of rows by name may have none.

    Returns
    -------
    views : Views
        Finite, with a finite sum of squares, and not negative unless allowed. A `Views` that is
        known to be so (or rows of one) is returned without looking again.

    Raises
    ------
    TypeError, ValueError
        Naming the view, what was got, what was expected, and the remedy.

    Examples
    --------
    >>> import numpy as np
    >>> as_views(np.ones((2, 5)), views=[3, 2])
    Views(2 rows; view_0: 3, view_1: 2; float64)
    >>> as_views(np.ones((2, 5)), views={"text": slice(0, 4), "image": [4]})
    Views(2 rows; text: 4, image: 1; float64)
    >>> as_views({"text": np.array([[1.0, -2.0]])})
    Traceback (most recent call last):
    ValueError: Negative values in data: view 'text' holds -2 at row 0, column 1; expected
    values >= 0. Pass negative='clip' to set them to 0, or negative='shift' to shift the column up.
    """
    if negative not in get_args(Negative):
        raise ValueError(f"Got negative={negative!r}; expected 'error', 'clip' or 'allow'.")
    batch = _read(X, views, remainder)
    if not len(batch):
        raise ValueError(f"Got a chunk of 0 rows ({batch!r}); expected at least 1. Skip it.")
    if like is not None:
        batch = matched(batch, like, new_features)
    if batch._by_name and new_features == "error":
        check_shapes({view: X_v.shape for view, X_v in batch.blocks.items()})
    return _checked(batch, negative, missing)


def select_columns(views: Views, support: Mapping[str, Any]) -> dict[str, Block]:
    """Keep the supported columns of each view.

    Parameters
    ----------
    views : Views
        The batch.
    support : mapping of str to (boolean mask or indices)
        The columns to keep, for every view.

    Returns
    -------
    blocks : dict of str to Block
        In the order of `views`; each block of the kind it was. Rows that lack a view are NaN there
        if it is dense.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views({"text": np.eye(2), "image": np.ones((2, 3))})
    >>> select_columns(views, {"text": [False, True], "image": [2, 0]})["text"]
    array([[0.],
           [1.]])
    """
    if set(support) != set(views.names):
        raise ValueError(
            f"Got support for views {listed(support)}; expected it for {listed(views.names)}."
        )
    chosen = {name: take_columns(block, support[name]) for name, block in views.blocks.items()}
    return {name: shown(block, views.present.get(name)) for name, block in chosen.items()}


def mark_missing(views: Views) -> Views:
    """Return views in which rows of NaN throughout are known to lack the view.

    Of one view alone nothing else would be left of them: there NaN is NaN.

    Parameters
    ----------
    views : Views
        Their values are not checked.
    """
    if len(views.names) < 2 or views._known > READ:
        return views
    found = {view: has for view, X in views._blocks.items() if (has := lacks(X)) is not None}
    if not found:
        return views
    present = {**views._present, **{view: has & views.has(view) for view, has in found.items()}}
    blocks = {
        view: blanked(X, present[view]) if view in found else X for view, X in views._blocks.items()
    }
    names, by_name = views._feature_names, views._by_name
    return Views._of(blocks, names, views._known, views._index, present, by_name)


def _checked(views: Views, negative: Negative, missing: Missing) -> Views:
    needed = FINITE if negative == "allow" else NONNEGATIVE
    if views._known < needed:
        views = mark_missing(views)
        blocks = {
            name: check_values(block, name, views._feature_names[name], negative)
            for name, block in views.blocks.items()
        }
        names, index, by_name = views._feature_names, views._index, views._by_name
        views = Views._of(blocks, names, needed, index, views._present, by_name)
    if views._present:
        if missing == "error":
            refuse_missing(views._present)
        check_some_view(views.presence)
    return views


def _read(X: Any, views: Columns | None, remainder: Remainder) -> Views:
    if are_mappings(X):
        X = {"X": X}
    if not isinstance(X, Views) and not holds_views(X):
        blocks, names, index, present, _ = read_one(X, views, remainder)
        return Views._of(blocks, names, READ, index, present)
    if views is not None:
        raise ValueError(
            "Got views= and an X that already is a collection of views; expected one 2-D X to "
            "split. Pass views=None."
        )
    return X if isinstance(X, Views) else Views(X)
