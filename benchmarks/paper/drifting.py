"""Streams in which the dominant classes change, from rows with known classes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.datasets import make_planted
from paper.base import Place
from paper.rows import is_twin
from paper.sets import LabelledSet, load, planted_set

# Segments of the stream, as in the paper: 12,000 rows, a change every 3,000.
SEGMENTS, SEGMENT = 4, 3000
# Classes that dominate a segment, and their share of it. The paper does not tell the share.
DOMINANT, SHARE = 2, 0.8
# Rows of the twin: twice the stream, so that a class may dominate twice.
_TWIN_ROWS = 24_000


@dataclass(frozen=True)
class DriftingStream:
    """Rows in the order in which they come.

    Attributes
    ----------
    rows : LabelledSet
    segment : int
        Rows of a segment.
    dominant : tuple of tuple of int
        By segment, the classes that dominate; none where the words of all classes change.
    """

    rows: LabelledSet
    segment: int
    dominant: tuple[tuple[int, ...], ...]

    def points(self, per_segment: int) -> Iterator[slice]:
        """Yield stretches of equal length, so many a segment, in order."""
        step = self.segment // per_segment
        for start in range(0, len(self.rows.labels), step):
            yield slice(start, start + step)


def stream(data: str, place: Place, order: int, segment: int = SEGMENT) -> DriftingStream:
    """Return the stream of a set in one of its orders.

    Parameters
    ----------
    data : str
        ``planted``, where every class takes other words from segment to segment, or the name of a
        set, of which two classes dominate a segment.
    place : Place
    order : int
        Which classes dominate, and which rows are drawn; of every four orders in a row, these are
        the same, and the segments take turns: each comes first once, and once last.
    segment : int
        Most rows of a segment: a set that is too small has shorter ones.
    """
    draw, turn = divmod(order, SEGMENTS)
    if data == "planted":
        drift_at = [segment * i for i in range(1, SEGMENTS)]
        planted = make_planted(
            SEGMENTS * segment, drift_at=drift_at, dtype=np.float64, random_state=draw
        )
        return _turned(DriftingStream(planted_set(planted), segment, ((),) * SEGMENTS), turn)
    rows = load(data, place, _TWIN_ROWS * segment // SEGMENT if is_twin(data) else None)
    segment = longest_segment(rows.labels, segment)
    while True:
        large = _large_classes(rows.labels, segment)
        drawn = drifting_order(rows.labels, large, segment, np.random.default_rng(draw))
        if drawn is not None:
            return _turned(DriftingStream(rows.take(drawn[0]), segment, drawn[1]), turn)
        segment = segment * 9 // 10


def longest_segment(labels: NDArray[np.intp], most: int) -> int:
    """Return how long segments can be for every row to come at most once, at most `most`.

    Each segment can have two classes of its own if as many are large enough; of fewer classes
    some dominate twice.
    """
    sizes = np.sort(np.bincount(labels))[::-1]
    slots = SEGMENTS * DOMINANT
    turns = -(-slots // min(len(sizes), slots))
    smallest = sizes[: -(-slots // turns)][-1]
    longest = int(smallest / turns / (SHARE / DOMINANT))
    # What is left must do for the rest; a whole number of hundreds where it is long enough.
    longest = min(most, longest, int(len(labels) / SEGMENTS))
    return longest // 100 * 100 if longest >= 100 else longest // 10 * 10


def drifting_order(
    labels: NDArray[np.intp],
    classes: NDArray[np.intp],
    segment: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], tuple[tuple[int, ...], ...]] | None:
    """Draw the rows of a stream, each at most once, and the classes that dominate each segment.

    Two classes that did not dominate the segment before make up `SHARE` of a segment, each half of
    it; the rest is drawn from the other classes. Within a segment the order is random. None if
    there are too few rows for the rest.

    Parameters
    ----------
    labels : int array of shape (n_rows,)
    classes : int array
        Those that take part, at least four.
    segment : int
        Rows of a segment.
    rng : Generator

    Returns
    -------
    rows : int array of shape (SEGMENTS * segment,)
    dominant : tuple of tuple of int
    """
    dominant = _dominant(classes, rng)
    each = int(segment * SHARE / DOMINANT)
    left = {c: list(rng.permutation(np.flatnonzero(labels == c))) for c in classes.tolist()}
    parts = [[row for c in pair for row in _taken(left[c], each)] for pair in dominant]
    for pair, part in zip(dominant, parts, strict=True):
        spare = [row for c, rows in left.items() if c not in pair for row in rows]
        if len(spare) < segment - len(part):
            return None
        rest = rng.choice(np.array(spare, np.intp), segment - len(part), replace=False)
        gone = set(rest.tolist())
        left = {c: [row for row in rows if row not in gone] for c, rows in left.items()}
        part += rest.tolist()
    return np.concatenate([rng.permutation(np.array(part, np.intp)) for part in parts]), dominant


def _turned(drifting: DriftingStream, turn: int) -> DriftingStream:
    """Return the stream begun so many segments later, with those left out at its end."""
    rows = np.roll(np.arange(len(drifting.rows.labels)), -turn * drifting.segment)
    dominant = drifting.dominant[turn:] + drifting.dominant[:turn]
    return DriftingStream(drifting.rows.take(rows), drifting.segment, dominant)


def _dominant(classes: NDArray[np.intp], rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Draw the classes that dominate: never twice in a row, and all in turn.

    After the last segment the first may come again: it must differ too, if there are enough.
    """
    turns = dict.fromkeys(rng.permutation(classes).tolist(), 0)
    pairs: list[tuple[int, ...]] = []
    for _ in range(SEGMENTS):
        around = pairs[0] if len(pairs) == SEGMENTS - 1 and len(turns) >= 3 * DOMINANT else ()
        free = [c for c in turns if not pairs or c not in (*pairs[-1], *around)]
        # Sorting is stable: among those with as many turns, the random order stays.
        pair = tuple(sorted(free, key=turns.__getitem__)[:DOMINANT])
        for c in pair:
            turns[c] += 1
        pairs.append(pair)
    return tuple(pairs)


def _large_classes(labels: NDArray[np.intp], segment: int) -> NDArray[np.intp]:
    """Return the classes that could dominate a segment, or all if there are few."""
    sizes = np.bincount(labels)
    large = np.flatnonzero(sizes >= segment * SHARE / DOMINANT)
    return large if len(large) >= SEGMENTS * DOMINANT else np.arange(len(sizes))


def _taken(rows: list[int], n: int) -> list[int]:
    taken, rows[:] = rows[:n], rows[n:]
    return taken
