"""Text files of a row a line: JSON Lines and svmlight, plain or compressed, read and written."""

import gzip
import json
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, listed, view_of
from omvfs.data.views import Views
from omvfs.disk import Staging
from omvfs.formats.files import File, PathLike, reading
from omvfs.formats.source import (
    NOTHING,
    Chunk,
    Cursor,
    Kept,
    ReadOptions,
    Source,
    SourceError,
    is_text,
    named,
    objects,
    row_of,
    some,
)
from omvfs.formats.writer import Writer, only_block
from omvfs.parameters import whole

# A line longer than this is refused, before it is held in memory.
MAX_LINE_BYTES = 1 << 26
# More blank lines one after another are taken for damage.
MAX_BLANK_LINES = 1 << 20
# A list of as many numbers as the view is wide, an object of features and values, tokens to count.
_KINDS = "numbers", "object", "tokens"
# One of the last two: which, no row has told yet.
_WORDS = "words"
_WORD = re.compile(r"\w\w+")
# Half a character, unless the other half is beside it.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# In the place of a view that a row lacks.
_NOT_THERE: Any = object()
_ANYTHING = ReadOptions()
# The columns of a table of one entry a line.
_LONG = {"row", "feature", "value"}


def lines(
    path: PathLike | File, cursor: Cursor | None = None
) -> Generator[tuple[bytes, Cursor], None, None]:
    r"""Yield every line of a file that is not blank, and where to go on after it.

    Parameters
    ----------
    path : path or File
        With an ending ``.gz`` or ``.zst`` it is decompressed.
    cursor : dict, default=None
        As yielded before.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.txt"
    >>> _ = path.write_bytes(b"one\n\ntwo\n")
    >>> [line for line, _ in lines(path)]
    [b'one', b'two']
    """
    file = File(path)
    file.check()
    place = row_of(cursor, "byte")
    with file.open_text() as opened:
        with reading(file):
            _pass_over(opened, place, file)
        reader = read_lines(opened, str(file), row_of(cursor), place)
        while True:
            with reading(file):
                found = next(reader, None)
            if found is None:
                return
            yield found


def read_lines(
    opened: IO[bytes], name: str, row: int = 0, place: int = 0
) -> Iterator[tuple[bytes, Cursor]]:
    r"""Yield what `lines` does, from an open file at some row and byte.

    Examples
    --------
    >>> import io
    >>> list(read_lines(io.BytesIO(b"one\n"), "x"))
    [(b'one', {'row': 1, 'byte': 4})]
    """
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
    if not n_bytes:
        return
    if not file.compression and opened.seekable():
        opened.seek(0, 2)
        left = n_bytes - opened.tell()
        opened.seek(n_bytes)
    else:
        left = n_bytes
        while left > 0 and (passed := opened.read(min(left, 1 << 20))):
            left -= len(passed)
    if left > 0:
        raise SourceError(f"{file} is cut off before byte {n_bytes:,}.")


class TextWriter(Writer):
    """Base of writers of a line a row, plain or compressed. A subclass provides `_lines`."""

    def __init__(
        self,
        path: PathLike,
        kept: Mapping[str, Any] = NOTHING,
        staging: Staging | None = None,
    ) -> None:
        super().__init__(path, kept, staging)
        compression = File(path).compression
        if compression == ".zst":
            try:
                import pyarrow as pa
            except ImportError as missing:
                raise ImportError("Writing .zst needs: pip install omvfs[files]") from missing
        self._text: Any = self._stack.enter_context(self._temporary.open("wb"))
        if compression == ".gz":
            self._text = self._stack.enter_context(gzip.GzipFile(fileobj=self._text, mode="wb"))
        elif compression == ".zst":
            packed = pa.CompressedOutputStream(pa.PythonFile(self._text, "w"), "zstd")
            self._text = self._stack.enter_context(packed)

    def _append(self, views: Views, kept: Kept) -> None:
        text = "".join(f"{line}\n" for line in self._lines(views, kept))
        # What is no text, such as half a surrogate pair in a key, as JSON escapes it.
        self._text.write(text.encode(errors="backslashreplace"))

    @abstractmethod
    def _lines(self, views: Views, kept: Kept) -> list[str]:
        """Return some rows as lines without their ends."""


def tokens(text: str) -> list[str]:
    """Return the words of a text: lower-cased runs of two or more letters, digits or underscores.

    These are the words of scikit-learn's `CountVectorizer`.

    Examples
    --------
    >>> tokens("A naïve cat's 2nd try.")
    ['naïve', 'cat', '2nd', 'try']
    """
    return _WORD.findall(text.lower())


