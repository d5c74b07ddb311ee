"""What every source is: rows of named views, read in order, from wherever a cursor says."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema
from omvfs.data.views import Views
from omvfs.parameters import whole
from omvfs.wording import BEGIN_ANEW, Clause, Sentence

# Plain values that JSON can hold: where in a source to go on.
Cursor: TypeAlias = dict[str, Any]
# What `open_source` can be told, as errors name it.
DROP, KEY = Clause("drop", "drop=[...]"), Clause("key", "key=...")
KEEP, TOKENIZE = Clause("keep", "keep=[...]"), Clause("tokenize", "tokenize=[...]")
# Values of columns that are no features, as objects: a value a row, None where there is none.
Kept: TypeAlias = Mapping[str, NDArray[Any]]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class SourceError(ValueError):
    """Data that cannot be read for what it is: damaged, or not as its kind should be."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a source.

    Attributes
    ----------
    start : int
        Number of the first row in the source.
    views : Views
        The rows.
    cursor : dict
        Where to go on after them; plain values that JSON can hold.
    keys : array, or None
        What tells the rows apart, if the source was asked for it.
    kept : mapping of str to array
        Columns that are no features and go along with the rows, if the source was asked for them.
    """

    start: int
    views: Views
    cursor: Cursor
    keys: NDArray[Any] | None = None
    kept: Kept = field(default_factory=dict)


class Source(ABC):
    """Rows of named views, read in order.

    A subclass sets `_schema` and, if it knows, `_n_rows`, or has `schema` and `n_rows` of its own;
    and provides `_chunks`. `omvfs.testing.check_source` tells whether it does what it must.

    Closing it, or leaving its ``with`` block, closes its files.

    Attributes
    ----------
    name : str
        What it is called in errors.
    dropped : frozenset of str
        What was asked to be left out, and is there.
    other_views : tuple of str
        Views that are there and were not asked for: they are not read.
    kept : mapping of str to type of pyarrow, or None
        Columns that are asked to go along with the rows, and are there; None if their type is not
        known.
    header : frozenset of str, or None
        What all files have in common that one table is cut into: names of columns, or of views.
        None if files of this kind do not tell, or are never cut.
    annotated : bool
        Whether its files say more of rows and columns, which files of the same kind can keep.
    alone : str
        Why its rows cannot be appended to those of others; empty if they can.
    grows : bool
        Whether there may be features later that its schema has not, if more rows come: words.
    """

    name: str = "The source"
    dropped: frozenset[str] = frozenset()
    other_views: tuple[str, ...] = ()
    kept: Mapping[str, Any] = NOTHING
    header: frozenset[str] | None = None
    annotated: bool = False
    alone: str = ""
    grows: bool = False

    _schema: Schema
    _n_rows: int | None = None

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features."""
        return self._schema

    @property
    def identity(self) -> dict[str, Any]:
        """What the rows are, wherever they are: plain values that JSON can hold.

        Sources that differ in it have other rows. The number of rows is not in it, as there may
        be more of them later.

        Examples
        --------
        >>> from omvfs.formats import ArraySource
        >>> ArraySource({"text": [[1.0, 2.0]]}).identity
        {'kind': 'ArraySource', 'views': {'text': 2}}
        """
        views = dict(zip(self.schema.names, self.schema.widths, strict=True))
        return {"kind": type(self).__name__, "views": views}

    @property
    def files(self) -> tuple[Any, ...]:
        """The files that are read, each a `File`, in order; empty for rows that are in none.

        By their size and time a run that goes on knows that they are the same.
        """
        # Readers keep the one file that they read under one of these names.
        held = (vars(self).get(name) for name in ("_file", "_path"))
        return tuple(each for each in held if hasattr(each, "stamp"))

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        return self._n_rows

    def lengthen(self, n_rows: int) -> None:  # noqa: B027 (most know how many rows they have)
        """Take rows after the last for empty, if this is a source that does not store such rows.

        Parameters
        ----------
        n_rows : int
            As many as there are at least.
        """

    def origin(self, view: str) -> "Source":
        """Return the source that a view comes from, of those that this one puts together.

        All its rows are those of this one, in order.

        Parameters
        ----------
        view : str
        """
        return self

    def conform(self, schema: Schema) -> tuple[str, ...]:
        """Have the views and features of all parts of the same rows, of which this is one.

        Features in another order are put into this one, and those that this source could have, but
        no row of it has, are zero.

        Parameters
        ----------
        schema : Schema
            All that any part has.

        Returns
        -------
        tuple of str
            Views that it has otherwise, or lacks: nothing is changed then, and they are no parts.
        """
        return schema.names

    def chunks(self, batch_size: int, cursor: Cursor | None = None) -> Iterator[Chunk]:
        """Yield the rows in chunks of `batch_size`, the last as long as it comes.

        Parameters
        ----------
        batch_size : int
            Rows of a chunk.
        cursor : dict, default=None
            The cursor of the chunk after which to go on; by default from the first row.
        """
        whole("batch_size", batch_size, least=1)
        n_rows, row = self.n_rows, row_of(cursor)
        if n_rows is not None and row > n_rows:
            raise fewer_rows(self.name, n_rows, row)
        return self._to_the_end(self._chunks(batch_size, cursor), row)

    def _to_the_end(self, chunks: Iterator[Chunk], row: int) -> Iterator[Chunk]:
        """Yield chunks, and refuse to end before the last row."""
        for chunk in chunks:
            row = chunk.start + len(chunk.views)
            yield chunk
        if self.n_rows is not None and row < self.n_rows:
            raise SourceError(
                f"{self.name} ended after row {row:,} of {self.n_rows:,}: it has changed since it "
                "was opened."
            )

    @abstractmethod
    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        """Yield what `chunks` says; the size is checked already."""

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Close what is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RowSource(Source):
    """Base of sources whose rows can be asked for by number.

    A subclass sets `_schema` and `_n_rows`, and provides `read`.
    """

    _n_rows: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._n_rows

    @abstractmethod
    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        for start in range(row_of(cursor), self.n_rows, batch_size):
            stop = min(start + batch_size, self.n_rows)
            yield Chunk(start, named(self.read(start, stop), self.schema), {"row": stop})


