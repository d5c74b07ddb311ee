"""Sources of rows that a key tells apart, as one."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.rechunk import rechunk
from omvfs.data.views import Views
from omvfs.formats._base import Chunk, Cursor, Kept, Source, SourceError, row_of
from omvfs.formats.side_by_side import SideBySide, places_of, same_of_all


class Joined(SideBySide):
    r"""Several sources, each sorted by its keys: the rows whose keys all of them have.

    A few chunks of every source are held in memory, however long they are.

    Parameters
    ----------
    parts : mapping of str to Source
        Their chunks have `keys`, which rise. By names that tell them apart.
    only_keys : mapping of str to Source, default=None
        More sources, whose views are left out: rows must be in them too.

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
    >>> both = Joined({v: TableSource(folder / f"{v}.csv", v, key="id") for v in ("text", "image")})
    >>> next(both.chunks(10)).views["image"].ravel(), both.n_left_out
    (array([0.5, 1. ]), 2)
    """

    def __init__(
        self, parts: Mapping[str, Source], only_keys: Mapping[str, Source] | None = None
    ) -> None:
        super().__init__(parts)
        self._all = {**self._parts, **(only_keys or {})}
        self.kept = {name: t for part in self._all.values() for name, t in part.kept.items()}
        self.n_left_out = 0

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

        for chunk in rechunk(views(), batch_size, negative="allow"):
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
        while all(roll.fill() for roll in rolls):
            if len({type(roll.keys[0]) for roll in rolls}) > 1:
                first = ", ".join(f"{roll.name} {roll.keys[0]!r}" for roll in rolls)
                raise SourceError(f"Got keys of different types: {first}.")
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
