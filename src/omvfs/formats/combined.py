"""Several sources as one: rows below rows, views beside views, or joined by a key."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.schema import NewFeatures, Schema, listed, some
from omvfs.data.table import Table
from omvfs.data.views import Views
from omvfs.formats.source import (
    Chunk,
    Cursor,
    Kept,
    Source,
    SourceError,
    fewer_rows,
    known_names,
    of_other_inputs,
    row_of,
)
from omvfs.parameters import one_of

Join: TypeAlias = Literal["outer", "inner"]
_logger = logging.getLogger(__name__)


class Appended(Source):
    """Several sources of the same views, the rows of each below those of the one before.

    Features that have names are taken by their names, in the order of the first part that has
    them; words of JSON Lines that a part does not have are zero in it. A chunk may have rows of
    several parts.
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
        self.may_be_keys = frozenset.intersection(*(part.may_be_keys for part in parts))
        # Rows may be added to the last part alone.
        fixed = [file.fixed() for part in self._parts[:-1] for file in part.files]
        self.files = (*fixed, *self._parts[-1].files)
        if len(parts) > 1 and any(part.table is not None for part in self._parts):
            self.adopt(Table.of_parts(map(_table_of, self._parts)))
        else:
            self._agree()

    def adopt(self, table: Any) -> None:
        """Take the columns of all parts for what a table says; see `Source.adopt`."""
        for part in self._parts:
            part.adopt(table)
        self._agree()

    def _agree(self) -> None:
        """Have the same views and features in all parts."""
        self.table = self._parts[0].table
        self.grows = any(part.grows for part in self._parts)
        schemas = [part.schema for part in self._parts]
        self._schema = together(schemas)
        for part, own in zip(self._parts, schemas, strict=True):
            if own != self._schema and (views := part.conform(self._schema)):
                raise SourceError(
                    f"{part.name} has other features than other parts: view "
                    f"{views[0]!r} {_difference(own, self._schema, views[0])}. Give all parts the "
                    "same, or name files that are views side by side: view=FILE."
                )

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

    def keys(self) -> NDArray[Any]:
        """Return what tells the rows of all parts apart."""
        return np.concatenate([part.keys() for part in self._parts])

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


def _table_of(part: Source) -> Table:
    """Return the columns of a part of a table, which must be one."""
    table: Table | None = part.as_table()
    if table is None:
        raise SourceError(
            f"{part.name} is no table as others are. Give all parts the same columns."
        )
    return table


def together(schemas: Sequence[Schema]) -> Schema:
    """Return a schema with all that several have, in the order of appearance."""
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


def _difference(own: Schema, all_of_them: Schema, view: str) -> str:
    """Say what a view of a part lacks, of what any part has."""
    if view not in own.names:
        return "is not there"
    v, w = own.number_of(view), all_of_them.number_of(view)
    mine, names = own.feature_names[v], all_of_them.feature_names[w]
    if mine is None or names is None:
        width, most = own.widths[v], all_of_them.widths[w]
        return f"has {width:,} features, not {most:,}, or no names for them"
    known = set(mine)
    return f"lacks {some([name for name in names if name not in known])}"


def _one(begun: Sequence[tuple[Chunk, int]], start: int) -> Chunk:
    """Return rows of one part or several, each with the number of its part, as one chunk."""
    chunks = [chunk for chunk, _ in begun]
    last, number = begun[-1]
    parts = [chunk.views for chunk in chunks]
    views = Views.concat(parts, "grow" if parts[0].grows else "error")
    cursor = {"row": start + len(views), "part": number, "place": last.cursor}
    keys = None
    if last.keys is not None:
        keys = np.concatenate([chunk.keys for chunk in chunks if chunk.keys is not None])
    kept = {name: np.concatenate([chunk.kept[name] for chunk in chunks]) for name in last.kept}
    return Chunk(start, views, cursor, keys, kept)


