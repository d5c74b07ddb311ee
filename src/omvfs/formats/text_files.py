"""Text files of a row a line: JSON Lines and svmlight, plain or compressed, read and written."""

import io
import json
import re
import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from omvfs.data.blocks import Block, words_of
from omvfs.data.schema import Schema
from omvfs.data.table import CATEGORIES, NUMBERS
from omvfs.data.views import Views
from omvfs.disk import PathLike
from omvfs.formats.files import File, FileSource, reading
from omvfs.formats.registry import load
from omvfs.formats.source import (
    Chunk,
    Cursor,
    Kept,
    ReadOptions,
    Source,
    SourceError,
    fewer_rows,
    is_text,
    named,
    objects,
    row_of,
)
from omvfs.formats.writer import Writer, only_block
from omvfs.parameters import whole

# A line longer than this is refused, before it is held in memory.
MAX_LINE_BYTES = 1 << 26
# More blank lines one after another are taken for damage.
MAX_BLANK_LINES = 1 << 20
# A column costs up to a kilobyte, one without values too: more of them than values are refused.
MAX_GAPPY_COLUMNS = 1 << 22
STANDARD_INPUT = "standard input"
# Half a character, unless the other half is beside it.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Rows that tell whether a file is a table.
_LOOKED_AT = 100
# In the place of a view that a row lacks.
_NOT_THERE: Any = object()
_ANYTHING = ReadOptions()
# The views of a row, its key, what goes along with it, and where to go on after it.
_Row: TypeAlias = tuple[dict[str, Any], Any, dict[str, Any], Cursor]


def lines(file: File, cursor: Cursor | None) -> Iterator[tuple[bytes, Cursor]]:
    """Yield every line of a file that is not blank, and where to go on after it."""
    place = row_of(cursor, "byte")
    with file.open_text() as opened, reading(file):
        _pass_over(opened, place, file)
        yield from read_lines(opened, str(file), row_of(cursor), place)


def read_lines(
    opened: IO[bytes], name: str, row: int = 0, place: int = 0
) -> Iterator[tuple[bytes, Cursor]]:
    """Yield what `lines` does, from an open file at some row and byte."""
    blank = 0
    while line := opened.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise SourceError(
                f"Line {row + 1:,} of {name} is longer than {MAX_LINE_BYTES:,} bytes."
            )
        place += len(line)
        blank += 1
        if blank > MAX_BLANK_LINES:
            raise SourceError(f"{name} has over {MAX_BLANK_LINES:,} blank lines after row {row:,}.")
        if line.strip():
            blank = 0
            row += 1
            yield line.rstrip(b"\r\n"), {"row": row, "byte": place}


def _pass_over(opened: IO[bytes], n_bytes: int, file: File) -> None:
    """Go to a byte of a text, as it was before compression."""
    left = n_bytes
    if n_bytes and not file.compression and opened.seekable():
        left -= opened.seek(0, 2)
        opened.seek(n_bytes)
    while left > 0 and (passed := opened.read(min(left, 1 << 20))):
        left -= len(passed)
    if left > 0:
        raise SourceError(f"{file} is cut off before byte {n_bytes:,}.")


class Stream:
    """The lines of standard input, which can be read once, as they come."""

    def __init__(self, opened: IO[bytes]) -> None:
        self._opened, self._read = opened, 0
        self._lines = (line for line, _ in read_lines(opened, STANDARD_INPUT))

    def first(self) -> bytes:
        """Return the next line, which stays the next; empty at the end."""
        return next(iter(self.head(1)), b"")

    def head(self, n: int) -> list[bytes]:
        """Return the next lines, which stay the next; fewer at the end."""
        lines = list(islice(self._lines, n))
        self._lines = (each for each in chain(lines, self._lines))
        return lines

    def header(self) -> bytes:
        """Return the next line, which is no row."""
        return next(self._lines)

    def lines(self, cursor: Cursor | None) -> Iterator[tuple[bytes, Cursor]]:
        """Yield every row, and where to go on after it."""
        row = row_of(cursor)
        if row < self._read:
            raise SourceError("Standard input can be read once only; write it into a file first.")
        for line in self._lines:
            self._read += 1
            if self._read > row:
                yield line, {"row": self._read}
        if self._read < row:
            raise fewer_rows("Standard input", self._read, row)

    def spool(self, file: IO[bytes]) -> None:
        """Write all that is left into a file."""
        file.write(self.first() + b"\n")
        shutil.copyfileobj(self._opened, file, 1 << 20)
        file.flush()


