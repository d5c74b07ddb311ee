"""Parquet, Feather and CSV files as batches of rows, read one after another with pyarrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from omvfs.sources._base import SourceError
from omvfs.sources._files import File

try:
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet
except ImportError as missing:
    raise ImportError("Reading this file needs pyarrow: pip install omvfs[files]") from missing


class Reader(Protocol):
    """What reads a kind of table."""

    def describe(self) -> tuple[Any, int | None]:
        """Return columns with their types, and the number of rows if it is known."""

    def batches(self, numbers: list[str], others: list[str], row: int, n: int) -> Iterator[Any]:
        """Yield some columns of the rows from a given one on, n at a time or as they are stored."""


def open_table(file: File) -> Reader:
    """Return the reader of a table by its ending.

    Parameters
    ----------
    file : File
    """
    reader: Reader = _READERS[file.ending](file)
    return reader


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
        kind = {".gz": "gzip", ".zst": "zstd"}[file.compression]
        with pa.CompressedInputStream(raw, kind) as unpacked:
            yield unpacked


class _Parquet:
    """Row groups that end before the first row wanted are not read."""

    def __init__(self, file: File) -> None:
        self._file = file

    def describe(self) -> tuple[Any, int]:
        with _opened(self._file) as raw, parquet.ParquetFile(raw) as file:
            return file.schema_arrow, file.metadata.num_rows

    def batches(self, numbers: list[str], others: list[str], row: int, n: int) -> Iterator[Any]:
        # What is buffered in advance is kept until the end: all of the file.
        lean: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
        with _opened(self._file) as raw, parquet.ParquetFile(raw, **lean) as file:
            groups, first = list(range(file.num_row_groups)), 0
            while groups and first + file.metadata.row_group(groups[0]).num_rows <= row:
                first += file.metadata.row_group(groups.pop(0)).num_rows
            if groups:
                batches = file.iter_batches(n, row_groups=groups, columns=numbers + others)
                yield from _without(batches, row - first)


class _Feather:
    """Record batches are read one by one, by their number."""

    def __init__(self, file: File) -> None:
        self._file = file

    def describe(self) -> tuple[Any, int]:
        with _opened(self._file) as raw:
            reader = ipc.open_file(raw)
            return reader.schema, reader.count_rows()

    def batches(self, numbers: list[str], others: list[str], row: int, n: int) -> Iterator[Any]:
        with _opened(self._file) as raw:
            reader = ipc.open_file(raw)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            yield from _without((batch.select(numbers + others) for batch in batches), row)


class _Csv:
    """Read from the first row on, whatever row is wanted."""

    def __init__(self, file: File) -> None:
        self._file = file

    def describe(self) -> tuple[Any, None]:
        with _opened(self._file) as raw, csv.open_csv(raw) as reader:
            return reader.schema, None

    def batches(self, numbers: list[str], others: list[str], row: int, n: int) -> Iterator[Any]:
        # A column of whole numbers in the first block may have fractions further on.
        types = csv.ConvertOptions(
            include_columns=numbers + others, column_types=dict.fromkeys(numbers, pa.float64())
        )
        with _opened(self._file) as raw, csv.open_csv(raw, convert_options=types) as reader:
            yield from _without(iter(reader), row)


_READERS: dict[str, Any] = {
    ".parquet": _Parquet,
    ".feather": _Feather,
    ".arrow": _Feather,
    ".csv": _Csv,
}


def _without(batches: Iterator[Any], n: int) -> Iterator[Any]:
    """Yield batches without their first n rows."""
    for batch in batches:
        if n < len(batch):
            yield batch.slice(n)
        n -= min(n, len(batch))
