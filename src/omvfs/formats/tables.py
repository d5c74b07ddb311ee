"""Tables of one column a feature, Parquet, Feather and CSV: read and written by rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, ipc, parquet

from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.formats._asked import Asked, split
from omvfs.formats._base import (
    DROP,
    KEEP,
    KEY,
    Chunk,
    Cursor,
    Kept,
    Source,
    SourceError,
    named,
    objects,
    row_of,
)
from omvfs.formats._column_names import columns_by_view, is_long, schema_of
from omvfs.formats._files import COMPRESSIONS, File, PathLike
from omvfs.formats._tables import Table, errors_of, index_of, is_key, is_number, open_table
from omvfs.formats._writer import MOST_COLUMNS, Writer
from omvfs.formats.long_tables import LongSource
from omvfs.model.arrays import dense
from omvfs.wording import Sentence

Columns = Mapping[str, Sequence[str]]


class TableSource(Source):
    r"""Views in one table, a column a feature.

    Parameters
    ----------
    path : path, or Table
        Ends in ``.parquet``, ``.feather``, ``.arrow`` or ``.csv``, the last with ``.gz`` or
        ``.zst`` too.
    view : str
        Name of the view of columns that name none.
    columns : mapping of str to sequence of str, default=None
        Columns by view. By default a column called ``view__feature`` belongs to that view; if none
        is called so, all columns are one view. The index of a pandas frame is no feature.
    key : str, default=None
        The column that tells rows apart; it is no feature.
    drop : sequence of str, default=()
        Columns to leave out, such as labels; `dropped` tells which of them there are.
    schema : Schema, default=None
        Views whose features, where it names them, are taken by their names, in its order.
    views : sequence of str, default=None
        Views whose columns are read, if there are any of them; by default all.
    keep : sequence of str, default=()
        Columns that are no features and go along with the rows, such as labels; `kept` tells which
        of them there are, and their types. Those of ``.csv`` are text, as it is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("text__a,text__b,image__x\n1,0,0.5\n2,0,0.25\n")
    >>> source = TableSource(path, "rows")
    >>> source.schema.names, source.schema.feature_names
    (('text', 'image'), (('a', 'b'), ('x',)))
    >>> next(source.chunks(10)).views["text"]
    array([[1., 0.],
           [2., 0.]])
    """

    def __init__(
        self,
        path: PathLike | File | Table,
        view: str,
        columns: Columns | None = None,
        key: str | None = None,
        drop: Sequence[str] = (),
        schema: Schema | None = None,
        views: Sequence[str] | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        self._table, self._keys = open_table(path), [] if key is None else [key]
        self._file, self.name = self._table.file, str(self._table.file)
        with errors_of(self._file):
            there = frozenset(self._table.columns.names)
            self.dropped = frozenset(drop) & there
            self.kept = {name: self._table.type_of(name) for name in keep if name in there}
            self._columns = self._by_view(self._table.columns, view, columns, schema, views)
        self._schema, self._n_rows = schema_of(self._columns), self._table.n_rows
        self.header = frozenset(name for names in self._columns.values() for name in names)

    def conform(self, schema: Schema) -> tuple[str, ...]:
        """Have the columns in the order of another part; see `Source.conform`."""
        mine = {view: dict(zip(own, names, strict=True)) for view, own, names in self._described()}
        wanted = dict(zip(schema.names, schema.feature_names, strict=True))
        lacking = tuple(
            view
            for view, names in wanted.items()
            if names is None or not mine.get(view, {}).keys() >= set(names)
        )
        if not lacking:
            columns = {view: [mine[view][n] for n in names or ()] for view, names in wanted.items()}
            self._columns, self._schema = columns, schema
        return lacking

    def _described(self) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
        """Yield every view, the names of its features, and of their columns."""
        features = (names or () for names in self._schema.feature_names)
        yield from zip(self._columns, features, self._columns.values(), strict=True)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row = row_of(cursor)
        wanted = list(dict.fromkeys(name for names in self._columns.values() for name in names))
        with errors_of(self._file):
            waiting: list[Any] = []
            for batch in self._table.batches(wanted, self._keys, row, batch_size, [*self.kept]):
                waiting.append(batch)
                while sum(len(part) for part in waiting) >= batch_size:
                    rows, waiting = _take(waiting, batch_size)
                    yield self._chunk(rows, row)
                    row += len(rows)
            if waiting:
                yield self._chunk(pa.Table.from_batches(waiting), row)

    def _chunk(self, rows: Any, start: int) -> Chunk:
        blocks = {view: _block(rows, names) for view, names in self._columns.items()}
        keys = objects(rows.column(self._keys[0]).to_pylist()) if self._keys else None
        kept = {name: objects(rows.column(name).to_pylist()) for name in self.kept}
        return Chunk(start, named(blocks, self._schema), {"row": start + len(rows)}, keys, kept)

    def _by_view(
        self,
        arrow: Any,
        view: str,
        columns: Columns | None,
        schema: Schema | None,
        views: Sequence[str] | None,
    ) -> dict[str, list[str]]:
        """Return the columns of every view that is to be read."""
        if len(set(arrow.names)) < len(arrow.names):
            raise SourceError(f"{self._file} has two columns of the same name.")
        for key in self._keys:
            if key not in arrow.names:
                raise SourceError(f"{self._file} has no column {key!r} to align its rows by.")
            if not is_key(arrow.field(key).type):
                raise SourceError(
                    f"{self._file} has keys of type {arrow.field(key).type} in column {key!r}; "
                    "expected whole numbers or strings."
                )
        aside = {*self._keys, *self.dropped, *self.kept}
        names = [name for name in arrow.names if name not in aside]
        if columns is not None:
            chosen = {each: list(own) for each, own in columns.items()}
        else:
            index = index_of(arrow)
            data = [name for name in names if name not in index]
            chosen = columns_by_view(data, view, str(self._file), schema, views)
        read, self.other_views = split(chosen, views)
        chosen = {each: chosen[each] for each in read}
        there = set(names)
        for own in chosen.values():
            for name in own:
                if name not in there:
                    raise SourceError(f"{self._file} has no column {name!r}.")
                if not is_number(arrow.field(name).type):
                    raise SourceError(
                        Sentence(
                            f"{self._file} has values of type {arrow.field(name).type} in column "
                            f"{name!r}; expected numbers. Leave it out: ",
                            DROP,
                            "; or carry it along: ",
                            KEEP,
                            "; or name it as the key: ",
                            KEY,
                            ".",
                        )
                    )
        if not chosen or not all(chosen.values()):
            raise SourceError(
                f"{self._file} has no columns for view {listed(chosen) or repr(view)}."
            )
        return chosen


class TableWriter(Writer):
    """Writes views as a table of columns called ``view__feature``.

    Parameters
    ----------
    path : path
        Ends in ``.parquet``, ``.feather``, ``.arrow`` or ``.csv``, the last with ``.gz`` or
        ``.zst`` too.
    kept : mapping of str to type of pyarrow or None, default={}
        Columns that come first, before the features; by default none.
    """

    _table: Any = None

    def _append(self, views: Views, kept: Kept) -> None:
        if sum(views.widths.values()) > MOST_COLUMNS:
            raise SourceError(
                f"{self._path} would have {sum(views.widths.values()):,} columns; a table has at "
                f"most {MOST_COLUMNS:,}. Write a folder."
            )
        features: dict[str, Any] = {}
        for view, X in views.blocks.items():
            if "__" in view or view.endswith("_") or not view:
                raise SourceError(
                    f"{self._path} has columns called 'view__feature'; got a view {view!r}, of "
                    "which they would read as another. Rename it."
                )
            names, values = views.feature_names[view], dense(X)
            for j, name in enumerate(range(X.shape[1]) if names is None else names):
                features[f"{view}__{name}"] = values[:, j]
        beside = self._beside(kept, features)
        rows = pa.table({name: self._column(name, own) for name, own in beside.items()} | features)
        if self._table is None:
            self._table = self._begin(rows.schema)
        self._table.write_table(rows)

    def _column(self, name: str, values: Any) -> Any:
        """Return a column beside the features, of its type or of that of the first rows."""
        try:
            column = pa.array(values.tolist(), self._kept[name])
        except pa.ArrowException as error:
            kind = self._kept[name] or "one type"
            raise SourceError(
                f"Column {name!r} cannot be written to {self._path} as {kind}: {error}. Write JSON "
                "Lines, which take any values."
            ) from error
        self._kept[name] = column.type
        return column

    def _begin(self, schema: Any) -> Any:
        sink = self._stack.enter_context(pa.OSFile(str(self._temporary), "wb"))
        file = File(self._path)
        if file.compression:
            kind = COMPRESSIONS[file.compression]
            sink = self._stack.enter_context(pa.CompressedOutputStream(sink, kind))
        kinds = {".parquet": parquet.ParquetWriter, ".csv": csv.CSVWriter}
        begin = kinds.get(file.ending, ipc.new_file)
        return self._stack.enter_context(begin(sink, schema))


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`: in long form if its columns say so."""
    table = open_table(file)
    with errors_of(file):
        names = set(table.columns.names)
        data = names - index_of(table.columns) - {*asked.drop, *asked.keep}
    if asked.key is not None or not is_long(data):
        wanted = asked.key, asked.drop, asked.schema, asked.views, asked.keep
        return TableSource(table, view, None, *wanted)
    source = LongSource(table, view, schema=asked.schema)
    source.dropped = frozenset(asked.drop) & names
    return source


open_writer = TableWriter


def _take(waiting: list[Any], n: int) -> tuple[Any, list[Any]]:
    """Return the first n rows of some batches, and the rest of them."""
    table = pa.Table.from_batches(waiting)
    return table.slice(0, n), [part for part in table.slice(n).to_batches() if len(part)]


def _block(rows: Any, names: list[str]) -> NDArray[Any]:
    """Return columns as an array, single if all of them are; a missing value becomes NaN."""
    columns = [rows.column(name) for name in names]
    single = all(column.type == pa.float32() for column in columns)
    block = np.empty((len(rows), len(names)), np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        is_truth = pa.types.is_boolean(column.type)
        block[:, j] = (column.cast(pa.float64()) if is_truth else column).to_numpy()
    return block