class Pick:
    """Takes from every row what is asked for, and knows what there was.

    Parameters
    ----------
    name : str
        Of where the rows come from, for errors.
    options : ReadOptions

    Attributes
    ----------
    dropped, kept : set of str
        What was asked to be left out, and to go along, and was there.
    other_views : dict of str to None
        Values that were there and not asked for, in order of appearance.

    Examples
    --------
    >>> pick = Pick("rows.jsonl", ReadOptions(key="id", drop=("day",), keep=("class",)))
    >>> pick({"id": 7, "day": "Monday", "class": "cat", "text": ["a"]}, 1)
    ({'text': ['a']}, 7, {'class': 'cat'})
    """

    def __init__(self, name: str, options: ReadOptions) -> None:
        self._name, self._options = name, options
        self.dropped: set[str] = set()
        self.kept: set[str] = set()
        self.other_views: dict[str, None] = {}

    def __call__(
        self, row: dict[str, Any], number: int
    ) -> tuple[dict[str, Any], Any, dict[str, Any]]:
        """Return the views of a row, its key, and what goes along with it.

        Parameters
        ----------
        row : dict
            It is used up.
        number : int
            Of the row, from 1, for errors.
        """
        options = self._options
        for name in options.drop:
            if name in row:
                del row[name]
                self.dropped.add(name)
        kept = {name: row.pop(name) for name in options.keep if name in row}
        self.kept.update(kept)
        key = self._key(row, number)
        if options.views is not None:
            self.other_views.update((view, None) for view in row if view not in options.views)
            row = {view: value for view, value in row.items() if view in options.views}
        for view in options.tokenize:
            if isinstance(row.get(view), str):
                row[view] = tokens(row[view])
        # What is null is not there.
        return {view: value for view, value in row.items() if value is not None}, key, kept

    def _key(self, row: dict[str, Any], number: int) -> Any:
        name = self._options.key
        if name is None:
            return None
        key = row.pop(name, None)
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise SourceError(
                f"Row {number:,} of {self._name} has the key {name!r}: {key!r}; expected a string "
                "or a whole number."
            )
        return key


