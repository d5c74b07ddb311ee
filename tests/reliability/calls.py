"""Calls to the system, counted: the n-th fails, or kills the process, or all are written down.

What Python calls, that is; what libraries call by themselves is reached by limits and kills.
"""

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable
from typing import Any

WRITES = ("write", "fsync", "replace", "link", "unlink", "mkdir", "close")
CODES = (errno.EIO, errno.ENOSPC)
# By the name under which `os` has them.
_PLAIN = ("open", "read", "write", "fsync", "fdatasync", "link", "unlink", "mkdir", "close")
_SAME = {"rename": "replace", "replace": "replace", "remove": "unlink", "rmdir": "unlink"}

Act = Callable[[str, tuple[Any, ...]], None]


def watch(act: Act) -> None:
    """Have something done before every call, in this process, from now on for good."""

    def wrap(name: str, kind: str) -> None:
        genuine = getattr(os, name)

        def wrapped(*args: Any, **named: Any) -> Any:
            if kind == "close":
                # A close that fails has closed.
                genuine(*args, **named)
                act(kind, args)
                return None
            act(kind, args)
            return genuine(*args, **named)

        setattr(os, name, wrapped)

    for name in _PLAIN:
        wrap(name, "fsync" if name == "fdatasync" else name)
    for name, kind in _SAME.items():
        wrap(name, kind)
    _watch_files(act)


def _watch_files(act: Act) -> None:
    genuine = io.open

    class Watched(io.FileIO):
        def readinto(self, buffer: Any) -> Any:
            act("read", (self.name,))
            return super().readinto(buffer)

        def readall(self) -> bytes:
            act("read", (self.name,))
            return super().readall()

        def read(self, size: int = -1) -> Any:
            act("read", (self.name,))
            return super().read(size)

        def write(self, content: Any) -> Any:
            act("write", (self.name,))
            return super().write(content)

        def truncate(self, size: int | None = None) -> int:
            act("write", (self.name,))
            return super().truncate(size)

    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not isinstance(file, str | bytes | os.PathLike):
            return genuine(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if opener is None:
            act("open", (file, mode))
        raw = Watched(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        kind = io.BufferedRandom if "+" in mode else io.BufferedWriter
        binary = (io.BufferedReader if mode.strip("bt") == "r" else kind)(raw)
        if "b" in mode:
            return binary
        text = io.TextIOWrapper(binary, encoding, errors, newline)
        text.mode = mode
        return text

    builtins.open = io.open = opened


def count(kinds: tuple[str, ...], path: os.PathLike[str]) -> Callable[[], None]:
    """Return what makes a process keep the number of its calls of some kinds in a file."""

    def begin() -> None:
        number, place = 0, os.open(path, os.O_WRONLY | os.O_CREAT)

        def act(kind: str, args: tuple[Any, ...]) -> None:
            nonlocal number
            number += kind in kinds
            os.pwrite(place, b"%9d" % number, 0)

        watch(act)

    return begin


def fail(kinds: tuple[str, ...], n: int, code: int) -> Callable[[], None]:
    """Return what makes the n-th call of some kinds fail, counted from 1."""

    def act() -> None:
        raise OSError(code, os.strerror(code))

    return lambda: watch(_at(kinds, n, act))


def kill(kinds: tuple[str, ...], n: int) -> Callable[[], None]:
    """Return what makes a process die in its n-th call of some kinds, counted from 1."""
    return lambda: watch(_at(kinds, n, lambda: os.kill(os.getpid(), signal.SIGKILL)))


def _at(kinds: tuple[str, ...], n: int, do: Callable[[], None]) -> Act:
    left = [n]

    def act(kind: str, args: tuple[Any, ...]) -> None:
        if kind in kinds:
            left[0] -= 1
            if left[0] == 0:
                do()

    return act
