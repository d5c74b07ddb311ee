"""Fits over the partitions of a DataFrame of Spark.

Every partition is learned from where it is, batch by batch, as Spark hands its rows over
(`mapInArrow`). What was learned comes to the driver, one row of bytes a partition, and is merged
there: the bits are those of `omvfs.merge` of the same partitions fitted one by one.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, as_names, check_view_names, listed, own_names, view_of
from omvfs.data.views import Views, given_names
from omvfs.distributed.steps import (
    ClusterError,
    PartState,
    fit_part,
    merge_states,
    settled,
    settled_by,
    worker_copy,
)
from omvfs.omvfs import OMVFS

__all__ = ["fit", "transform"]

# A row holds one number, some, a vector of pyspark.ml, or amounts by word.
Kind = Literal["number", "array", "vector", "map"]


@dataclass(frozen=True)
class ViewColumns:
    """The columns that make a view."""

    # What a row of a column holds: one of 'number', 'array', 'vector', 'map'.
    kind: Kind
    # Of numbers each is a feature; of all else there is one.
    columns: tuple[str, ...]
    # Names of the features. Of maps these are the words that count.
    feature_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """Which columns make which views, or all of them one 2-D X, for the estimator to split."""

    views: Mapping[str, ViewColumns]
    of_one: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(name for view in self.views.values() for name in view.columns)

    def read(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield what an estimator reads of each `pyarrow.RecordBatch` that has rows."""
        start = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            if self.of_one:
                yield pa.table({name: _numbers(batch, name, start) for name in self.columns})
            else:
                blocks = {view: _block(batch, view, own, start) for view, own in self.views.items()}
                names = {v: own.feature_names for v, own in self.views.items() if own.feature_names}
                yield Views(blocks, feature_names=names)
            start += batch.num_rows


def _block(batch: Any, view: str, own: ViewColumns, start: int) -> Block:
    if own.kind == "number":
        return np.column_stack([_numbers(batch, name, start) for name in own.columns])
    (name,) = own.columns
    column = _column(batch, name, start)
    if own.kind == "array":
        return _dense(view, name, _lengths(column), _flat(column, name, start), start)
    if own.kind == "vector":
        return _vectors(view, name, column, start)
    return _amounts(name, column, own.feature_names or (), start)


def _numbers(batch: Any, name: str, start: int) -> NDArray[Any]:
    return _floats(_column(batch, name, start))


def _column(batch: Any, name: str, start: int) -> Any:
    column = batch.column(name)
    _refuse_nulls(column, name, start)
    return column


def _vectors(view: str, name: str, column: Any, start: int) -> Block:
    """Read vectors of pyspark.ml: sparse if any row of them is."""
    values, indices = column.field("values"), column.field("indices")
    is_sparse = _floats(column.field("type")) == 0
    lengths, flat = _lengths(values), _flat(values, name, start)
    if not is_sparse.any():
        return _dense(view, name, lengths, flat, start)
    widths = lengths.copy()
    widths[is_sparse] = column.field("size").to_numpy(zero_copy_only=False)[is_sparse]
    width = _same_width(view, name, widths, start)
    if (odd := is_sparse & (_lengths(indices) != lengths)).any():
        raise ValueError(
            f"Column {name!r} holds a vector of other numbers of indices and values at row "
            f"{start + int(np.argmax(odd)):,}. Build it again from its entries."
        )
    columns = np.tile(np.arange(width, dtype=np.int32), len(lengths) - int(is_sparse.sum()))
    merged = np.empty(len(flat), np.int32)
    of_sparse = np.repeat(is_sparse, lengths)
    merged[of_sparse], merged[~of_sparse] = indices.filter(pa.array(is_sparse)).flatten(), columns
    return sp.csr_array((flat, merged, _ends(lengths)), shape=(len(lengths), width))


def _amounts(name: str, column: Any, words: tuple[str, ...], start: int) -> Block:
    """Read amounts by word; words that do not count are left out."""
    ends = column.offsets.to_numpy()
    keys, items = (part.slice(ends[0], ends[-1] - ends[0]) for part in (column.keys, column.items))
    _refuse_nulls(items, name, start, ends - ends[0])
    places = pc.index_in(keys, value_set=pa.array(words, keys.type))
    counts = places.is_valid().to_numpy(zero_copy_only=False)
    own_ends = _ends(counts)[ends - ends[0]]
    found = places.drop_null().to_numpy()
    shape = (len(column), len(words))
    return sp.csr_array((_floats(items)[counts], found, own_ends), shape=shape)


