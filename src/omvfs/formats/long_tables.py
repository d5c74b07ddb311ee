"""Tables in long form: an entry a line, with its row, its feature and its value."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, listed
from omvfs.formats._asked import known_places, known_width
from omvfs.formats._base import Chunk, Cursor, Source, SourceError, named, row_of
from omvfs.formats._files import File, PathLike
from omvfs.formats._tables import Table, errors_of, is_key, is_number, open_table
from omvfs.parameters import whole

# Entries read at a time.
_ENTRIES = 1 << 16
# More empty rows than so many, and so many for each entry, are taken for damage.
_EMPTY = 1_000_000, 1_000


class LongSource(Source):
    r"""Sparse views in a table with the columns ``row``, ``feature``, ``value``, and ``view``.

    The rows are numbered from 0, and the table is sorted by them; a number that is left out is an
    empty row. Features are names, or numbers from 0. Entries of the same place are added. The table
    is read once to find the features, those with names in the order in which they appear.

    Parameters
    ----------
    path : path, or Table
        Ends in ``.parquet``, ``.feather``, ``.arrow`` or ``.csv``, the last with ``.gz`` or
        ``.zst`` too.
    view : str
        Name of the view if there is no column ``view``.
    n_rows : int, default=None
        Number of rows, if the last may be empty; by default one more than the highest number.
    schema : Schema, default=None
        Views whose features are these. Names that it does not know are passed over, and features
        that do not appear are zero.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "words.csv"
    >>> _ = path.write_text("row,feature,value\n0,cat,1\n0,dog,2\n2,dog,1\n")
    >>> source = LongSource(path, "text")
    >>> source.schema.feature_names
    (('cat', 'dog'),)
    >>> next(source.chunks(3)).views["text"].toarray()
    array([[1., 2.],
           [0., 0.],
           [0., 1.]])
    """

    alone = "its rows are numbered from the first to the last"
    _n_rows: int = 0

    def __init__(
        self,
        path: PathLike | File | Table,
        view: str,
        n_rows: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        self._table, self._view, self._known = open_table(path), view, schema
        self._file, self.name = self._table.file, str(self._table.file)
        columns = self._table.columns
        with errors_of(self._file):
            self._check(columns)
            self._others = [name for name in ("row", "feature", "view") if name in columns.names]
            # By view: the place of a feature by name, or only how many there are.
            self._places: dict[str, dict[str, int]] = {}
            self._widths: dict[str, int] = {}
            self._scan()
        features = tuple(tuple(self._places.get(view, ())) or None for view in self._widths)
        self._schema = Schema(tuple(self._widths), tuple(self._widths.values()), features)
        if n_rows is not None and whole("n_rows", n_rows, least=0) < self._n_rows:
            raise SourceError(
                f"{self._file} has entries up to row {self._n_rows - 1:,}; expected {n_rows:,} "
                "rows, numbered from 0."
            )
        self.lengthen(n_rows or 0)

    def lengthen(self, n_rows: int) -> None:
        """Take rows after the last entry for empty.

        Parameters
        ----------
        n_rows : int
            As many as there are at least.
        """
        self._n_rows = max(self._n_rows, n_rows)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        start = row_of(cursor)
        entry = row_of(cursor, "entry")
        with errors_of(self._file):
            entries = self._entries(entry)
            waiting: list[_Entries] = []
            while start < self._n_rows:
                stop = min(start + batch_size, self._n_rows)
                while not waiting or waiting[-1].rows[-1] < stop:
                    if (more := next(entries, None)) is None:
                        break
                    waiting.append(more)
                now = _joined(waiting)
                n = int(np.searchsorted(now.rows, stop))
                blocks = {
                    view: self._block(now, n, view, (start, stop), width)
                    for view, width in self._widths.items()
                }
                entry, waiting = entry + n, [now.after(n)] if n < len(now.rows) else []
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
        width = known_width(self._known, view)
        if features.dtype.kind == "O":
            if view not in self._places:
                self._places[view] = known_places(self._known, view, str(self._file)) or {}
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

    def _entries(self, first: int) -> Iterator["_Entries"]:
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
            yield _Entries(rows, features, values, views)

    def _block(
        self, entries: "_Entries", n: int, view: str, span: tuple[int, int], width: int
    ) -> Block:
        own = entries.views[:n] == view
        rows, features = entries.rows[:n][own] - span[0], entries.features[:n][own]
        values = entries.values[:n][own]
        places = self._places.get(view)
        if places is not None:
            features = np.array([places.get(each, -1) for each in features.tolist()], np.int64)
            there = features >= 0
            rows, features, values = rows[there], features[there], values[there]
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        shape = span[1] - span[0], width
        block = sp.csr_array((values, (rows, features)), shape=shape)
        block.sum_duplicates()
        return block


class _Entries:
    """Entries one after another: row, feature, value and view of each."""

    def __init__(self, *columns: NDArray[Any]) -> None:
        self.rows, self.features, self.values, self.views = self.columns = columns

    def after(self, n: int) -> "_Entries":
        return _Entries(*(column[n:] for column in self.columns))


def _joined(parts: list[_Entries]) -> _Entries:
    if not parts:
        return _Entries(*(np.zeros(0, t) for t in (np.int64, np.int64, np.float64, object)))
    if len(parts) == 1:
        return parts[0]
    return _Entries(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))


def _array(column: Any) -> NDArray[Any]:
    """Return whole numbers as they are, and names as objects."""
    if pa.types.is_integer(column.type):
        numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return numbers
    return np.array(column.to_pylist(), object)
