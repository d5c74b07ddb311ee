"""Parquet, Feather and CSV files as batches of rows, read one after another with pyarrow."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

import pyarrow as pa
from pyarrow import csv, ipc, parquet

from omvfs.formats._base import SourceError, fewer_rows
from omvfs.formats._files import COMPRESSIONS, File, PathLike
from omvfs.formats.lines import MAX_LINE_BYTES, lines

_INDEX = re.compile(r"|__index_level_\d+__")
# CSV is read by blocks, which hold a line at least: a number takes no more bytes than this.
_BLOCK_BYTES, _NUMBER_BYTES = 1 << 20, 32


class Table(ABC):
    """A table in a file, the description of which is read when it is made.

    Attributes
    ----------
    file : File
    columns : pyarrow.Schema
        Names and types.
    n_rows : int, or None
        Number of rows, if it is known.
    """

    columns: Any
    n_rows: int | None = None

    def __init__(self, file: File) -> None:
        self.file = file
        self._describe()

    @abstractmethod
    def _describe(self) -> None:
        """Read columns, and the number of rows if it is there."""

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


def open_table(given: PathLike | File | Table) -> Table:
    """Return a table by the ending of its file, or as it is if it is one.

    Parameters
    ----------
    given : path, File or Table
    """
    if isinstance(given, Table):
        return given
    file = File(given)
    with errors_of(file):
        table: Table = _TABLES[file.ending](file)
    return table


def is_number(kind: Any) -> bool:
    """Tell whether values of a type of pyarrow are numbers, or all missing.

    Examples
    --------
    >>> is_number(pa.float32()), is_number(pa.string())
    (True, False)
    """
    types = pa.types
    kinds = types.is_floating, types.is_integer, types.is_boolean, types.is_null
    return any(is_kind(kind) for is_kind in kinds)


def is_key(kind: Any) -> bool:
    """Tell whether values of a type of pyarrow can tell rows or features apart.

    Examples
    --------
    >>> is_key(pa.string()), is_key(pa.int32()), is_key(pa.float32())
    (True, True, False)
    """
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = pa.types.is_integer, pa.types.is_string, pa.types.is_large_string
    return any(is_kind(kind) for is_kind in kinds)


def index_of(arrow: Any) -> set[str]:
    """Return the columns that are the index of a frame of pandas, not its data.

    Examples
    --------
    >>> index_of(pa.schema({"a": pa.float64(), "__index_level_0__": pa.int64()}))
    {'__index_level_0__'}
    """
    found = {name for name in arrow.names if _INDEX.fullmatch(name)}
    try:
        told = arrow.pandas_metadata["index_columns"]
        found |= {name for name in told if isinstance(name, str) and name in arrow.names}
    except (TypeError, KeyError, ValueError, RecursionError):
        pass  # not written by pandas
    return found


@contextmanager
def errors_of(file: File) -> Iterator[None]:
    """Turn what pyarrow has to say of a file into an error that names it."""
    file.check()
    try:
        yield
    except (SourceError, FileNotFoundError, PermissionError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SourceError(f"{file} cannot be read: {reason}") from error


@contextmanager
def _opened(file: File) -> Iterator[Any]:
    """Give a file as pyarrow reads it, decompressed."""
    raw = pa.PythonFile(file.open(), "r") if file.remote else pa.OSFile(file.text)
    with raw:
        if not file.compression:
            yield raw
            return
        with pa.CompressedInputStream(raw, COMPRESSIONS[file.compression]) as unpacked:
            yield unpacked


class _Parquet(Table):
    """Row groups that end before the first row wanted are not read."""

    def _describe(self) -> None:
        with _opened(self.file) as raw, parquet.ParquetFile(raw) as file:
            self.columns, self.n_rows = file.schema_arrow, file.metadata.num_rows

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
                yield from _without(batches, row - first, self.file)


class _Feather(Table):
    """Record batches are read one by one, by their number."""

    def _describe(self) -> None:
        with _opened(self.file) as raw:
            reader = ipc.open_file(raw)
            self.columns = reader.schema
            if hasattr(reader, "count_rows"):
                self.n_rows = reader.count_rows()
                return
        # An older pyarrow counts the rows of one column.
        with _opened(self.file) as raw:
            reader = ipc.open_file(raw, options=ipc.IpcReadOptions(included_fields=[0]))
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            self.n_rows = sum(len(batch) for batch in batches)

    def batches(
        self, numbers: list[str], others: list[str], row: int, n: int, kept: Sequence[str] = ()
    ) -> Iterator[Any]:
        with _opened(self.file) as raw:
            reader = ipc.open_file(raw)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            chosen = (batch.select([*numbers, *others, *kept]) for batch in batches)
            yield from _without(chosen, row, self.file)


class _Csv(Table):
    """Read from the first row on, whatever row is wanted."""

    def _describe(self) -> None:
        """Judge by the first lines how many bytes the longest may have, and read the header."""
        with closing(lines(self.file)) as all_lines:
            first = [line for line, _ in islice(all_lines, 3)]
        sizes = [max(2 * len(line), _NUMBER_BYTES * line.count(b",")) for line in first]
        self._block_bytes = min(max([_BLOCK_BYTES, *sizes]), MAX_LINE_BYTES)
        with self._reader() as reader:
            self.columns = reader.schema

    def type_of(self, name: str) -> Any:
        return pa.string()

    def batches(
        self, numbers: list[str], others: list[str], row: int, n: int, kept: Sequence[str] = ()
    ) -> Iterator[Any]:
        # A column of whole numbers in the first block may have fractions further on.
        types = {
            name: pa.bool_() if pa.types.is_boolean(kind) else pa.float64()
            for name, kind in ((name, self.columns.field(name).type) for name in numbers)
        } | {name: pa.string() for name in kept}
        columns = [*numbers, *others, *kept]
        options = csv.ConvertOptions(include_columns=columns, column_types=types)
        with self._reader(convert_options=options) as reader:
            yield from _without(iter(reader), row, self.file)

    @contextmanager
    def _reader(self, **options: Any) -> Iterator[Any]:
        read = csv.ReadOptions(block_size=self._block_bytes)
        with (
            _opened(self.file) as raw,
            csv.open_csv(raw, read_options=read, **options) as reader,
        ):
            yield reader


_TABLES: dict[str, Any] = {
    ".parquet": _Parquet,
    ".feather": _Feather,
    ".arrow": _Feather,
    ".csv": _Csv,
}


def _without(batches: Iterator[Any], n: int, file: File) -> Iterator[Any]:
    """Yield batches without their first n rows, which are there."""
    left = n
    for batch in batches:
        if left < len(batch):
            yield batch.slice(left)
        left -= min(left, len(batch))
    if left:
        raise fewer_rows(str(file), n - left, n)