def _dense(
    view: str, name: str, lengths: NDArray[np.int64], flat: NDArray[Any], start: int
) -> NDArray[Any]:
    return flat.reshape(len(lengths), _same_width(view, name, lengths, start))


def _same_width(view: str, name: str, widths: NDArray[np.int64], start: int) -> int:
    if (odd := widths != widths[0]).any():
        row = int(np.argmax(odd))
        raise ValueError(
            f"View {view!r} has {widths[row]:,} features at row {start + row:,} of column "
            f"{name!r}, {widths[0]:,} at row {start:,}. Give every row the same features."
        )
    return int(widths[0])


def _lengths(lists: Any) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.list_value_length(lists).fill_null(0).to_numpy()
    return lengths.astype(np.int64)


def _ends(lengths: NDArray[Any]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)], dtype=np.int32, casting="same_kind")


def _flat(lists: Any, name: str, start: int) -> NDArray[Any]:
    flat = lists.flatten()
    _refuse_nulls(flat, name, start, _ends(_lengths(lists)))
    return _floats(flat)


def _floats(values: Any) -> NDArray[Any]:
    """Return numbers of any type: float32 as they are, all others as float64."""
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    kind = np.float32 if pa.types.is_float32(values.type) else np.float64
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=kind)


def _refuse_nulls(values: Any, name: str, start: int, ends: NDArray[Any] | None = None) -> None:
    """Refuse nulls, of which a row holds one, or those up to its end."""
    if values.null_count:
        at = int(pc.index(values.is_null(), True).as_py())
        row = at if ends is None else int(np.searchsorted(ends, at, side="right")) - 1
        raise ValueError(
            f"Column {name!r} {'is' if ends is None else 'holds a'} null at row {start + row:,}; "
            "expected values that are all there. Impute the missing values or drop these rows."
        )


# How views= tells them: columns by view name, a string for one that holds a whole view.
SparkViews: TypeAlias = Mapping[str, str | Sequence[str]] | Literal["prefix"]

_NUMBER = r"(?:boolean|tinyint|smallint|int|bigint|float|double|decimal\(\d+,\s*-?\d+\))"
_KINDS: dict[Kind, str] = {
    "number": _NUMBER,
    "array": f"array<{_NUMBER}>",
    "map": f"map<string,{_NUMBER}>",
    "vector": "vector",
}
_EXPECTED = (
    "expected numbers, array<double>, map<string,double> (amounts by word) or vectors of pyspark.ml"
)


def layout_of(
    types: Sequence[tuple[str, str]],
    views: SparkViews | None = None,
    feature_names: Mapping[str, Sequence[str]] | None = None,
) -> Layout:
    """Return which columns make which views, or say why they cannot.

    The types are those of ``df.dtypes``; the rest is as for `fit`.

    Examples
    --------
    >>> layout_of([("a__x", "double"), ("a__y", "int")], "prefix").views["a"].feature_names
    ('x', 'y')
    """
    known = dict(types)
    _check_once([name for name, _ in types], "Expected unique column names")
    if isinstance(views, str) and views != "prefix":
        raise ValueError(f"Got views={views!r}; expected 'prefix', or columns by view name.")
    if not isinstance(views, Mapping):
        kinds = {name: _kind_of(name, known) for name in known}
        if views is None and kinds and set(kinds.values()) == {"number"}:
            return Layout({"X": ViewColumns("number", tuple(kinds))}, of_one=True)
        views = _by_name(kinds)
    check_view_names(views)
    found = {view: _asked(view, asked, known) for view, asked in views.items()}
    columns = [name for own in found.values() for name in own.columns]
    _check_once(columns, "Expected each column in one view")
    given = feature_names or {}
    widths = {
        view: len(own.columns) if own.kind == "number" else len(given.get(view, ()))
        for view, own in found.items()
    }
    named = {view: tuple(names) for view, names in given_names(given, widths).items()}
    for view, names in named.items():
        found[view] = replace(found[view], feature_names=names)
    return Layout(found)


