"""Sources of the same rows, each with views of its own, as one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from numpy.typing import NDArray

from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.formats._base import (
    KEY,
    Chunk,
    Cursor,
    Kept,
    Source,
    SourceError,
    of_other_inputs,
    row_of,
)
from omvfs.wording import Sentence


class SideBySide(Source):
    """Several sources of the same rows, each with views of its own, as one.

    Parameters
    ----------
    parts : mapping of str to Source
        By names that tell them apart, in errors and cursors.

    Examples
    --------
    >>> import numpy as np
    >>> from omvfs.formats import ArraySource
    >>> text, image = ArraySource({"text": np.eye(3)}), ArraySource({"image": np.ones((3, 2))})
    >>> both = SideBySide({"a": text, "b": image})
    >>> [chunk.views for chunk in both.chunks(2)]
    [Views(2 rows; text: 3, image: 2; float64), Views(1 rows; text: 3, image: 2; float64)]
    """

    def __init__(self, parts: Mapping[str, Source]) -> None:
        # All that is open, and of these the parts that give views.
        self._all = self._parts = dict(parts)
        self.name = ", ".join(part.name for part in self._parts.values())
        self._n_rows = self._check_rows()
        schemas = [part.schema for part in self._parts.values()]
        names = [name for schema in schemas for name in schema.names]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise SourceError(
                f"Got view {listed(twice)} from more than one of {listed(self._parts)}; expected "
                "every view once. Rows of parts are appended if all their views and columns are "
                "the same, or by a glob in quotes: 'part-*.csv'."
            )
        self._schema = Schema(
            *(
                tuple(each for schema in schemas for each in getattr(schema, what))
                for what in ("names", "widths", "feature_names")
            )
        )
        self.kept = {name: t for part in self._parts.values() for name, t in part.kept.items()}
        self.grows = any(part.grows for part in self._parts.values())

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

    def origin(self, view: str) -> Source:
        """Return where a view comes from."""
        part = next(part for part in self._parts.values() if view in part.schema.names)
        return part.origin(view)

    @property
    def identity(self) -> dict[str, Any]:
        """What the rows of every part are, by its name."""
        parts = {name: part.identity for name, part in self._all.items()}
        return {"kind": type(self).__name__, "parts": parts}

    @property
    def files(self) -> tuple[Any, ...]:
        """Those of all parts."""
        return tuple(file for part in self._all.values() for file in part.files)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row, places = row_of(cursor), places_of(cursor, self._parts)
        readers = [part.chunks(batch_size, places[name]) for name, part in self._parts.items()]
        while True:
            chunks = [next(reader, None) for reader in readers]
            if all(chunk is None for chunk in chunks):
                return
            yield self._joined(chunks, row)
            row += batch_size

    def _joined(self, chunks: Sequence[Chunk | None], start: int) -> Chunk:
        lengths = [0 if chunk is None else len(chunk.views) for chunk in chunks]
        there = [chunk for chunk in chunks if chunk is not None]
        if any(chunk.start != start for chunk in there):
            raise of_other_inputs(f"not all of {listed(self._parts)} go on at row {start:,}")
        if len(set(lengths)) > 1:
            ends = ", ".join(
                f"{name} {start + n:,}" for name, n in zip(self._parts, lengths, strict=True)
            )
            raise SourceError(f"Got different numbers of rows: {ends}. Views are aligned by row.")
        views = Views.beside(chunk.views for chunk in there)
        places = {name: chunk.cursor for name, chunk in zip(self._parts, there, strict=True)}
        cursor = {"row": start + lengths[0], "parts": places}
        kept = same_of_all({n: chunk.kept for n, chunk in zip(self._parts, there, strict=True)})
        return Chunk(start, views, cursor, kept=kept)

    def close(self) -> None:
        """Close all parts, whatever happens to some."""
        with ExitStack() as stack:
            for part in self._all.values():
                stack.callback(part.close)


def places_of(cursor: Cursor | None, parts: Iterable[str]) -> dict[str, Cursor | None]:
    """Return where to go on in every part of a source.

    Examples
    --------
    >>> places_of(None, ["text"]), places_of({"row": 5, "parts": {"text": {"row": 5}}}, ["text"])
    ({'text': None}, {'text': {'row': 5}})
    """
    parts = list(parts)
    if cursor is None:
        return dict.fromkeys(parts)
    places = cursor.get("parts")
    if not isinstance(places, dict) or set(places) != set(parts):
        got = listed(places) if isinstance(places, dict) else "one input"
        raise of_other_inputs(f"{got}; expected {listed(parts)}")
    return places


def same_of_all(parts: Mapping[str, Kept]) -> Kept:
    """Return what goes along with some rows, of all parts, which must agree where they have it.

    Examples
    --------
    >>> import numpy as np
    >>> ids = np.array([3, 5], object)
    >>> same_of_all({"text": {"id": ids}, "image": {"id": ids}})
    {'id': array([3, 5], dtype=object)}
    """
    kept: dict[str, NDArray[Any]] = {}
    whose: dict[str, str] = {}
    for part, columns in parts.items():
        for name, values in columns.items():
            first, owner = kept.setdefault(name, values), whose.setdefault(name, part)
            pairs = zip(first.tolist(), values.tolist(), strict=True) if first is not values else ()
            # What is not the same as itself is NaN.
            if other := [(a, b) for a, b in pairs if a != b and (a == a or b == b)]:
                a, b = other[0]
                raise SourceError(
                    Sentence(
                        f"Column {name!r} is {a!r} in {owner} and {b!r} in {part} of the same row: "
                        "these are not the same rows. Align them by a key: ",
                        KEY,
                        ".",
                    )
                )
    return kept
