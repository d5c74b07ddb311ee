"""What must hold for every source, wherever its rows come from."""

import json
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from omvfs.data.views import Views
from omvfs.formats import Chunk, Cursor, Source, SourceError
from omvfs.model.arrays import dense

MakeSource: TypeAlias = Callable[[], Source]

# Rows of a chunk where none are asked for.
_SIZE = 3


def check_source(make_source: MakeSource) -> None:
    """Check that a source does what every source must; an AssertionError says what it does not.

    A run over it then learns from every row once, in order, and goes on where it stopped.

    Parameters
    ----------
    make_source : callable
        Opens the source. It has the same rows each time, at least 4 of them, and few: they are
        read a dozen times.

    Examples
    --------
    >>> from omvfs.formats import ArraySource
    >>> check_source(lambda: ArraySource({"text": np.eye(5), "image": np.ones((5, 2))}))
    """
    chunks = _read(make_source, _SIZE)
    n = sum(len(chunk.views) for chunk in chunks)
    assert n > _SIZE, f"Got a source of {n} rows; expected at least {_SIZE + 1} to check it by."
    _check_schema(make_source, n)
    for size in (1, _SIZE, n, n + 1):
        _check_chunks(_read(make_source, size), size, chunks)
    _check_cursors(make_source, chunks)
    _check_refusals(make_source, chunks)
    _check_identity(make_source)
    _check_again(make_source)


def _check_schema(make_source: MakeSource, n: int) -> None:
    """Check that the schema and the number of rows are true, and that keys are one a row."""
    with make_source() as source:
        for chunk in source.chunks(_SIZE):
            assert isinstance(chunk.views, Views), f"Got {type(chunk.views)} for Views."
            got, told = chunk.views.schema, source.schema
            assert got == told, f"Got rows of {got}; the schema of the source is {told}."
            n_rows = len(chunk.views)
            n_keys = n_rows if chunk.keys is None else len(chunk.keys)
            assert n_keys == n_rows, f"Got {n_keys} keys of {n_rows} rows."
        assert source.n_rows in (n, None), f"Got n_rows={source.n_rows} of {n} rows."


def _check_chunks(chunks: Sequence[Chunk], size: int, rows: Sequence[Chunk]) -> None:
    """Check that chunks are all rows in order, of the size asked for."""
    _check_same(chunks, rows, f"in chunks of {size}")
    lengths = [len(chunk.views) for chunk in chunks]
    n = sum(lengths)
    expected = [size] * (n // size) + [n % size] * (n % size > 0)
    assert lengths == expected, f"Got chunks of {lengths} rows; expected {expected}."


def _check_cursors(make_source: MakeSource, chunks: Sequence[Chunk]) -> None:
    """Check that reading goes on from any cursor, as JSON keeps it, in chunks of any size."""
    n_rows = 0
    for chunk in chunks:
        n_rows += len(chunk.views)
        cursor = _plain(chunk.cursor, "a cursor")
        assert cursor.get("row") == n_rows, f"Got {cursor}; expected the row {n_rows} in it."
    for i, size in ((0, _SIZE), (len(chunks) // 2, _SIZE + 1), (len(chunks) - 1, _SIZE)):
        cursor = _plain(chunks[i].cursor, "a cursor")
        rest = _read(make_source, size, cursor)
        _check_same(rest, chunks[i + 1 :], f"from {cursor} on", first=cursor["row"])


def _check_refusals(make_source: MakeSource, chunks: Sequence[Chunk]) -> None:
    """Check that sizes and cursors that cannot be are refused."""
    last = chunks[-1].cursor
    with make_source() as source:
        for size in (0, -1, 2.5, "ten", True):
            _check_refused(source, size, None, "batch_size")
        for cursor in ({}, {"page": 3}, {"row": -1}, {"row": "3"}):
            _check_refused(source, _SIZE, cursor, "cursor")
        if source.n_rows is not None:
            _check_refused(source, _SIZE, {**last, "row": last["row"] + 1}, "fewer rows")


def _check_identity(make_source: MakeSource) -> None:
    """Check that what the rows are is told in plain values, the same each time."""
    with make_source() as source, make_source() as again:
        identity = _plain(source.identity, "an identity")
        list(source.chunks(_SIZE))
        for other in (source.identity, again.identity):
            assert other == identity, f"Got the identity {other}, and {identity} before."
        again.close()  # and again, when the block is left


def _check_again(make_source: MakeSource) -> None:
    """Check that a reader can stop early and begin again, or is told that it cannot."""
    with make_source() as source:
        first = next(source.chunks(_SIZE))
        try:
            again = next(source.chunks(_SIZE))
        except SourceError:
            again = first  # a stream that can be read once
        _check_same([again], [first], "when reading begins again")
        source.close()


def _read(make_source: MakeSource, size: int, cursor: Cursor | None = None) -> list[Chunk]:
    with make_source() as source:
        return list(source.chunks(size, cursor))


def _check_same(
    got: Sequence[Chunk], expected: Sequence[Chunk], where: str, *, first: int = 0
) -> None:
    """Have the rows of some chunks be those of others, with numbers that fit."""
    starts = [*accumulate((len(chunk.views) for chunk in got), initial=first)][:-1]
    numbers = [chunk.start for chunk in got]
    assert numbers == starts, f"Got chunks that start at {numbers} {where}; expected {starts}."
    n_rows = [sum(len(chunk.views) for chunk in chunks) for chunks in (got, expected)]
    assert n_rows[0] == n_rows[1], f"Got {n_rows[0]} rows {where}; expected {n_rows[1]}."
    for view in got[0].views.names if got else ():
        a, b = (np.vstack([dense(c.views[view]) for c in chunks]) for chunks in (got, expected))
        same = np.array_equal(a, b, equal_nan=True)
        assert same, f"Got other rows of view {view!r} {where}: {a}; expected {b}."


def _check_refused(source: Source, size: Any, cursor: Cursor | None, word: str) -> None:
    said = None
    try:
        list(source.chunks(size, cursor))
    except ValueError as error:
        said = str(error)
    given = f"chunks({size!r}, {cursor})"
    assert said is not None, f"Got rows of {given}; expected an error that says {word!r}."
    assert word in said, f"Got the error {said!r} of {given}; expected it to say {word!r}."


def _plain(value: dict[str, Any], what: str) -> dict[str, Any]:
    """Return a value as JSON keeps it, which is as it was."""
    kept: dict[str, Any] = json.loads(json.dumps(value, default=repr))
    assert kept == value, f"Got {what} that JSON does not keep: {value}; it becomes {kept}."
    return kept
