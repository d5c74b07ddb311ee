"""From data of any form to validated `Views`: `as_views`, `rechunk`, columns to warn of."""

import operator
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import (
    Block,
    Missing,
    Negative,
    are_mappings,
    blanked,
    check_some_view,
    check_values,
    frame_of,
    is_missing,
    labels_of,
    lacks,
    read_block,
    refuse_missing,
    shown,
    take_columns,
    texts_of,
)
from omvfs.data.schema import (
    Columns,
    Names,
    NewFeatures,
    Schema,
    check_view_names,
    listed,
    own_names,
    view_of,
)
from omvfs.data.table import Table, is_mixed
from omvfs.data.views import (
    FINITE,
    NONNEGATIVE,
    READ,
    Views,
    aligned,
    check_shapes,
    holds_views,
    matched,
    named_blocks,
)
from omvfs.model.arrays import column_sums, dense, squared_entries


def as_views(
    X: Any,
    *,
    views: Columns | None = None,
    like: Schema | None = None,
    negative: Negative = "error",
    missing: Missing = "error",
    new_features: NewFeatures = "error",
    columns: Any = None,
) -> Views:
    """Read and validate a batch, whatever its form.

    Parameters
    ----------
    X : 2-D data, mapping or sequence of 2-D blocks, rows by name, MuData, or Views
        One 2-D X may be an array or what offers itself as one, a sparse matrix, a data frame, rows
        of numbers, texts, or AnnData; all else, and what is not in memory, is refused by its name.
        A frame with columns that are no numbers is a table, whose columns become views.
        A list is read as views only if every element has a 2-D shape, else as one array.
        Views whose rows have labels are put in the order of the first of them. Rows by name are a
        list of mappings, ``[{"cat": 2.0}, {}, None]``: the second has nothing in it, the
        third lacks the view. They are one X, or a view among others.
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How to split one 2-D X: by column names ``view__feature``, by the widths of consecutive
        views, or by view name the columns as indices, slice, boolean mask, column names, or a
        callable that finds them in X, such as scikit-learn's `make_column_selector`. By default X
        is one view, named ``X``. Every column must be in one view.
        A ``view__`` that all features of a view begin with is no part of their names.
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
    columns : mapping of str to str, or Table, default=None
        Kinds of columns of a table, see `omvfs.data.table`; or the table as its first rows tell.

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
    values >= 0. Pass negative='clip' (--negative clip) to set them to 0, or negative='shift'
    (--negative shift) to shift the column up.
    """
    if negative not in get_args(Negative):
        raise ValueError(f"Got negative={negative!r}; expected 'error', 'clip' or 'allow'.")
    batch = _read(X, views, columns, new_features == "grow")
    if not len(batch):
        raise ValueError(f"Got a chunk of 0 rows ({batch!r}); expected at least 1. Skip it.")
    if like is not None:
        batch = matched(batch, like, new_features)
    if batch._by_name and new_features == "error":
        check_shapes({view: X_v.shape for view, X_v in batch.blocks.items()}, batch.grows)
    return _checked(batch, negative, missing)


def in_precision(batch: Views, dtype: Any) -> Views:
    """Return a batch in another precision, in which it must not overflow."""
    if batch.dtype == dtype:
        return batch
    with np.errstate(over="ignore"):
        blocks = {name: block.astype(dtype) for name, block in batch.blocks.items()}
    return as_views(batch.replaced(blocks), negative="allow", missing="allow")


def select_columns(views: Views, support: Mapping[str, Any]) -> dict[str, Block]:
    """Keep the supported columns, by mask or number, of each view, which stays of its kind.

    Rows that lack a view are NaN there if it is dense.

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
    """
    if len(views.names) < 2 or views._known > READ:
        return views
    found = {view: has for view, X in views._blocks.items() if (has := lacks(X)) is not None}
    if not found:
        return views
    present = {**views._present, **{view: has & views.has(view) for view, has in found.items()}}
    for view in views.gaps & found.keys():
        # A row of a table that has nothing else has numbers, all of them missing.
        others = [present.get(other, np.True_) for other in views.names if other != view]
        present[view] = present[view] | ~np.any(np.broadcast_arrays(*others), axis=0)
    blocks = {
        view: blanked(X, present[view]) if view in found else X for view, X in views._blocks.items()
    }
    return views._with(blocks=blocks, present=present)


