"""How a command ends: an exit code, and one sentence on stderr if something went wrong."""

import logging
import os
import re
import select as polling
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

FAILED, USAGE, BAD_DATA, BAD_FILE, INTERRUPTED = 1, 2, 3, 4, 130

_SIGNALS = signal.SIGINT, signal.SIGTERM
# A scheme is short, and begins where no word goes on: else long names would take long.
_ADDRESS = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s'\"<>]+")
_EXTRAS = {"pyarrow": "files", "h5py": "files", "fsspec": "remote"}
_EXTRAS |= {"dask": "dask", "distributed": "dask", "jinja2": "report"}


class Interrupted(BaseException):
    """A signal has come; no `KeyboardInterrupt`, of which typer makes an end of its own."""

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
        """Tell whether a signal has come."""
        return self._asked

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *error: object) -> None:
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


def ended(command: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; errors are one sentence on stderr."""
    import typer

    # Older versions of typer use click, newer ones have their own copy of it.
    click_error: Any = typer.BadParameter.__bases__[0].__bases__[0]

    def failed(sentence: str, code: int) -> int:
        return _tell(sentence, code, arguments)

    try:
        code = command()
        sys.stdout.flush()
        return int(code or 0)
    except typer.Exit as done:
        return done.exit_code
    except click_error as error:
        # Where nothing is typed it is the help, of many lines.
        if arguments and isinstance(error.message, str):
            error.message = _shown(discreet(error.message, arguments))
        try:
            error.show()
        except (OSError, MemoryError):
            # It reads modules for that, which it may not be able to.
            return failed(error.format_message(), int(error.exit_code))
        return int(error.exit_code)
    except Interrupted as end:
        return failed("Interrupted.", end.code)
    except (typer.Abort, KeyboardInterrupt):
        return failed("Interrupted.", INTERRUPTED)
    except (SystemExit, BrokenPipeError) as end:
        # Typer exits when a pipe breaks, be it that of the output, whose reader has enough.
        broken = end if isinstance(end, BrokenPipeError) else end.__context__
        if not isinstance(broken, BrokenPipeError):
            raise
        return 0 if _has_no_reader() else failed(*said_of(broken))
    except Exception as error:
        return failed(*said_of(error))


def said_of(error: Exception) -> tuple[str, int]:
    """Return what is said of an error, and the exit code.

    Examples
    --------
    >>> said_of(ValueError("Got -1."))
    ('Got -1.', 3)
    >>> said_of(OSError(28, "No space left on device", "out/x"))
    ('out/x: No space left on device.', 4)
    >>> said_of(ModuleNotFoundError("No module named 'h5py'", name="h5py"))
    ("This needs h5py: pip install 'omvfs[files]'", 2)
    >>> said_of(KeyError("x"))
    ("This should not have happened: KeyError('x'). --debug shows where it comes from.", 1)
    """
    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        if package in _EXTRAS and isinstance(error, ModuleNotFoundError):
            return f"This needs {package}: pip install 'omvfs[{_EXTRAS[package]}]'", USAGE
        return str(error), USAGE
    if isinstance(error, OSError):
        from omvfs.disk import BusyError

        return _of_system(error), FAILED if isinstance(error, BusyError) else BAD_FILE
    if isinstance(error, ValueError | TypeError):
        return str(error), BAD_DATA
    if hasattr(error, "exit_code"):  # of typer: a wrong option
        return str(getattr(error, "message", error)), int(error.exit_code)
    if isinstance(error, MemoryError):
        return (
            "There is not enough memory. Choose a smaller --batch-size, or leave views out with "
            "--view."
        ), FAILED
    if isinstance(error, RuntimeError) and "new thread" in str(error):
        return (
            f"The system gives no more threads ({error}). End other programs, or raise the limit."
        ), FAILED
    from omvfs.distributed.steps import ClusterError

    if isinstance(error, ClusterError):
        return str(error), FAILED
    return f"This should not have happened: {error!r}. --debug shows where it comes from.", FAILED


def say(text: str, err: bool = False) -> None:
    """Say a sentence, without secrets of addresses and what a terminal would obey."""
    import typer

    typer.echo(_shown(discreet(text)), err=err)


def discreet(text: str, arguments: Sequence[str] = ()) -> str:
    """Return a text whose addresses have no secrets.

    Examples
    --------
    >>> discreet("Got 'https://me:word@host/x.csv?key=1'.")
    "Got 'https://host/x.csv'."
    """
    for given in arguments:
        clean = _clean(given)
        # Some tell the place only.
        for secret, bare in ((given, clean), (_place(given), _place(clean))):
            if secret != bare:
                text = text.replace(secret, bare)
    return _ADDRESS.sub(lambda address: _clean(address[0]), text)


@contextmanager
def saying_what_is_logged() -> Iterator[None]:
    """Say on standard error what formats log while the block runs."""
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: say(record.getMessage(), err=True)  # type: ignore[method-assign]
    logger = logging.getLogger("omvfs.formats")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def _shown(text: str) -> str:
    from omvfs.data.schema import shown

    return shown(text)


def _clean(given: str) -> str:
    if "://" not in given:
        return given
    # All formats come with it: not before there is something to clean.
    from omvfs.formats.files import without_secrets

    return without_secrets(given)


def _place(address: str) -> str:
    return address.partition("://")[2]


def _tell(sentence: str, code: int, arguments: Sequence[str]) -> int:
    """Say what went wrong and what notes the error has, where from if asked; return the code."""
    if "--debug" in arguments:
        lines = discreet(traceback.format_exc(), arguments).split("\n")
        sys.stderr.write("\n".join(map(_shown, lines)))
    notes = getattr(sys.exception(), "__notes__", ())
    line = " ".join(" ".join([sentence, *notes]).split())
    sys.stderr.write(f"omvfs: {_shown(discreet(line, arguments))}\n")
    return code


def _of_system(error: OSError) -> str:
    """Return what an error of the system says, the file first."""
    if error.errno is None or error.strerror is None or error.filename is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {error.strerror}."


def _has_no_reader() -> bool:
    """Tell whether nobody reads the output any more; if so, let nothing more be said of it."""
    out = sys.__stdout__
    assert out is not None
    if hasattr(polling, "poll"):
        poll = polling.poll()
        poll.register(out, 0)
        if not poll.poll(0):
            return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    return True
