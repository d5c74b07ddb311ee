"""What a user types for the data: files, globs, folders and lists of them."""

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from omvfs.data.schema import listed
from omvfs.formats._base import SourceError
from omvfs.formats._files import File, PathLike, errors_of_storage
from omvfs.formats.addresses import without_secrets
from omvfs.formats.registry import FORMATS

Given: TypeAlias = PathLike | Sequence[PathLike]

# What rows are called that have no other name.
ROWS = "rows"
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Input:
    """What one argument stands for.

    Attributes
    ----------
    name : str
        That tells it apart; its view is called so if the file does not name it.
    files : tuple of File
        One; or parts, in the order of their rows.
    parts : bool
        Whether these are parts, should there be but one.
    bare : bool
        Whether it is one file that was given no name: it may be a part of rows with others.
    folder : Path or None
        Of a file a view; it has no files then.
    place : str
        Where it is, as it was typed, without secrets.
    """

    name: str
    files: tuple[File, ...] = ()
    parts: bool = False
    bare: bool = False
    folder: Path | None = None
    place: str = ""

    @property
    def streamed(self) -> bool:
        """Whether it is standard input."""
        return any(file.text == "-" for file in self.files)

    @property
    def file_name(self) -> str:
        """What one file of its format is called, with these rows or some of them."""
        first = self.files[0]
        return self.name + first.ending + first.compression if self.parts else first.name


def read_input(given: Given) -> Input:
    """Return what an argument stands for.

    Parameters
    ----------
    given : path, address, "-", or str of the form ``view=path``; or a list of files
        A path or an address may be a folder, or a glob: ``part-*.parquet``, ``**/*.csv``.

    Examples
    --------
    >>> read_input("text=a/words.npz").name, read_input("a/words.npz").name, read_input("-").name
    ('text', 'words', 'rows')
    """
    if not isinstance(given, str | os.PathLike):
        if not given:
            raise SourceError("Got an empty list; expected files whose rows are appended.")
        files = tuple(map(File, given))
        return Input(ROWS, files, parts=True, place=str(files[0]))
    text = os.fspath(given)
    name, sign, rest = text.partition("=")
    named = sign and "/" not in name and not Path(text).exists() and not _matching(text)
    place = rest if named else text
    if place == "-":
        return Input(name if named else ROWS, (File(place),), place=place)
    if (found := _parts(place)) is not None:
        return Input(name if named else ROWS, found, parts=True, place=without_secrets(place))
    if Path(place).is_dir() and not named:
        return Input(ROWS, folder=Path(place))
    file = File(place)
    return Input(name if named else file.stem, (file,), bare=not named, place=str(file))


def natural_order(file: File) -> tuple[list[str | int], str]:
    """Return by what to sort files: their names, numbers in them by their size.

    Examples
    --------
    >>> [file.name for file in sorted(map(File, ["part-10.csv", "part-9.csv"]), key=natural_order)]
    ['part-9.csv', 'part-10.csv']
    """
    # Text and digits take turns, so that like is compared with like.
    pieces = re.split("([0-9]+)", file.text)
    return [int(each) if i % 2 else each for i, each in enumerate(pieces)], file.text


def _parts(place: str) -> tuple[File, ...] | None:
    """Return the files of a glob, or of a folder of tables or JSON Lines; None if it is neither."""
    if "://" in place:
        return _remote_parts(place)
    if Path(place).is_dir():
        return _parts_in(place, (File(path) for path in Path(place).iterdir() if path.is_file()))
    if _MAGIC.search(place) and not Path(place).exists():
        found = _matching(place)
        if not found:
            raise FileNotFoundError(f"No file is called like {place}.")
        return tuple(sorted(map(File, found), key=natural_order))
    return None


def _matching(place: str) -> list[str]:
    """Return the files that a glob stands for; none if it is no glob."""
    if not _MAGIC.search(place) or "://" in place:
        return []
    return [path for path in glob.glob(place, recursive=True) if Path(path).is_file()]


def _remote_parts(place: str) -> tuple[File, ...] | None:
    file = File(place)
    if file.is_web:
        return None
    globbed = "*" in place.partition("::")[0]
    if file.kind and not globbed:
        return None
    fs, path = file.storage()
    with errors_of_storage(file, "looked at"):
        if not globbed and not fs.isdir(path):
            return None
        found = fs.glob(path) if globbed else fs.find(path, maxdepth=1)
    files = [File.stored(fs, each, place) for each in found]
    if not globbed:
        return _parts_in(str(file), files)
    if not files:
        raise FileNotFoundError(f"No file is called like {file}.")
    return tuple(sorted(files, key=natural_order))


def _parts_in(folder: str, files: Iterable[File]) -> tuple[File, ...] | None:
    """Return the parts in a folder, which are of one format; None if it has a file a view."""
    # What Spark, Dask and others put beside their parts begins so.
    shown = [file for file in files if not file.name.startswith((".", "_"))]
    if any(re.match(r"view_\d+_", file.name) for file in shown):
        return None
    parts = [file for file in shown if file.kind in FORMATS and FORMATS[file.kind].keys]
    if not parts:
        return None
    if len(kinds := sorted({file.kind for file in parts})) > 1:
        raise SourceError(
            f"Folder {folder} has files of several formats: {listed(kinds)}; expected parts of "
            f"one. Name those to read: '{folder.rstrip('/')}/*{kinds[0]}'."
        )
    return tuple(sorted(parts, key=natural_order))
