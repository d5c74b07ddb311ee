"""Rows as engines hand them over, in columns of Arrow, as the batches that estimators read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.views import Block, Views

# A row holds one number, some, a vector of pyspark.ml, or amounts by word.
Kind = Literal["number", "array", "vector", "map"]


@dataclass(frozen=True)
class ViewColumns:
    """The columns that make a view.

    Attributes
    ----------
    kind : {"number", "array", "vector", "map"}
        What a row of a column holds.
    columns : tuple of str
        Of numbers each is a feature; of all else there is one.
    feature_names : tuple of str, or None
        Names of the features. Of maps these are the words that count.
    """

    kind: Kind
    columns: tuple[str, ...]
    feature_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """Which columns make which views.

    Attributes
    ----------
    views : mapping of str to ViewColumns
    of_one : bool
        Whether all columns are one 2-D X, for the estimator to split.
    """

    views: Mapping[str, ViewColumns]
    of_one: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(name for view in self.views.values() for name in view.columns)

    def batches(self, batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
        """Yield what an estimator reads, so many rows at a time, however they are delivered.

        Parameters
        ----------
        batches : iterable of pyarrow.RecordBatch
        n_rows : int
            Rows of a batch; the last one may have fewer.

        Examples
        --------
        >>> layout = Layout({"image": ViewColumns("array", ("pixels",))})
        >>> rows = pa.record_batch({"pixels": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
        >>> list(layout.batches([rows], 2))
        [Views(2 rows; image: 2; float64), Views(1 rows; image: 2; float64)]
        """
        for start, table in cut(batches, n_rows):
            yield self._read(table, start)

    def _read(self, table: Any, start: int) -> Any:
        if self.of_one:
            numbers = {name: _numbers(table, name, start) for name in self.columns}
            return pa.table(numbers)
        blocks = {view: _block(table, view, own, start) for view, own in self.views.items()}
        known = {view: own.feature_names for view, own in self.views.items()}
        return Views(blocks, feature_names={view: names for view, names in known.items() if names})


def cut(batches: Iterable[Any], n_rows: int) -> Iterator[tuple[int, Any]]:
    """Yield tables of so many rows, each with the number of its first row.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        Of any sizes.
    n_rows : int
        Rows of a table; the last one may have fewer.

    Examples
    --------
    >>> rows = [pa.record_batch({"a": np.ones(n)}) for n in (1, 0, 4)]
    >>> [(start, len(table)) for start, table in cut(rows, 2)]
    [(0, 2), (2, 2), (4, 1)]
    """
    held: list[Any] = []
    n_held = start = 0
    for batch in batches:
        held.append(batch)
        n_held += batch.num_rows
        if n_held < n_rows:
            continue
        table, at = pa.Table.from_batches(held), 0
        while n_held - at >= n_rows:
            yield start + at, table.slice(at, n_rows)
            at += n_rows
        held, n_held, start = table.slice(at).to_batches(), n_held - at, start + at
    if n_held:
        yield start, pa.Table.from_batches(held)


def _block(table: Any, view: str, own: ViewColumns, start: int) -> Block:
    if own.kind == "number":
        return np.column_stack([_numbers(table, name, start) for name in own.columns])
    (name,) = own.columns
    column = _whole(table, name)
    _check_no_null(column, name, start)
    if own.kind == "array":
        return _dense(view, name, _lengths(column), _flat(column, name, start), start)
    if own.kind == "vector":
        return _vectors(view, name, column, start)
    return _amounts(name, column, own.feature_names or (), start)


def _numbers(table: Any, name: str, start: int) -> NDArray[Any]:
    column = _whole(table, name)
    _check_no_null(column, name, start)
    return _floats(column)


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
    if items.null_count:
        entry = ends[0] + int(pc.index(items.is_null(), True).as_py())
        row = start + int(np.searchsorted(ends, entry, side="right")) - 1
        raise ValueError(_null(name, f"holds a null at row {row:,}"))
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


def _whole(table: Any, name: str) -> Any:
    column = table.column(name).combine_chunks()
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _lengths(lists: Any) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.list_value_length(lists).fill_null(0).to_numpy()
    return lengths.astype(np.int64)


def _ends(lengths: NDArray[Any]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)], dtype=np.int32, casting="same_kind")


def _flat(lists: Any, name: str, start: int) -> NDArray[Any]:
    flat = lists.flatten()
    if flat.null_count:
        entry = int(pc.index(flat.is_null(), True).as_py())
        row = start + int(np.searchsorted(_ends(_lengths(lists)), entry, side="right")) - 1
        raise ValueError(_null(name, f"holds a null at row {row:,}"))
    return _floats(flat)


def _floats(values: Any) -> NDArray[Any]:
    """Return numbers of any type: float32 as they are, all others as float64."""
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    kind = np.float32 if pa.types.is_float32(values.type) else np.float64
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=kind)


def _check_no_null(column: Any, name: str, start: int) -> None:
    if column.null_count:
        row = start + int(pc.index(column.is_null(), True).as_py())
        raise ValueError(_null(name, f"is null at row {row:,}"))


def _null(name: str, what: str) -> str:
    return (
        f"Column {name!r} {what}; expected values that are all there. Impute the missing values "
        "or drop these rows."
    )