class SideBySide(Source):
    """Several sources of the same rows, each with views of its own, by names that tell them apart.

    The names are in errors and cursors.
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
        self._schema = together(schemas)
        self.kept = {name: t for part in self._parts.values() for name, t in part.kept.items()}
        self.grows = any(part.grows for part in self._parts.values())
        tables = [part.table for part in self._parts.values() if part.table is not None]
        self.table = reduce(add, tables) if tables else None
        self.files = tuple(file for part in self._all.values() for file in part.files)

    def _check_rows(self) -> int | None:
        """Return how many rows all parts have, as far as they know."""
        known = {name: part.n_rows for name, part in self._parts.items() if part.n_rows is not None}
        if len(set(known.values())) > 1:
            raise _not_aligned({name: f"{n:,}" for name, n in known.items()}, self._parts)
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

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row, places = row_of(cursor), cast(Any, dict.fromkeys(self._parts))
        if cursor is not None:
            places = cursor.get("parts")
            if not isinstance(places, dict) or set(places) != set(self._parts):
                got = listed(places) if isinstance(places, dict) else "one input"
                raise of_other_inputs(f"{got}; expected {listed(self._parts)}")
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
            more = ["" if n < max(lengths) else " or more" for n in lengths]
            ends = (f"{start + n:,}{own}" for n, own in zip(lengths, more, strict=True))
            raise _not_aligned(dict(zip(self._parts, ends, strict=True)), self._parts)
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


def _not_aligned(n_rows: Mapping[str, str], parts: Mapping[str, Source]) -> SourceError:
    """Return the error of views of different numbers of rows, and by what they could be aligned."""
    shared = sorted(frozenset.intersection(*(part.may_be_keys for part in parts.values())))
    said = ", ".join(f"{name} {n}" for name, n in n_rows.items())
    remedy = "give all of them the same rows in the same order"
    if shared:
        # The last letters tell an identifier, as a rule.
        best = min(shared, key=lambda name: not name.lower().endswith("id"))
        remedy = f"if a column tells the rows apart, align by it: key={best!r} (--key {best}); "
        remedy += f"{'both' if len(parts) == 2 else 'all'} have {some(shared)}"
    return SourceError(
        f"Got different numbers of rows: {said}. Views are aligned by row; {remedy}."
    )


def same_of_all(parts: Mapping[str, Kept]) -> Kept:
    """Return what goes along with some rows, of all parts, which must agree where they have it."""
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
                    f"Column {name!r} is {a!r} in {owner} and {b!r} in {part} of the same row: "
                    "these are not the same rows. Align them by a key: key=... (--key NAME)."
                )
    return kept


class Joined(SideBySide):
    r"""Several sources with keys: the rows whose keys any of them has, or all, sorted by them.

    The keys of all sources are read first, each of them once, and held in memory; of their rows a
    few chunks, or all if their keys do not rise. The views of `only_keys` are left out; but rows
    that all must have must be in them too. `n_left_out` rows of any source are passed over, as not
    all sources have their keys; that is known when the first chunk was read.
    """

    def __init__(
        self,
        parts: Mapping[str, Source],
        only_keys: Mapping[str, Source] | None = None,
        join: Join = "outer",
    ) -> None:
        super().__init__(parts)
        self._join = one_of("join", join, get_args(Join))
        self._all = {**self._parts, **(only_keys or {})}
        self.kept = {name: t for part in self._all.values() for name, t in part.kept.items()}
        self.files = tuple(file for part in self._all.values() for file in part.files)
        self.n_left_out = 0

    @property
    def identity(self) -> dict[str, Any]:
        """What the rows of every part are, and which of them are taken."""
        return {**super().identity, "join": self._join}

    def origin(self, view: str) -> Source:
        """Return this: not all rows of a part are among these."""
        return self

    def _check_rows(self) -> None:
        """Only reading will tell how many keys all parts have."""

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        row = row_of(cursor)
        if cursor is not None and cursor.get("join") != self._join:
            raise of_other_inputs(f"it has the join {cursor.get('join')!r}; got {self._join!r}")
        own = {name: _keys_of(name, part) for name, part in self._all.items()}
        keys = self._joined_keys({name: own[name][0] for name in own})
        if row > len(keys):
            raise fewer_rows(self.name, len(keys), row)
        readers = {
            name: _KeyedReader(part, *own[name], batch_size) for name, part in self._all.items()
        }
        for start in range(row, len(keys), batch_size):
            wanted = keys[start : start + batch_size]
            views: list[Views] = []
            kept = {name: np.full(len(wanted), None) for name in self.kept}
            for name, reader in readers.items():
                rows, columns, at = reader.rows(wanted)
                for column, values in columns.items():
                    known = kept[column][at]
                    both = np.array([value is not None for value in known.tolist()], bool)
                    same_of_all({"one source": {column: known[both]}, name: {column: values[both]}})
                    kept[column][at] = values
                if name in self._parts:
                    views.append(rows.spread(at, len(wanted)))
            place = {"row": start + len(wanted), "join": self._join}
            yield Chunk(start, Views.beside(views), place, wanted, kept)

    def _joined_keys(self, own: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the keys of the rows to read, in order."""
        first = {name: keys[0] for name, keys in own.items() if len(keys)}
        if len({type(key) for key in first.values()}) > 1:
            said = ", ".join(f"{name} {key!r}" for name, key in first.items())
            raise SourceError(f"Got keys of different types: {said}.")
        if self._join == "outer":
            return reduce(np.union1d, [own[name] for name in self._parts])
        found: NDArray[Any] = reduce(np.intersect1d, own.values())
        self.n_left_out = sum(map(len, own.values())) - len(own) * len(found)
        return found