class TextWriter(Writer):
    """Base of writers of a line a row, plain or compressed. A subclass provides `_lines`."""

    @cached_property
    def _text(self) -> Any:
        return self._opened()

    def _append(self, views: Views, kept: Kept) -> None:
        text = "".join(f"{line}\n" for line in self._lines(views, kept))
        # What is no text, such as half a surrogate pair in a key, as JSON escapes it.
        self._text.write(text.encode(errors="backslashreplace"))

    @abstractmethod
    def _lines(self, views: Views, kept: Kept) -> list[str]:
        """Return some rows as lines without their ends."""


class JsonLinesSource(FileSource):
    r"""Views in a file of one JSON object a line, ``.jsonl``, or packed: ``.jsonl.gz``.

    A view is a list of numbers; or words: an object ``{"feature": value}``, or a list of words,
    which are counted. The file is read once to find the views and their features, in the order in
    which they appear. A row lacks the views that it leaves out, or has as null; ``{}`` and ``[]``
    are views with nothing in them.

    Parameters
    ----------
    path : path
    options : ReadOptions
        The key of the rows, which is no view; values to leave out and to carry along: `dropped` and
        `kept` tell which of them there are; the views to read; texts whose words are counted, see
        `words_of`; the schema, beside whose features others are passed over.

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

    # By view the number of its numbers, or the column of every word.
    _features: dict[str, int | dict[str, int]]
    # The names of all values, in order of appearance.
    _names: dict[str, None]
    # Whether words that are not known yet become features.
    _learns = True

    def __init__(self, path: PathLike | File, options: ReadOptions = _ANYTHING) -> None:
        super().__init__(path)
        self._options = options
        self._scan()
        if not self._features and self.other_views:
            # None of the views: it is read as it is, as it may be needed for its keys.
            self._options = replace(options, views=None)
            self._scan()
        if not self._features:
            raise SourceError(f"{self._file} has no rows with views.")
        self.header = frozenset(self._features)
        self.grows = not all(map(self._is_settled, self._features))

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features, in order of appearance."""
        known = self._features.values()
        widths = (each if isinstance(each, int) else max(1, len(each)) for each in known)
        names = (None if isinstance(each, int) else tuple(each) or None for each in known)
        return Schema(tuple(self._features), tuple(widths), tuple(names))

    def conform(self, schema: Schema) -> tuple[str, ...]:
        """Have the views and words of all parts of the same rows; see `Source.conform`."""
        features: dict[str, int | dict[str, int]] = {}
        lacking = []
        for view, width, names in zip(
            schema.names, schema.widths, schema.feature_names, strict=True
        ):
            own = self._features.get(view, {} if names else None)
            if isinstance(own, dict):
                features[view] = {name: j for j, name in enumerate(names or ())}
            elif names or own != width:
                lacking.append(view)
            else:
                features[view] = width
        if not lacking:
            self._features = features
        return tuple(lacking)

    def _scan(self) -> None:
        """Read all rows to find the views and their features."""
        self._features, self._names = {}, {}
        self._n_rows = 0
        for row, _, _, after in self._rows(None):
            self._n_rows = after["row"]
            self._see(row, after["row"])
        self._describe()

    def _describe(self) -> None:
        """Tell which of the values that were asked for are there."""
        options = self._options
        self.dropped = frozenset(options.drop) & self._names.keys()
        self.may_be_keys = frozenset(self._names.keys() - self._features)
        self.kept = dict.fromkeys(name for name in options.keep if name in self._names)
        asked = {*options.drop, *options.keep, options.key, *(options.views or self._names)}
        self.other_views = tuple(name for name in self._names if name not in asked)

    def _is_settled(self, view: str) -> bool:
        """Tell whether more rows will tell of no new feature of a view."""
        return isinstance(self._features[view], int) or self._options.width(view) is not None

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        start, reader = row_of(cursor), self._rows(cursor)
        while batch := list(islice(reader, batch_size)):
            rows, keys, kept, places = zip(*batch, strict=True)
            yield Chunk(
                start,
                self._views(rows),
                places[-1],
                None if self._options.key is None else objects(keys),
                {name: objects([each.get(name) for each in kept]) for name in self.kept},
            )
            start += len(batch)

    def _lines(self, cursor: Cursor | None) -> Iterator[tuple[bytes, Cursor]]:
        return lines(self._file, cursor)

    def _rows(self, cursor: Cursor | None) -> Iterator[_Row]:
        return self._picked(parsed_lines(self._lines(cursor), self.name))

    def _picked(self, rows: Iterable[tuple[dict[str, Any], Cursor]]) -> Iterator[_Row]:
        """Yield the views of every row, its key, what goes along, and where to go on after."""
        options = self._options
        aside = {*options.drop, *options.keep, options.key}
        for row, after in rows:
            self._names.update(dict.fromkeys(row))
            key = None if options.key is None else self._key(row.get(options.key), after["row"])
            kept = {name: row[name] for name in options.keep if name in row}
            views = {
                view: value
                for view, value in row.items()
                if value is not None
                and view not in aside
                and (options.views is None or view in options.views)
            }
            for view in options.tokenize:
                if isinstance(views.get(view), str):
                    views[view] = words_of(views[view])
            yield views, key, kept, after

    def _key(self, key: Any, number: int) -> Any:
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise SourceError(
                f"Row {number:,} of {self.name} has the key {self._options.key!r}: {key!r}; "
                "expected a string or a whole number."
            )
        return key

    def _see(self, row: Mapping[str, Any], number: int) -> None:
        """Learn what a row tells of its views."""
        for view, value in row.items():
            kind = _kind(value)
            if kind not in ("numbers", "words"):
                words = f" Take it for its words: tokenize=[{view!r}] (--tokenize {view});"
                raise SourceError(
                    f"View {view!r} is {kind} in row {number:,} of {self.name}; expected a list of "
                    f"numbers, features with values, or a list of words."
                    f"{words if kind == 'a text' else ''} Leave it out: drop=[{view!r}] (--drop "
                    f"{view}); or carry it along: keep=[{view!r}] (--keep {view})."
                )
            if view not in self._features:
                places = self._options.places(view, self.name) if kind == "words" else None
                self._features[view] = len(value) if kind == "numbers" else places or {}
            known = self._features[view]
            before = "numbers" if isinstance(known, int) else "words"
            if kind != before and value != []:
                raise SourceError(
                    f"View {view!r} is {kind} in row {number:,} of {self.name}, and {before} "
                    "before; expected one of these throughout."
                )
            if isinstance(known, int):
                if len(value) != known:
                    raise SourceError(
                        f"View {view!r} has {len(value):,} numbers in row {number:,} of "
                        f"{self.name}, and {known:,} before."
                    )
            elif self._learns and not self._is_settled(view):
                for feature in value:
                    known.setdefault(feature, len(known))

    def _views(self, rows: Sequence[Mapping[str, Any]]) -> Views:
        """Return rows that were seen."""
        blocks: dict[str, Any] = {}
        present = {}
        for view, known in self._features.items():
            values = [row.get(view) for row in rows]
            # A row of nothing at all is an empty one: it lacks numbers, but no words.
            has = np.array([view in row or not (row or isinstance(known, int)) for row in rows])
            if not has.all():
                present[view] = has
            if isinstance(known, int):
                full = [[0.0] * known if value is None else value for value in values]
                blocks[view] = np.array(full, np.float64).reshape(len(full), known)
            else:
                counted = [each if isinstance(each, dict) else Counter(each) for each in values]
                blocks[view] = self._words(view, counted, known)
        names = {
            view: tuple(known)
            for view, known in self._features.items()
            if isinstance(known, dict) and known and sp.issparse(blocks[view])
        }
        return Views(blocks, feature_names=names, present=present or None)

    def _words(self, view: str, rows: Sequence[Mapping[str, float]], known: dict[str, int]) -> Any:
        """Return the words of some rows as a matrix."""
        if self._options.width(view) is not None:
            rows = [{word: n for word, n in row.items() if word in known} for row in rows]
        indices = np.array([known[word] for row in rows for word in row], np.int64)
        data = np.array([float(n) for row in rows for n in row.values()], np.float64)
        ends = np.cumsum([0, *map(len, rows)])
        return sp.csr_array((data, indices, ends), shape=(len(rows), max(1, len(known))))


