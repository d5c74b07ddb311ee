"""Parquet, Feather and CSV with pyarrow: a column a feature, or an entry a line; and written."""

import io
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray
from pyarrow import csv, ipc, parquet

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, by_prefix, listed, some, view_of
from omvfs.data.table import LOOKED_AT, USED
from omvfs.data.table import Table as Columns
from omvfs.data.views import Views
from omvfs.disk import PathLike
from omvfs.formats.files import File, FileSource, reading, reason_of
from omvfs.formats.source import (
    Chunk,
    Cursor,
    Kept,
    ReadOptions,
    Source,
    SourceError,
    fewer_rows,
    matching,
    named,
    objects,
    row_of,
)
from omvfs.formats.text_files import MAX_LINE_BYTES, Stream, lines, parsed_lines, read_lines
from omvfs.formats.writer import Writer
from omvfs.model.arrays import dense

_INDEX = re.compile(r"|__index_level_\d+__")
_ANYTHING = ReadOptions()
_logger = logging.getLogger(__name__)
# Lines of CSV by which types are told, of a stream those of a chunk, and what may stand between
# values.
_FIRST_LINES, _CHUNK, _DELIMITERS = 1_000, 200, ";\t|,"
# Texts may be long: after so many bytes no more lines are looked at.
_FIRST_BYTES = 1 << 24
# A table has no more columns, as it is written and in CSV: pyarrow keeps a record of each in every
# batch.
_MOST_COLUMNS, _MOST_READ = 20_000, 100_000
# Entries read at a time.
_ENTRIES = 1 << 16
# The columns of a table of one entry a line.
_LONG = {"row", "feature", "value"}
# What pyarrow says of a row of CSV that it cannot read.
_WRONG = re.compile(
    r"(?:In CSV column #(?P<column>\d+)|CSV parse error): Row #(?P<row>\d+): (?P<why>.*)"
)
_INVALID = re.compile("error to (.*): invalid value ('.*)")
_KINDS = {"double": "a number", "int64": "a whole number", "bool": "true or false"}
# More empty rows than so many, and so many for each entry, are taken for damage.
_EMPTY = 1_000_000, 1_000


