"""One attempt: work in a process of its own, within bounds, and what came of it.

Processes are forked from one that has imported everything, so that thousands of them are cheap.
"""

import contextlib
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from omvfs.formats import MAX_CHUNK_BYTES

# Of computing; more is a hang. Of waiting, with time for a machine that is busy otherwise.
MOST_SECONDS = 5
PATIENCE = 60
# Twice what a chunk may have.
MOST_BYTES = 2 * MAX_CHUNK_BYTES


class Outcome(NamedTuple):
    """What came of an attempt: empty if it was survived, else what went wrong."""

    name: str
    wrong: str


class Done(NamedTuple):
    """How a process ended: a code below 0 is a signal, `late` that it was ended for its time."""

    code: int
    out: str
    err: str
    computed: float
    late: bool

    @property
    def wrong(self) -> str:
        """What no process may do, whatever is done to it; empty if it did not."""
        said = self.err.strip()
        if self.late:
            return f"came to no end in {PATIENCE} s"
        if self.code < 0:
            return f"died of {signal.Signals(-self.code).name}: {said[-300:]}"
        if "Traceback" in said or "Exception ignored" in said:
            return f"a traceback: {said[-300:]}"
        if self.computed > MOST_SECONDS:
            return f"computed for {self.computed:.1f} s"
        if self.code and not said:
            return f"ended with code {self.code} and no word"
        return ""


@dataclass
class Job:
    """A process under way."""

    pid: int
    out: IO[bytes]
    err: IO[bytes]

    def send(self, number: int) -> None:
        """Send a signal, if there is anyone to get it."""
        os.kill(self.pid, number)

    def ends_within(self, seconds: float) -> bool:
        """Wait, and tell whether it has ended."""
        descriptor = os.pidfd_open(self.pid)
        try:
            return bool(select.select([descriptor], [], [], seconds)[0])
        finally:
            os.close(descriptor)

    def finish(self, patience: float = PATIENCE) -> Done:
        """Wait for its end, or end it."""
        late = not self.ends_within(patience)
        if late:
            os.kill(self.pid, signal.SIGKILL)
        _, status, used = os.wait4(self.pid, 0)
        # What it has started itself goes with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        code = os.waitstatus_to_exitcode(status)
        return Done(code, *texts, used.ru_utime + used.ru_stime, late)


def start(work: Callable[[], Any]) -> Job:
    """Begin some work in a process of its own; what it returns is its exit code, None is 0."""
    source, out, err = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115 (kept open)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        source.close()
        return Job(pid, out, err)
    code = 1
    try:
        os.setpgid(0, 0)
        for number, file in enumerate((source, out, err)):
            os.dup2(file.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, closefd=False, encoding="utf-8", errors="surrogateescape")
            for number, mode in enumerate("rww")
        )
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        code = work() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            sys.stderr.write(end.code)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def command(*arguments: str | os.PathLike[str], before: Callable[[], Any] = lambda: None) -> Job:
    """Begin a command of the command line, with something done in its process before."""

    def work() -> None:
        from omvfs.cli import main

        sys.argv = ["omvfs", *map(os.fspath, arguments)]
        before()
        main()

    return start(work)


def ran(*arguments: str | os.PathLike[str], **named: Any) -> Done:
    """Run a command to its end."""
    return command(*arguments, **named).finish()


def no_more_memory(n_bytes: int) -> None:
    """Let this process have no more than so many bytes from now on."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + n_bytes, mapped + n_bytes))


def no_more_computing(seconds: float) -> None:
    """End this process if it computes for so long, with a signal that is not to be mistaken."""
    spent = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent, spent + 1))


def first_wrong(*checks: Callable[[], str]) -> str:
    """Return what the first check that fails says, empty if none does."""
    return next((wrong for check in checks if (wrong := check())), "")


def tried(name: str, check: Callable[[], str]) -> Outcome:
    """Return the outcome of a check that runs here; an error of its own is a failure."""
    try:
        return Outcome(name, check())
    except Exception:
        return Outcome(name, "the attempt itself failed: " + traceback.format_exc()[-600:])