class Shape:
    """What is known of the views of some rows: kinds, widths, features.

    Parameters
    ----------
    name : str
        Of where the rows come from, for errors.
    schema : Schema, default=None
        Views whose features, where they have names, are these: others are passed over.

    Examples
    --------
    >>> shape = Shape("rows.jsonl")
    >>> row = {"text": ["b", "a", "b"], "image": [0.5, 1]}
    >>> shape.see(row, 1)
    >>> shape.schema.names, shape.schema.feature_names
    (('text', 'image'), (('b', 'a'), None))
    >>> shape.blocks([row], 1)["image"]
    array([[0.5, 1. ]])
    """

    def __init__(self, name: str, schema: Schema | None = None) -> None:
        self._name, self._known = name, ReadOptions(schema=schema)
        self.kinds: dict[str, str] = {}
        # Whether words are to be passed on as they are, and not to be remembered.
        self.grows = False
        self._places: dict[str, dict[str, int]] = {}
        self._widths: dict[str, int] = {}

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features, in order of appearance."""
        names = tuple(self.kinds)
        widths = tuple(self._widths.get(n) or max(1, len(self._places[n])) for n in names)
        features = tuple(
            tuple(self._places[n]) or None if n in self._places else None for n in names
        )
        return Schema(names, widths, features)

    def expect_known(self, views: Sequence[str] | None = None) -> bool:
        """Expect all views that are known to have names, though no row had them yet.

        Parameters
        ----------
        views : sequence of str, default=None
            Of these only.

        Returns
        -------
        bool
            Whether more rows will tell of no new feature.
        """
        if (schema := self._known.schema) is not None:
            for view, names in zip(schema.names, schema.feature_names, strict=True):
                wanted = views is None or view in views
                if names is not None and wanted and view not in self.kinds:
                    self.kinds[view] = _WORDS
                    self._places[view] = {name: j for j, name in enumerate(names)}
        return all(
            kind == "numbers" or self._known.width(view) is not None
            for view, kind in self.kinds.items()
        )

    def conform(self, schema: Schema) -> tuple[str, ...]:
        """Have the views of a schema, in its order, and its words beside those that were seen.

        Parameters
        ----------
        schema : Schema
            It has all that is known here.

        Returns
        -------
        tuple of str
            Views of numbers that are others here, or not here: nothing is changed then.
        """
        described = zip(schema.names, schema.widths, schema.feature_names, strict=True)
        kinds: dict[str, str] = {}
        words: dict[str, dict[str, int]] = {}
        lacking = []
        for view, width, names in described:
            kinds[view] = self.kinds.get(view, _WORDS if names else "numbers")
            if kinds[view] != "numbers":
                words[view] = {name: j for j, name in enumerate(names or ())}
            elif names or self._widths.get(view) != width:
                lacking.append(view)
        if not lacking:
            self.kinds = kinds
            self._places |= words
        return tuple(lacking)

    def see(self, row: Mapping[str, Any], number: int) -> None:
        """Learn what a row tells.

        Parameters
        ----------
        row : mapping of str to value of the view
        number : int
            Of the row, from 1, for errors.
        """
        for view, value in row.items():
            self._see(view, value, number)

    def blocks(self, rows: Sequence[Mapping[str, Any]], number: int) -> dict[str, Block]:
        """Return rows that were seen as a block a view.

        Parameters
        ----------
        rows : sequence of mapping
        number : int
            Of the first row, from 1, for errors.
        """
        schema = self.schema
        return {
            view: self._block(view, [row.get(view) for row in rows], number, width)
            for view, width in zip(schema.names, schema.widths, strict=True)
        }

    def by_name(self, rows: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
        """Return rows that were seen, views of words as mappings with the features of each row.

        Parameters
        ----------
        rows : sequence of mapping
        number : int
            Of the first row, from 1, for errors.

        Examples
        --------
        >>> shape = Shape("rows.jsonl")
        >>> shape.see({"text": ["a", "b", "a"]}, 1)
        >>> shape.by_name([{"text": ["a", "b", "a"]}, {}], 1)
        {'text': [{'a': 2.0, 'b': 1.0}, {}]}
        """
        found: dict[str, Any] = {}
        for view, kind in self.kinds.items():
            values = [row.get(view) for row in rows]
            if kind == "numbers" or self._known.width(view) is not None:
                width = self._widths.get(view) or len(self._places[view])
                found[view] = self._block(view, values, number, width)
                continue
            try:
                found[view] = [_counted(value) for value in values]
            except OverflowError as error:
                raise self._too_large(view, values, number) from error
        return found

    def known_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the features of views whose words are all known."""
        return {
            view: tuple(places)
            for view, places in self._places.items()
            if self._known.width(view) is not None
        }

    def present(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.bool_]]:
        """Return by view that some rows lack, which rows have it.

        A row that has nothing of any view lacks none of those of words: it is an empty one.

        Parameters
        ----------
        rows : sequence of mapping

        Examples
        --------
        >>> shape = Shape("rows.jsonl")
        >>> rows = [{"text": ["a"], "tags": ["b"]}, {"text": []}, {}]
        >>> for number, row in enumerate(rows, 1):
        ...     shape.see(row, number)
        >>> shape.present(rows)
        {'tags': array([ True, False,  True])}
        """
        found = {}
        for view, kind in self.kinds.items():
            has = np.array([view in row or (not row and kind != "numbers") for row in rows])
            if not has.all():
                found[view] = has
        return found

    def _see(self, view: str, value: Any, number: int) -> None:
        kind = _kind(value)
        if kind == "a text":
            raise SourceError(
                f"View {view!r} is a text in row {number:,} of {self._name}; expected "
                f"{listed(_KINDS)}. Take it for its words: tokenize=[{view!r}] (--tokenize "
                f"{view}); or carry it along: keep=[{view!r}] (--keep {view}); or leave it out: "
                f"drop=[{view!r}] (--drop {view})."
            )
        if kind not in _KINDS:
            raise SourceError(
                f"View {view!r} is {kind} in row {number:,} of {self._name}; expected "
                f"{listed(_KINDS)}: a list of numbers, features with values, or a list of words. "
                f"Leave it out: drop=[{view!r}] (--drop {view}); or carry it along: "
                f"keep=[{view!r}] (--keep {view})."
            )
        if self.kinds.get(view) == _WORDS and kind != "numbers":
            self.kinds[view] = kind
        known = self.kinds.setdefault(view, kind)
        if kind != known and value != []:
            raise SourceError(
                f"View {view!r} is {kind} in row {number:,} of {self._name}, and {known} before; "
                f"expected one of {listed(_KINDS)} throughout."
            )
        if known == "numbers":
            width = self._widths.setdefault(view, len(value))
            if len(value) != width:
                raise SourceError(
                    f"View {view!r} has {len(value):,} numbers in row {number:,} of {self._name}, "
                    f"and {width:,} before."
                )
        else:
            if view not in self._places:
                self._places[view] = self._known.places(view, self._name) or {}
            if self._known.width(view) is None and not self.grows:
                places = self._places[view]
                for feature in value:
                    places.setdefault(feature, len(places))

    def _block(self, view: str, values: list[Any], number: int, width: int) -> Block:
        try:
            return self._made(view, values, number, width)
        except OverflowError as error:
            raise self._too_large(view, values, number) from error

    def _too_large(self, view: str, values: list[Any], number: int) -> SourceError:
        row = number + next(i for i, value in enumerate(values) if _is_too_large(value))
        return SourceError(
            f"View {view!r} has a number of over 308 digits in row {row:,} of {self._name}; "
            "expected numbers that a double can hold."
        )

    def _made(self, view: str, values: list[Any], number: int, width: int) -> Block:
        if self.kinds[view] == "numbers":
            nothing = [0.0] * width
            whole = [nothing if value is None else value for value in values]
            return np.array(whole, np.float64).reshape(len(values), width)
        places = self._places[view]
        counted = [value if isinstance(value, dict) else Counter(value or ()) for value in values]
        if self._known.width(view) is not None:
            counted = [{f: x for f, x in row.items() if f in places} for row in counted]
        indptr = np.cumsum([0, *map(len, counted)])
        indices = [places[feature] for row in counted for feature in row]
        data = [float(each) for row in counted for each in row.values()]
        parts = np.array(data, np.float64), np.array(indices, np.int64), indptr
        return sp.csr_array(parts, shape=(len(values), width))


