"""What can be told to be wrong with a command before anything is read, and what is left then."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import typer

from omvfs import OMVFS
from omvfs.cli._output import WRITTEN
from omvfs.constraints import check_all, check_countable, check_judgeable, check_watched
from omvfs.formats.files import Destination
from omvfs.formats.opening import read_input
from omvfs.wording import sentence_of

# What a run leaves in its folder: the checkpoint, and what it has come to.
MODEL = "model.omvfs"
RESULTS = (MODEL, *WRITTEN)


def destination(given: str | Path) -> Destination:
    """Return where to write.

    Parameters
    ----------
    given : str or Path
        As typed.

    Examples
    --------
    >>> destination("out").here.name
    'out'
    """
    try:
        return Destination(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def check_key(inputs: Sequence[str], key: str | None) -> None:
    """Refuse a key for a folder of a file a view, which has none.

    Parameters
    ----------
    inputs : sequence of str
    key : str or None
    """
    folders = (each for each in inputs if key is not None and Path(each).is_dir())
    if any(read_input(each).folder is not None for each in folders):
        raise typer.BadParameter("--key is for files; the views of a folder are aligned by row.")


def check_out(out: Destination, inputs: Sequence[str], write_data: bool) -> None:
    """Make the folder of the results, and see that all of them can be written.

    Parameters
    ----------
    out : Destination
        Folder.
    inputs : sequence of str
        What will be read.
    write_data : bool
        Whether selected features are written too.
    """
    if write_data and any(each.rpartition("=")[2] == "-" for each in inputs):
        raise typer.BadParameter("--write-data reads the rows again, which standard input cannot.")
    data = out.here / "data"
    here = data.is_file() or (data.is_dir() and _shown(data))
    if write_data and (here or (out.remote and out.has("data"))):
        raise typer.BadParameter(
            f"{out / 'data'} is there already: remove it for --write-data, or take another folder "
            "for -o."
        )
    check_writable(out.here, str(out))
    out.check_writable()


def check_writable(folder: Path, name: str = "") -> None:
    """Make a folder, and see that files can be written to it.

    Parameters
    ----------
    folder : Path
    name : str
        What errors call it, if not as it is called here.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"Results cannot be written to {name or folder}: {error.strerror}."
        ) from error


def check_free(out: Destination, resume: bool, overwrite: bool, also: Sequence[str] = ()) -> None:
    """Refuse to write over what a run before has left, unless told to.

    Parameters
    ----------
    out : Destination
        Folder.
    resume, overwrite : bool
        What was asked for.
    also : sequence of str, default=()
        What else is of a run.
    """
    there = next((name for name in (*RESULTS, f"{MODEL}.1", *also) if out.has(name)), None)
    if there is not None and not resume and not overwrite:
        raise typer.BadParameter(
            f"{out / there} is of a run before: go on with --resume, begin anew with --overwrite, "
            "or take another folder for -o."
        )


def check_parameters(selector: OMVFS) -> None:
    """Refuse parameters of which no data make sense.

    Parameters
    ----------
    selector : OMVFS
    """
    try:
        # Which views there are is not known yet.
        check_all(selector.get_params())
        check_countable(selector.get_params())
        check_judgeable(selector.get_params())
        check_watched(selector.get_params())
    except ValueError as error:
        raise typer.BadParameter(sentence_of(error)) from error


@contextmanager
def leaving_no_folder(path: Path) -> Iterator[None]:
    """If the block fails, remove the folders that it has made on the way to `path` and not filled.

    Parameters
    ----------
    path : Path
        What the block makes.

    Examples
    --------
    >>> place = Path(tempfile.mkdtemp())
    >>> with contextlib.suppress(ValueError), leaving_no_folder(place / "a/b"):
    ...     (place / "a/b").mkdir(parents=True)
    ...     raise ValueError("no rows")
    >>> list(place.iterdir())
    []
    """
    new = list(takewhile(lambda each: not each.exists(), (path, *path.parents)))
    try:
        yield
    except BaseException:
        for folder in new:
            # What is not empty stays, and so does what is around it.
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def telling_of_checkpoint(out: Destination) -> Iterator[None]:
    """If the block fails, have the error tell of the checkpoint that it has left.

    Parameters
    ----------
    out : Destination
        Folder of the checkpoint.
    """
    model = out.here / MODEL
    before = stamp(model)
    try:
        yield
    except BaseException as error:
        if stamp(model) not in (None, before):
            with contextlib.suppress(Exception):
                out.publish(MODEL)
        if stamp(model) not in (None, before) and out.has_brought(MODEL):
            error.add_note(f"What was learned so far is in {out / MODEL}: go on with --resume.")
        raise


def _shown(folder: Path) -> list[Path]:
    """Return the files of a folder, without what a killed write may have left."""
    return [file for file in folder.iterdir() if not file.name.startswith(".")]


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what tells whether a file was written anew; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
