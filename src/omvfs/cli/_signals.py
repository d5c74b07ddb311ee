"""Ctrl-C and SIGTERM: the first asks, the second ends at once; nothing is said of where."""

import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = signal.SIGINT, signal.SIGTERM


class Interrupted(BaseException):
    """A signal has come; no `KeyboardInterrupt`, of which typer makes an end of its own.

    Parameters
    ----------
    number : int
        Which.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def watch() -> None:
    """Have the next signal raise `Interrupted`, and one after it end the process at once."""
    _set(_interrupt)


def let_go() -> None:
    """Have any signal end the process at once: there is nothing left to do."""
    _set(_end)


class Stop:
    """Tells whether Ctrl-C or SIGTERM has come; a second one ends at once.

    Attributes
    ----------
    code : int
        What to exit with.
    """

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT
        self._asked = False
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self._asked

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._asked:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        let_go()
        self._asked, self.code = True, 128 + number


def _set(handler: Any) -> None:
    for number in _SIGNALS:
        # A process in the background may have been told not to listen.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    let_go()
    raise Interrupted(number)


def _end(number: int, frame: FrameType | None) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")  # a bar hides the cursor
    # Files are whole whenever a process ends; what is half done is swept by the next.
    os._exit(128 + number)
