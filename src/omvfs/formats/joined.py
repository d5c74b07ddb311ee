"""Sources of rows that a key tells apart, as one."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.read import rechunk
from omvfs.data.views import Views
from omvfs.formats._base import Chunk, Cursor, Kept, Source, SourceError, named, row_of
from omvfs.formats.side_by_side import SideBySide, places_of, same_of_all
from omvfs.parameters import one_of

Join: TypeAlias = Literal["outer", "inner"]


class Joined(SideBySide):
    r"""Several sources, each sorted by its keys: the rows whose keys any of them has, or all.

    A few chunks of every source are held in memory, however long they are.

    Parameters
    ----------
    parts : mapping of str to Source
        Their chunks have `keys`, which rise. By names that tell them apart.
    only_keys : mapping of str to Source, default=None
        More sources, whose views are left out. Rows that all must have must be in them too.
    join : {"outer", "inner"}, default="outer"
        Rows whose keys any source has, which lack the views of the others; or those that all have.

    Attributes
    ----------
    n_left_out : int
        Rows passed over so far, of any source, as not all sources have their keys.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from omvfs.formats.tables import TableSource
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "text.csv").write_text("id,cat,dog\n1,1,0\n2,0,1\n4,1,1\n")
    >>> _ = (folder / "image.csv").write_text("id,red\n2,0.5\n3,0.25\n4,1\n")
    >>> parts = {v: TableSource(folder / f"{v}.csv", v, key="id") for v in ("text", "image")}
    >>> chunk = next(Joined(parts).chunks(10))
    >>> chunk.keys.tolist(), chunk.views.present["image"]
    ([1, 2, 3, 4], array([False,  True,  True,  True]))
    >>> both = Joined(parts, join="inner")
    >>> next(both.chunks(10)).views["image"].ravel(), both.n_left_out
    (array([0.5, 1. ]), 2)
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
        drawn: deque[_Piece] = deque()

        def views() -> Iterator[Views]:
            for piece in self._pieces(batch_size, cursor):
                drawn.append(piece)
                yield piece.views

        for chunk in rechunk(views(), batch_size, negative="allow", missing="allow"):
            keys, kept, left = [], [], len(chunk)
            while left:
                taken, rest = drawn[0].keys[:left], drawn[0].keys[left:]
                keys.append(taken)
                kept.append({name: own[:left] for name, own in drawn[0].kept.items()})
                left -= len(taken)
                # The key to go on after tells what of a piece was used already.
                left_out = int(drawn[0].left_out[-len(rest) - 1])
                where = {"after": taken[-1], "parts": drawn[0].places, "left_out": left_out}
                if len(rest):
                    others = {name: own[len(taken) :] for name, own in drawn[0].kept.items()}
                    drawn[0] = replace(drawn[0], keys=rest, kept=others)
                else:
                    drawn.popleft()
            row += len(chunk)
            columns = {name: np.concatenate([each[name] for each in kept]) for name in self.kept}
            cursor = {"row": row, **where}
            yield Chunk(row - len(chunk), chunk, cursor, np.concatenate(keys), columns)

    def _pieces(self, batch_size: int, cursor: Cursor | None) -> Iterator["_Piece"]:
        """Yield rows of all sources that have the same keys, as many as come together."""
        places, self.n_left_out = places_of(cursor, self._all), row_of(cursor, "left_out")
        after = None if cursor is None else cursor.get("after")
        rolls = [
            _Roll(name, part, batch_size, places[name], after) for name, part in self._all.items()
        ]
        if self._join == "outer":
            yield from self._all_pieces(rolls)
            return
        while all(roll.fill() for roll in rolls):
            _check_types(rolls)
            last = min(roll.keys[-1] for roll in rolls)
            heads = [roll.keys[: np.searchsorted(roll.keys, last, "right")] for roll in rolls]
            common = reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), heads)
            if len(common):
                given = rolls[: len(self._parts)]
                views = Views.beside(roll.rows(common) for roll in given)
                places = {roll.name: roll.place for roll in rolls}
                # Up to and with every key: rows that were passed over.
                passed = sum(np.searchsorted(head, common, "right") for head in heads)
                left_out = self.n_left_out + passed - len(rolls) * np.arange(1, len(common) + 1)
                kept = same_of_all({roll.name: roll.kept(common) for roll in rolls})
                yield _Piece(views, common, kept, places, left_out)
            for roll, head in zip(rolls, heads, strict=True):
                self.n_left_out += len(head) - len(common)
                roll.drop(len(head))
        # One has ended: of the others the rest is left out.
        for roll in rolls:
            while roll.fill():
                self.n_left_out += len(roll.keys)
                roll.drop(len(roll.keys))

    def _all_pieces(self, rolls: list["_Roll"]) -> Iterator["_Piece"]:
        """Yield rows that any source with views has, as many as come together."""
        giving = rolls[: len(self._parts)]
        # Every roll is filled, not only those up to the first that has ended.
        while any([roll.fill() for roll in rolls][: len(giving)]):
            there = [roll for roll in rolls if len(roll.keys)]
            _check_types(there)
            last = min(roll.keys[-1] for roll in there)
            heads = {
                roll.name: roll.keys[: np.searchsorted(roll.keys, last, "right")] for roll in there
            }
            own = [heads[roll.name] for roll in giving if roll in there]
            keys = reduce(np.union1d, own) if own else np.zeros(0, object)
            if len(keys):
                places = {roll.name: roll.place for roll in rolls}
                views = [
                    roll.among(heads.get(roll.name, keys[:0]), keys, self._parts[roll.name])
                    for roll in giving
                ]
                kept = self._kept_of_any(rolls, heads, keys)
                none_left_out = np.zeros(len(keys), np.int64)
                yield _Piece(Views.beside(views), keys, kept, places, none_left_out)
            for roll in there:
                roll.drop(len(heads[roll.name]))

    def _kept_of_any(
        self, rolls: list["_Roll"], heads: Mapping[str, NDArray[Any]], keys: NDArray[Any]
    ) -> Kept:
        """Return what goes along with rows, of whichever sources have them; they must agree."""
        kept: dict[str, NDArray[Any]] = {name: np.full(len(keys), None) for name in self.kept}
        for roll in rolls:
            common = np.intersect1d(heads.get(roll.name, keys[:0]), keys, assume_unique=True)
            if not len(common):
                continue
            places = np.searchsorted(keys, common)
            for name, values in roll.kept(common).items():
                known = kept[name][places]
                both = np.array([a is not None for a in known.tolist()])
                same_of_all({"one source": {name: known[both]}, roll.name: {name: values[both]}})
                kept[name][places] = values
        return kept