def _checked(views: Views, negative: Negative, missing: Missing) -> Views:
    needed = FINITE if negative == "allow" else NONNEGATIVE
    if views._known < needed:
        views = mark_missing(views)
        blocks = {}
        for name, X in views.blocks.items():
            can_lack = missing == "allow" and name in views.gaps and not sp.issparse(X)
            gaps = can_lack and np.isnan(X).any()
            found = check_values(
                np.nan_to_num(X, posinf=np.inf, neginf=-np.inf) if gaps else X,
                name,
                views._feature_names[name],
                negative,
            )
            blocks[name] = X if gaps else found
        views = views._with(blocks=blocks, known=needed)
    if views._present:
        if missing == "error":
            refuse_missing(views._present)
        check_some_view(views.presence)
    return views


def _beside(X: Any, columns: Any, may_lack: bool) -> Views:
    """Return a collection of views; frames of it that are tables become views of their own."""
    blocks = named_blocks(X)
    known = isinstance(columns, Table)
    given = {} if known else dict(columns or {})
    tables: dict[str, Table] = {}
    for name, block in blocks.items():
        own = given and labels_of(block).names
        asked = {
            column: kind for column, kind in given.items() if own is not None and column in own
        }
        if known and (table := columns.of_source(name)) is not None:
            tables[name] = table.extended(block) if may_lack else table
        elif not known and (asked or is_mixed(block)):
            tables[name] = Table.of(block, asked)
    if unknown := [c for c in given if not any(c in each.kinds for each in tables.values())]:
        raise ValueError(f"Got a kind of column {listed(unknown)}; no frame has it.")
    if not tables:
        return Views(X)
    parts = []
    for name, block in blocks.items():
        if name not in tables:
            parts.append(Views({name: block}))
            continue
        table = tables[name]
        if not known:
            table = table.under(name, f"{name}." if len(tables) > 1 else "")
        parts.append(table.views(block, may_lack=may_lack))
    return Views.beside(parts)


def _read(X: Any, views: Columns | None, columns: Any = None, may_lack: bool = False) -> Views:
    if are_mappings(X):
        X = {"X": X}
    if isinstance(X, Views) or holds_views(X):
        if views is not None:
            raise ValueError(
                "Got views= and an X that already is a collection of views; expected one 2-D X to "
                "split. Pass views=None."
            )
        return X if isinstance(X, Views) else _beside(X, columns, may_lack)
    if isinstance(columns, Table) or (views is None and (columns or is_mixed(X))):
        table = columns if isinstance(columns, Table) else Table.of(X, columns)
        return (table.extended(X) if may_lack else table).views(X, may_lack=may_lack)
    if views is None and (texts := texts_of(X)) is not None:
        # Rows of no text are rows without words.
        X = {"text": ["." if is_missing(text) else text for text in texts]}
        return Views(X)
    block, labels = read_block(X)
    _, index = aligned({}, {"X": labels.index})
    keys = columns_by_view(views, X, block.shape[1])
    if keys is None:
        found = Views._of({"X": block}, {"X": labels.names}, index)
        return found if frame_of(X) is None else found._with(gaps=frozenset(["X"]))
    blocks = {view: take_columns(block, key) for view, key in keys.items()}
    names = labels.names
    return Views._of(
        blocks,
        {v: None if names is None else own_names(v, names[key]) for v, key in keys.items()},
        index,
    )


def columns_by_view(views: Columns | None, X: Any, width: int) -> dict[str, Any] | None:
    """Return the columns of each view of X as slices or indices; None if X is one view.

    Every column must be in one view.

    Examples
    --------
    >>> columns_by_view([3, 2], np.ones((1, 5)), 5)
    {'view_0': slice(0, 3, None), 'view_1': slice(3, 5, None)}
    """
    if views is None:
        return None
    if isinstance(views, str):
        return _by_prefix(views, X)
    if not isinstance(views, Mapping):
        return _by_width(views, width)
    check_view_names(views)
    asked = {view: key(X) if callable(key) else key for view, key in views.items()}
    names = labels_of(X).names
    keys = {view: _column_key(view, key, width, names) for view, key in asked.items()}
    _check_once(keys, width, names)
    return keys


def _check_once(keys: Mapping[str, Any], width: int, names: Names | None) -> None:
    """Refuse columns that are in two views, and those that are in none."""

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
    if (taken == 0).any():
        left = np.flatnonzero(taken == 0)
        shown = ", ".join(map(called, left[:5])) + (", ..." if len(left) > 5 else "")
        raise ValueError(
            f"Got {len(left):,} of {width:,} columns in no view: {shown}. Add them to a view of "
            "views=, or leave them out of X."
        )


