"""Calls that fail, and too little of disk, memory and open files: told, and nothing lost."""

import itertools
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from reliability import calls
from reliability.attempts import Done, Outcome, first_wrong, no_more_memory, ran, tried
from reliability.crashes import Scenario, begun
from reliability.rows_at_hand import leftovers, place

KINDS = ("open", "read", *calls.WRITES)


def _survived(scenario: Scenario, out: Path, done: Done) -> str:
    """Say what is wrong after a command that lacked something."""
    if done.code == 0:
        # It did without.
        return first_wrong(lambda: done.wrong, lambda: scenario.goes_on(out))
    said = done.err.strip()
    # What is wrong with an option is told below the usage.
    said = said.partition("\nError: ")[2] or said
    return first_wrong(
        lambda: done.wrong,
        lambda: f"{len(said.splitlines())} lines: {said[-300:]}" if "\n" in said else "",
        lambda: scenario.between(out),
        lambda: leftovers(out.parent, ready=True),
        lambda: scenario.goes_on(out),
    )


def failing_calls(numbers: range, seed: int) -> Iterator[Outcome]:
    """Let the n-th call to open, read, write, sync, rename or remove fail with EIO or ENOSPC."""
    with place() as here:
        for number, turn, scenario in begun(here, numbers, 40):
            kind = KINDS[turn % len(KINDS)]
            rng = np.random.default_rng([seed, number, 4])
            counted = _count(scenario, kind)
            n = 1 + int(rng.integers(counted)) if counted else 0
            code = calls.CODES[int(rng.integers(2))]
            label = f"{number}: {kind} {n} {os.strerror(code)}, {scenario.kind} {scenario.name}"
            if n:
                yield tried(label, partial(_within, scenario, calls.fail((kind,), n, code)))
            else:
                yield Outcome(label + " (none)", "")


@cache
def _count(scenario: Scenario, kind: str) -> int:
    """Return how many calls of a kind an undisturbed run makes."""
    number = scenario.here / "calls"
    ran(*scenario.arguments(scenario.fresh()), before=calls.count((kind,), number))
    return int(number.read_text())


def _within(scenario: Scenario, limit: Callable[[], None]) -> str:
    """Run a command in a process that is limited before, and say what is wrong with its end."""
    out = scenario.fresh()
    return _survived(scenario, out, ran(*scenario.arguments(out), before=limit))


def _no_larger_files(n_bytes: int) -> None:
    # A write beyond is an error then, and no death.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def full_disk(numbers: range, seed: int) -> Iterator[Outcome]:
    """Let files grow to no more than n bytes."""
    with place() as here:
        for number, _, scenario in begun(here, numbers, 10):
            rng = np.random.default_rng([seed, number, 5])
            size = int(rng.choice([1, 100, 1000, 5000, 10_000, 30_000]) * (1 + rng.random()))
            label = f"{number}: {size} bytes in a file, {scenario.kind} {scenario.name}"
            yield tried(label, partial(_within, scenario, partial(_no_larger_files, size)))


def little_memory(numbers: range, seed: int) -> Iterator[Outcome]:
    """Give a command n more bytes of memory than it has when it begins."""
    with place() as here:
        # Wide enough for memory to matter.
        for number, turn, scenario in begun(here, numbers, 10, wider=100):
            rng = np.random.default_rng([seed, number, 6])
            size = int(10 ** rng.uniform(5, 7.2))

            def limit(turn: int = turn, size: int = size) -> None:
                # Half the time there is no room for the stack of a thread either.
                threading.stack_size((16 << 20) * (turn % 2))
                no_more_memory(size)

            label = f"{number}: {size} bytes, {scenario.kind} {scenario.name}"
            yield tried(label, partial(_within, scenario, limit))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def few_handles(numbers: range, seed: int) -> Iterator[Outcome]:
    """Let a command have no more than n files open."""
    with place() as here:
        for number, turn, scenario in begun(here, numbers, 12):
            room = turn % 12

            def limit(room: int = room) -> None:
                # Numbers above may be in use; it is the lowest that are given out.
                free = (number for number in itertools.count() if not _is_open(number))
                bound = next(itertools.islice(free, room, None))
                resource.setrlimit(resource.RLIMIT_NOFILE, (bound, bound))

            label = f"{number}: {room} handles, {scenario.kind} {scenario.name}"
            yield tried(label, partial(_within, scenario, limit))