def _check_types(rolls: list["_Roll"]) -> None:
    """Refuse keys of different types, which have no order among each other."""
    if len({type(roll.keys[0]) for roll in rolls}) > 1:
        first = ", ".join(f"{roll.name} {roll.keys[0]!r}" for roll in rolls)
        raise SourceError(f"Got keys of different types: {first}.")


@dataclass(frozen=True)
class _Piece:
    """Rows of all parts, their keys, and cursors of the parts from which they can be read again.

    Also how many rows were left out up to every key, of which the last are those of `keys`.
    """

    views: Views
    keys: NDArray[Any]
    kept: Kept
    places: dict[str, Cursor | None]
    left_out: NDArray[Any]


class _Roll:
    """The rows of a part that are not used yet, a chunk at a time."""

    def __init__(
        self, name: str, part: Source, batch_size: int, place: Cursor | None, after: Any
    ) -> None:
        self.name, self.place = name, place
        self.keys: NDArray[Any] = np.zeros(0, object)
        self._after, self._chunks = after, part.chunks(batch_size, place)
        self._chunk: Chunk | None = None
        self._none: Views | None = None
        self._last: Any = None
        self._offset = 0

    def fill(self) -> bool:
        """Tell whether there are rows, having read more if need be."""
        while not len(self.keys):
            if self._chunk is not None:
                self.place = self._chunk.cursor
            self._chunk = next(self._chunks, None)
            if self._chunk is None:
                return False
            self._begin(self._chunk)
        return True

    def _begin(self, chunk: Chunk) -> None:
        if chunk.keys is None:
            raise SourceError(f"{self.name} has no keys to align its rows by.")
        keys = chunk.keys.tolist()
        if len({type(key) for key in keys}) > 1 or not isinstance(keys[0], str | int):
            raise SourceError(
                f"{self.name} has keys that are neither all whole numbers nor all strings."
            )
        before = [] if self._last is None else [self._last]
        for a, b in pairwise([*before, *keys]):
            if type(a) is not type(b) or a >= b:
                raise SourceError(
                    f"{self.name} is not sorted by its keys, or has one twice: {b!r} comes after "
                    f"{a!r}. Sort it by its key."
                )
        self._last = keys[-1]
        self._none = chunk.views[:0]
        self._offset = 0
        if self._after is not None:
            if type(self._after) is not type(keys[0]):
                raise SourceError(f"{self.name} has other keys than the run began with.")
            self._offset = int(np.searchsorted(chunk.keys, self._after, "right"))
        self.keys = chunk.keys[self._offset :]

    def rows(self, keys: NDArray[Any]) -> Views:
        """Return the rows with these keys, all of which are there."""
        assert self._chunk is not None
        return self._chunk.views[self._places(keys)]

    def among(self, own: NDArray[Any], keys: NDArray[Any], part: Source) -> Views:
        """Return the rows with some keys, which are there, among those of others, which lack it."""
        places = np.searchsorted(keys, own)
        if self._none is None:
            # No row was ever seen of it.
            described = zip(part.schema.names, part.schema.widths, strict=True)
            empty = {view: sp.csr_array((0, width)) for view, width in described}
            self._none = named(empty, part.schema)
        rows = self.rows(own) if len(own) else self._none
        return rows.spread(places, len(keys))

    def kept(self, keys: NDArray[Any]) -> Kept:
        """Return what goes along with the rows with these keys."""
        assert self._chunk is not None
        own = self._places(keys)
        return {name: values[own] for name, values in self._chunk.kept.items()}

    def _places(self, keys: NDArray[Any]) -> NDArray[Any]:
        places: NDArray[Any] = np.searchsorted(self.keys, keys) + self._offset
        return places

    def drop(self, n: int) -> None:
        """Pass over n rows."""
        self._offset, self.keys = self._offset + n, self.keys[n:]
