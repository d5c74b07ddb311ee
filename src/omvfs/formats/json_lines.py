"""JSON Lines: a row a line, an object with a value for every view."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.data.schema import Schema
from omvfs.data.views import Views
from omvfs.formats._asked import Asked
from omvfs.formats._base import (
    Chunk,
    Cursor,
    Kept,
    Source,
    SourceError,
    kept_of,
    named,
    objects,
    row_of,
)
from omvfs.formats._files import File, PathLike
from omvfs.formats._rows import Pick, Shape, entries, is_text
from omvfs.formats.lines import TextWriter, lines

# Half a character, unless the other half is beside it.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# In the place of a view that a row lacks.
_NOT_THERE: Any = object()


class JsonLinesSource(Source):
    r"""Views in a file of one JSON object a line, ``.jsonl``, with ``.gz`` or ``.zst`` too.

    A view is a list of numbers, an object ``{"feature": value}``, or a list of tokens, which are
    counted. The file is read once to find the views and their features, in the order in which they
    appear. A row lacks the views that it leaves out, or has as null; ``{}`` and ``[]`` are views
    with nothing in them.

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
    views : sequence of str, default=None
        Views to read, if there are any of them; by default all.
    keep : sequence of str, default=()
        Names of values that are no views and go along with the rows; `kept` tells which of them
        there are.
    tokenize : sequence of str, default=()
        Views that are texts, whose words are counted; see `tokens`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> first, second = {"text": ["b", "a", "b"], "image": [0.5, 1]}, {"image": [0, 0]}
    >>> _ = path.write_text(json.dumps(first) + "\n" + json.dumps(second))
    >>> source = JsonLinesSource(path)
    >>> source.schema.names, source.schema.feature_names
    (('text', 'image'), (('b', 'a'), None))
    >>> chunk = next(source.chunks(2))
    >>> chunk.views["text"].toarray(), chunk.views.present
    (array([[2., 1.],
           [0., 0.]]), {'text': array([ True, False])})
    """

    def __init__(
        self,
        path: PathLike | File,
        key: str | None = None,
        drop: Sequence[str] = (),
        schema: Schema | None = None,
        views: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        tokenize: Sequence[str] = (),
    ) -> None:
        self._file, self.name = File(path), str(File(path))
        chosen = None if views is None else tuple(views)
        self._asked = Asked(key, tuple(drop), schema, chosen, tuple(keep), tuple(tokenize))
        self._scan()
        if not self._shape.kinds and self.other_views:
            # None of the views: it is read as it is, as it may be needed for its keys.
            self._asked = replace(self._asked, views=None)
            self._scan()
        if not self._shape.kinds:
            raise SourceError(f"{self._file} has no rows with views.")
        self._schema, self.header = self._shape.schema, frozenset(self._shape.kinds)
        self.grows = not self._shape.expect_known(())

    def conform(self, schema: Schema) -> tuple[str, ...]:
        """Have the views and words of all parts of the same rows; see `Source.conform`."""
        lacking = self._shape.conform(schema)
        self._schema = self._shape.schema
        return lacking

    def _scan(self) -> None:
        """Find out all that only reading tells."""
        self._pick, self._shape = Pick(self.name, self._asked), Shape(self.name, self._asked.schema)
        self._n_rows = 0
        for n, (row, _, _, after) in enumerate(self._rows(None), 1):
            self._n_rows = n
            self._shape.see(row, after["row"])
        self.dropped = frozenset(self._pick.dropped)
        self.kept = dict.fromkeys(name for name in self._asked.keep if name in self._pick.kept)
        self.other_views = tuple(self._pick.other_views)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        number, reader, schema = row_of(cursor), self._rows(cursor), self.schema
        while batch := list(islice(reader, batch_size)):
            rows, keys, kept, places = zip(*batch, strict=True)
            yield Chunk(
                number,
                named(self._shape.blocks(rows, number + 1), schema, self._shape.present(rows)),
                places[-1],
                None if self._asked.key is None else objects(keys),
                kept_of(self.kept, kept),
            )
            number += len(batch)

    def _rows(
        self, cursor: Cursor | None
    ) -> Iterator[tuple[dict[str, Any], Any, dict[str, Any], Cursor]]:
        """Yield every row, its key if rows have one, what goes along, and where to go on after."""
        for row, after in parsed(lines(self._file, cursor), self.name):
            yield *self._pick(row, after["row"]), after


class JsonLinesWriter(TextWriter):
    """Writes an object a row: sparse views as ``{"feature": value}``, dense ones as numbers.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl``, with ``.gz`` or ``.zst`` too.
    kept : mapping of str to None, default={}
        Names of values that come first, before the views; by default none.
    """

    def _lines(self, views: Views, kept: Kept) -> list[str]:
        beside = self._beside(kept, views.names)
        values: dict[str, list[Any]] = {name: own.tolist() for name, own in beside.items()}
        for view, X in views.blocks.items():
            names = views.feature_names[view]
            values[view] = entries(X, names) if sp.issparse(X) else X.tolist()
            for i in np.flatnonzero(~views.has(view)):
                values[view][i] = _NOT_THERE
        rows = zip(*values.values(), strict=True)
        # Dates and what else tables have beside numbers and text is written as text.
        encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
        pairs = (zip(values, row, strict=True) for row in rows)
        return [encode({name: x for name, x in row if x is not _NOT_THERE}) for row in pairs]


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return JsonLinesSource(
        file, asked.key, asked.drop, asked.schema, asked.views, asked.keep, asked.tokenize
    )


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