def quoted(name: str) -> str:
    """Return a name of a column as Spark takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _asked(view: str, asked: str | Sequence[str], known: Mapping[str, str]) -> ViewColumns:
    columns = (asked,) if isinstance(asked, str) else tuple(asked)
    if not columns or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"View {view!r} has columns {asked!r}; expected at least one name.")
    if unknown := [name for name in columns if name not in known]:
        raise ValueError(
            f"View {view!r} has columns that the DataFrame lacks: {listed(unknown)}. Correct "
            "views=."
        )
    kinds = [_kind_of(name, known) for name in columns]
    if len(columns) > 1 and set(kinds) != {"number"}:
        odd = next(name for name, kind in zip(columns, kinds, strict=True) if kind != "number")
        raise ValueError(
            f"View {view!r} has {len(columns):,} columns, of which {odd!r} is of type "
            f"{known[odd]}; expected numbers, or one column that holds the whole view. Correct "
            "views=."
        )
    if kinds[0] != "number":
        return ViewColumns(kinds[0], columns)
    return ViewColumns("number", columns, tuple(own_names(view, as_names(columns))))


def _by_name(kinds: Mapping[str, Kind]) -> dict[str, str | list[str]]:
    """Make a view of every column that holds one, and of numbers by what they are called."""
    found: dict[str, str | list[str]] = {}
    for name, kind in kinds.items():
        view = name if kind != "number" else view_of(name)
        if view is None:
            raise ValueError(
                f"Column {name!r} is in no view: it holds one number a row, and is not called "
                '"view__feature". Tell the views, views={"view": [columns]}, or leave it out.'
            )
        own = found.setdefault(view, name if kind != "number" else [])
        if kind == "number" and isinstance(own, list):
            own.append(name)
        elif own is not name:
            raise ValueError(
                f"View {view!r} is a column, and what other columns are called after. Tell the "
                'views, views={"view": [columns]}, or rename them.'
            )
    return found


def _kind_of(name: str, known: Mapping[str, str]) -> Kind:
    for kind, pattern in _KINDS.items():
        if re.fullmatch(pattern, known[name]):
            return kind
    raise TypeError(
        f"Column {name!r} is of type {known[name]}; {_EXPECTED}. Cast it, or leave it out: "
        'name the columns in views={"view": ...}.'
    )


def _check_once(names: Sequence[str], expected: str) -> None:
    ((most, n),) = Counter(names).most_common(1) or [("", 0)]
    if n > 1:
        raise ValueError(f"{expected}, got {most!r} {n} times. Rename it, or correct views=.")


def transform(
    selector: OMVFS,
    df: Any,
    *,
    views: SparkViews | None = None,
    keep: Sequence[str] = (),
) -> Any:
    """Return a DataFrame of the selected features; it is lazy, and no Python runs for its rows.

    Parameters
    ----------
    selector : OMVFS
        That has learned.
    df : pyspark.sql.DataFrame
        Of the columns that were fitted.
    views : "prefix", mapping of str to (str or sequence of str), or None
        As for `fit`.
    keep : sequence of str, default=()
        Other columns to keep, which come first.

    Returns
    -------
    pyspark.sql.DataFrame
        Columns of numbers that are selected; vectors, arrays and maps with what is selected of
        them, in the columns they were in.
    """
    check_is_fitted(selector)
    known = dict(df.dtypes)
    if isinstance(keep, str):
        raise TypeError(f"Got keep={keep!r}; expected a list of columns.")
    if lacking := [name for name in keep if name not in known]:
        raise ValueError(f"The DataFrame has no columns {listed(lacking)} to keep.")
    rest = [each for each in df.dtypes if each[0] not in keep]
    layout = layout_of(df.dtypes if isinstance(views, Mapping) else rest, views)
    if twice := [name for name in keep if name in layout.columns]:
        raise ValueError(f"Got keep={listed(twice)}, of which views are made; expected others.")
    if layout.of_one:
        return df.select(*map(quoted, (*keep, *_columns_of_one(selector, layout))))
    names = selector.schema_.names
    if set(layout.views) != set(names):
        raise ValueError(f"Got views {listed(layout.views)}; expected {listed(names)}.")
    taken, columns = df, list(keep)
    for view, mask in selector.view_support_.items():
        own, chosen = layout.views[view], mask.nonzero()[0].tolist()
        taken = _taken(taken, own, selector.schema_, view, chosen)
        of_numbers = own.kind == "number"
        columns += [own.columns[j] for j in chosen] if of_numbers else own.columns
    return taken.select(*map(quoted, columns))


def _columns_of_one(selector: OMVFS, layout: Layout) -> list[str]:
    """Return the selected columns of one 2-D X."""
    if getattr(selector, "feature_names_in_", None) is None:
        raise ValueError(
            f"Got columns of numbers; expected views {listed(selector.schema_.names)}. Tell the "
            "views: views='prefix', or columns by view name."
        )
    fitted = [str(name) for name in selector.feature_names_in_]
    if lacking := [name for name in fitted if name not in layout.columns]:
        raise ValueError(f"The DataFrame lacks columns that were fitted: {listed(lacking[:5])}.")
    return [fitted[j] for j in selector.get_support(indices=True).tolist()]


def _taken(df: Any, own: ViewColumns, schema: Schema, view: str, chosen: list[int]) -> Any:
    """Leave of the column of a view what is selected."""
    from pyspark.sql import functions as F  # noqa: N812

    v = schema.number_of(view)
    width, names = schema.widths[v], schema.feature_names[v]
    if own.kind == "number":
        if len(own.columns) != width:
            raise ValueError(
                f"View {view!r} has {len(own.columns):,} columns; {width:,} were fitted."
            )
        if own.feature_names != names and set(own.feature_names or ()) == set(names or ()):
            raise ValueError(f"View {view!r} has its columns in another order than was fitted.")
        return df
    (name,) = own.columns
    column = F.col(quoted(name))
    if own.kind == "map":
        if names is None:
            raise ValueError(f"View {view!r} was fitted without names; expected words of a map.")
        words = [names[j] for j in chosen]
        return df.withColumn(name, F.map_filter(column, lambda word, _: word.isin(words)))
    if own.kind == "array":
        some = F.transform(F.lit(chosen), lambda j: F.get(column, j))
        said = f" features; {width:,} were fitted."
        wrong = F.raise_error(F.concat(F.lit(f"View {view!r} has "), F.size(column), F.lit(said)))
        return df.withColumn(name, F.when(F.size(column) == width, some).otherwise(wrong))
    # Vectors stay dense or sparse, as they are.
    from pyspark.ml.feature import VectorSlicer

    beside = "_".join([*df.columns, "sliced"])
    slicer = VectorSlicer(inputCol=name, outputCol=beside, indices=chosen)
    return slicer.transform(df).drop(name).withColumnRenamed(beside, name)


_GIVEN_UP = re.compile(
    r"Task (\d+) in stage (\S+) failed (\d+) times?, most recent failure: "
    r"Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): (?:[\w.]+Exception: )?(.*)"
)

# A partition without rows gives no row, one with wrong rows the error in place of a state.
_RESULT = pa.schema(
    {"part": pa.int32(), "state": pa.binary(), "kind": pa.string(), "error": pa.string()}
)
_STEPS = "steps string"
_SCHEMA = "part int, state binary, kind string, error string"


def fit(
    selector: OMVFS,
    df: Any,
    *,
    views: SparkViews | None = None,
    feature_names: Mapping[str, Sequence[str]] | None = None,
    order: bool = False,
) -> OMVFS:
    """Return an estimator of all rows of a DataFrame, each partition learned from where it is.

    Parameters
    ----------
    selector : OMVFS
        Whose parameters are taken; it is not changed.
    df : pyspark.sql.DataFrame
        It is read once, and once more for the words of maps if they are not told. Partitions
        without rows are passed over; others may have fewer rows than there are clusters.
    views : "prefix", mapping of str to (str or sequence of str), or None
        Columns by view name: one that holds a whole view (vectors of pyspark.ml, arrays of numbers,
        maps of words to amounts), or several of numbers. Columns that are in none are not read. By
        default every column that holds a whole view is one, and columns of numbers are by their
        names ``view__feature``; columns of numbers only are one 2-D X, which the estimator splits
        by its own `views`, or, for "prefix", by their names here.
    feature_names : mapping of str to sequence of str, or None
        Names of the features of vectors and arrays by view; for maps, the words that count, others
        are left out. By default these are all words there are, sorted.
    order : bool, default=False
        Whether partitions follow each other in time, as they are numbered.

    Returns
    -------
    OMVFS
        With the bits of `omvfs.merge` of the partitions fitted one by one.

    Raises
    ------
    TypeError, ValueError
        Naming the column or view, and the partition.
    omvfs.distributed.steps.ClusterError
        If Spark gives up a task, because the process that ran it is gone, say.
    """
    from pyspark import StorageLevel

    worker = worker_copy(selector)
    layout = _with_words(df, layout_of(df.dtypes, views, feature_names))
    read = df.select(*map(quoted, layout.columns))
    with _telling():
        worker = settled(worker, _told_by_first(read, worker, layout))
    results = read.mapInArrow(lambda batches: learned(worker, layout, batches), _SCHEMA)
    # All partitions are learned from at a time; then their states come one by one.
    results = results.persist(StorageLevel.DISK_ONLY)
    try:
        with _telling():
            for row in results.where("error is not null").orderBy("part").limit(1).collect():
                raise {"TypeError": TypeError}.get(row["kind"], ValueError)(row["error"])
            n = results.rdd.getNumPartitions()
            states = ((row["part"], bytes(row["state"])) for row in results.toLocalIterator())
            return merge_states(selector, states, [f"partition {i}" for i in range(n)], order)
    finally:
        results.unpersist()


def _told_by_first(read: Any, worker: OMVFS, layout: Layout) -> Iterator[OMVFS]:
    """Yield the estimator with the steps that the first rows tell, if there are any."""
    first = read.limit(worker.batch_size)
    for row in first.mapInArrow(lambda batches: told(worker, layout, batches), _STEPS).collect():
        yield clone(worker).set_params(prepare=json.loads(row["steps"]))


def told(worker: OMVFS, layout: Layout, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the steps that some rows tell, as one row; nothing if they cannot be learned from."""
    # Wrong rows raise an error that names their partition when they are learned from.
    with suppress(TypeError, ValueError):
        if (found := settled_by(worker, layout.read(batches))) is not None:
            yield pa.RecordBatch.from_pydict({"steps": [json.dumps(found.prepare)]})


