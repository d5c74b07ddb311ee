"""From data of any form to validated `Views`: `as_views`, `rechunk`, columns to warn of."""

import operator
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

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
    by_prefix,
    check_view_names,
    listed,
    own_names,
    some,
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
from omvfs.model.arrays import column_sums, dense, scale_columns, squared_entries


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
        How to split one 2-D X: by column names ``view__feature`` (``"prefix:_"`` by
        ``view_feature``, ``"prefix:_:2"`` by the first two parts of names, which stay whole); by
        the widths of consecutive views; or by view name the columns as indices, slice, boolean
        mask, column names, or a callable that finds them in X, such as scikit-learn's
        `make_column_selector`. By default X is one view, named ``X``. Every column must be in one
        view.
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
        frame = frame_of(block) if given or known else None
        own = () if frame is None else tuple(map(str, frame.columns))
        asked = {column: kind for column, kind in given.items() if column in own}
        if known and frame is not None and (table := columns.of_source(name, own)) is not None:
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
    if block.shape[1] >= 1 << 31:
        check_shapes({"X": block.shape})
    _, index = aligned({}, {"X": labels.index})
    keys = columns_by_view(views, X, block.shape[1])
    names = labels.names
    if keys is None:
        found = Views._of({"X": block}, {"X": names}, index)
    else:
        blocks = {view: take_columns(block, key) for view, key in keys.items()}
        own = {v: None if names is None else own_names(v, names[key]) for v, key in keys.items()}
        found = Views._of(blocks, own, index)
    return found if frame_of(X) is None else found._with(gaps=frozenset(found.names))


def columns_by_view(views: Columns | None, X: Any, width: int) -> dict[str, Any] | None:
    """Return the columns of each view of X as slices or indices; None if X is one view.

    Every column must be in one view.
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
    _, example = by_prefix(views)
    if (names := labels_of(X).names) is None:
        raise ValueError(
            f'Got views="{views}", but X has no column names; expected names "{example}". '
            'Pass a data frame, as ColumnTransformer gives by set_output(transform="pandas").'
        )
    found: dict[str | None, list[int]] = {}
    for column, name in enumerate(names):
        found.setdefault(view_of(name, views), []).append(column)
    if odd := [names[j] for j in found.pop(None, [])]:
        raise ValueError(
            f'Got views="{views}", but X has columns that are not called "{example}": '
            f"{some(odd)}. Leave them out or rename them; of a ColumnTransformer, "
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


# Fewer rows tell nothing.
_FEWEST = 20
# A column outweighs the others of its view if it holds so much of the variance; of a few columns,
# of which one always holds much, so many times the even share, or nearly all.
_MOST, _TIMES_EVEN, _NEARLY_ALL = 0.5, 5, 0.9
_ROUNDING = 1e-6
# So many times what chance gives, columns vary together.
_TOGETHER = 1.2


class SuspectColumnWarning(UserWarning):
    """A column of the first chunk outweighs the others of its view, and hides what they tell.

    Attributes
    ----------
    suspects : tuple of Suspect
    """

    def __init__(self, suspects: Iterable["Suspect"]) -> None:
        self.suspects = tuple(suspects)
        super().__init__(" ".join(map(str, self.suspects)))


@dataclass(frozen=True)
class Suspect:
    """A column that outweighs the others of its view."""

    view: str
    # Its name, or its number if it has none.
    column: str | int
    # Of the variance of its view.
    share: float
    # Steps of a preparation with which it does not.
    prepare: tuple[str, ...]

    def __str__(self) -> str:
        options = " ".join(f"--prepare {shlex.quote(step)}" for step in self.prepare)
        return (
            f"Column {self.column!r} holds {self.share:.1%} of the variance of view {self.view!r}, "
            "and hides how the others vary together. Bring them to one scale: "
            f"prepare={list(self.prepare)} ({options})."
        )


def find_suspects(views: Views, steps: Mapping[str, Sequence[str]] | None = None) -> list[Suspect]:
    """Return the columns that outweigh the others of their view, and hide what these tell.

    A column does so if it holds most of the variance, while the others vary together more than
    chance has them do. Otherwise it may be all that the view has to tell. `steps` are those that
    the rows of each view went through.
    """
    steps = steps or {}
    found = []
    for view, X in views.blocks.items():
        X, names = X[np.flatnonzero(views.has(view))], views.feature_names[view]
        spread = _spread(X)
        if X.shape[0] < _FEWEST or not np.isfinite(spread.sum()) or not spread.any():
            continue
        j = int(np.argmax(spread))
        share = float(spread[j] / spread.sum())
        others = np.flatnonzero((spread > 0) & (np.arange(len(spread)) != j))
        much = max(_MOST, min(_NEARLY_ALL, _TIMES_EVEN / (len(others) + 1)))
        if share > much and _vary_together(take_columns(X, others), spread[others]):
            kept = [step for step in steps.get(view, ()) if step != "l2"]
            asked = {**steps, view: [*kept, "standardize"]}
            # What a table lacks is filled without being asked.
            pairs = ((v, step) for v, own in asked.items() for step in own if step != "fill")
            prepare = tuple(f"{v}:{step}" for v, step in pairs)
            found.append(Suspect(view, j if names is None else names[j], share, prepare))
    return found


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


def _spread(X: Block) -> NDArray[np.float64]:
    """Return the sum of squares of every column about its mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums, squares = (column_sums(each).astype(np.float64) for each in (X, squared_entries(X)))
        about_mean: NDArray[np.float64] = squares - sums**2 / max(1, X.shape[0])
    # What rounding leaves of a column that does not vary.
    about_mean[about_mean <= _ROUNDING * squares] = 0
    return about_mean


def _vary_together(X: Block, spread: NDArray[np.float64]) -> bool:
    """Tell whether columns vary together: by the largest eigenvalue of their correlations.

    By chance it is at most (1 + √(columns / rows))², the edge of Marchenko and Pastur.
    """
    Z = scale_columns(X if sp.issparse(X) else X - X.mean(axis=0), 1 / np.sqrt(spread))
    G = dense(Z @ Z.T)
    G -= G.mean(axis=0)
    G -= G.mean(axis=1)[:, np.newaxis]
    edge = (1 + np.sqrt(X.shape[1] / X.shape[0])) ** 2
    return bool(np.linalg.eigvalsh(G)[-1] > _TOGETHER * edge)