class JsonStream(JsonLinesSource):
    """JSON Lines that come from a stream, whose rows can be read once, as they come.

    Every view is in the first row, or is one of the schema. Of views whose words are not known
    before, a chunk has the words of its own rows: for `OMVFS` with ``new_features="grow"``.
    """

    def __init__(self, stream: Stream, options: ReadOptions = _ANYTHING) -> None:
        self._stream, self._options, self.name = stream, options, STANDARD_INPUT
        self._features, self._names = {}, {}
        first = [(stream.first(), {"row": 1})]
        for views, *_ in self._picked(parsed_lines(first, self.name)):
            self._see(views, 1)
        self._learns = False
        schema = options.schema or Schema((), (), ())
        for view, names in zip(schema.names, schema.feature_names, strict=True):
            wanted = options.views is None or view in options.views
            if names is not None and wanted and view not in self._features:
                self._features[view] = {name: j for j, name in enumerate(names)}
        self._describe()
        self.grows = not all(map(self._is_settled, self._features))

    @property
    def identity(self) -> dict[str, Any]:
        """What the rows are; how many words there are is not known."""
        widths = {
            view: width if self._is_settled(view) else None
            for view, width in zip(self.schema.names, self.schema.widths, strict=True)
        }
        return {"kind": type(self).__name__, "views": widths}

    def _lines(self, cursor: Cursor | None) -> Iterator[tuple[bytes, Cursor]]:
        return self._stream.lines(cursor)

    def _rows(self, cursor: Cursor | None) -> Iterator[_Row]:
        for row in super()._rows(cursor):
            views, number = row[0], row[-1]["row"]
            if late := [view for view in views if view not in self._features]:
                raise SourceError(
                    f"View {late[0]!r} begins in row {number:,} of standard input; expected every "
                    f"view in the first row. Leave it out: drop=[{late[0]!r}] (--drop {late[0]}); "
                    "or write the rows into a file first."
                )
            self._see(views, number)
            yield row

    def _words(self, view: str, rows: Sequence[Mapping[str, float]], known: dict[str, int]) -> Any:
        if self._is_settled(view):
            return super()._words(view, rows, known)
        return [{word: float(n) for word, n in row.items()} for row in rows]


