"""What every source is: rows of named views, read in order, from wherever a cursor says."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

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
    """

    start: int
    views: Views
    cursor: Cursor


class Source(ABC):
    """Rows of named views, read in order.

    Closing it, or leaving its ``with`` block, closes its files.
    """

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Views, their widths and the names of their features."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        return None

    @abstractmethod
    def chunks(self, batch_size: int, cursor: Cursor | None = None) -> Iterator[Chunk]:
        """Yield the rows in chunks of `batch_size`, the last as long as it comes.

        Parameters
        ----------
        batch_size : int
            Rows of a chunk.
        cursor : dict, default=None
            The cursor of the chunk after which to go on; by default from the first row.
        """

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

    def chunks(self, batch_size: int, cursor: Cursor | None = None) -> Iterator[Chunk]:
        """Yield the rows in chunks of `batch_size`, the last as long as it comes.

        Parameters
        ----------
        batch_size : int
        cursor : dict, default=None
        """
        whole("batch_size", batch_size, least=1)
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
        schemas = [part.schema for part in self._parts.values()]
        names = [name for schema in schemas for name in schema.names]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise SourceError(
                f"Got view {listed(twice)} from more than one of {listed(self._parts)}; expected "
                "every view once."
            )
        lengths = {name: part.n_rows for name, part in self._parts.items()}
        known = {name: n for name, n in lengths.items() if n is not None}
        if len(set(known.values())) > 1:
            counts = ", ".join(f"{name} {n:,}" for name, n in known.items())
            raise SourceError(f"Got different numbers of rows: {counts}. Views are aligned by row.")
        self._schema = Schema(
            *(
                tuple(each for schema in schemas for each in getattr(schema, what))
                for what in ("names", "widths", "feature_names")
            )
        )
        self._n_rows = next(iter(known.values()), None)

    @property
    def schema(self) -> Schema:
        """Views of all parts, one part after another."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if no part knows."""
        return self._n_rows

    def chunks(self, batch_size: int, cursor: Cursor | None = None) -> Iterator[Chunk]:
        """Yield the rows of all parts side by side.

        Parameters
        ----------
        batch_size : int
        cursor : dict, default=None
        """
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