def depends_on_x(views: Columns | None) -> bool:
    """Tell whether columns are found by a look at X, so that later X must go by what was found."""
    if isinstance(views, Mapping):
        return any(map(callable, views.values()))
    return isinstance(views, str)


def _by_prefix(views: str, X: Any) -> dict[str, Any]:
    """Return the columns of each view by what they are called."""
    if views != "prefix":
        raise ValueError(
            f"Got views={views!r}; expected 'prefix', widths, or columns by view name."
        )
    if (names := labels_of(X).names) is None:
        raise ValueError(
            'Got views="prefix", but X has no column names; expected names "view__feature". '
            'Pass a data frame, as ColumnTransformer gives by set_output(transform="pandas").'
        )
    found: dict[str | None, list[int]] = {}
    for column, name in enumerate(names):
        found.setdefault(view_of(name), []).append(column)
    if odd := [names[j] for j in found.pop(None, [])]:
        more = f" and {len(odd) - 5:,} more" if len(odd) > 5 else ""
        raise ValueError(
            f'Got views="prefix", but X has columns that are not called "view__feature": '
            f"{listed(odd[:5])}{more}. Leave them out or rename them; of a ColumnTransformer, "
            "keep verbose_feature_names_out=True."
        )
    return {str(view): np.array(columns, np.intp) for view, columns in found.items()}


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


def rechunk(
    batches: Iterable[Any],
    batch_size: int,
    *,
    negative: Negative = "error",
    views: Columns | None = None,
    missing: Missing = "error",
    new_features: NewFeatures = "error",
) -> Iterator[Views]:
    """Cut a stream of batches of any sizes into chunks of `batch_size` rows.

    Any delivery of the same rows (of the same kind and dtype) gives the same chunks, bit for bit.
    At most one chunk and one batch are held at a time.

    Parameters
    ----------
    batches : iterable
        Each anything `as_views` accepts. Its memory may be used again for the next batch once the
        chunks made from it have been consumed.
    batch_size : int
        Rows of a chunk; the last one may have fewer.
    negative, views, missing, new_features
        As for `as_views`. Every batch must match the first.

    Yields
    ------
    chunk : Views
        Validated.

    Examples
    --------
    >>> import numpy as np
    >>> [len(chunk) for chunk in rechunk([np.ones((3, 2)), np.ones((4, 2))], batch_size=5)]
    [5, 2]
    """
    batch_size = operator.index(batch_size)
    if batch_size < 1:
        raise ValueError(f"Got batch_size={batch_size}; expected at least 1.")

    def chunks() -> Iterator[Views]:
        like: Schema | None = None
        pending: list[Views] = []
        needed, grows = batch_size, new_features
        read = partial(as_views, negative=negative, missing=missing)
        for X in batches:
            batch = read(X, views=views, like=like, new_features=grows)
            like = like or batch.schema
            # Words come with the rows, whether features may be new or not.
            grows = "grow" if batch.grows else grows
            start = 0
            while len(batch) - start >= needed:
                pending.append(batch[start : start + needed])
                start += needed
                yield read(Views.concat(pending, grows), new_features=grows)
                pending, needed = [], batch_size
            if start < len(batch):
                # Integer rows are copied: a source may fill the same buffer again.
                pending.append(batch[np.arange(start, len(batch))])
                needed -= len(pending[-1])
        if pending:
            yield read(Views.concat(pending, grows), new_features=grows)

    return chunks()


# Fewer rows tell nothing; of so many, the first tell which columns to look at.
_FEWEST = 20
# A column outweighs the others of its view if it holds so much of the variance; of a few columns,
# of which one always holds much, so many times the even share, or nearly all.
_MOST, _TIMES_EVEN, _NEARLY_ALL = 0.5, 5, 0.9
_ROUNDING = 1e-6
# What labels are called, and how many different ones there are at most.
_CALLED = {"label", "labels", "class", "classes", "target", "y"}
_MOST_LABELS = 100

Kind = Literal["label", "row number", "dominant"]


class SuspectColumnWarning(UserWarning):
    """A column of the first chunk is hardly a feature, or outweighs all others.

    Attributes
    ----------
    suspects : tuple of Suspect
    """

    def __init__(self, suspects: Iterable["Suspect"]) -> None:
        self.suspects = tuple(suspects)
        super().__init__(" ".join(f"{each} {each.remedy}" for each in self.suspects))


