"""What is said: a sentence without secrets, and nothing that a terminal would obey."""

import re
import sys
import traceback
from collections.abc import Sequence

import typer

from omvfs.data.schema import shown as shown

# A scheme is short, and begins where no word goes on: else long names would take long.
_ADDRESS = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s'\"<>]+")
_EXTRAS = {"pyarrow": "files", "h5py": "files", "fsspec": "remote"}
_EXTRAS |= {"dask": "dask", "distributed": "dask", "jinja2": "report"}


def say(text: str, err: bool = False) -> None:
    """Say a sentence.

    Parameters
    ----------
    text : str
    err : bool, default=False
        Whether on standard error.
    """
    typer.echo(shown(discreet(text)), err=err)


def discreet(text: str, arguments: Sequence[str] = ()) -> str:
    """Return a text whose addresses have no secrets.

    Parameters
    ----------
    text : str
    arguments : sequence of str
        What was typed, which is known to be an address as a whole.

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


def _clean(given: str) -> str:
    if "://" not in given:
        return given
    # All formats come with it: not before there is something to clean.
    from omvfs.formats.files import without_secrets

    return without_secrets(given)


def _place(address: str) -> str:
    return address.partition("://")[2]


def told(sentence: str, code: int, arguments: Sequence[str], debug: bool) -> int:
    """Say what went wrong and what notes the error has, where from if asked; return the exit code.

    Parameters
    ----------
    sentence : str
    code : int
    arguments : sequence of str
        What was typed.
    debug : bool
    """
    if debug:
        lines = discreet(traceback.format_exc(), arguments).split("\n")
        sys.stderr.write("\n".join(map(shown, lines)))
    notes = getattr(sys.exception(), "__notes__", ())
    line = " ".join(" ".join([sentence, *notes]).split())
    sys.stderr.write(f"omvfs: {shown(discreet(line, arguments))}\n")
    return code


def of_system(error: OSError) -> str:
    """Return what an error of the system says, the file first.

    Examples
    --------
    >>> of_system(OSError(28, "No space left on device", "out/x"))
    'out/x: No space left on device.'
    """
    if error.errno is None or error.strerror is None or error.filename is None:
        return str(error)
    name = error.filename
    return (
        f"{name.decode('utf-8', 'replace') if isinstance(name, bytes) else name}: {error.strerror}."
    )


def of_missing(error: ImportError) -> str:
    """Return what to install.

    Examples
    --------
    >>> of_missing(ModuleNotFoundError("No module named 'h5py'", name="h5py"))
    "This needs h5py: pip install 'omvfs[files]'"
    """
    package = (error.name or "").partition(".")[0]
    if package in _EXTRAS and isinstance(error, ModuleNotFoundError):
        return f"This needs {package}: pip install 'omvfs[{_EXTRAS[package]}]'"
    return str(error)


def of_anything(error: BaseException) -> str:
    """Return a sentence for an error that nobody expected.

    Examples
    --------
    >>> of_anything(MemoryError())
    'There is not enough memory. Choose a smaller --batch-size, or leave views out with --view.'
    >>> of_anything(KeyError("x"))
    "This should not have happened: KeyError('x'). --debug shows where it comes from."
    """
    if isinstance(error, MemoryError):
        return (
            "There is not enough memory. Choose a smaller --batch-size, or leave views out with "
            "--view."
        )
    if isinstance(error, RuntimeError) and "new thread" in str(error):
        return (
            f"The system gives no more threads ({error}). End other programs, or raise the limit."
        )
    return f"This should not have happened: {error!r}. --debug shows where it comes from."
