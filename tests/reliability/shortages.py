"""Calls that fail, and too little of disk, memory and open files: told, and nothing lost."""

import contextlib
import functools
import itertools
import os
import resource
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from reliability import calls
from reliability.attempts import Done, Outcome, first_wrong, no_more_memory, ran, tried
from reliability.crashes import Scenario, begun
from reliability.rows_at_hand import leftovers, place

KINDS = ("open", "read", *calls.WRITES)


def _survived(scenario: Scenario, out: Path, done: Done, told: tuple[str, ...] = ()) -> str:
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
        lambda: "" if not told or any(each in said for each in told) else f"said {said[-300:]}",
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

            def attempt(scenario=scenario, kind=kind, n=n, code=code) -> str:  # type: ignore[no-untyped-def]
                out = scenario.fresh()
                faulty = calls.fail((kind,), n, code)
                return _survived(scenario, out, ran(*scenario.arguments(out), before=faulty))

            if n:
                yield tried(label, attempt)
            else:
                yield Outcome(label + " (none)", "")


@functools.cache
def _count(scenario: Scenario, kind: str) -> int:
    """Return how many calls of a kind an undisturbed run makes."""
    number = scenario.here / "calls"
    ran(*scenario.arguments(scenario.fresh()), before=calls.count((kind,), number))
    return int(number.read_text())


def _no_larger_files(n_bytes: int) -> Callable[[], None]:
    def begin() -> None:
        # A write beyond is an error then, and no death.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return begin


def full_disk(numbers: range, seed: int) -> Iterator[Outcome]:
    """Let files grow to no more than n bytes, or the disk have room for no more."""
    with place() as here:
        for number, turn, scenario in begun(here, numbers, 10):
            rng = np.random.default_rng([seed, number, 5])
            size = int(rng.choice([1, 100, 1000, 5000, 10_000, 30_000]) * (1 + rng.random()))
            mounted = turn % 2 == 1 and may_mount()

            def attempt(scenario=scenario, size=size, mounted=mounted) -> str:  # type: ignore[no-untyped-def]
                out = scenario.fresh()
                if not mounted:
                    limit = _no_larger_files(size)
                    return _survived(scenario, out, ran(*scenario.arguments(out), before=limit))
                with small_disk(out.parent) as fill:
                    fill(size)
                    done = ran(*scenario.arguments(out))
                    if done.code == 0:
                        return done.wrong
                    fill(None)
                    return _survived(scenario, out, done)

            where = "on a full disk" if mounted else "in a file"
            yield tried(f"{number}: {size} bytes {where}, {scenario.kind} {scenario.name}", attempt)


@functools.cache
def may_mount() -> bool:
    """Tell whether file systems can be mounted here."""
    with place() as here, contextlib.suppress(OSError), small_disk(here):
        return True
    return False


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[int | None], None]]:
    """Have a folder be a file system of its own; yield what leaves room for so many bytes there."""
    # What is there already is there on the small disk too.
    stored = folder.with_name(folder.name + " stored")
    shutil.copytree(folder, stored)
    options = ["-o", "size=2m,mode=700"]
    done = subprocess.run(
        ["mount", "-t", "tmpfs", *options, "tmpfs", folder], capture_output=True, text=True
    )
    if done.returncode:
        raise PermissionError(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        shutil.copytree(stored, folder, dirs_exist_ok=True)
        filler = folder / "filler"

        def fill(room: int | None) -> None:
            filler.unlink(missing_ok=True)
            if room is not None:
                free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
                filler.write_bytes(bytes(max(0, free - room)))

        yield fill
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


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

            def attempt(scenario=scenario, limit=limit) -> str:  # type: ignore[no-untyped-def]
                out = scenario.fresh()
                return _survived(scenario, out, ran(*scenario.arguments(out), before=limit))

            yield tried(f"{number}: {size} bytes, {scenario.kind} {scenario.name}", attempt)


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

            def attempt(scenario=scenario, limit=limit) -> str:  # type: ignore[no-untyped-def]
                out = scenario.fresh()
                return _survived(scenario, out, ran(*scenario.arguments(out), before=limit))

            yield tried(f"{number}: {room} handles, {scenario.kind} {scenario.name}", attempt)
