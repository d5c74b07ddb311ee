"""Parquet, Feather and CSV tables, written chunk by chunk, a column a feature."""

from contextlib import ExitStack
from typing import Any

from omvfs.data.views import Views
from omvfs.formats._base import SourceError
from omvfs.formats._files import COMPRESSIONS, File, PathLike
from omvfs.formats.writing._base import MOST_COLUMNS, Keys, Writer, named_keys
from omvfs.model.arrays import dense

try:
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet
except ImportError as missing:
    raise ImportError("Writing this file needs pyarrow: pip install omvfs[files]") from missing


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

    def __init__(self, path: PathLike, key: str | None = None) -> None:
        super().__init__(path)
        self._file, self._stack, self._key = File(path), ExitStack(), key
        self._table: Any = None

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
        if self._file.compression:
            kind = COMPRESSIONS[self._file.compression]
            sink = self._stack.enter_context(pa.CompressedOutputStream(sink, kind))
        kinds = {".parquet": parquet.ParquetWriter, ".csv": csv.CSVWriter}
        begin = kinds.get(self._file.ending, ipc.new_file)
        return self._stack.enter_context(begin(sink, schema))

    def _finish(self, whole: bool) -> None:
        self._stack.close()
