"""svmlight (libsvm) files: a row a line, ``label index:value index:value ...``."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema
from omvfs.data.views import Views
from omvfs.formats._asked import Asked, known_width
from omvfs.formats._base import Chunk, Cursor, Kept, Source, SourceError, named, row_of
from omvfs.formats._files import File, PathLike
from omvfs.formats._rows import entries
from omvfs.formats._writer import only_block
from omvfs.formats.lines import TextWriter, lines
from omvfs.parameters import whole


class SvmlightSource(Source):
    r"""One sparse view in an svmlight file.

    It ends in ``.svm``, ``.svmlight`` or ``.libsvm``, with ``.gz`` or ``.zst`` too. The file is
    read once to find its width, unless that is given. Labels are passed over.

    Parameters
    ----------
    path : path
    view : str
        Name of the view.
    n_features : int, default=None
        Width of the view.
    zero_based : bool, default=None
        Whether the first index is 0, not 1; by default whether 0 appears.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.svm"
    >>> _ = path.write_text("1 1:0.5 3:2\n0 2:1 # a comment\n")
    >>> next(SvmlightSource(path, "x").chunks(2)).views["x"].toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    """

    def __init__(
        self,
        path: PathLike | File,
        view: str,
        n_features: int | None = None,
        zero_based: bool | None = None,
    ) -> None:
        self._file, self._view = File(path), view
        self.name = str(self._file)
        if zero_based is None:
            self.alone = "whether indices begin at 0 or at 1 is told by all rows together"
        if n_features is None or zero_based is None:
            low, high, self._n_rows = self._scan()
            zero_based = low == 0 if zero_based is None else zero_based
            n_features = high + (1 if zero_based else 0) if n_features is None else n_features
        self._width = whole("n_features", n_features, least=1)
        self._schema = Schema((view,), (self._width,), (None,))
        self._first = 0 if zero_based else 1

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row, reader = row_of(cursor), self._rows(cursor)
        while batch := list(islice(reader, batch_size)):
            block = self._block([columns for columns, _, _ in batch], [v for _, v, _ in batch])
            yield Chunk(row, named({self._view: block}, self.schema), batch[-1][2])
            row += len(batch)

    def _block(self, columns: list[Any], values: list[Any]) -> Block:
        indptr = np.cumsum([0, *map(len, columns)])
        indices = np.concatenate(columns) - self._first
        if len(indices) and not 0 <= indices.min() <= indices.max() < self._width:
            raise SourceError(
                f"{self._file} has an index beyond the {self._width:,} of the view {self._view!r}."
            )
        shape = len(columns), self._width
        return sp.csr_array((np.concatenate(values), indices, indptr), shape=shape)

    def _rows(self, cursor: Cursor | None) -> Iterator[tuple[Any, Any, Cursor]]:
        """Yield indices and values of every row, and where to go on after it."""
        row = row_of(cursor)
        for line, after in lines(self._file, cursor):
            words = line.partition(b"#")[0].split()
            if not words:
                continue
            row += 1  # a comment is none
            pairs = [word.split(b":") for word in words[1:] if not word.startswith(b"qid:")]
            try:
                columns = np.array([int(index) for index, _ in pairs], np.int64)
                values = np.array([float(value) for _, value in pairs], np.float64)
            except (ValueError, OverflowError) as error:
                raise SourceError(
                    f"Row {row:,} of {self._file} is not 'label index:value ...': {error}"
                ) from error
            yield columns, values, {**after, "row": row}

    def _scan(self) -> tuple[int, int, int]:
        low, high, n = 1, 0, 0
        for columns, _, _ in self._rows(None):
            n += 1
            if len(columns):
                low, high = min(low, int(columns.min())), max(high, int(columns.max()))
        if high >= 1 << 31 or low < 0:
            raise SourceError(f"{self._file} has indices from {low:,} to {high:,}.")
        if not n:
            raise SourceError(f"{self._file} has no rows.")
        return low, max(high, 1), n


class SvmlightWriter(TextWriter):
    """Writes one view, indices from 1, with the label 0.

    Parameters
    ----------
    path : path
        Ends in ``.svm``, ``.svmlight`` or ``.libsvm``, with ``.gz`` or ``.zst`` too.
    """

    def _lines(self, views: Views, kept: Kept) -> list[str]:
        X = only_block(views, self._path)
        numbers = np.arange(1, X.shape[1] + 1)
        rows = entries(sp.csr_array(X), numbers)
        return [" ".join(["0", *(f"{j}:{x!r}" for j, x in row.items())]) for row in rows]


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return SvmlightSource(file, view, known_width(asked.schema, view))


open_writer = SvmlightWriter
