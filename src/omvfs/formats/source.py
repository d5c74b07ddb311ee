"""Sources: rows of named views, read in order, from wherever a cursor says."""

import fnmatch
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.read import as_views, rechunk
from omvfs.data.schema import NewFeatures, Schema, by_prefix, listed
from omvfs.data.views import Views
from omvfs.parameters import whole

if TYPE_CHECKING:
    from omvfs.formats.files import File

# Plain values that JSON can hold: where in a source to go on.
Cursor: TypeAlias = dict[str, Any]
# Values of columns that are no features, as objects: a value a row, None where there is none.
Kept: TypeAlias = Mapping[str, NDArray[Any]]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class SourceError(ValueError):
    """Data that cannot be read for what it is: damaged, or not as its kind should be."""


@dataclass(frozen=True)
class ReadOptions:
    """What is asked of every file: the keyword arguments of `open_source`."""

    key: str | None = None
    drop: tuple[str, ...] = ()
    schema: Schema | None = None
    views: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    tokenize: tuple[str, ...] = ()
    layer: str | None = None
    new_features: NewFeatures = "error"
    # Kinds of columns of a table; or the table, as a model or another part of it knows it.
    columns: Any = None
    # What stands between the values of CSV; by default its first lines tell.
    delimiter: str | None = None
    # How columns of a table begin that tell their view, as `as_views` has it.
    split_by: str = "prefix"

    def __post_init__(self) -> None:
        by_prefix(self.split_by)
        if twice := [name for name in self.keep if name in self.drop]:
            raise SourceError(
                f"Got {listed(twice)} to leave out and to keep; expected one of these."
            )

    def split(self, views: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
        """Return the views of a file to read, and those that are there besides.

        A file that has none of those asked for is read as it is: it may be needed for its keys.
        """
        views = list(views)
        read = [view for view in views if self.views is None or view in self.views] or views
        return read, tuple(view for view in views if view not in read)

    def width(self, view: str) -> int | None:
        """Return how many features the schema has for a view; None if it has not the view."""
        known = self.schema
        return known.widths[known.number_of(view)] if known and view in known.names else None

    def places(self, view: str, where: str) -> dict[str, int] | None:
        """Return the column of every feature of a view of a file by name; None without schema."""
        if self.schema is None or view not in self.schema.names:
            return None
        names = self.schema.feature_names[self.schema.names.index(view)]
        if names is None:
            raise SourceError(
                f"View {view!r} of {where} has features by name; the model knows them by number "
                "only. Give rows in the format that it was trained on."
            )
        return {name: j for j, name in enumerate(names)}


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
    files : tuple of File
        The files that its rows come from, in order; empty for rows that are in none. By their size
        and time a run that goes on knows that they are the same.
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
    may_be_keys : frozenset of str
        Columns by which its rows could be aligned with those of others.
    annotated : bool
        Whether its files say more of rows and columns, which files of the same kind can keep.
    alone : str
        Why its rows cannot be appended to those of others; empty if they can.
    grows : bool
        Whether there may be features later that its schema has not, if more rows come: words.
    table : Table or None
        The columns of its table, if some are no numbers: features come as rows bring them.
    """

    name: str = "The source"
    files: "tuple[File, ...]" = ()
    dropped: frozenset[str] = frozenset()
    other_views: tuple[str, ...] = ()
    kept: Mapping[str, Any] = NOTHING
    header: frozenset[str] | None = None
    may_be_keys: frozenset[str] = frozenset()
    annotated: bool = False
    alone: str = ""
    grows: bool = False
    table: Any = None

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
        be more of them later; `files` tell by their stamps whether they have changed.

        Examples
        --------
        >>> ArraySource({"text": [[1.0, 2.0]]}).identity
        {'kind': 'ArraySource', 'views': {'text': 2}}
        """
        views = dict(zip(self.schema.names, self.schema.widths, strict=True))
        return {"kind": type(self).__name__, "views": views}

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        return self._n_rows

    def lengthen(self, n_rows: int) -> None:  # noqa: B027 (most know how many rows they have)
        """Take rows after the last for empty, up to a number, if such rows are not stored."""

    def origin(self, view: str) -> "Source":
        """Return the source that a view comes from, of those that this one puts together.

        All its rows are those of this one, in order.
        """
        return self

    def as_table(self) -> Any:
        """Take the columns for those of a table, even if all are numbers; return it, or None."""
        return self.table

    def adopt(self, table: Any) -> None:  # noqa: B027 (most are no tables)
        """Take columns for what a table says that they are, of which this may be a part."""

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

    def keys(self) -> NDArray[Any]:
        """Return what tells the rows apart, of all rows."""
        found = [chunk.keys for chunk in self.chunks(10_000) if chunk.keys is not None]
        return np.concatenate(found) if found else np.zeros(0, object)

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


class ArraySource(Source):
    """Views in memory.

    Parameters
    ----------
    X : anything `as_views` accepts
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views.

    Examples
    --------
    >>> source = ArraySource({"text": np.eye(3)})
    >>> [len(chunk.views) for chunk in source.chunks(2)]
    [2, 1]
    """

    def __init__(self, X: Any, views: Any = None) -> None:
        self._views = as_views(X, views=views, negative="allow", missing="allow")
        self._schema, self._n_rows = self._views.schema, len(self._views)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        for start in range(row_of(cursor), len(self._views), batch_size):
            views = self._views[start : start + batch_size]
            yield Chunk(start, views, {"row": start + len(views)})


class IteratorSource(Source):
    """Batches of any sizes that a Python function yields.

    Parameters
    ----------
    batches : callable
        Returns an iterable of batches, each anything `as_views` accepts, the same each time: a
        resumed run calls it again, and passes over what was read before.

    Examples
    --------
    >>> source = IteratorSource(lambda: ({"text": np.ones((n, 2))} for n in (3, 4)))
    >>> [len(chunk.views) for chunk in source.chunks(5)]
    [5, 2]
    >>> [chunk.start for chunk in source.chunks(2, cursor={"row": 4})]
    [4, 6]
    """

    def __init__(self, batches: Callable[[], Iterable[Any]]) -> None:
        self._batches = batches
        self._known: Schema | None = None

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features, as in the first batch."""
        if self._known is None:
            for batch in self._batches():
                self._known = as_views(batch, negative="allow", missing="allow").schema
                break
            else:
                raise SourceError("The iterator has no batches.")
        return self._known

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        first = row = row_of(cursor)
        for views in rechunk(self._after(first), batch_size, negative="allow", missing="allow"):
            # Not to be asked for by a call of its own: the function may have but one stream.
            self._known = self._known or views.schema
            yield Chunk(row, views, {"row": row + len(views)})
            row += len(views)

    def _after(self, row: int) -> Iterator[Any]:
        """Yield the batches without the rows before a given one."""
        n_rows = 0
        for batch in self._batches():
            if not row:
                yield batch
                continue
            views = as_views(batch, negative="allow", missing="allow")
            if row < len(views):
                yield views[row:]
            passed = min(row, len(views))
            row, n_rows = row - passed, n_rows + passed
        if row:
            raise fewer_rows("The iterator", n_rows, n_rows + row)


def row_of(cursor: Cursor | None, what: str = "row") -> int:
    """Return the number of the row at which to go on, or of something else."""
    if cursor is None:
        return 0
    number = cursor.get(what)
    if type(number) is not int or number < 0:
        raise of_other_inputs(f"it has {what} {number!r}; expected a whole number from 0")
    return number


def of_other_inputs(why: str) -> SourceError:
    """Return the error of a place to go on that is none of these inputs."""
    return SourceError(
        f"The cursor is of other inputs: {why}. Go on with the inputs of the run, or begin anew "
        "(--overwrite)."
    )


def fewer_rows(name: str, n_rows: int, row: int) -> SourceError:
    """Return the error of a source that ends before the row at which to go on."""
    return SourceError(
        f"{name} has fewer rows than were read before: {n_rows:,}; expected at least {row:,}. Go "
        "on with the same input, or begin anew (--overwrite)."
    )


def named(blocks: Mapping[str, Block], schema: Schema) -> Views:
    """Return blocks as views with the names of their features."""
    return Views(blocks, feature_names=known_names(schema))


def known_names(schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return the names of features by view, of those that have names."""
    names = zip(schema.names, schema.feature_names, strict=True)
    return {view: tuple(each) for view, each in names if each is not None}


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return values as an array of objects, whatever they are."""
    found = np.empty(len(values), object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def matching(given: Iterable[str], there: Collection[str]) -> list[str]:
    """Return the names that are there of those that are given, also by patterns: ``Metadata_*``.

    Examples
    --------
    >>> matching(["b", "a*"], ["a1", "a2", "b", "c"])
    ['b', 'a1', 'a2']
    """
    found = ([each] if each in there else fnmatch.filter(there, each) for each in given)
    return list(dict.fromkeys(chain.from_iterable(found)))


def is_text(name: str) -> bool:
    """Tell whether text can be written: lone surrogates stand for bytes that are no UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
