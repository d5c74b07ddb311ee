"""Fits over the partitions of a DataFrame of Spark.

Every partition is learned from where it is, batch by batch, as Spark hands its rows over; what
travels after that are states, as rows of bytes. They are added level by level, in the order of the
plan, so that the bits are those of `omvfs.merge` of the same partitions fitted one by one.
"""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omvfs.distributed.arrow_views import Layout, ViewColumns
from omvfs.distributed.errors import ClusterError
from omvfs.distributed.spark_columns import SparkViews, layout_of, quoted
from omvfs.distributed.spark_selected import transform
from omvfs.distributed.steps import (
    PartState,
    added,
    brief_of,
    common_of,
    fit_part,
    in_levels,
    known_of,
    merged_of,
    model_of,
    sample_of,
    sums_of,
    worker_copy,
)
from omvfs.omvfs import OMVFS
from omvfs.parts import Brief, Plan

__all__ = ["fit", "transform"]

# Neighbours that are added in one task. A power of two: then levels of so many are levels of pairs.
_AT_ONCE = 4

_GIVEN_UP = re.compile(
    r"Task (\d+) in stage (\S+) failed (\d+) times?, most recent failure: "
    r"Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): (?:[\w.]+Exception: )?(.*)"
)

_STATE = {"part": pa.int32(), "key": pa.binary(), "state": pa.binary(), "brief": pa.binary()}
_ERROR = {"kind": pa.string(), "error": pa.string()}
_VALUE = {"place": pa.int32(), "value": pa.binary()}
_KINDS: dict[str, type[Exception]] = {"TypeError": TypeError, "ValueError": ValueError}


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
    omvfs.distributed.errors.ClusterError
        If Spark gives up a task, because the process that ran it is gone, say.
    """
    from pyspark import StorageLevel

    worker = worker_copy(selector)
    layout = _with_words(df, layout_of(df.dtypes, views, feature_names))
    states = df.select(*map(quoted, layout.columns))
    states = _mapped(states, lambda batches: learned(worker, layout, batches), {**_STATE, **_ERROR})
    # Asked for several times, and not to be learned again.
    states = states.persist(StorageLevel.DISK_ONLY)
    try:
        with _telling():
            return model_of(selector, _merged(states, order))
    finally:
        states.unpersist()


@dataclass(frozen=True)
class Place:
    """Where a partition stands among those that have rows.

    Attributes
    ----------
    i : int
        Its number among them.
    at : int
        When it is added.
    key : bytes
        Of its rows.
    """

    i: int
    at: int
    key: bytes


def learned(
    worker: OMVFS, layout: Layout, batches: Iterable[Any], part: int | None = None
) -> Iterator[Any]:
    """Yield what is learned from a partition, as one row; nothing if it has no rows.

    Parameters
    ----------
    worker : OMVFS
    layout : Layout
    batches : iterable of pyarrow.RecordBatch
    part : int, default=None
        Number of the partition; by default that of the task.
    """
    if part is None:
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        part = int(task.partitionId())
    columns = {**_STATE, **_ERROR}
    try:
        state = fit_part(worker, layout.batches(batches, worker.batch_size), f"partition {part}")
    except (TypeError, ValueError) as error:
        # Told to the driver: rows that are wrong are not right at the second trial.
        kind = "TypeError" if isinstance(error, TypeError) else "ValueError"
        yield _row(columns, part, None, None, None, kind, str(error))
        return
    if state is not None:
        brief = brief_of(state)
        told = pickle.dumps(_without_names(brief))
        yield _row(columns, part, brief.card.key, state, told, None, None)


def asked(
    work: Callable[[int, PartState], Any], places: Mapping[int, Place], batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield what parts answer, each with the place at which it is to be added.

    Parameters
    ----------
    work : callable
        Returns the answer of a part, of its number and its state.
    places : mapping of int to Place
        By partition.
    batches : iterable of pyarrow.RecordBatch
        States.
    """
    for batch in batches:
        for row in batch.to_pylist():
            place = places.get(row["part"])
            if place is None or row["key"] != place.key:
                raise ClusterError(
                    f"partition {row['part']} was read again, as what was learned from it was "
                    "lost, and gave other rows than at first. Write the DataFrame to files first, "
                    "and learn from these."
                )
            yield _row(_VALUE, place.at, pickle.dumps(work(place.i, row["state"])))


