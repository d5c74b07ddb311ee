"""Sources of the same features, one below the other, as one."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.formats._base import Chunk, Cursor, Source, SourceError, of_other_inputs, row_of


class Appended(Source):
    """Several sources of the same views, the rows of each below those of the one before.

    Features that have names are taken by their names, in the order of the first part that has
    them. A chunk may have rows of several parts.

    Parameters
    ----------
    parts : sequence of Source
        In the order of their rows. Their views have the same features; words of JSON Lines that a
        part does not have are zero in it.

    Examples
    --------
    >>> from omvfs.formats import ArraySource
    >>> both = Appended([ArraySource({"text": np.eye(3)}), ArraySource({"text": np.ones((2, 3))})])
    >>> [(chunk.start, len(chunk.views)) for chunk in both.chunks(2)]
    [(0, 2), (2, 2), (4, 1)]
    """

    def __init__(self, parts: Sequence[Source]) -> None:
        if not parts:
            raise SourceError("Got no parts to append; expected at least one.")
        self._parts = tuple(parts)
        for part in self._parts if len(parts) > 1 else ():
            if part.alone:
                raise SourceError(
                    f"{part.name} cannot be one of several parts: {part.alone}. Put all rows into "
                    "one file."
                )
        first, last = self._parts[0].name, self._parts[-1].name
        self.name = first if len(parts) == 1 else f"{first} ... {last}"
        self.dropped = frozenset[str]().union(*(part.dropped for part in parts))
        self.other_views = tuple(dict.fromkeys(v for part in parts for v in part.other_views))
        self.kept = self._kept_by_all()
        self.grows = any(part.grows for part in self._parts)
        named = [(part.name, part.schema) for part in parts]
        self._schema = together([schema for _, schema in named])
        for part in self._parts:
            if part.schema != self._schema and (views := part.conform(self._schema)):
                raise _differing(named, views)

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them will tell."""
        known = [part.n_rows for part in self._parts]
        return None if None in known else sum(n for n in known if n is not None)

    @property
    def parts(self) -> tuple[Source, ...]:
        """The parts, in order."""
        return self._parts

    @property
    def identity(self) -> dict[str, Any]:
        """What the rows are; not how many parts, as there may be more of them later."""
        return {**super().identity, "of": type(self._parts[0]).__name__}

    @property
    def files(self) -> tuple[Any, ...]:
        """Those of all parts; rows may be added to the last alone."""
        fixed = [file.fixed() for part in self._parts[:-1] for file in part.files]
        return (*fixed, *self._parts[-1].files)

    def _kept_by_all(self) -> dict[str, Any]:
        """Return the columns that go along, which all parts have, and their types."""
        kept = dict(self._parts[0].kept)
        for part in self._parts[1:]:
            if other := sorted(kept.keys() ^ part.kept.keys()):
                raise SourceError(
                    f"Not all of {self.name} have {listed(other)} to keep: {part.name} differs "
                    "from the first. Give all parts the same columns."
                )
            kept = {name: t if part.kept[name] == t else None for name, t in kept.items()}
        return kept

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row, number, place = self._place(cursor)
        # Of the chunk that is being put together: rows, and the number of the part they are of.
        begun: list[tuple[Chunk, int]] = []
        for i, part in enumerate(self._parts[number:], number):
            if begun:
                lacks = batch_size - sum(len(chunk.views) for chunk, _ in begun)
                head = next(part.chunks(lacks, place), None)
                if head is None:
                    continue
                begun.append((head, i))
                if len(head.views) < lacks:
                    continue
                yield _one(begun, row)
                row, begun, place = row + batch_size, [], head.cursor
            for chunk in part.chunks(batch_size, place):
                begun = [(chunk, i)]
                if len(chunk.views) == batch_size:
                    yield _one(begun, row)
                    row, begun = row + batch_size, []
            place = None
        if begun:
            yield _one(begun, row)

    def _place(self, cursor: Cursor | None) -> tuple[int, int, Cursor | None]:
        """Return the row at which to go on, the number of its part, and where to go on in it."""
        if cursor is None:
            return 0, 0, None
        row, number, place = row_of(cursor), row_of(cursor, "part"), cursor.get("place")
        if number >= len(self._parts) or not isinstance(place, dict):
            raise of_other_inputs(
                f"it goes on in part {number + 1:,}; expected one of {len(self._parts):,}"
            )
        return row, number, place

    def close(self) -> None:
        """Close all parts, whatever happens to some."""
        with ExitStack() as stack:
            for part in self._parts:
                stack.callback(part.close)