def _keys_of(name: str, part: Source) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
    """Return the keys of all rows of a source, sorted, and whose they are if they do not rise."""
    keys = part.keys()
    given = keys.tolist()
    if len({type(key) for key in given}) > 1 or not all(
        isinstance(k, str | int) for k in given[:1]
    ):
        raise SourceError(f"{name} has keys that are neither all whole numbers nor all strings.")
    if all(a < b for a, b in pairwise(given)):
        return keys, None
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    if len(twice := np.flatnonzero(keys[1:] == keys[:-1])):
        first, second = order[twice[0] : twice[0] + 2] + 1
        raise SourceError(
            f"{name} has the key {keys[twice[0]]!r} in row {first:,} and again in row {second:,}; "
            "expected every key once. Leave one of these rows out, or align by a column that tells "
            "rows apart: key=... (--key NAME)."
        )
    told = name, f"{len(keys):,}"
    _logger.info("%s is not sorted by its keys: all its %s rows are held in memory.", *told)
    return keys, order


class _KeyedReader:
    """The rows of a source, asked for by keys that rise; all are held if they are in an order."""

    def __init__(
        self, part: Source, keys: NDArray[Any], order: NDArray[np.intp] | None, batch_size: int
    ) -> None:
        self._keys, self._order, self._chunks = keys, order, part.chunks(batch_size)
        self._schema = part.schema
        self._new: NewFeatures = "grow" if part.grows else "error"
        # Rows that were read and not asked for yet, and the number of the first.
        self._held: Views | None = None
        self._kept: dict[str, NDArray[Any]] = {name: np.zeros(0, object) for name in part.kept}
        self._start = 0
        if order is not None:
            self._take([*self._chunks])

    def rows(self, wanted: NDArray[Any]) -> tuple[Views, Kept, NDArray[np.intp]]:
        """Return the rows that have some of the keys, what goes along, and which of the keys."""
        first = int(np.searchsorted(self._keys, wanted[0]))
        end = int(np.searchsorted(self._keys, wanted[-1], "right"))
        common = np.intersect1d(self._keys[first:end], wanted, assume_unique=True)
        places = np.searchsorted(self._keys, common)
        # Rows before the first that is wanted are passed over.
        self._cut(first)
        while len(common) and self._start + len(self._held or ()) < end:
            if (chunk := next(self._chunks, None)) is None:
                raise SourceError("An input has fewer rows than keys: it has changed meanwhile.")
            self._take([chunk])
            self._cut(first)
        if self._held is None:  # no row was read yet
            described = zip(self._schema.names, self._schema.widths, strict=True)
            empty = {view: sp.csr_array((0, width)) for view, width in described}
            self._held = Views(empty, feature_names=known_names(self._schema))
        rows = places - self._start if self._order is None else self._order[places]
        found = self._held[rows], {name: kept[rows] for name, kept in self._kept.items()}
        self._cut(end)
        return *found, np.searchsorted(wanted, common)

    def _take(self, chunks: Sequence[Chunk]) -> None:
        """Hold more rows."""
        held = [] if self._held is None else [self._held]
        self._held = Views.concat([*held, *(chunk.views for chunk in chunks)], self._new)
        kept = self._kept.items()
        self._kept = {n: np.concatenate([own, *(c.kept[n] for c in chunks)]) for n, own in kept}

    def _cut(self, row: int) -> None:
        """Let go of the rows before one, unless all are held."""
        if self._held is not None and self._order is None:
            n = min(max(row - self._start, 0), len(self._held))
            self._held, self._start = self._held[n:], self._start + n
            self._kept = {name: kept[n:] for name, kept in self._kept.items()}