class JsonLinesWriter(TextWriter):
    """Writes an object a row: sparse views as ``{"feature": value}``, dense ones as numbers."""

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


def parsed_lines(
    numbered: Iterable[tuple[bytes, Cursor]], name: str
) -> Iterator[tuple[dict[str, Any], Cursor]]:
    """Yield the objects in some lines, and where to go on after each."""
    for line, after in numbered:
        try:
            text = line.decode("utf-8-sig")
            row = json.loads(text, parse_int=_whole)
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


def _whole(digits: str) -> int | float:
    """Return a whole number; one that no double comes near is infinite, as 1e999 is."""
    return int(digits) if len(digits) < 309 else float(digits)


def _kind(value: Any) -> str:
    """Return what a view of a row is, or say that it is nothing."""
    if isinstance(value, dict) and all(_is_number(each) for each in value.values()):
        return "words"
    if isinstance(value, list) and value and all(_is_number(each) for each in value):
        return "numbers"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "words"
    if _is_number(value):
        return "a number"
    return "a text" if isinstance(value, str) else "something else"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def entries(X: Any, names: Any) -> list[dict[str, float]]:
    """Return the entries of every row by name of the feature, or its number from 0."""
    names = [str(each) for each in (range(X.shape[1]) if names is None else names)]
    columns, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return [
        {names[j]: x for j, x in zip(columns[a:b], values[a:b], strict=True)}
        for a, b in pairwise(ends)
    ]


