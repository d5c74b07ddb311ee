"""JSON Lines: a row a line, an object with a value for every view."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.data.schema import Schema
from omvfs.data.views import Views
from omvfs.formats._asked import Asked
from omvfs.formats._base import Chunk, Cursor, Source, SourceError, named, row_of
from omvfs.formats._files import File, PathLike
from omvfs.formats._rows import Shape, entries, is_text
from omvfs.formats._writer import Keys, named_keys
from omvfs.formats.lines import TextWriter, lines

# Half a character, unless the other half is beside it.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonLinesSource(Source):
    r"""Views in a file of one JSON object a line, ``.jsonl``, with ``.gz`` or ``.zst`` too.

    A view is a list of numbers, an object ``{"feature": value}``, or a list of tokens, which are
    counted. The file is read once to find the views and their features, in the order in which they
    appear. A row that has nothing of an object or of tokens may leave the view out.

    Parameters
    ----------
    path : path
    key : str, default=None
        Name of the value that tells rows apart; it is no view.
    drop : sequence of str, default=()
        Names of values to leave out, such as labels; `dropped` tells which of them there are.
    schema : Schema, default=None
        Views whose features, where they have names, are these: others are passed over, and those
        that do not appear are zero.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> first, second = {"text": ["b", "a", "b"], "image": [0.5, 1]}, {"image": [0, 0]}
    >>> _ = path.write_text(json.dumps(first) + "\n" + json.dumps(second))
    >>> source = JsonLinesSource(path)
    >>> source.schema.names, source.schema.feature_names
    (('text', 'image'), (('b', 'a'), None))
    >>> next(source.chunks(2)).views["text"].toarray()
    array([[2., 1.],
           [0., 0.]])
    """

    def __init__(
        self,
        path: PathLike | File,
        key: str | None = None,
        drop: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> None:
        self._file, self._key, self._drop = File(path), key, frozenset(drop)
        self.name = str(self._file)
        self._shape, self._n_rows = Shape(str(self._file), schema), 0
        for n, (row, _, after) in enumerate(self._rows(None), 1):
            self._n_rows = n
            self._shape.see(row, after["row"])
        if not self._shape.kinds:
            raise SourceError(f"{self._file} has no rows with views.")
        self._schema = self._shape.schema

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        number, reader, schema = row_of(cursor), self._rows(cursor), self.schema
        while batch := list(islice(reader, batch_size)):
            blocks = self._shape.blocks([row for row, _, _ in batch], number + 1)
            keys = None if self._key is None else np.array([key for _, key, _ in batch], object)
            yield Chunk(number, named(blocks, schema), batch[-1][2], keys)
            number += len(batch)

    def _rows(self, cursor: Cursor | None) -> Iterator[tuple[dict[str, Any], Any, Cursor]]:
        """Yield every row, its key if rows have one, and where to go on after it."""
        for row, after in parsed(lines(self._file, cursor), str(self._file)):
            for name in self._drop & row.keys():
                del row[name]
                self.dropped |= {name}
            if self._key is None:
                yield row, None, after
                continue
            key = row.pop(self._key, None)
            if not isinstance(key, str | int) or isinstance(key, bool):
                raise SourceError(
                    f"Row {after['row']:,} of {self._file} has the key {self._key!r}: {key!r}; "
                    "expected a string or a whole number."
                )
            yield row, key, after


class JsonLinesWriter(TextWriter):
    """Writes an object a row: sparse views as ``{"feature": value}``, dense ones as numbers.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl``, with ``.gz`` or ``.zst`` too.
    key : str, default=None
        Name of a first value for the keys of the rows; by default they have none.
    """

    def _lines(self, views: Views, keys: Keys) -> list[str]:
        if self._key in views.names:
            raise SourceError(f"{self._path} has a view {self._key!r}. Rename the key.")
        given = named_keys(self._key, keys, self._path)
        values: dict[str, list[Any]] = {name: own.tolist() for name, own in given.items()}
        for view, X in views.blocks.items():
            names = views.feature_names[view]
            values[view] = entries(X, names) if sp.issparse(X) else X.tolist()
        rows = zip(*values.values(), strict=True)
        return [json.dumps(dict(zip(values, row, strict=True)), ensure_ascii=False) for row in rows]


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return JsonLinesSource(file, asked.key, asked.drop, asked.schema)


open_writer = JsonLinesWriter


def parsed(
    numbered: Iterable[tuple[bytes, Cursor]], name: str
) -> Iterator[tuple[dict[str, Any], Cursor]]:
    """Yield the objects in some lines, and where to go on after each.

    Examples
    --------
    >>> list(parsed([(b'{"a": [1]}', {"row": 1})], "x"))
    [({'a': [1]}, {'row': 1})]
    """
    for line, after in numbered:
        try:
            text = line.decode("utf-8-sig")
            row = json.loads(text)
            if _SURROGATE.search(text) and not is_text(json.dumps(row, ensure_ascii=False)):
                raise ValueError("it has half a character, which is no text in UTF-8")
        except (ValueError, RecursionError) as error:
            raise SourceError(f"Row {after['row']:,} of {name} is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise SourceError(
                f"Row {after['row']:,} of {name} is a {type(row).__name__}; expected an object "
                "with a value for every view."
            )
        yield row, after
