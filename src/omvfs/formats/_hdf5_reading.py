"""HDF5 files opened, and read where a damaged one does no harm."""

import json
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py

from omvfs.formats._base import SourceError
from omvfs.formats._files import File

# What h5py raises when a file is damaged.
DAMAGE = KeyError, RuntimeError, TypeError, ValueError, OSError, AttributeError
# What ends the process that reads names when it takes too long, or falls over a damaged file.
_ENDLESS, _CRASHES = ("SIGPROF",), ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL")


def open_hdf5(file: File, stack: ExitStack) -> Any:
    """Return a file as h5py opens it, to be closed with a stack."""
    file.check()
    opened = stack.enter_context(file.open()) if file.remote else file.text
    try:
        return stack.enter_context(h5py.File(opened, "r"))
    except SourceError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise SourceError(f"{file} is no HDF5 file, or damaged: {error}") from error


def in_a_process(program: Path, file: File, *arguments: str, given: Any = None) -> dict[str, Any]:
    """Return what a program answers about a file of this machine.

    Parameters
    ----------
    program : Path
        It prints JSON: an object, with ``error`` if it has no other answer, or ``has`` for what
        the file has instead of what was asked for.
    file : File
        The first of its arguments.
    *arguments : str
        The others.
    given : object, default=None
        What it reads as JSON.
    """
    done = subprocess.run(
        [sys.executable, "-P", str(program), file.text, *arguments],
        input=json.dumps(given).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise _ended(file, done.returncode)
    answer: dict[str, Any] = json.loads(done.stdout)
    if "errno" in answer:
        raise OSError(answer["errno"], answer["error"], arguments[0])
    if "has" in answer:
        raise SourceError(f"{file} has {answer['has']}.")
    if "error" in answer:
        raise SourceError(f"{file} is no HDF5 file, or not as AnnData writes it: {answer['error']}")
    return answer


def _ended(file: File, code: int) -> Exception:
    """Return the error of a process that did not come to its end."""
    name = signal.Signals(-code).name if code < 0 else f"code {code}"
    if name in _ENDLESS:
        return SourceError(f"{file} is damaged: reading its names comes to no end.")
    if name in _CRASHES:
        return SourceError(f"{file} is damaged: reading its names ends in {name}.")
    return OSError(
        f"{file} was not read: the process that reads its names was ended by {name}, as happens "
        "where memory is short. Try again."
    )