class SvmlightSource(FileSource):
    r"""One sparse view in an svmlight file, parsed by scikit-learn.

    It ends in ``.svm``, ``.svmlight`` or ``.libsvm``, packed or not (``.svm.gz``). The file is
    read once to find its width, and whether its first index is 0 or 1: whether 0 appears. Labels
    are passed over.

    Parameters
    ----------
    path : path
    view : str
        Name of the view.
    n_features : int, default=None
        Width of the view; by default its highest index tells.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.svm"
    >>> _ = path.write_text("1 1:0.5 3:2\n0 2:1 # a comment\n")
    >>> next(SvmlightSource(path, "x").chunks(2)).views["x"].toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    """

    alone = "whether indices begin at 0 or at 1 is told by all rows together"

    def __init__(self, path: PathLike | File, view: str, n_features: int | None = None) -> None:
        super().__init__(path)
        self._view = view
        low, high, self._n_rows, n_values = 1, 1, 0, 0
        for X, cursor in self._read(1000, None):
            self._n_rows, n_values = cursor["row"], n_values + X.nnz
            if X.nnz:
                low, high = min(low, X.indices.min()), max(high, X.indices.max())
        if n_features is None and high > max(MAX_GAPPY_COLUMNS, n_values):
            raise SourceError(
                f"{self._file} has indices up to {high:,}, and {n_values:,} values; expected "
                f"indices up to {MAX_GAPPY_COLUMNS:,}, or no more columns than values. Number its "
                "features without gaps, or hash them."
            )
        if not self._n_rows:
            raise SourceError(f"{self._file} has no rows.")
        self._first = int(low)
        found = int(high) + 1 - self._first
        width = whole("n_features", found if n_features is None else n_features, least=1)
        if found > width:
            raise SourceError(
                f"{self._file} has indices from {low:,} to {high:,}, beyond the {width:,} of view "
                f"{view!r}."
            )
        self._schema = Schema((view,), (width,), (None,))

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row = row_of(cursor)
        for X, after in self._read(batch_size, cursor):
            shape = X.shape[0], self._schema.widths[0]
            block: Block = sp.csr_array((X.data, X.indices - self._first, X.indptr), shape=shape)
            yield Chunk(row, named({self._view: block}, self._schema), after)
            row += X.shape[0]

    def _read(self, batch_size: int, cursor: Cursor | None) -> Iterator[tuple[Any, Cursor]]:
        """Yield rows as a matrix, whose columns are the indices as they are, and where to go on."""
        row = row_of(cursor)
        # A comment is no row.
        reader = (each for each in lines(self._file, cursor) if each[0].split(b"#")[0].strip())
        while batch := list(islice(reader, batch_size)):
            X = self._parsed([line for line, _ in batch], row)
            row += len(batch)
            yield X, {**batch[-1][1], "row": row}

    def _parsed(self, rows: list[bytes], start: int) -> Any:
        from sklearn.datasets import load_svmlight_file

        with reading(self._file, f" in row {start + 1:,}"):
            try:
                text = io.BytesIO(b"\n".join(rows))
                return load_svmlight_file(text, zero_based=True, multilabel=True)[0]
            except Exception:
                if len(rows) == 1:
                    raise
        # The first row that cannot be read by itself is named.
        for number, row in enumerate(rows, start):
            self._parsed([row], number)
        raise AssertionError("rows cannot be read together, though each can")


class SvmlightWriter(TextWriter):
    """Writes one view, indices from 1, with the label 0."""

    def _lines(self, views: Views, kept: Kept) -> list[str]:
        X = only_block(views, self._path)
        numbers = np.arange(1, X.shape[1] + 1)
        rows = entries(sp.csr_array(X), numbers)
        return [" ".join(["0", *(f"{j}:{x!r}" for j, x in row.items())]) for row in rows]


def are_values(rows: Iterable[Mapping[str, Any]], options: ReadOptions) -> bool:
    """Tell whether objects are rows of a table.

    Some of their values are single, and none is a view: a list of numbers, or numbers by names that
    differ from row to row. If views are asked for, or known, some are those of a table.
    """
    schema = options.schema if options.columns is None else None
    views = options.views or (schema.names if schema is not None else ())
    if views and not {NUMBERS, CATEGORIES} & set(views):
        return False
    rows = list(rows)
    aside = {*options.drop, *options.keep, *options.tokenize, options.key}
    values = [value for row in rows for name, value in row.items() if name not in aside]
    single = any(isinstance(value, str | int | float) for value in values)
    names: dict[str, tuple[str, ...]] = {}
    differ = any(
        names.setdefault(name, tuple(value)) != tuple(value)
        for row in rows
        for name, value in row.items()
        if name not in aside and isinstance(value, dict) and _kind(value) == "words"
    )
    return single and not differ and not any(_kind(value) == "numbers" for value in values)


def open_reader(file: File, view: str, options: ReadOptions) -> Source:
    """Open a file for `open_source`."""
    if file.ending == ".jsonl":
        with file.open_text() as opened, reading(file):
            first = islice(read_lines(opened, str(file)), _LOOKED_AT)
            rows = [row for row, _ in parsed_lines(first, str(file))]
        if are_values(rows, options):
            tables = load(".csv")
            source: Source = tables.TableSource(tables.JsonTable(file), view, options)
            return source
        return JsonLinesSource(file, options)
    return SvmlightSource(file, view, options.width(view))


def open_writer(path: PathLike, *more: Any) -> Writer:
    """Return what writes a file."""
    kind = JsonLinesWriter if File(path).ending == ".jsonl" else SvmlightWriter
    return kind(path, *more)
