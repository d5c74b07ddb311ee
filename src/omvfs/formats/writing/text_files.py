"""JSON Lines and svmlight files, written chunk by chunk, plain or compressed."""

import gzip
import json
from abc import abstractmethod
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.data.views import Views
from omvfs.formats._base import SourceError
from omvfs.formats._files import File, PathLike
from omvfs.formats.writing._base import Keys, Writer, named_keys, only_block


class _TextWriter(Writer):
    """Base of writers of a line a row. A subclass provides `_lines`."""

    def __init__(self, path: PathLike) -> None:
        super().__init__(path)
        compression = File(path).compression
        if compression == ".zst":
            try:
                import pyarrow as pa
            except ImportError as missing:
                raise ImportError("Writing .zst needs: pip install omvfs[files]") from missing
        self._stack = ExitStack()
        self._text: Any = self._stack.enter_context(self._temporary.open("wb"))
        if compression == ".gz":
            self._text = self._stack.enter_context(gzip.GzipFile(fileobj=self._text, mode="wb"))
        elif compression == ".zst":
            packed = pa.CompressedOutputStream(pa.PythonFile(self._text, "w"), "zstd")
            self._text = self._stack.enter_context(packed)

    def _append(self, views: Views, keys: Keys) -> None:
        self._text.write("".join(f"{line}\n" for line in self._lines(views, keys)).encode())

    @abstractmethod
    def _lines(self, views: Views, keys: Keys) -> list[str]:
        """Return some rows as lines without their ends."""

    def _finish(self, whole: bool) -> None:
        self._stack.close()


class JsonLinesWriter(_TextWriter):
    """Writes an object a row: sparse views as ``{"feature": value}``, dense ones as numbers.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl``, with ``.gz`` or ``.zst`` too.
    key : str, default=None
        Name of a first value for the keys of the rows; by default they have none.
    """

    def __init__(self, path: PathLike, key: str | None = None) -> None:
        super().__init__(path)
        self._key = key

    def _lines(self, views: Views, keys: Keys) -> list[str]:
        if self._key in views.names:
            raise SourceError(f"{self._path} has a view {self._key!r}. Rename the key.")
        given = named_keys(self._key, keys, self._path)
        values: dict[str, list[Any]] = {name: own.tolist() for name, own in given.items()}
        for view, X in views.blocks.items():
            names = views.feature_names[view]
            values[view] = _objects(X, names) if sp.issparse(X) else X.tolist()
        rows = zip(*values.values(), strict=True)
        return [json.dumps(dict(zip(values, row, strict=True)), ensure_ascii=False) for row in rows]


class SvmlightWriter(_TextWriter):
    """Writes one view, indices from 1, with the label 0.

    Parameters
    ----------
    path : path
        Ends in ``.svm``, ``.svmlight`` or ``.libsvm``, with ``.gz`` or ``.zst`` too.
    """

    def _lines(self, views: Views, keys: Keys) -> list[str]:
        X = only_block(views, self._path)
        numbers = np.arange(1, X.shape[1] + 1)
        entries = _objects(sp.csr_array(X), numbers)
        return [" ".join(["0", *(f"{j}:{x!r}" for j, x in row.items())]) for row in entries]


def _objects(X: Any, names: Any) -> list[dict[str, float]]:
    """Return the entries of every row by name of the feature, or its number from 0."""
    names = [str(each) for each in (range(X.shape[1]) if names is None else names)]
    columns, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return [
        {names[j]: x for j, x in zip(columns[a:b], values[a:b], strict=True)}
        for a, b in pairwise(ends)
    ]
