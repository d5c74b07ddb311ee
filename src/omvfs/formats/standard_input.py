"""Rows that another program hands over, read as they come."""

import csv
import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from omvfs.data.schema import Schema
from omvfs.data.views import Views
from omvfs.formats.files import File
from omvfs.formats.registry import load
from omvfs.formats.source import (
    Chunk,
    Cursor,
    Only,
    ReadOptions,
    Source,
    SourceError,
    fewer_rows,
    named,
    row_of,
)
from omvfs.formats.text_files import (
    MAX_LINE_BYTES,
    Pick,
    Shape,
    columns_by_view,
    is_long,
    kept_of,
    parsed,
    read_lines,
    schema_of,
)

_NAME = "standard input"
_ANYTHING = ReadOptions()
_logger = logging.getLogger(__name__)


def standard_input(
    view: str, stream: IO[bytes] | None = None, options: ReadOptions = _ANYTHING
) -> Source:
    r"""Open standard input: JSON Lines, CSV with a header, or svmlight, told by its first line.

    Rows of numbers are read as they come, so that the stream need not end, and so are words if all
    of them are known before: `options.schema` has them. Other words, svmlight and CSV in long form
    (see `LongSource`) are put into a temporary file first: which features there are is known when
    all were read. But if `options.new_features` is "grow", words are read as they come too: every
    chunk has those of its own rows.

    Parameters
    ----------
    view : str
        Name of the view of CSV columns that name none, and of svmlight.
    stream : binary file, default=None
        Where to read instead.
    options : ReadOptions
        As for a file; nothing has keys.

    Examples
    --------
    >>> import io
    >>> source = standard_input("rows", io.BytesIO(b"text__a,image__x\n1,2\n3,4\n"))
    >>> [chunk.views for chunk in source.chunks(1)]
    [Views(1 rows; text: 1, image: 1; float64), Views(1 rows; text: 1, image: 1; float64)]
    """
    if stream is None:
        # Not sys.stdin.buffer, for which Python would wait at its end if a reader waits in it.
        stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
    first = b""
    while not first.strip():
        first = stream.readline(MAX_LINE_BYTES + 1)
        if not first:
            raise SourceError("Standard input has no rows.")
    if first.lstrip().startswith(b"{"):
        return _json_rows(first, stream, view, options)
    words = first.split()
    if len(words) > 1 and all(b":" in word for word in words[1:] if not word.startswith(b"#")):
        return _Spooled(first, stream, ".svm", view, options)
    return _csv_rows(first, stream, view, options)


class StreamSource(Source):
    """Rows that can be read once, of views whose features are all known.

    Parameters
    ----------
    shape : Shape
        Views and widths, as the first row has them.
    rows : iterator of (dict of str to value of the view, dict of str to what goes along)
    schema : Schema, default=None
        With names of features; by default that of `shape`.
    """

    name = "Standard input"

    def __init__(
        self,
        shape: Shape,
        rows: Iterator[tuple[dict[str, Any], dict[str, Any]]],
        schema: Schema | None = None,
    ) -> None:
        self._shape, self._rows = shape, rows
        self._schema = schema or shape.schema
        self._read = 0

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row = row_of(cursor)
        if row < self._read:
            raise SourceError("Standard input can be read once only; write it into a file first.")
        self._read += sum(1 for _ in islice(self._rows, row - self._read))
        if self._read < row:
            raise fewer_rows(self.name, self._read, row)
        while batch := list(islice(self._rows, batch_size)):
            values, kept = zip(*batch, strict=True)
            for number, each in enumerate(values, row + 1):
                self._see(each, number)
            views = self._views(values, row + 1)
            row = self._read = row + len(batch)
            yield Chunk(row - len(batch), views, {"row": row}, None, kept_of(self.kept, kept))

    def _views(self, values: Sequence[dict[str, Any]], number: int) -> Views:
        present = self._shape.present(values)
        if not self.grows:
            return named(self._shape.blocks(values, number), self._schema, present)
        rows = self._shape.by_name(values, number)
        return Views(rows, feature_names=self._shape.known_names(), present=present or None)

    @property
    def identity(self) -> dict[str, Any]:
        """What the rows are; how many words there are is not known."""
        known = super().identity
        if not self.grows:
            return known
        kinds = self._shape.kinds
        widths = {v: D if kinds[v] == "numbers" else None for v, D in known["views"].items()}
        return {**known, "views": widths}

    def _see(self, values: dict[str, Any], number: int) -> None:
        if late := [view for view in values if view not in self._schema.names]:
            raise SourceError(
                f"View {late[0]!r} begins in row {number:,} of standard input; expected every view "
                f"in the first row. Leave it out: drop=[{late[0]!r}] (--drop {late[0]}); or write "
                "the rows into a file first."
            )
        self._shape.see(values, number)


