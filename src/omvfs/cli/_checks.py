"""What can be told to be wrong with a command before anything is read, and what is left then."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import typer

from omvfs import OMVFS
from omvfs.cli._output import RESULTS
from omvfs.formats.opening import named_files
from omvfs.persistence.checkpoint import previous
from omvfs.pipeline.preparation import Preparation
from omvfs.selectors.settings import check_all, check_judgeable
from omvfs.wording import sentence_of


def local(given: str | Path) -> Path:
    """Return where to write, which must be on this machine.

    Parameters
    ----------
    given : str or Path
        As typed.

    Examples
    --------
    >>> local("out").name
    'out'
    """
    if "://" in str(given):
        raise typer.BadParameter(f"{given} is not of this machine; files are written here only.")
    return Path(given)


def check_key(inputs: Sequence[str], key: str | None) -> None:
    """Refuse a key for a folder, which has none.

    Parameters
    ----------
    inputs : sequence of str
    key : str or None
    """
    if key is not None and any(Path(each).is_dir() for each in inputs):
        raise typer.BadParameter("--key is for files; the views of a folder are aligned by row.")


def check_out(out: Path, inputs: Sequence[str], write_data: bool) -> None:
    """Make the folder of the results, and see that all of them can be written.

    Parameters
    ----------
    out : Path
        Folder.
    inputs : sequence of str
        What will be read.
    write_data : bool
        Whether selected features are written too.
    """
    if write_data and any(file.text == "-" for file in named_files(inputs).values()):
        raise typer.BadParameter("--write-data reads the rows again, which standard input cannot.")
    data = out / "data"
    if write_data and (data.is_file() or (data.is_dir() and _shown(data))):
        raise typer.BadParameter(
            f"{data} is there already: remove it for --write-data, or take another folder for -o."
        )
    check_writable(out)


def check_writable(folder: Path) -> None:
    """Make a folder, and see that files can be written to it.

    Parameters
    ----------
    folder : Path
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"Results cannot be written to {folder}: {error.strerror}.") from error


def check_free(out: Path, resume: bool, overwrite: bool) -> None:
    """Refuse to write over what a run before has left, unless told to.

    Parameters
    ----------
    out : Path
        Folder.
    resume, overwrite : bool
        What was asked for.
    """
    model = out / "model.omvfs"
    known = [model, previous(model), *(out / name for name in RESULTS)]
    there = next((file for file in known if file.exists()), None)
    if there is not None and not resume and not overwrite:
        raise typer.BadParameter(
            f"{there} is of a run before: go on with --resume, begin anew with --overwrite, or "
            "take another folder for -o."
        )


def check_parameters(selector: OMVFS, prepare: Sequence[str]) -> None:
    """Refuse parameters and steps of which no data make sense.

    Parameters
    ----------
    selector : OMVFS
    prepare : sequence of str
    """
    try:
        # Which views there are is not known yet.
        check_all(selector.get_params())
        check_judgeable(selector.get_params())
        Preparation(tuple(prepare))
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
def telling_of_checkpoint(model: Path) -> Iterator[None]:
    """If the block fails, have the error tell of the checkpoint that it has left.

    Parameters
    ----------
    model : Path
        The checkpoint.
    """
    before = _stamp(model)
    try:
        yield
    except BaseException as error:
        if _stamp(model) not in (None, before):
            error.add_note(f"What was learned so far is in {model}: go on with --resume.")
        raise


def _shown(folder: Path) -> list[Path]:
    """Return the files of a folder, without what a killed write may have left."""
    return [file for file in folder.iterdir() if not file.name.startswith(".")]


def _stamp(file: Path) -> tuple[int, int] | None:
    """Return what tells whether a file was written anew, None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