def row_of(cursor: Cursor | None, what: str = "row") -> int:
    """Return the number of the row at which to go on, or of something else.

    Examples
    --------
    >>> row_of(None), row_of({"row": 200}), row_of({"row": 200, "byte": 4096}, "byte")
    (0, 200, 4096)
    """
    if cursor is None:
        return 0
    number = cursor.get(what)
    if type(number) is not int or number < 0:
        raise of_other_inputs(f"it has {what} {number!r}; expected a whole number from 0")
    return number


def of_other_inputs(why: str) -> SourceError:
    """Return the error of a place to go on that is none of these inputs."""
    said = f"The cursor is of other inputs: {why}. Go on with the inputs of the run, or "
    return SourceError(Sentence(said, BEGIN_ANEW, "."))


def fewer_rows(name: str, n_rows: int, row: int) -> SourceError:
    """Return the error of a source that ends before the row at which to go on."""
    said = f"{name} has fewer rows than were read before: {n_rows:,}; expected at least {row:,}. "
    return SourceError(Sentence(said, "Go on with the same input, or ", BEGIN_ANEW, "."))


def named(
    blocks: Mapping[str, Block],
    schema: Schema,
    present: Mapping[str, NDArray[Any]] | None = None,
) -> Views:
    """Return blocks as views with the names of their features.

    Parameters
    ----------
    blocks : mapping of str to Block
    schema : Schema
    present : mapping of str to bool array, default=None
        By view that rows lack, which rows have it.
    """
    return Views(blocks, feature_names=known_names(schema), present=present or None)


def known_names(schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return the names of features by view, of those that have names."""
    names = zip(schema.names, schema.feature_names, strict=True)
    return {view: tuple(each) for view, each in names if each is not None}


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return values as an array of objects, whatever they are.

    Examples
    --------
    >>> objects([[1, 2], None])
    array([list([1, 2]), None], dtype=object)
    """
    found = np.empty(len(values), object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def kept_of(names: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> Kept:
    """Return what goes along with some rows by name, None where a row has nothing.

    Examples
    --------
    >>> kept_of(["class"], [{"class": "cat"}, {}])
    {'class': array(['cat', None], dtype=object)}
    """
    return {name: objects([row.get(name) for row in rows]) for name in names}


class Only(Source):
    """Some views of a source.

    Parameters
    ----------
    source : Source
    views : sequence of str

    Examples
    --------
    >>> import numpy as np
    >>> from omvfs.formats import ArraySource
    >>> source = ArraySource({"text": np.eye(3), "image": np.ones((3, 2))})
    >>> next(Only(source, ["image"]).chunks(3)).views
    Views(3 rows; image: 2; float64)
    """

    def __init__(self, source: Source, views: Sequence[str]) -> None:
        self._source, all_views = source, source.schema
        self.name, self.dropped, self.kept = source.name, source.dropped, source.kept
        self.other_views, self.grows = source.other_views, source.grows
        kept = [all_views.names.index(view) for view in views]
        self._schema = Schema(
            tuple(views),
            tuple(all_views.widths[v] for v in kept),
            tuple(all_views.feature_names[v] for v in kept),
        )

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        return self._source.n_rows

    @property
    def identity(self) -> dict[str, Any]:
        """That of the source, with these views."""
        return {**self._source.identity, "views": super().identity["views"]}

    @property
    def files(self) -> tuple[Any, ...]:
        """Those of the source."""
        return self._source.files

    def origin(self, view: str) -> Source:
        """Return where a view of the source comes from."""
        return self._source.origin(view)

    def lengthen(self, n_rows: int) -> None:
        """Take rows of the source after the last for empty."""
        self._source.lengthen(n_rows)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        for chunk in self._source.chunks(batch_size, cursor):
            yield replace(chunk, views=chunk.views.only(self._schema.names))

    def close(self) -> None:
        """Close the source."""
        self._source.close()
