"""The selected features of a DataFrame of Spark, as another one; no Python runs for its rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from omvfs.data.schema import Schema, listed
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
        said = (
            F.lit(f"View {view!r} has "),
            F.size(column),
            F.lit(f" features; {width:,} were fitted."),
        )
        wrong = F.raise_error(F.concat(*said))
        return df.withColumn(name, F.when(F.size(column) == width, some).otherwise(wrong))
    return _sliced(df, name, chosen)


def _sliced(df: Any, name: str, chosen: list[int]) -> Any:
    """Take entries of a column of vectors, dense or sparse as they are."""
    from pyspark.ml.feature import VectorSlicer

    beside = "_".join([*df.columns, "sliced"])
    slicer = VectorSlicer(inputCol=name, outputCol=beside, indices=chosen)
    return slicer.transform(df).drop(name).withColumnRenamed(beside, name)
