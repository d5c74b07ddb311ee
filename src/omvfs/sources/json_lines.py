"""JSON Lines: a row a line, an object with a value for every view."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs._params import whole
from omvfs._schema import Schema, listed
from omvfs.sources._base import Chunk, Cursor, Source, SourceError, named, row_of
from omvfs.sources._lines import lines
from omvfs.views import Block

# A list of as many numbers as the view is wide, an object of features and values, tokens to count.
_KINDS = "numbers", "object", "tokens"


class JsonLinesSource(Source):
    r"""Views in a file of one JSON object a line, ``.jsonl`` or ``.jsonl.gz``.

    A view is a list of numbers, an object ``{"feature": value}``, or a list of tokens, which are
    counted. The file is read once to find the views and their features, in the order in which they
    appear. A row that has nothing of an object or of tokens may leave the view out.

    Parameters
    ----------
    path : path
    view : str
        Not used: the rows name their views.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> first, second = {"text": ["b", "a", "b"], "image": [0.5, 1]}, {"image": [0, 0]}
    >>> _ = path.write_text(json.dumps(first) + "\n" + json.dumps(second))
    >>> source = JsonLinesSource(path)
    >>> source.schema.names, source.schema.feature_names
    (('text', 'image'), (('b', 'a'), None))
    >>> next(source.chunks(2)).views["text"].toarray()
    array([[2., 1.],
           [0., 0.]])
    """

    def __init__(self, path: str | os.PathLike[str], view: str = "") -> None:
        self._path = Path(path)
        self._kinds: dict[str, str] = {}
        self._places: dict[str, dict[str, int]] = {}
        self._widths: dict[str, int] = {}
        self._n_rows = 0
        for row, after in self._rows(None):
            self._n_rows += 1
            for name, value in row.items():
                self._see(name, value, after["row"])
        if not self._kinds:
            raise SourceError(f"{self._path} has no rows with views.")

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features."""
        names = tuple(self._kinds)
        widths = tuple(self._widths.get(n) or max(1, len(self._places[n])) for n in names)
        features = tuple(
            tuple(self._places[n]) or None if n in self._places else None for n in names
        )
        return Schema(names, widths, features)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._n_rows

    def chunks(self, batch_size: int, cursor: Cursor | None = None) -> Iterator[Chunk]:
        """Yield the rows in chunks of `batch_size`, the last as long as it comes.

        Parameters
        ----------
        batch_size : int
        cursor : dict, default=None
        """
        whole("batch_size", batch_size, least=1)
        number, reader, schema = row_of(cursor), self._rows(cursor), self.schema
        while batch := list(islice(reader, batch_size)):
            rows = [row for row, _ in batch]
            blocks = {
                name: self._block(name, [row.get(name) for row in rows], number, width)
                for name, width in zip(schema.names, schema.widths, strict=True)
            }
            yield Chunk(number, named(blocks, schema), batch[-1][1])
            number += len(batch)

    def _rows(self, cursor: Cursor | None) -> Iterator[tuple[dict[str, Any], Cursor]]:
        for line, after in lines(self._path, cursor):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SourceError(
                    f"Row {after['row']:,} of {self._path} is no JSON: {error}"
                ) from error
            if not isinstance(row, dict):
                raise SourceError(
                    f"Row {after['row']:,} of {self._path} is a {type(row).__name__}; expected an "
                    "object with a value for every view."
                )
            yield row, after

    def _see(self, name: str, value: Any, row: int) -> None:
        """Learn of a view what one row tells."""
        kind = _kind(value)
        if kind not in _KINDS:
            raise SourceError(
                f"View {name!r} is {kind} in row {row:,} of {self._path}; expected "
                f"{listed(_KINDS)}: a list of numbers, features with values, or a list of words."
            )
        known = self._kinds.setdefault(name, kind)
        if kind != known and value != []:
            raise SourceError(
                f"View {name!r} is {kind} in row {row:,} of {self._path}, and {known} before; "
                f"expected one of {listed(_KINDS)} throughout."
            )
        if known == "numbers":
            width = self._widths.setdefault(name, len(value))
            if len(value) != width:
                raise SourceError(
                    f"View {name!r} has {len(value):,} numbers in row {row:,} of {self._path}, and "
                    f"{width:,} before."
                )
        else:
            places = self._places.setdefault(name, {})
            for feature in value:
                places.setdefault(feature, len(places))

    def _block(self, name: str, values: list[Any], start: int, width: int) -> Block:
        if self._kinds[name] == "numbers":
            if missing := [i for i, value in enumerate(values) if value is None]:
                row = start + missing[0] + 1
                raise SourceError(f"Row {row:,} of {self._path} has no view {name!r}.")
            return np.array(values, np.float64).reshape(len(values), width)
        places = self._places[name]
        counted = [value if isinstance(value, dict) else Counter(value or ()) for value in values]
        indptr = np.cumsum([0, *map(len, counted)])
        indices = [places[feature] for row in counted for feature in row]
        data = [float(number) for row in counted for number in row.values()]
        parts = np.array(data, np.float64), np.array(indices, np.int64), indptr
        return sp.csr_array(parts, shape=(len(values), width))


def _kind(value: Any) -> str:
    """Return what a view of a row is, or say that it is nothing."""
    if isinstance(value, dict) and all(_is_number(each) for each in value.values()):
        return "object"
    if isinstance(value, list) and value and all(_is_number(each) for each in value):
        return "numbers"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "tokens"
    return "something else"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