class _Spooled(Only):
    """A stream that was put into a file to be read by a reader of files."""

    def __init__(
        self, first: bytes, stream: IO[bytes], ending: str, view: str, options: ReadOptions
    ) -> None:
        # Without a name where it can be opened so, that nothing stays whatever ends the process.
        nameless = Path("/proc/self/fd").is_dir()
        make: Any = tempfile.TemporaryFile if nameless else tempfile.NamedTemporaryFile
        self._spool = make(suffix=ending)
        try:
            self._spool.write(first)
            shutil.copyfileobj(stream, self._spool, 1 << 20)
            self._spool.flush()
            place = f"/proc/self/fd/{self._spool.fileno()}" if nameless else self._spool.name
            file = File(place, _NAME)
            file.ending = ending
            source: Source = load(ending).open_reader(file, view, options)
            super().__init__(source, source.schema.names)
            self.name, self.files = StreamSource.name, ()
        except BaseException:
            self._spool.close()
            raise

    def close(self) -> None:
        super().close()
        self._spool.close()


def _numbered(first: bytes, stream: IO[bytes]) -> Iterator[tuple[bytes, Cursor]]:
    """Yield every line with its number, the first of which was read already."""
    return chain([(first.rstrip(), {"row": 1})], read_lines(stream, _NAME, 1))


def _json_rows(first: bytes, stream: IO[bytes], view: str, options: ReadOptions) -> Source:
    pick, shape = Pick(_NAME, options), Shape(_NAME, options.schema)
    ((row, _),) = parsed([(first, {"row": 1})], _NAME)
    shape.see(pick(row, 1)[0], 1)
    grows = not shape.expect_known(options.views)
    if grows and options.new_features == "error":
        _logger.info(
            "Standard input is read to its end before the first row is used, as only then all "
            "words are known; schema=... (select --vocabulary VIEW=FILE) names them before."
        )
        return _Spooled(first, stream, ".jsonl", view, options)

    def rows() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for row, after in parsed(_numbered(first, stream), _NAME):
            values, _, kept = pick(row, after["row"])
            yield values, kept

    source = StreamSource(shape, rows())
    source.grows = shape.grows = grows
    source.dropped, source.other_views = frozenset(pick.dropped), tuple(pick.other_views)
    source.kept = dict.fromkeys(name for name in options.keep if name in pick.kept)
    return source


def _csv_rows(first: bytes, stream: IO[bytes], view: str, options: ReadOptions) -> Source:
    try:
        names = next(csv.reader([first.decode("utf-8-sig").rstrip("\r\n")]))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"Standard input begins with no header of CSV: {error}") from error
    if len(set(names)) < len(names):
        raise SourceError("Standard input has two columns of the same name.")
    dropped = frozenset(options.drop) & frozenset(names)
    kept = [name for name in options.keep if name in names]
    # A column without a name is the index of a frame of pandas.
    data = [name for name in names if name and name not in {*dropped, *kept}]
    if is_long(data):
        return _Spooled(first, stream, ".csv", view, options)
    columns = columns_by_view(data, view, _NAME.capitalize(), options.schema, options.views)
    read, other_views = options.split(columns)
    columns = {each: columns[each] for each in read}
    if not columns:
        raise SourceError(f"{_NAME.capitalize()} has no columns for view {view!r}.")
    places = {name: j for j, name in enumerate(names)}
    shape = Shape(_NAME)
    own = {each: [places[name] for name in cols] for each, cols in columns.items()}
    shape.see({each: [0] * len(js) for each, js in own.items()}, 1)

    def rows() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for line, after in read_lines(stream, _NAME):
            values = _values(line, after)
            if len(values) != len(names):
                raise SourceError(
                    f"Row {after['row']:,} of standard input has {len(values):,} values; the "
                    f"header has {len(names):,}."
                )
            try:
                row = {each: [_number(values[j]) for j in js] for each, js in own.items()}
            except ValueError as error:
                raise SourceError(f"Row {after['row']:,} of standard input: {error}.") from error
            yield row, {name: values[places[name]] for name in kept}

    source = StreamSource(shape, rows(), schema_of(columns))
    source.dropped, source.other_views, source.kept = dropped, other_views, dict.fromkeys(kept)
    return source


def _values(line: bytes, after: Cursor) -> list[str]:
    """Return the values of a line of CSV, as they are written."""
    text = line.decode("utf-8", "replace")
    try:
        return next(csv.reader([text])) if '"' in text else text.split(",")
    except csv.Error as error:
        raise SourceError(f"Row {after['row']:,} of standard input: {error}.") from error


def _number(value: str) -> float:
    """Return what a value of CSV is as a number.

    Examples
    --------
    >>> _number("0.5"), _number("true"), _number("")
    (0.5, 1.0, nan)
    """
    word = value.strip().lower()
    return float({"": "nan", "true": "1", "false": "0"}.get(word, word))
