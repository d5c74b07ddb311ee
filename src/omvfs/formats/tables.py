"""Tables of one column a feature, Parquet, Feather and CSV: read and written by rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, ipc, parquet

from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.formats._asked import Asked
from omvfs.formats._base import DROP, KEY, Chunk, Cursor, Source, SourceError, named, row_of
from omvfs.formats._column_names import columns_by_view, is_long, schema_of
from omvfs.formats._files import COMPRESSIONS, File, PathLike
from omvfs.formats._tables import Table, errors_of, index_of, is_key, is_number, open_table
from omvfs.formats._writer import MOST_COLUMNS, Keys, Writer, named_keys
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
    ) -> None:
        self._table, self._keys = open_table(path), [] if key is None else [key]
        self._file, self.name = self._table.file, str(self._table.file)
        with errors_of(self._file):
            self.dropped = frozenset(drop) & frozenset(self._table.columns.names)
            self._columns = self._by_view(self._table.columns, view, columns, schema)
        self._schema, self._n_rows = schema_of(self._columns), self._table.n_rows

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row = row_of(cursor)
        wanted = list(dict.fromkeys(name for names in self._columns.values() for name in names))
        with errors_of(self._file):
            waiting: list[Any] = []
            for batch in self._table.batches(wanted, self._keys, row, batch_size):
                waiting.append(batch)
                while sum(len(part) for part in waiting) >= batch_size:
                    rows, waiting = _take(waiting, batch_size)
                    yield self._chunk(rows, row)
                    row += len(rows)
            if waiting:
                yield self._chunk(pa.Table.from_batches(waiting), row)

    def _chunk(self, rows: Any, start: int) -> Chunk:
        blocks = {view: _block(rows, names) for view, names in self._columns.items()}
        keys = np.array(rows.column(self._keys[0]).to_pylist(), object) if self._keys else None
        return Chunk(start, named(blocks, self._schema), {"row": start + len(rows)}, keys)

    def _by_view(
        self, arrow: Any, view: str, columns: Columns | None, schema: Schema | None
    ) -> dict[str, list[str]]:
        """Return the columns of every view."""
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
        names = [name for name in arrow.names if name not in {*self._keys, *self.dropped}]
        if columns is not None:
            chosen = {each: list(own) for each, own in columns.items()}
        else:
            index = index_of(arrow)
            data = [name for name in names if name not in index]
            chosen = columns_by_view(data, view, str(self._file), schema)
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
    key : str, default=None
        Name of a first column for the keys of the rows; by default they have none.
    """

    _table: Any = None

    def _append(self, views: Views, keys: Keys) -> None:
        if sum(views.widths.values()) > MOST_COLUMNS:
            raise SourceError(
                f"{self._path} would have {sum(views.widths.values()):,} columns; a table has at "
                f"most {MOST_COLUMNS:,}. Write a folder."
            )
        columns: dict[str, Any] = dict(named_keys(self._key, keys, self._path))
        for view, X in views.blocks.items():
            if "__" in view or view.endswith("_") or not view:
                raise SourceError(
                    f"{self._path} has columns called 'view__feature'; got a view {view!r}, of "
                    "which they would read as another. Rename it."
                )
            names, values = views.feature_names[view], dense(X)
            for j, name in enumerate(range(X.shape[1]) if names is None else names):
                columns[f"{view}__{name}"] = values[:, j]
        if self._key is not None and columns[self._key] is not keys:
            raise SourceError(f"{self._path} would have two columns {self._key!r}. Rename the key.")
        rows = pa.table(columns)
        if self._table is None:
            self._table = self._begin(rows.schema)
        self._table.write_table(rows)

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
        data = names - index_of(table.columns) - set(asked.drop)
    if asked.key is not None or not is_long(data):
        return TableSource(table, view, key=asked.key, drop=asked.drop, schema=asked.schema)
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
