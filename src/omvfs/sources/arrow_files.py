"""Parquet, Feather and CSV files of one column a feature, read batch by batch with pyarrow."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs._params import whole
from omvfs._schema import Schema, listed
from omvfs.sources._base import Chunk, Cursor, Source, SourceError, named, row_of

try:
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet
except ImportError as missing:
    raise ImportError("Reading this file needs pyarrow: pip install omvfs[files]") from missing

Columns = Mapping[str, Sequence[str]]


class TableSource(Source):
    r"""Views in one table, a column a feature.

    Parameters
    ----------
    path : path
        Ends in ``.parquet``, ``.feather``, ``.arrow`` or ``.csv``.
    view : str
        Name of the view of columns that name none.
    columns : mapping of str to sequence of str, default=None
        Columns by view. By default a column called ``view__feature`` belongs to that view; if not
        all are called so, all columns are one view.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("text__a,text__b,image__x\n1,0,0.5\n2,0,0.25\n")
    >>> source = TableSource(path, "rows")
    >>> source.schema.names, source.schema.feature_names
    (('text', 'image'), (('a', 'b'), ('x',)))
    >>> next(source.chunks(10)).views["text"]
    array([[1., 0.],
           [2., 0.]])
    """

    def __init__(
        self, path: str | os.PathLike[str], view: str, columns: Columns | None = None
    ) -> None:
        self._path = Path(path)
        self._reader = _READERS[self._path.suffix](self._path)
        self._n_rows: int | None
        with _errors_of(self._path):
            arrow, self._n_rows = self._reader.describe()
        self._columns = self._by_view(arrow, view, columns)
        features = tuple(
            tuple(name.removeprefix(f"{v}__") for name in names)
            for v, names in self._columns.items()
        )
        widths = tuple(len(names) for names in features)
        self._schema = Schema(tuple(self._columns), widths, features)

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        return self._n_rows

    def chunks(self, batch_size: int, cursor: Cursor | None = None) -> Iterator[Chunk]:
        """Yield the rows in chunks of `batch_size`, the last as long as it comes.

        Parameters
        ----------
        batch_size : int
        cursor : dict, default=None
        """
        whole("batch_size", batch_size, least=1)
        row = row_of(cursor)
        wanted = list(dict.fromkeys(name for names in self._columns.values() for name in names))
        with _errors_of(self._path):
            waiting: list[Any] = []
            for batch in self._reader.batches(wanted, row, batch_size):
                waiting.append(batch)
                while sum(len(part) for part in waiting) >= batch_size:
                    rows, waiting = _take(waiting, batch_size)
                    yield self._chunk(rows, row)
                    row += len(rows)
            if waiting:
                yield self._chunk(pa.Table.from_batches(waiting), row)

    def _chunk(self, rows: Any, start: int) -> Chunk:
        blocks = {view: _block(rows, names) for view, names in self._columns.items()}
        return Chunk(start, named(blocks, self._schema), {"row": start + len(rows)})

    def _by_view(self, arrow: Any, view: str, columns: Columns | None) -> dict[str, list[str]]:
        """Return the columns of every view."""
        if len(set(arrow.names)) < len(arrow.names):
            raise SourceError(f"{self._path} has two columns of the same name.")
        if columns is not None:
            chosen = {each: list(names) for each, names in columns.items()}
        elif arrow.names and all("__" in name.strip("_") for name in arrow.names):
            chosen = {}
            for name in arrow.names:
                chosen.setdefault(name.partition("__")[0], []).append(name)
        else:
            chosen = {view: list(arrow.names)}
        for names in chosen.values():
            for name in names:
                if name not in arrow.names:
                    raise SourceError(f"{self._path} has no column {name!r}.")
                kind = arrow.field(name).type
                numbers = pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean
                if not any(is_kind(kind) for is_kind in (*numbers, pa.types.is_null)):
                    raise SourceError(
                        f"{self._path} has values of type {kind} in column {name!r}; expected "
                        "numbers. Leave it out by naming the columns of each view."
                    )
        if not all(chosen.values()):
            raise SourceError(f"{self._path} has no columns for view {listed(chosen)}.")
        return chosen


class _Parquet:
    """Row groups that end before the first row wanted are not read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def describe(self) -> tuple[Any, int]:
        with parquet.ParquetFile(self._path) as file:
            return file.schema_arrow, file.metadata.num_rows

    def batches(self, columns: list[str], row: int, n: int) -> Iterator[Any]:
        with parquet.ParquetFile(self._path) as file:
            groups, first = list(range(file.num_row_groups)), 0
            while groups and first + file.metadata.row_group(groups[0]).num_rows <= row:
                first += file.metadata.row_group(groups.pop(0)).num_rows
            if groups:
                batches = file.iter_batches(n, row_groups=groups, columns=columns)
                yield from _without(batches, row - first)


class _Feather:
    """Record batches are read one by one, by their number."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def describe(self) -> tuple[Any, int]:
        with pa.OSFile(os.fspath(self._path)) as file:
            reader = ipc.open_file(file)
            return reader.schema, reader.count_rows()

    def batches(self, columns: list[str], row: int, n: int) -> Iterator[Any]:
        with pa.OSFile(os.fspath(self._path)) as file:
            reader = ipc.open_file(file)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            yield from _without((batch.select(columns) for batch in batches), row)


class _Csv:
    """Read from the first row on, whatever row is wanted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def describe(self) -> tuple[Any, None]:
        with csv.open_csv(self._path) as reader:
            return reader.schema, None

    def batches(self, columns: list[str], row: int, n: int) -> Iterator[Any]:
        # A column of whole numbers in the first block may have fractions further on.
        types = csv.ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, pa.float64())
        )
        with csv.open_csv(self._path, convert_options=types) as reader:
            yield from _without(iter(reader), row)


_READERS: dict[str, Any] = {
    ".parquet": _Parquet,
    ".feather": _Feather,
    ".arrow": _Feather,
    ".csv": _Csv,
}


class _errors_of:  # noqa: N801 (reads as a phrase)
    """Turns what pyarrow has to say of a file into an error that names it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        if not self._path.exists():
            raise FileNotFoundError(f"There is no file {self._path}.")

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, pa.ArrowException | OSError | ValueError) and not isinstance(
            error, SourceError | FileNotFoundError | PermissionError
        ):
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise SourceError(f"{self._path} cannot be read: {reason}") from error


def _without(batches: Iterator[Any], n: int) -> Iterator[Any]:
    """Yield batches without their first n rows."""
    for batch in batches:
        if n < len(batch):
            yield batch.slice(n)
        n -= min(n, len(batch))


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
        block[:, j] = column.to_numpy()
    return block