def _counted(value: Any) -> dict[str, float]:
    """Return the features of a row by name: tokens are counted."""
    row = value if isinstance(value, dict) else Counter(value or ())
    return {name: float(each) for name, each in row.items()}


def _kind(value: Any) -> str:
    """Return what a view of a row is, or say that it is nothing."""
    if isinstance(value, dict) and all(_is_number(each) for each in value.values()):
        return "object"
    if isinstance(value, list) and value and all(_is_number(each) for each in value):
        return "numbers"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "tokens"
    if _is_number(value):
        return "a number"
    return "a text" if isinstance(value, str) else "something else"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_too_large(value: Any) -> bool:
    """Tell whether a view of a row has a whole number that no double comes near."""
    try:
        list(map(float, value.values() if isinstance(value, dict) else value))
    except OverflowError:
        return True
    return False


def entries(X: Any, names: Any) -> list[dict[str, float]]:
    """Return the entries of every row by name of the feature, or its number from 0.

    Examples
    --------
    >>> entries(sp.csr_array([[0.0, 2.0]]), ["cat", "dog"])
    [{'dog': 2.0}]
    """
    names = [str(each) for each in (range(X.shape[1]) if names is None else names)]
    columns, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return [
        {names[j]: x for j, x in zip(columns[a:b], values[a:b], strict=True)}
        for a, b in pairwise(ends)
    ]