def added_up(table: Any) -> Any:
    """Return the sum of neighbours, at the place that it has among such sums.

    Parameters
    ----------
    table : pyarrow.Table
        Places and values of a group.
    """
    rows = sorted(table.select(["place", "value"]).to_pylist(), key=lambda row: row["place"])
    total = in_levels([pickle.loads(row["value"]) for row in rows], added)
    return pa.Table.from_batches([_row(_VALUE, rows[0]["place"] // _AT_ONCE, pickle.dumps(total))])


def _merged(states: Any, order: bool) -> PartState:
    """Return what all partitions have learned together."""
    told = states.select("part", "key", "brief", "kind", "error").collect()
    told = sorted(told, key=lambda row: row["part"])
    for row in told:
        if row["error"] is not None:
            raise _KINDS[row["kind"]](row["error"])
    if not told:
        raise ValueError("Got no rows; expected some in at least one part.")
    first = _one(states.where(states["part"] == told[0]["part"]).select("state"))
    if len(told) == 1:
        return first
    # The names of features are those of all; only one part tells them.
    others = (pickle.loads(row["brief"]) for row in told[1:])
    names = [f"partition {row['part']}" for row in told]
    plan = Plan.of((brief for some in ([brief_of(first)], others) for brief in some), names, order)
    at = {i: n for n, i in enumerate(plan.order)}
    places = {row["part"]: Place(i, at[i], bytes(row["key"])) for i, row in enumerate(told)}

    def total(work: Callable[[int, PartState], Any]) -> Any:
        held = states.select("part", "key", "state")
        answers = _mapped(held, lambda batches: asked(work, places, batches), _VALUE)
        return _total(answers, len(told))

    sample = total(lambda i, state: sample_of(plan, i, state))
    lead = states.where(states["part"] == told[plan.lead]["part"]).select("state")
    common = common_of(plan, sample, known_of(plan, _one(lead)))
    sums = total(lambda i, state: sums_of(plan, i, state, common))
    return merged_of(plan, common, sums, first)


def _total(answers: Any, n: int) -> Any:
    """Return the sum of answers, pairs of neighbours first, of their sums then, and so on."""
    from pyspark.sql import functions as F  # noqa: N812

    while n > 1:
        groups = answers.groupBy(F.floor(answers["place"] / _AT_ONCE))
        answers = groups.applyInArrow(lambda table: added_up(table), _schema(_VALUE))
        n = -(-n // _AT_ONCE)
    return pickle.loads(_one(answers.select("value")))


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


def _one(rows: Any) -> bytes:
    """Return the only value of a DataFrame."""
    ((value,),) = rows.collect()
    return bytes(value)


def _mapped(df: Any, function: Callable[[Iterable[Any]], Iterator[Any]], columns: Any) -> Any:
    return df.mapInArrow(function, _schema(columns))


def _schema(columns: Mapping[str, Any]) -> str:
    called = {pa.int32(): "int", pa.binary(): "binary", pa.string(): "string"}
    return ", ".join(f"{name} {called[kind]}" for name, kind in columns.items())


def _row(columns: Mapping[str, Any], *values: Any) -> Any:
    pairs = zip(columns.items(), values, strict=True)
    return pa.record_batch({name: pa.array([value], kind) for (name, kind), value in pairs})


def _without_names(brief: Brief) -> Brief:
    if brief.growth is not None:
        return brief  # these each have their own
    schema = brief.form.schema
    bare = replace(schema, feature_names=(None,) * len(schema.names))
    return replace(brief, form=replace(brief.form, schema=bare))


def _with_words(df: Any, layout: Layout) -> Layout:
    """Find the words of maps that are not told: all there are, sorted."""
    from pyspark.sql import functions as F  # noqa: N812

    found: dict[str, ViewColumns] = {}
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
    return replace(layout, views={**layout.views, **found})