@dataclass(frozen=True)
class Suspect:
    """A column that is hardly a feature."""

    view: str
    # Its name, or its number if it has none.
    column: str | int
    # one of 'label', 'row number', 'dominant'.
    kind: Kind
    # Of the variance of its view.
    share: float

    def __str__(self) -> str:
        column = f"Column {self.column!r} of view {self.view!r}"
        if self.kind == "row number":
            return f"{column} counts the rows: its whole numbers only rise or only fall."
        if self.kind == "label":
            return f"{column} is called like a label, and has few different whole numbers."
        return (
            f"{column} holds {self.share:.1%} of the variance of its view: clusters will follow it."
        )

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.kind == "dominant":
            return "Leave it out, or bring columns to one scale: prepare='scale' (--prepare scale)."
        return "Leave it out, if it is no feature."


def find_suspects(
    views: Views, kinds: Iterable[Kind] = get_args(Kind), scaled: Views | None = None
) -> list[Suspect]:
    """Return the columns of the first rows that are hardly features, each once.

    They are called like labels, and have few different whole numbers; or are whole numbers that
    only rise or only fall; or hold most of the variance of the view in `scaled`, the rows as the
    model sees them. Not of its squares: a column that is large in all rows alike tells none of them
    apart.
    """
    found: dict[tuple[str, int], Suspect] = {}
    finders = {"label": _labels, "row number": _row_numbers, "dominant": _dominant}
    for kind in kinds:
        rows = views if kind != "dominant" or scaled is None else scaled
        for view, X in rows.blocks.items() if len(rows) >= _FEWEST else ():
            names = rows.feature_names[view]
            for j in finders[kind](X, names):
                column = j if names is None else names[j]
                suspect = Suspect(view, column, kind, float(_shares(X)[j]))
                found.setdefault((view, j), suspect)
    return list(found.values())


def warn_of(found: Sequence[Suspect]) -> None:
    """Warn of columns, if there are any, at the line that called the library."""
    if not found:
        return
    frame, level = sys._getframe(), 1
    ours = "omvfs", "contextlib", "functools"
    while (
        frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ours
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(SuspectColumnWarning(found), stacklevel=level)


def _labels(X: Block, names: Names | None) -> list[int]:
    called = [j for j, name in enumerate(() if names is None else names) if name.lower() in _CALLED]
    few = min(_MOST_LABELS, X.shape[0] // 2)
    values = {j: np.unique(dense(take_columns(X, [j]))) for j in called}
    return [j for j, own in values.items() if _are_whole(own) and len(own) <= few]


def _row_numbers(X: Block, names: Names | None) -> list[int]:
    some = _monotone(X[:_FEWEST], np.arange(X.shape[1]))
    return [j for j in some if _monotone(X, np.array([j]))]


def _dominant(X: Block, names: Names | None) -> list[int]:
    shares = _shares(X)
    width = int(np.count_nonzero(shares))
    much = max(_MOST, min(_NEARLY_ALL, _TIMES_EVEN / max(1, width)))
    return [int(j) for j in np.flatnonzero(shares > much) if width > 1]


def _shares(X: Block) -> NDArray[np.float64]:
    """Return the share of every column in the variance; zeros if that is 0 or not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums, squares = (column_sums(each).astype(np.float64) for each in (X, squared_entries(X)))
        about_mean = squares - sums**2 / max(1, X.shape[0])
        # What rounding leaves of a column that does not vary.
        about_mean[about_mean <= _ROUNDING * squares] = 0
        total = about_mean.sum()
        sound = np.isfinite(total) and total > 0
        return about_mean / total if sound else np.zeros_like(about_mean)


def _monotone(X: Any, columns: NDArray[np.intp]) -> list[int]:
    """Return which columns have whole numbers that only rise or only fall."""
    if sp.issparse(X):
        # All but one of the rows have them.
        filled = np.bincount(X.indices, minlength=X.shape[1])[columns]
        columns = columns[filled >= X.shape[0] - 1]
    values = dense(take_columns(X, columns))
    with np.errstate(invalid="ignore"):
        steps = np.diff(values, axis=0)
    only = np.flatnonzero((steps > 0).all(axis=0) | (steps < 0).all(axis=0))
    return [int(columns[i]) for i in only if _are_whole(values[:, i])]


def _are_whole(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())
