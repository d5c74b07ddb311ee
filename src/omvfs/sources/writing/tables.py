"""Parquet, Feather and CSV tables, written chunk by chunk, a column a feature."""

from contextlib import ExitStack
from typing import Any

import pyarrow as pa
from pyarrow import csv, ipc, parquet

from omvfs.model.arrays import dense
from omvfs.sources._base import SourceError
from omvfs.sources._files import File, PathLike
from omvfs.sources.writing._base import Writer
from omvfs.views import Views

# A table of more columns is no use: pyarrow keeps a record of every column in every batch.
_MOST_COLUMNS = 20_000


class TableWriter(Writer):
    """Writes views as a table of columns called ``view__feature``.

    Parameters
    ----------
    path : path
        Ends in ``.parquet``, ``.feather``, ``.arrow`` or ``.csv``, the last with ``.gz`` or
        ``.zst`` too.
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(path)
        self._file, self._stack = File(path), ExitStack()
        self._table: Any = None

    def append(self, views: Views) -> None:
        """Write more rows.

        Parameters
        ----------
        views : Views
        """
        if sum(views.widths.values()) > _MOST_COLUMNS:
            raise SourceError(
                f"{self._path} would have {sum(views.widths.values()):,} columns; a table has at "
                f"most {_MOST_COLUMNS:,}. Write a folder."
            )
        columns = {}
        for view, X in views.blocks.items():
            names, values = views.feature_names[view], dense(X)
            for j, name in enumerate(range(X.shape[1]) if names is None else names):
                columns[f"{view}__{name}"] = values[:, j]
        rows = pa.table(columns)
        if self._table is None:
            self._table = self._begin(rows.schema)
        self._table.write_table(rows)

    def _begin(self, schema: Any) -> Any:
        sink = self._stack.enter_context(pa.OSFile(str(self._temporary), "wb"))
        if self._file.compression:
            kind = {".gz": "gzip", ".zst": "zstd"}[self._file.compression]
            sink = self._stack.enter_context(pa.CompressedOutputStream(sink, kind))
        kinds = {".parquet": parquet.ParquetWriter, ".csv": csv.CSVWriter}
        begin = kinds.get(self._file.ending, ipc.new_file)
        return self._stack.enter_context(begin(sink, schema))

    def _finish(self, whole: bool) -> None:
        self._stack.close()
