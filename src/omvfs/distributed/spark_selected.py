"""The selected features of a DataFrame of Spark, as another one; no Python runs for its rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from omvfs.data.schema import listed
from omvfs.distributed.arrow_views import Layout, ViewColumns
from omvfs.distributed.spark_columns import SparkViews, layout_of, quoted
from omvfs.omvfs import OMVFS


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
    if isinstance(keep, str) or (lacking := [name for name in keep if name not in known]):
        raise ValueError(
            f"Got keep={keep!r}; expected a list of columns, of {listed(known)}."
            if isinstance(keep, str)
            else f"The DataFrame has no columns {listed(lacking)} to keep."
        )
    rest = [each for each in df.dtypes if each[0] not in keep]
    layout = layout_of(df.dtypes if isinstance(views, Mapping) else rest, views)
    if twice := [name for name in keep if name in layout.columns]:
        raise ValueError(f"Got keep={listed(twice)}, of which views are made; expected others.")
    if layout.of_one:
        chosen = [layout.columns[j] for j in _columns_of_one(selector, layout)]
        return df.select(*map(quoted, (*keep, *chosen)))
    names = selector.schema_.names
    if set(layout.views) != set(names):
        raise ValueError(f"Got views {listed(layout.views)}; expected {listed(names)}.")
    taken = df
    for view in names:
        taken = _taken(taken, layout.views[view], selector, view)
    chosen = [name for view in names for name in _kept(layout.views[view], selector, view)]
    return taken.select(*map(quoted, (*keep, *chosen)))


def _columns_of_one(selector: OMVFS, layout: Layout) -> list[int]:
    """Return the selected columns of one 2-D X."""
    if getattr(selector, "feature_names_in_", None) is None:
        raise ValueError(
            f"Got columns of numbers; expected views {listed(selector.schema_.names)}. Tell the "
            "views: views='prefix', or columns by view name."
        )
    fitted = [str(name) for name in selector.feature_names_in_]
    if lacking := [name for name in fitted if name not in layout.columns]:
        raise ValueError(f"The DataFrame lacks columns that were fitted: {listed(lacking[:5])}.")
    place = {name: j for j, name in enumerate(layout.columns)}
    return [place[fitted[j]] for j in selector.get_support(indices=True).tolist()]


def _selected(selector: OMVFS, view: str) -> list[int]:
    found: list[int] = selector.view_support_[view].nonzero()[0].tolist()
    return found


def _kept(own: ViewColumns, selector: OMVFS, view: str) -> list[str]:
    """Return the columns that hold what is selected of a view."""
    if own.kind != "number":
        return list(own.columns)
    return [own.columns[j] for j in _selected(selector, view)]


def _taken(df: Any, own: ViewColumns, selector: OMVFS, view: str) -> Any:
    """Leave of the column of a view what is selected."""
    from pyspark.sql import functions as F  # noqa: N812

    v = selector.schema_.number_of(view)
    width, names = selector.schema_.widths[v], selector.schema_.feature_names[v]
    chosen = _selected(selector, view)
    if own.kind == "number":
        if len(own.columns) != width:
            raise ValueError(
                f"View {view!r} has {len(own.columns):,} columns; {width:,} were fitted."
            )
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
        wrong = F.raise_error(
            F.format_string(
                f"View {view!r} has %d features; {width:,} were fitted.", F.size(column)
            )
        )
        return df.withColumn(name, F.when(F.size(column) == width, some).otherwise(wrong))
    return _sliced(df, name, chosen)


def _sliced(df: Any, name: str, chosen: list[int]) -> Any:
    """Take entries of a column of vectors, dense or sparse as they are."""
    from pyspark.ml.feature import VectorSlicer

    beside = "_".join([*df.columns, "sliced"])
    slicer = VectorSlicer(inputCol=name, outputCol=beside, indices=chosen)
    return slicer.transform(df).drop(name).withColumnRenamed(beside, name)