def learned(
    worker: OMVFS, layout: Layout, batches: Iterable[Any], part: int | None = None
) -> Iterator[Any]:
    """Yield what is learned from a partition, as one row; nothing if it has no rows."""
    if part is None:
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        part = int(task.partitionId())

    def row(state: PartState | None, kind: str | None, error: str | None) -> Any:
        values = {"part": part, "state": state, "kind": kind, "error": error}
        return pa.RecordBatch.from_pylist([values], _RESULT)

    try:
        state = fit_part(worker, layout.read(batches), f"partition {part}")
    except (TypeError, ValueError) as error:
        # Told to the driver: rows that are wrong are not right at the second trial.
        kind = "TypeError" if isinstance(error, TypeError) else "ValueError"
        yield row(None, kind, str(error))
        return
    if state is not None:
        yield row(state, None, None)


@contextmanager
def _telling() -> Iterator[None]:
    """Have Spark tell in a line which task it gave up, and why."""
    try:
        yield
    except Exception as error:
        if (found := _GIVEN_UP.search(str(error))) is None:
            raise
        task, stage, n, why = found.groups()
        raise ClusterError(
            f"Spark gave up task {task} of stage {stage}, which has partition {task} of it, after "
            f"{n} of spark.task.maxFailures trials: {why.strip()}"
        ) from error


def _with_words(df: Any, layout: Layout) -> Layout:
    """Find the words of maps that are not told: all there are, sorted."""
    from pyspark.sql import functions as F  # noqa: N812

    found = dict(layout.views)
    for view, own in layout.views.items():
        if own.kind == "map" and own.feature_names is None:
            words = F.explode(F.map_keys(F.col(quoted(own.columns[0]))))
            rows = df.select(words.alias("word")).distinct().collect()
            if not rows:
                raise ValueError(
                    f"View {view!r} has 0 features: no row of column {own.columns[0]!r} has a "
                    "word. Leave it out."
                )
            found[view] = replace(own, feature_names=tuple(sorted(row["word"] for row in rows)))
    return replace(layout, views=found)
