"""Damaged files of every format."""

import functools
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from formats import mutants
from omvfs.formats import SourceError
from omvfs.persistence import CheckpointError
from reliability.attempts import (
    MOST_BYTES,
    MOST_SECONDS,
    Outcome,
    no_more_computing,
    no_more_memory,
    start,
    tried,
)
from reliability.rows_at_hand import place

# Names of AnnData are read in a process of their own, which takes its time: a tenth of the others.
SELDOM = ("text.h5ad", "rows.h5mu")
# So that processes of one row in turn have kinds of their own, and need few whole files.
IN_A_ROW = 50
KINDS = [kind for kind in mutants.KINDS if kind not in SELDOM]


def kind_of(number: int) -> tuple[str, int]:
    """Return the kind of a numbered file, and how many of that kind there were before."""
    turn, within = divmod(number, IN_A_ROW)
    every = [*KINDS * 10, *SELDOM]
    kind = every[turn % len(every)]
    before = turn // len(every) * every.count(kind) + turn % len(every) // len(KINDS)
    return kind, before * IN_A_ROW + within


@functools.cache
def _hostile(kind: str) -> list[bytes]:
    return mutants.hostile(kind)


def spliced(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with a piece of another in the place of its own, or all of it after a head."""
    if rng.random() < 0.2:
        head = int(rng.integers(min(512, len(content))))
        return content[:head] + rng.bytes(int(rng.integers(1, 200))) + content[head:]
    a, b = (int(rng.integers(len(each))) for each in (content, other))
    size = int(rng.integers(1, max(2, len(other) - b)))
    return content[:a] + other[b : b + size] + content[a + size * int(rng.integers(2)) :]


def damaged(numbers: range, seed: int) -> Iterator[Outcome]:
    """Read files of every format cut off, flipped, overwritten, spliced, or made with intent."""
    with place() as here:
        known = {kind: _whole(here, kind) for kind in {kind_of(n)[0] for n in numbers}}
        for number in numbers:
            kind, before = kind_of(number)
            rng = np.random.default_rng([seed, number, 8])
            intended = _hostile(kind) if before < IN_A_ROW else []
            if before < len(intended):
                content = intended[before]
            elif rng.random() < 0.2:
                other = known[sorted(known)[int(rng.integers(len(known)))]]
                content = spliced(known[kind], other, rng)
            else:
                content = mutants.damaged(known[kind], rng)
            path = here / kind
            path.write_bytes(content)
            yield tried(f"{number}: {kind}", lambda path=path: _read(path))


def _whole(here: Path, kind: str) -> bytes:
    path = here / kind
    path.parent.mkdir(parents=True, exist_ok=True)
    mutants.KINDS[kind](path)
    mutants.read(path)
    return path.read_bytes()


def _read(path: Path) -> str:
    def work() -> None:
        no_more_memory(MOST_BYTES)
        no_more_computing(MOST_SECONDS)
        # Refused, as it may be.
        with suppress(SourceError, CheckpointError):
            mutants.read(path)

    return start(work).finish().wrong
