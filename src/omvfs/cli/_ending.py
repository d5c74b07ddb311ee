"""How a command ends: with an exit code, and with a sentence if something went wrong."""

import os
import select as polling
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from omvfs.cli._messages import discreet, of_anything, of_missing, of_system, shown, told
from omvfs.cli._signals import Interrupted
from omvfs.cli._wording import worded
from omvfs.disk import BusyError
from omvfs.distributed.steps import ClusterError
from omvfs.wording import sentence_of

FAILED, USAGE, BAD_DATA, BAD_FILE, INTERRUPTED = 1, 2, 3, 4, 130
# Older versions of typer use click, newer ones have their own copy of it.
_ClickError: Any = typer.BadParameter.__bases__[0].__bases__[0]


def ended(
    command: Callable[[], Any], arguments: Sequence[str], options: Callable[[], Mapping[str, str]]
) -> int:
    """Run a command and return its exit code; errors are one sentence on stderr.

    Parameters
    ----------
    command : callable
    arguments : sequence of str
        What was typed; ``--debug`` among it shows where an error comes from.
    options : callable
        Returns the option of every parameter that has one.
    """

    def failed(sentence: str, code: int) -> int:
        return told(worded(sentence, options), code, arguments, "--debug" in arguments)

    try:
        code = command()
        sys.stdout.flush()
        return int(code or 0)
    except typer.Exit as done:
        return done.exit_code
    except _ClickError as error:
        # Where nothing is typed it is the help, of many lines.
        if arguments and isinstance(error.message, str):
            error.message = shown(discreet(worded(error.message, options), arguments))
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
        return 0 if _has_no_reader() else failed(of_system(broken), BAD_FILE)
    except Exception as error:
        return failed(*said_of(error))


def said_of(error: Exception) -> tuple[str, int]:
    """Return what is said of an error, and the exit code.

    Parameters
    ----------
    error : Exception

    Examples
    --------
    >>> said_of(ValueError("Got -1."))
    ('Got -1.', 3)
    """
    if isinstance(error, _ClickError):
        return str(error.message), int(error.exit_code)
    if isinstance(error, ImportError):
        return of_missing(error), USAGE
    if isinstance(error, BusyError | ClusterError):
        return str(error), FAILED
    if isinstance(error, OSError):
        return of_system(error), BAD_FILE
    if isinstance(error, ValueError | TypeError):
        return sentence_of(error), BAD_DATA
    return of_anything(error), FAILED  # what nobody thought of is a sentence too


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