class Table(ABC):
    """A table of pyarrow, in a file or elsewhere."""

    # Names and types: a schema of pyarrow.
    columns: Any
    # Number of rows, if it is known.
    n_rows: int | None = None

    def __init__(self, file: File) -> None:
        self.file = file

    def type_of(self, name: str) -> Any:
        """Return the type of the values of a column, as it is read among those kept."""
        kind = self.columns.field(name).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    @abstractmethod
    def batches(
        self, numbers: list[str], others: list[str], row: int, n: int, kept: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield some columns of the rows from a given one on, n at a time or as they are stored.

        Those kept are as they are stored: of text, the text.
        """

    def head(self, numbers: list[str], texts: list[str], n: int) -> Any:
        """Return the first n rows or some more as a table: some columns, texts as they are."""
        found: list[Any] = []
        for batch in self.batches(numbers, [], 0, n, texts):
            found.append(batch)
            if sum(map(len, found)) >= n:
                break
        if not sum(map(len, found)):
            raise SourceError(f"{self.file} has no rows.")
        return pa.Table.from_batches(found)


def open_table(given: PathLike | File | Table, delimiter: str | None = None) -> Table:
    """Return a table by the ending of its file, or as it is if it is one."""
    if isinstance(given, Table):
        return given
    file, text = File(given), partial(CsvTable, delimiter=delimiter)
    kinds: dict[str, Any] = {".parquet": _Parquet, ".csv": text, ".tsv": text}
    with reading(file):
        table: Table = kinds.get(file.ending, _Feather)(file)
    return table


def is_number(kind: Any) -> bool:
    """Tell whether values of a type of pyarrow are numbers, or all missing."""
    types = pa.types
    kinds = types.is_floating, types.is_integer, types.is_boolean, types.is_null
    return any(is_kind(kind) for is_kind in kinds)


def is_key(kind: Any) -> bool:
    """Tell whether values of a type of pyarrow can tell rows or features apart."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = pa.types.is_integer, pa.types.is_string, pa.types.is_large_string
    return any(is_kind(kind) for is_kind in kinds)


def index_of(arrow: Any) -> set[str]:
    """Return the columns that are the index of a frame of pandas, not its data."""
    found = {name for name in arrow.names if _INDEX.fullmatch(name)}
    try:
        told = arrow.pandas_metadata["index_columns"]
        found |= {name for name in told if isinstance(name, str) and name in arrow.names}
    except (TypeError, KeyError, ValueError, RecursionError):
        pass  # not written by pandas
    return found


def _opened(file: File) -> Any:
    return pa.PythonFile(file.open(), "r") if file.remote else pa.OSFile(file.text)


class _Parquet(Table):
    """Row groups that end before the first row wanted are not read."""

    def __init__(self, file: File) -> None:
        super().__init__(file)
        with _opened(file) as raw, parquet.ParquetFile(raw) as opened:
            self.columns, self.n_rows = opened.schema_arrow, opened.metadata.num_rows

    def batches(
        self, numbers: list[str], others: list[str], row: int, n: int, kept: Sequence[str] = ()
    ) -> Iterator[Any]:
        # What is buffered in advance is kept until the end: all of the file.
        lean: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
        with _opened(self.file) as raw, parquet.ParquetFile(raw, **lean) as file:
            groups, first = list(range(file.num_row_groups)), 0
            while groups and first + file.metadata.row_group(groups[0]).num_rows <= row:
                first += file.metadata.row_group(groups.pop(0)).num_rows
            if groups:
                columns = [*numbers, *others, *kept]
                batches = file.iter_batches(n, row_groups=groups, columns=columns)
                yield from _without(batches, row - first)


class _Feather(Table):
    """Record batches are read one by one, by their number."""

    def __init__(self, file: File) -> None:
        super().__init__(file)
        with _opened(file) as raw:
            reader = ipc.open_file(raw)
            self.columns = reader.schema
            # An older pyarrow does not count rows without reading them.
            self.n_rows = reader.count_rows() if hasattr(reader, "count_rows") else None

    def batches(
        self, numbers: list[str], others: list[str], row: int, n: int, kept: Sequence[str] = ()
    ) -> Iterator[Any]:
        with _opened(self.file) as raw:
            reader = ipc.open_file(raw)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            chosen = (batch.select([*numbers, *others, *kept]) for batch in batches)
            yield from _without(chosen, row)


class CsvTable(Table):
    """CSV with a header, a row a line: of a file, or of a stream that is read as it comes."""

    def __init__(
        self, file: File, stream: Stream | None = None, delimiter: str | None = None
    ) -> None:
        super().__init__(file)
        self._stream = stream
        delimiter = None if delimiter is None else delimiter_of(delimiter)
        with reading(file), ExitStack() as stack:
            if stream is None:
                opened = stack.enter_context(file.open_text())
                found = _whole_rows(read_lines(opened, str(file)), delimiter)
                first = _first_of(found, _FIRST_LINES)
            else:
                first = [stream.header(), stream.first()]
            self._look_at(first, delimiter)
            if not all(is_number(c.type) and not pa.types.is_null(c.type) for c in self.columns):
                # Of texts, more lines tell more.
                if stream is None:
                    first += _first_of(found, LOOKED_AT + 1 - len(first))
                else:
                    first = [first[0], *self._head_of(stream)]
                self._look_at(first, delimiter)
            self._n_first = len(first) - 1

    def _head_of(self, stream: Stream) -> list[bytes]:
        """Return the first rows of a stream, but for one that the next lines go on with."""
        lines: list[tuple[bytes, Cursor]] = [(line, {}) for line in stream.head(_CHUNK)]
        return [row for row, _ in _whole_rows(lines, whole=False)]

    def _look_at(self, first: list[bytes], delimiter: str | None) -> None:
        """Tell by the first lines how values are written, and the types of columns."""
        self._dialect = Dialect.of(first, delimiter)
        n = first[0].count(self._dialect.delimiter.encode()) + 1
        if n > _MOST_READ:
            raise SourceError(
                f"{self.file} has {n:,} columns; expected at most {_MOST_READ:,}, of which each "
                "takes memory of its own. Write a line for each value (row,feature,value), or a "
                "folder of .npz."
            )
        self.columns = _parsed(first, self._dialect, threads=False).schema

    def type_of(self, name: str) -> Any:
        """Return the type of text, as which all is kept."""
        return pa.string()

    def batches(
        self, numbers: list[str], others: list[str], row: int, n: int, kept: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield n rows at a time, when they are there."""
        convert = self._types(numbers, others, kept)
        with self._rows(row) as rows:
            while batch := list(islice(rows, n)):
                try:
                    lines = [line for line, _ in batch]
                    table = _parsed(lines, self._dialect, self.columns.names, convert)
                except pa.ArrowException as error:
                    raise self._wrong(batch, row, convert) from error
                row += len(batch)
                yield from table.combine_chunks().to_batches()

    def _wrong(
        self, batch: Sequence[tuple[bytes, Cursor]], row: int, convert: Mapping[str, Any]
    ) -> SourceError:
        """Return the error of rows of which one cannot be read: which, and what is wrong there."""
        where, why = f"near row {row + 1:,}", ""
        try:
            # One thread counts the rows.
            _parsed([line for line, _ in batch], self._dialect, self.columns.names, convert, False)
        except pa.ArrowException as error:
            why = reason_of(error)
        if told := _WRONG.fullmatch(why):
            line, place = batch[int(told["row"]) - 1]
            where, why = f"in row {row + int(told['row']):,}", told["why"]
            if self._stream is None:
                where += f" (line {self._number_of(line, place):,})"
            if value := _INVALID.search(why):
                name, kind = self.columns.names[int(told["column"])], value[1]
                remedy = f": columns={{{name!r}: 'category'}} (--column {name}=category)"
                return SourceError(
                    f"{self.file} has {value[2]} {where}, column {name!r}; expected "
                    f"{_KINDS.get(kind, kind)}, as in its first lines. Correct it"
                    f"{'' if kind == 'int64' else f', or say what the column is{remedy}'}."
                )
        return SourceError(f"{self.file} cannot be read {where}: {why}")

    def _number_of(self, row: bytes, place: Cursor) -> int:
        """Return the number of the line at which a row begins that ends at a place."""
        number = passed = 0
        with self.file.open_text() as opened:
            while passed < place["byte"]:
                number, passed = number + 1, passed + len(opened.readline())
        return number - row.count(b"\n")

    def _types(
        self, numbers: Sequence[str], others: Sequence[str], kept: Sequence[str]
    ) -> dict[str, Any]:
        """Return as what columns are read."""
        told = {name: self.columns.field(name).type for name in (*numbers, *others)}
        # Whole numbers in the first lines may have fractions further on.
        types = {n: pa.bool_() if pa.types.is_boolean(told[n]) else pa.float64() for n in numbers}
        types |= {name: told[name] for name in others} | {name: pa.string() for name in kept}
        return {"include_columns": [*types], "column_types": types}

    def head(self, numbers: list[str], texts: list[str], n: int) -> Any:
        """Return the first rows; those of a stream stay to be read."""
        if self._stream is None:
            return super().head(numbers, texts, min(n, max(self._n_first, 1)))
        rows, convert = self._head_of(self._stream), self._types(numbers, [], texts)
        return _parsed(rows, self._dialect, self.columns.names, convert)

    @contextmanager
    def _rows(self, row: int) -> Iterator[Iterator[tuple[bytes, Cursor]]]:
        """Give the lines from a row on."""
        if self._stream is not None:
            yield _whole_rows(self._stream.lines({"row": row}), self._dialect.delimiter)
            return
        with self.file.open_text() as opened:
            found = _whole_rows(read_lines(opened, str(self.file)), self._dialect.delimiter)
            passed = sum(1 for _ in islice(found, row + 1)) - 1
            if passed < row:
                raise fewer_rows(str(self.file), passed, row)
            yield found


class JsonTable(Table):
    """A table of an object a line, whose values are its columns: nested ones are ``user.name``.

    Columns are those of the first rows; others that come later are reported, and not read.
    """

    def __init__(self, file: File, stream: Stream | None = None) -> None:
        super().__init__(file)
        self._stream, self._told = stream, False
        with reading(file):
            self._first = _first_of(self._objects(0, peek=True), LOOKED_AT)
            names = dict.fromkeys(name for row in self._first for name in row)
            values = {name: [row.get(name) for row in self._first] for name in names}
            self.columns = pa.schema([(name, _json_type(own)) for name, own in values.items()])

    def _objects(self, row: int, peek: bool = False) -> Iterator[tuple[dict[str, Any], Cursor]]:
        """Yield rows from one on; to peek at those of a stream leaves them there."""
        numbered: Iterable[tuple[bytes, Cursor]]
        if self._stream is None:
            numbered = islice(lines(self.file, None), row, None)
        elif peek:
            numbered = [(line, {"row": i}) for i, line in enumerate(self._stream.head(_CHUNK), 1)]
        else:
            numbered = self._stream.lines({"row": row})
        for held, after in parsed_lines(numbered, str(self.file)):
            yield dict(_flat(held)), after

    def head(self, numbers: list[str], texts: list[str], n: int) -> Any:
        """Return the first rows; those of a stream stay to be read."""
        return self._table(self._first, numbers, texts, 0)

    def batches(
        self, numbers: list[str], others: list[str], row: int, n: int, kept: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield n rows at a time, when they are there."""
        rows = (held for held, _ in self._objects(row))
        while batch := list(islice(rows, n)):
            yield from self._table(batch, numbers, [*others, *kept], row).to_batches()
            row += len(batch)

    def _table(
        self,
        rows: Sequence[Mapping[str, Any]],
        numbers: Sequence[str],
        others: Sequence[str],
        start: int,
    ) -> Any:
        known = set(self.columns.names)
        if not self._told and (new := [name for row in rows for name in row if name not in known]):
            self._told = True
            _logger.warning(
                "%s: %r comes after the first rows, and is not read.", self.file, new[0]
            )
        columns = {}
        for name in (*numbers, *others):
            kind = pa.float64() if name in numbers else self.columns.field(name).type
            values: list[Any] = [row.get(name) for row in rows]
            if name in others and not pa.types.is_list(kind):
                kind = pa.string()
                values = [value if value is None else str(value) for value in values]
            try:
                columns[name] = pa.array(values, kind)
            except (pa.ArrowException, OverflowError) as error:
                raise SourceError(
                    f"Column {name!r} of {self.file} is {kind} in the first rows, and something "
                    f"else near row {start + 1:,}: {error}. Say what it is: columns={{{name!r}: "
                    f"'category'}} (--column {name}=category)."
                ) from error
        return pa.table(columns)


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of an object by name, those of objects within it too."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _json_type(values: Sequence[Any]) -> Any:
    """Return as what a column is read: numbers, truth values, keys, lists of words, or texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.bool_()
    if kinds and kinds <= {int, float}:
        return pa.int64() if kinds == {int} else pa.float64()
    if kinds != {list}:
        return pa.string()
    within = {type(each) for value in values for each in value or ()}
    return pa.list_(pa.float64() if within <= {int, float} else pa.string())


class Dialect(NamedTuple):
    """How a table is written as text."""

    # What stands between values, and before fractions.
    delimiter: str = ","
    decimal: str = "."

    @classmethod
    def of(cls, lines: Sequence[bytes], delimiter: str | None = None) -> "Dialect":
        """Return how some lines are written, the first of which names the columns.

        Values are delimited by what most lines have as often as the first, and that most often.
        """
        # What stands in quotes is not looked at.
        bare = [re.sub(rb'"[^"]*"', b"", line).decode(errors="replace") for line in lines] or [""]

        def fit(sign: str) -> tuple[int, int]:
            n = bare[0].count(sign)
            return sum(line.count(sign) == n for line in bare) if n else 0, n

        # Commas are in texts and numbers too: of equals, the other.
        likeliest = max(_DELIMITERS, key=fit) if any(map(bare[0].count, _DELIMITERS)) else ","
        found = likeliest if delimiter is None else delimiter
        if found == ",":
            return cls(found)
        value = rf"(?<![^{re.escape(found)}])\s*-?\d+{{}}\d+\s*(?![^{re.escape(found)}])"
        signs = [re.compile(value.format(re.escape(sign))) for sign in ",."]
        comma, point = (sum(len(own.findall(line)) for line in bare[1:]) for own in signs)
        return cls(found, "," if comma > point else ".")


def delimiter_of(given: str) -> str:
    r"""Return the sign between values, as it was given: a tab may be typed as ``\t`` or tab."""
    sign = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\r\n':
        raise SourceError(
            f"Got delimiter {given!r}; expected one sign that stands between values, such as ';', "
            "or tab (--delimiter tab)."
        )
    return sign


def _whole_rows(
    lines: Iterable[tuple[bytes, Cursor]], delimiter: str | None = None, whole: bool = True
) -> Iterator[tuple[bytes, Cursor]]:
    """Yield rows of CSV, whose texts in quotes may go over several lines; if whole, to the end."""
    # Values in quotes, and one whose quotes do not end. Elsewhere a quote is a sign like others.
    before = b"(^|[" + re.escape(delimiter or _DELIMITERS).encode() + b"])[ ]*"
    quoted, begins = re.compile(before + b'"(?:[^"]|"")*"'), re.compile(before + b'"')
    begun = b""
    for line, cursor in lines:
        if not begun and b'"' not in line:
            yield line, cursor
            continue
        begun = begun + b"\n" + line if begun else line
        if len(begun) > MAX_LINE_BYTES:
            raise SourceError("A text in quotes does not end. Close it, or double quotes in texts.")
        if not begins.search(quoted.sub(rb"\1", begun)):
            yield begun, cursor
            begun = b""
    if begun and whole:
        raise SourceError("The last text in quotes does not end: the file is cut off.")


def _first_of(rows: Iterator[tuple[Any, Cursor]], n: int) -> list[Any]:
    """Return the first n rows, or those of the first bytes."""
    first: list[Any] = []
    for row, after in islice(rows, n):
        first.append(row)
        if after.get("byte", 0) > _FIRST_BYTES:
            break
    return first


def _parsed(
    rows: list[bytes],
    dialect: Dialect,
    names: list[str] | None = None,
    convert: Mapping[str, Any] | None = None,
    threads: bool = True,
) -> Any:
    """Return lines of CSV as a table; the first names the columns unless names are given."""
    # A block has room for a line at least.
    block = max(1 << 20, 2 * max(map(len, rows), default=0))
    read = csv.ReadOptions(column_names=names, block_size=block, use_threads=threads)
    text = io.BytesIO(b"".join(row + b"\n" for row in rows))
    how = {
        "parse_options": csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(decimal_point=dialect.decimal, **(convert or {})),
    }
    try:
        return csv.read_csv(text, read_options=read, **how)
    except pa.ArrowInvalid as error:
        if "invalid UTF8" not in str(error):
            raise
        remedy = "Convert it: iconv -f latin1 -t utf8 IN > OUT"
        raise pa.ArrowInvalid(f"it is no UTF-8, but perhaps Latin-1. {remedy}") from error


def _without(batches: Iterable[Any], n: int) -> Iterator[Any]:
    """Yield batches without their first n rows."""
    for batch in batches:
        if n < len(batch):
            yield batch.slice(n)
        n -= min(n, len(batch))


def is_long(names: Iterable[str]) -> bool:
    """Tell whether a table with these columns has an entry a line."""
    return set(names) - {"view"} == _LONG


class TableSource(FileSource):
    r"""Views in one table, a column a feature.

    A column called ``view__feature``, or as `split_by` says, belongs to that view; if none is
    called so, all columns are one view, called `view`. The index of a pandas frame is no feature.
    Features of a schema are taken by their names, in its order. What ``.csv`` carries along is
    text, as it is written.
    """

    def __init__(
        self, path: PathLike | File | Table, view: str, options: ReadOptions = _ANYTHING
    ) -> None:
        self._table, self._options = open_table(path), options
        super().__init__(self._table.file)
        self._keys = [options.key] if options.key else []
        # Of a table with columns that are no numbers, those that are read as they are written.
        self._as_written: list[str] = []
        with reading(self._file):
            there = self._table.columns.names
            self.may_be_keys = frozenset(c.name for c in self._table.columns if is_key(c.type))
            self.dropped = frozenset(matching(options.drop, there))
            self.kept = {
                name: self._table.type_of(name)
                for name in matching(options.keep, there)
                if name not in self._keys
            }
            self._columns = self._by_view(view)
        features = tuple(
            tuple(name.removeprefix(f"{view}__") for name in names)
            for view, names in self._columns.items()
        )
        if self.table is None:
            self._schema = Schema(tuple(self._columns), tuple(map(len, features)), features)
        self._n_rows = self._table.n_rows
        if self.table is None:
            self.header = frozenset(name for names in self._columns.values() for name in names)

    def conform(self, schema: Schema) -> tuple[str, ...]:
        """Have the columns in the order of another part; see `Source.conform`."""
        if self.table is not None:
            # Features come by their names, as rows bring them; views may be missing.
            self._schema = schema
            return ()
        columns, lacking = {}, []
        for view, names in zip(schema.names, schema.feature_names, strict=True):
            own = {c.removeprefix(f"{view}__"): c for c in self._columns.get(view, ())}
            if names is None or not own.keys() >= set(names):
                lacking.append(view)
            else:
                columns[view] = [own[name] for name in names]
        if not lacking:
            self._columns, self._schema = columns, schema
        return tuple(lacking)

    def keys(self) -> NDArray[Any]:
        """Return the keys of all rows, of which nothing else is read."""
        with reading(self._file):
            batches = self._table.batches([], self._keys, 0, 1 << 16)
            found = [objects(batch.column(0).to_pylist()) for batch in batches]
        return np.concatenate(found) if found else np.zeros(0, object)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row = row_of(cursor)
        wanted = list(dict.fromkeys(name for names in self._columns.values() for name in names))
        beside = [*self.kept, *(name for name in self._as_written if name not in self.kept)]
        with reading(self._file):
            waiting: list[Any] = []
            for batch in self._table.batches(wanted, self._keys, row, batch_size, beside):
                waiting.append(batch)
                while sum(map(len, waiting)) >= batch_size:
                    rows = pa.Table.from_batches(waiting)
                    waiting = [part for part in rows.slice(batch_size).to_batches() if len(part)]
                    yield self._chunk(rows.slice(0, batch_size), row)
                    row += batch_size
            if waiting:
                yield self._chunk(pa.Table.from_batches(waiting), row)

    def _chunk(self, rows: Any, start: int) -> Chunk:
        if self.table is not None:
            read = rows.select([*self._columns[""], *self._as_written])
            views = self.table.views(read, start, may_lack=True).with_views_of(self._schema)
        else:
            blocks = {view: _block(rows, names) for view, names in self._columns.items()}
            views = named(blocks, self._schema).with_gaps()
        keys = objects(rows.column(self._keys[0]).to_pylist()) if self._keys else None
        kept = {name: objects(rows.column(name).to_pylist()) for name in self.kept}
        return Chunk(start, views, {"row": start + len(rows)}, keys, kept)

    def _look_at(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Tell what kinds columns are of; return those that are read as numbers."""
        asked = self._options.columns
        if isinstance(asked, Columns):
            return self._become(asked)
        given = {name: kind for name, kind in (asked or {}).items() if name in names}
        return self._become(Columns.of(self._first_rows(names, given), given))

    def _become(self, table: Columns) -> dict[str, list[str]]:
        """Take the columns for what a table says; return those that are read as numbers."""
        read, self.other_views = self._options.split(table.view_names)
        table = table.only(read) if self.other_views else table
        there = {*self._table.columns.names} - {*self._keys, *self.dropped}
        lacking = [name for name in table.named(*USED) if name not in self._table.columns.names]
        if lacking:
            _logger.warning(
                "%s lacks columns of the table: %s. Its rows have no values there.",
                self._file,
                some(lacking),
            )
        # Constants are read too, to see whether they are.
        used = [name for name in table.named(*USED, "constant") if name in there]
        self.table = table
        views = table.views(self._first_rows(used, table.kinds), may_lack=True)
        self._schema = views.schema
        self._as_written = [n for n in used if not self._is_read_as_number(n, table.kinds)]
        self.grows = bool(views.grows)
        self.header = frozenset(used)
        return {"": [name for name in used if name not in self._as_written]}

    def _is_read_as_number(self, name: str, kinds: Mapping[str, str]) -> bool:
        """Tell whether a column is read as numbers, not as it is written."""
        kind = self._table.columns.field(name).type
        own = is_number(kind) and not pa.types.is_boolean(kind)
        return own and kinds.get(name, "number") == "number"

    def _first_rows(self, names: Sequence[str], kinds: Mapping[str, str]) -> Any:
        """Return the first rows, columns that are no numbers as they are written."""
        numbers = [name for name in names if self._is_read_as_number(name, kinds)]
        texts = [name for name in names if name not in numbers]
        return self._table.head(numbers, texts, LOOKED_AT).select(list(names))

    def as_table(self) -> Any:
        """Take the columns for those of a table, whatever they are; see `Source.as_table`."""
        if self.table is None and not any(
            view_of(c, self._options.split_by) for c in self.header or ()
        ):
            with reading(self._file):
                self._columns = self._look_at(sorted(self.header or ()))
        return self.table

    def adopt(self, table: Any) -> None:
        """Take the columns for what a table says; see `Source.adopt`."""
        with reading(self._file):
            self._columns = self._become(table)

    def _by_view(self, view: str) -> dict[str, list[str]]:
        """Return the columns of every view that is to be read."""
        arrow, options = self._table.columns, self._options
        split_by, plain = options.split_by, options.split_by == "prefix"
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
        aside = {*self._keys, *self.dropped, *self.kept, *index_of(arrow)}
        names = [name for name in arrow.names if name not in aside]
        called = {name: own for name in names if (own := view_of(name, split_by)) is not None}
        odd = [name for name in names if name not in called]
        asked = options.views is not None and not set(options.views).isdisjoint(called.values())
        mixed = any(not is_number(arrow.field(name).type) for name in names)
        learned = options.schema is not None and view in options.schema.names
        known = options.columns
        if isinstance(known, Columns):
            known = known.of_source(view, names)
            self._options = options = replace(options, columns=known)
        elif known is not None:
            known = known.keys() & {*names}
        if plain and (known or (mixed and not called and not learned)):
            return self._look_at(names)
        if odd and (called or not plain) and options.schema is None and not asked:
            has = "columns called {!r} and" if called else "no columns called {!r}, but"
            raise SourceError(
                f"{self._file} has {has.format(by_prefix(split_by)[1])} others: {some(odd)}. Leave "
                "those out by their names: drop=[...] (--drop NAME); or carry them along: "
                "keep=[...] (--keep NAME); or name the key of the rows: key=... (--key NAME)."
            )
        found: dict[str, list[str]] = {}
        for name in called or names:
            found.setdefault(called.get(name, view), []).append(name)
        read, self.other_views = options.split(found)
        chosen = {each: self._of_schema(each, found[each]) for each in read}
        for name in (name for own in chosen.values() for name in own):
            if not is_number(arrow.field(name).type):
                raise SourceError(
                    f"{self._file} has values of type {arrow.field(name).type} in column "
                    f"{name!r}; expected numbers. Leave it out: drop=[{name!r}] (--drop "
                    f"{name}); or carry it along: keep=[{name!r}] (--keep {name}); or name it "
                    f"as the key: key={name!r} (--key {name})."
                )
        if not chosen:
            raise SourceError(f"{self._file} has no columns for view {view!r}.")
        return chosen

    def _of_schema(self, view: str, names: list[str]) -> list[str]:
        """Return the columns of a view in the order of the schema, if that names its features."""
        schema = self._options.schema
        if schema is None or view not in schema.names:
            return names
        features = schema.feature_names[schema.names.index(view)]
        places = {name.removeprefix(f"{view}__"): name for name in names}
        if missing := [feature for feature in features or () if feature not in places]:
            raise SourceError(
                f"{self._file} has no columns for the features {some(missing)} of view {view!r}; "
                f"expected all {len(features or ()):,} that the model knows."
            )
        return names if features is None else [places[feature] for feature in features]


_TABS = partial(csv.CSVWriter, write_options=csv.WriteOptions(delimiter="\t"))
_WRITERS = {".parquet": parquet.ParquetWriter, ".csv": csv.CSVWriter, ".tsv": _TABS}


class TableWriter(Writer):
    """Writes views as a table of columns called ``view__feature``, after those beside them."""

    _table: Any = None
    _names: Sequence[str] = ()

    def _append(self, views: Views, kept: Kept) -> None:
        if sum(views.widths.values()) > _MOST_COLUMNS:
            raise SourceError(
                f"{self._path} would have {sum(views.widths.values()):,} columns; a table has at "
                f"most {_MOST_COLUMNS:,}. Write a folder."
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
            self._names = rows.schema.names
            begin = _WRITERS.get(File(self._path).ending, ipc.new_file)
            self._table = self._stack.enter_context(begin(self._opened(), rows.schema))
        # Views may come in another order than before.
        self._table.write_table(rows.select(self._names))

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


class Entries(NamedTuple):
    """Entries one after another: row, feature, value and view of each."""

    rows: NDArray[Any]
    features: NDArray[Any]
    values: NDArray[Any]
    views: NDArray[Any]


_NO_ENTRIES = Entries(*(np.zeros(0, kind) for kind in ("i8", "i8", "f4", object)))


class LongSource(FileSource):
    r"""Sparse views in a table with the columns ``row``, ``feature``, ``value``, and ``view``.

    The rows are numbered from 0, and the table is sorted by them; a number that is left out is an
    empty row. Features are names, or numbers from 0. Entries of the same place are added. The table
    is read once to find the features, those with names in the order in which they appear; with a
    schema, names that it does not know are passed over, and features that do not appear are zero.
    """

    alone = "its rows are numbered from the first to the last"
    _n_rows: int = 0

    def __init__(
        self, path: PathLike | File | Table, view: str, schema: Schema | None = None
    ) -> None:
        self._table, self._view = open_table(path), view
        super().__init__(self._table.file)
        self._options = ReadOptions(schema=schema)
        columns = self._table.columns
        with reading(self._file):
            self._check(columns)
            self._others = [name for name in ("row", "feature", "view") if name in columns.names]
            # By view: the place of a feature by name, or only how many there are.
            self._places: dict[str, dict[str, int]] = {}
            self._widths: dict[str, int] = {}
            self._scan()
        features = tuple(tuple(self._places.get(view, ())) or None for view in self._widths)
        self._schema = Schema(tuple(self._widths), tuple(self._widths.values()), features)

    def lengthen(self, n_rows: int) -> None:
        """Take rows after the last entry for empty, up to a number."""
        self._n_rows = max(self._n_rows, n_rows)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        start = row_of(cursor)
        entry = row_of(cursor, "entry")
        with reading(self._file):
            reader, waiting = self._entries(entry), _NO_ENTRIES
            while start < self._n_rows:
                stop = min(start + batch_size, self._n_rows)
                parts = [waiting]
                while not len(parts[-1].rows) or parts[-1].rows[-1] < stop:
                    if (more := next(reader, None)) is None:
                        break
                    parts.append(more)
                waiting = Entries(*map(np.concatenate, zip(*parts, strict=True)))
                n = int(np.searchsorted(waiting.rows, stop))
                now, waiting = (
                    Entries(*(column[part] for column in waiting))
                    for part in (slice(n), slice(n, None))
                )
                entry += n
                blocks = {
                    view: self._block(now, view, (start, stop), width)
                    for view, width in self._widths.items()
                }
                yield Chunk(start, named(blocks, self._schema), {"row": stop, "entry": entry})
                start = stop

    def _check(self, arrow: Any) -> None:
        for name, right, expected in (
            ("row", pa.types.is_integer, "whole numbers from 0"),
            ("feature", is_key, "names, or whole numbers from 0"),
            ("value", is_number, "numbers"),
            ("view", is_key, "names"),
        ):
            if name in arrow.names and not right(arrow.field(name).type):
                raise SourceError(
                    f"{self._file} has values of type {arrow.field(name).type} in column "
                    f"{name!r}; expected {expected}."
                )

    def _scan(self) -> None:
        n_entries, last = 0, 0
        for entries in self._entries(0):
            n_entries += len(entries.rows)
            steps = np.diff(entries.rows, prepend=last)
            if (steps < 0).any():
                wrong = int(entries.rows[int(np.argmax(steps < 0))])
                raise SourceError(
                    f"{self._file} is not sorted by its column 'row': {wrong:,} comes too late."
                )
            last = int(entries.rows[-1])
            for view in dict.fromkeys(entries.views.tolist()):
                self._see(view, entries.features[entries.views == view])
        if not n_entries:
            raise SourceError(f"{self._file} has no rows.")
        self._n_rows = last + 1
        if self._n_rows > _EMPTY[0] + _EMPTY[1] * n_entries:
            raise SourceError(
                f"{self._file} has rows up to number {last:,}, and {n_entries:,} entries."
            )

    def _see(self, view: str, features: NDArray[Any]) -> None:
        width = self._options.width(view)
        if features.dtype.kind == "O":
            if view not in self._places:
                self._places[view] = self._options.places(view, self.name) or {}
            places = self._places[view]
            for feature in dict.fromkeys(features.tolist()) if width is None else ():
                places.setdefault(feature, len(places))
            self._widths[view] = len(places)
            return
        low, high = int(features.min()), int(features.max())
        if low < 0 or high >= (1 << 31 if width is None else width):
            most = "" if width is None else f", fewer than {width:,} in view {view!r}"
            raise SourceError(
                f"{self._file} has features from {low:,} to {high:,}; expected numbers from 0"
                f"{most}."
            )
        self._widths[view] = max(self._widths.get(view, 0), high + 1) if width is None else width

    def _entries(self, first: int) -> Iterator[Entries]:
        for batch in self._table.batches(["value"], self._others, first, _ENTRIES):
            if not len(batch):
                continue
            if any(batch.column(name).null_count for name in self._others):
                raise SourceError(f"{self._file} has entries without {listed(self._others)}.")
            rows = batch.column("row").to_numpy(zero_copy_only=False).astype(np.int64)
            features = _array(batch.column("feature"))
            views = np.full(len(rows), self._view, object)
            if "view" in self._others:
                views = _array(batch.column("view")).astype(str).astype(object)
            values = batch.column("value").to_numpy(zero_copy_only=False)
            yield Entries(rows, features, values, views)

    def _block(self, entries: Entries, view: str, span: tuple[int, int], width: int) -> Block:
        own = entries.views == view
        rows, features, values = (column[own] for column in entries[:3])
        places = self._places.get(view)
        if places is not None:
            features = np.array([places.get(each, -1) for each in features.tolist()], np.int64)
            there = features >= 0
            rows, features, values = rows[there], features[there], values[there]
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        shape = span[1] - span[0], width
        block = sp.csr_array((values, (rows - span[0], features)), shape=shape)
        block.sum_duplicates()
        return block


def _array(column: Any) -> NDArray[Any]:
    """Return whole numbers as they are, and names as objects."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.array(column.to_pylist(), object)


def open_reader(file: File, view: str, options: ReadOptions) -> Source:
    """Open a file for `open_source`: in long form if its columns say so."""
    table = open_table(file, options.delimiter)
    with reading(file):
        names = set(table.columns.names)
        aside = matching((*options.drop, *options.keep), names)
        data = names - index_of(table.columns) - {*aside}
    if options.key is not None or not is_long(data):
        return TableSource(table, view, options)
    source = LongSource(table, view, schema=options.schema)
    source.dropped = frozenset(matching(options.drop, names))
    return source


open_writer = TableWriter


def _block(rows: Any, names: list[str]) -> NDArray[Any]:
    """Return columns as an array, single if all of them are; a missing value becomes NaN."""
    columns = [rows.column(name) for name in names]
    single = all(column.type == pa.float32() for column in columns)
    block = np.empty((len(rows), len(names)), np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        is_truth = pa.types.is_boolean(column.type)
        block[:, j] = (column.cast(pa.float64()) if is_truth else column).to_numpy()
    return block
