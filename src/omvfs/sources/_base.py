"""What every source is: rows of named views, read in order, from wherever a cursor says."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self, TypeAlias

from numpy.typing import NDArray

from omvfs._params import whole
from omvfs._schema import Schema, listed
from omvfs.views import Block, Views

# Plain values that JSON can hold: where in a source to go on.
Cursor: TypeAlias = dict[str, Any]


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
    """

    start: int
    views: Views
    cursor: Cursor
    keys: NDArray[Any] | None = None


class Source(ABC):
    """Rows of named views, read in order.

    Closing it, or leaving its ``with`` block, closes its files.

    Attributes
    ----------
    name : str
        What it is called in errors.
    """

    name: str = "The source"

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Views, their widths and the names of their features."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        return None

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
        n_rows, row = self.n_rows, (cursor or {"row": 0}).get("row")
        if n_rows is not None and row is not None and row > n_rows:
            raise SourceError(
                f"{self.name} has {n_rows:,} rows; {row:,} were read before. It is not the same."
            )
        return self._to_the_end(self._chunks(batch_size, cursor), row)

    def _to_the_end(self, chunks: Iterator[Chunk], row: int | None) -> Iterator[Chunk]:
        """Yield chunks, and refuse to end before the last row."""
        for chunk in chunks:
            row = chunk.start + len(chunk.views)
            yield chunk
        if self.n_rows is not None and row is not None and row < self.n_rows:
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class RowSource(Source):
    """Base of sources whose rows can be asked for by number.

    A subclass provides `n_rows` and `read`.
    """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        for start in range(row_of(cursor), self.n_rows, batch_size):
            stop = min(start + batch_size, self.n_rows)
            yield Chunk(start, named(self.read(start, stop), self.schema), {"row": stop})


def row_of(cursor: Cursor | None) -> int:
    """Return the number of the row at which to go on.

    Examples
    --------
    >>> row_of(None), row_of({"row": 200})
    (0, 200)
    """
    return 0 if cursor is None else whole("cursor['row']", cursor.get("row"), least=0)


def named(blocks: Mapping[str, Block], schema: Schema) -> Views:
    """Return blocks as views with the names of their features."""
    names = zip(schema.names, schema.feature_names, strict=True)
    return Views(blocks, feature_names={view: each for view, each in names if each is not None})


class Only(Source):
    """Some views of a source.

    Parameters
    ----------
    source : Source
    views : sequence of str

    Examples
    --------
    >>> import numpy as np
    >>> from omvfs.sources import ArraySource
    >>> source = ArraySource({"text": np.eye(3), "image": np.ones((3, 2))})
    >>> next(Only(source, ["image"]).chunks(3)).views
    Views(3 rows; image: 2; float64)
    """

    def __init__(self, source: Source, views: Sequence[str]) -> None:
        self._source, all_views = source, source.schema
        kept = [all_views.names.index(view) for view in views]
        self._schema = Schema(
            tuple(views),
            tuple(all_views.widths[v] for v in kept),
            tuple(all_views.feature_names[v] for v in kept),
        )

    @property
    def schema(self) -> Schema:
        """The views, their widths and the names of their features."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        return self._source.n_rows

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        for chunk in self._source.chunks(batch_size, cursor):
            yield replace(chunk, views=chunk.views.only(self._schema.names))

    def close(self) -> None:
        """Close the source."""
        self._source.close()


class SideBySide(Source):
    """Several sources of the same rows, each with views of its own, as one.

    Parameters
    ----------
    parts : mapping of str to Source
        By names that tell them apart, in errors and cursors.

    Examples
    --------
    >>> import numpy as np
    >>> from omvfs.sources import ArraySource
    >>> text, image = ArraySource({"text": np.eye(3)}), ArraySource({"image": np.ones((3, 2))})
    >>> both = SideBySide({"a": text, "b": image})
    >>> [chunk.views for chunk in both.chunks(2)]
    [Views(2 rows; text: 3, image: 2; float64), Views(1 rows; text: 3, image: 2; float64)]
    """

    def __init__(self, parts: Mapping[str, Source]) -> None:
        self._parts = dict(parts)
        self._n_rows = self._check_rows()
        schemas = [part.schema for part in self._parts.values()]
        names = [name for schema in schemas for name in schema.names]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise SourceError(
                f"Got view {listed(twice)} from more than one of {listed(self._parts)}; expected "
                "every view once."
            )
        self._schema = Schema(
            *(
                tuple(each for schema in schemas for each in getattr(schema, what))
                for what in ("names", "widths", "feature_names")
            )
        )

    def _check_rows(self) -> int | None:
        """Return how many rows all parts have, as far as they know."""
        known = {name: part.n_rows for name, part in self._parts.items() if part.n_rows is not None}
        if len(set(known.values())) > 1:
            counts = ", ".join(f"{name} {n:,}" for name, n in known.items())
            raise SourceError(f"Got different numbers of rows: {counts}. Views are aligned by row.")
        return next(iter(known.values()), None)

    @property
    def parts(self) -> Mapping[str, Source]:
        """The parts by name."""
        return self._parts

    @property
    def schema(self) -> Schema:
        """Views of all parts, one part after another."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if no part knows."""
        return self._n_rows

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        cursors = cursor or dict.fromkeys(self._parts)
        readers = [part.chunks(batch_size, cursors[name]) for name, part in self._parts.items()]
        while True:
            chunks = [next(reader, None) for reader in readers]
            if all(chunk is None for chunk in chunks):
                return
            yield self._joined(chunks)

    def _joined(self, chunks: Sequence[Chunk | None]) -> Chunk:
        lengths = [0 if chunk is None else len(chunk.views) for chunk in chunks]
        there = [chunk for chunk in chunks if chunk is not None]
        if len(set(lengths)) > 1:
            start = there[0].start
            ends = ", ".join(
                f"{name} {start + n:,}" for name, n in zip(self._parts, lengths, strict=True)
            )
            raise SourceError(f"Got different numbers of rows: {ends}. Views are aligned by row.")
        blocks = {view: X for chunk in there for view, X in chunk.views.blocks.items()}
        cursor = {name: chunk.cursor for name, chunk in zip(self._parts, there, strict=True)}
        return Chunk(there[0].start, named(blocks, self._schema), cursor)

    def close(self) -> None:
        """Close all parts, whatever happens to some."""
        with ExitStack() as stack:
            for part in self._parts.values():
                stack.callback(part.close)