class JsonLinesSource(Source):
    r"""Views in a file of one JSON object a line, ``.jsonl``, with ``.gz`` or ``.zst`` too.

    A view is a list of numbers, an object ``{"feature": value}``, or a list of tokens, which are
    counted. The file is read once to find the views and their features, in the order in which they
    appear. A row lacks the views that it leaves out, or has as null; ``{}`` and ``[]`` are views
    with nothing in them.

    Parameters
    ----------
    path : path
    options : ReadOptions
        The key of the rows, which is no view; values to leave out and to carry along: `dropped` and
        `kept` tell which of them there are; the views to read; texts whose words are counted, see
        `tokens`; the schema, beside whose features others are passed over.

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
        options: ReadOptions = _ANYTHING,
    ) -> None:
        self._file, self._options = File(path), options
        self.files, self.name = (self._file,), str(self._file)
        self._scan()
        if not self._shape.kinds and self.other_views:
            # None of the views: it is read as it is, as it may be needed for its keys.
            self._options = replace(self._options, views=None)
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
        self._pick, self._shape = (
            Pick(self.name, self._options),
            Shape(self.name, self._options.schema),
        )
        self._n_rows = 0
        for n, (row, _, _, after) in enumerate(self._rows(None), 1):
            self._n_rows = n
            self._shape.see(row, after["row"])
        self.dropped = frozenset(self._pick.dropped)
        self.kept = dict.fromkeys(name for name in self._options.keep if name in self._pick.kept)
        self.other_views = tuple(self._pick.other_views)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        number, reader, schema = row_of(cursor), self._rows(cursor), self.schema
        while batch := list(islice(reader, batch_size)):
            rows, keys, kept, places = zip(*batch, strict=True)
            yield Chunk(
                number,
                named(self._shape.blocks(rows, number + 1), schema, self._shape.present(rows)),
                places[-1],
                None if self._options.key is None else objects(keys),
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
        self.files, self.name = (self._file,), str(self._file)
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


def is_long(names: Iterable[str]) -> bool:
    """Tell whether a table with these columns has an entry a line.

    Examples
    --------
    >>> is_long(["row", "feature", "value"]), is_long(["view", "row", "feature", "value"])
    (True, True)
    >>> is_long(["row", "value"])
    False
    """
    return set(names) - {"view"} == _LONG


def columns_by_view(
    names: Sequence[str],
    view: str,
    where: str,
    schema: Schema | None = None,
    views: Sequence[str] | None = None,
) -> dict[str, list[str]]:
    """Return columns called ``view__feature`` by view; one view if none is called so.

    Parameters
    ----------
    names : sequence of str
        The columns.
    view : str
        Name of the view of columns that name none.
    where : str
        Of what, for errors.
    schema : Schema, default=None
        Views whose features, where it names them, are taken as it has them; other columns are left
        out.
    views : sequence of str, default=None
        Views that are asked for: if they are there, columns that name none do not matter.

    Examples
    --------
    >>> columns_by_view(["text__a", "image__x"], "rows", "x.csv")
    {'text': ['text__a'], 'image': ['image__x']}
    >>> columns_by_view(["a", "b"], "rows", "x.csv")
    {'rows': ['a', 'b']}
    >>> columns_by_view(["a", "b", "c"], "rows", "x.csv", Schema(("rows",), (2,), (("c", "a"),)))
    {'rows': ['c', 'a']}
    """
    called = {name: own for name in names if (own := view_of(name)) is not None}
    odd = [name for name in names if name not in called]
    asked = views is not None and not set(views).isdisjoint(called.values())
    if called and odd and schema is None and not asked:
        raise SourceError(
            f"{where} has columns called 'view__feature' and others: {some(odd)}. Leave those out "
            "by their names: drop=[...] (--drop NAME); or carry them along: keep=[...] (--keep "
            "NAME); or name the key of the rows: key=... (--key NAME)."
        )
    found: dict[str, list[str]] = {}
    for name in called or names:
        found.setdefault(called.get(name, view), []).append(name)
    if schema is not None:
        for own, features in zip(schema.names, schema.feature_names, strict=True):
            if own in found and features is not None:
                found[own] = _taken(found[own], own, features, where)
    return found


def _taken(names: Sequence[str], view: str, features: Sequence[str], where: str) -> list[str]:
    """Return the columns of some features, in their order."""
    places = {name.removeprefix(f"{view}__"): name for name in names}
    if missing := [feature for feature in features if feature not in places]:
        raise SourceError(
            f"{where} has no columns for the features {some(missing)} of view "
            f"{view!r}; expected all {len(features):,} that the model knows."
        )
    return [places[feature] for feature in features]


def schema_of(columns: Mapping[str, Sequence[str]]) -> Schema:
    """Return the views that columns make, features without the name of their view.

    Examples
    --------
    >>> schema_of({"text": ["text__a", "text__b"]})
    Schema(names=('text',), widths=(2,), feature_names=(('a', 'b'),))
    """
    features = tuple(
        tuple(name.removeprefix(f"{view}__") for name in names) for view, names in columns.items()
    )
    return Schema(tuple(columns), tuple(map(len, features)), features)


def kept_of(names: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> Kept:
    """Return what goes along with some rows by name, None where a row has nothing.

    Examples
    --------
    >>> kept_of(["class"], [{"class": "cat"}, {}])
    {'class': array(['cat', None], dtype=object)}
    """
    return {name: objects([row.get(name) for row in rows]) for name in names}


def open_reader(file: File, view: str, options: ReadOptions) -> Source:
    """Open a file for `open_source`."""
    if file.ending == ".jsonl":
        return JsonLinesSource(file, options)
    return SvmlightSource(file, view, options.width(view))


def open_writer(
    path: PathLike, kept: Mapping[str, Any] = NOTHING, staging: Staging | None = None
) -> Writer:
    """Return what writes a file."""
    kind = JsonLinesWriter if File(path).ending == ".jsonl" else SvmlightWriter
    return kind(path, kept, staging)