def together(schemas: Sequence[Schema]) -> Schema:
    """Return a schema with all that several have, in the order of appearance.

    Examples
    --------
    >>> together([Schema(("a",), (2,), (("x", "y"),)), Schema(("a",), (2,), (("y", "z"),))])
    Schema(names=('a',), widths=(3,), feature_names=(('x', 'y', 'z'),))
    """
    names: dict[str, dict[str, None]] = {}
    widths: dict[str, int] = {}
    for schema in schemas:
        columns = zip(schema.names, schema.widths, schema.feature_names, strict=True)
        for view, width, features in columns:
            known = names.setdefault(view, {})
            known.update(dict.fromkeys(features or ()))
            widths[view] = len(known) or max(width, widths.get(view, 0))
    named = tuple(tuple(known) or None for known in names.values())
    return Schema(tuple(names), tuple(widths.values()), named)


def _differing(parts: Sequence[tuple[str, Schema]], views: Sequence[str]) -> SourceError:
    """Return the error of parts of which one has other features in some views than the first."""
    (first, known), *others = parts
    differing = (
        (view, name, found)
        for name, schema in others
        for view in views
        if (found := _difference(_features(schema, view), _features(known, view)))
    )
    in_other_order = views[0], parts[-1][0], "has them in another order"
    view, name, found = next(differing, in_other_order)
    return SourceError(
        f"{name} has other features than {first}, the first part: view {view!r} "
        f"{found}. Give all parts the same, or name files that are views side by side: view=FILE."
    )


def _features(schema: Schema, view: str) -> Sequence[str] | int:
    """Return the names of the features of a view, or their number; 0 if it is not there."""
    if view not in schema.names:
        return 0
    v = schema.names.index(view)
    return schema.feature_names[v] or schema.widths[v]


def _difference(own: Sequence[str] | int, others: Sequence[str] | int) -> str:
    """Return what a view has otherwise; nothing if it is alike but for the order.

    Examples
    --------
    >>> _difference(("a", "c"), ("a", "b")), _difference(3, 5), _difference(0, 5)
    ("lacks 'b', and has 'c' besides", 'has 3 features, not 5', 'is not there')
    """
    if own == others or not own or not others:
        return "" if own == others else "is there" if own else "is not there"
    if isinstance(own, int) or isinstance(others, int):
        counts = [each if isinstance(each, int) else len(each) for each in (own, others)]
        if counts[0] == counts[1]:
            return f"has features {'by number' if isinstance(own, int) else 'by name'} only here"
        return f"has {counts[0]:,} features, not {counts[1]:,}"
    lacking, more = dict.fromkeys(others), dict.fromkeys(own)
    gone, new = [f for f in lacking if f not in more], [f for f in more if f not in lacking]
    return ", and ".join(
        f"{verb} {_some(names)}{after}"
        for verb, names, after in (("lacks", gone, ""), ("has", new, " besides"))
        if names
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return f"{listed(names[:5])}{more}"


def _one(begun: Sequence[tuple[Chunk, int]], start: int) -> Chunk:
    """Return rows of one part or several, each with the number of its part, as one chunk."""
    chunks = [chunk for chunk, _ in begun]
    last, number = begun[-1]
    views = Views.concat([chunk.views for chunk in chunks])
    cursor = {"row": start + len(views), "part": number, "place": last.cursor}
    keys = None
    if last.keys is not None:
        keys = np.concatenate([chunk.keys for chunk in chunks if chunk.keys is not None])
    kept = {name: np.concatenate([chunk.kept[name] for chunk in chunks]) for name in last.kept}
    return Chunk(start, views, cursor, keys, kept)
