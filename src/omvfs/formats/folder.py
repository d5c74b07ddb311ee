"""A folder of one file a view: ``view_<number>_<name>.npz`` or ``.npy``."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.disk import settle, unfinished
from omvfs.formats._base import Chunk, Cursor, Kept, SourceError, known_names
from omvfs.formats._files import PathLike
from omvfs.formats._writer import Writer
from omvfs.formats.npy import NpySource, NpyWriter
from omvfs.formats.npz import NpzSource, NpzWriter
from omvfs.formats.side_by_side import SideBySide

_VIEW = re.compile(r"view_(\d+)_(.+)\.(npz|npy)")
_KINDS = {".npz": NpzSource, ".npy": NpySource}


class FolderSource(SideBySide):
    """The views of a folder, aligned by row.

    Names of the features are read from ``features_<number>_<name>.txt``, one a line, if there.

    Parameters
    ----------
    path : path
        The folder.
    views : sequence of str, default=None
        Names of the views to read; by default all, in the order of their numbers.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "view_0_image.npy", np.eye(3))
    >>> np.save(folder / "view_1_text.npy", np.ones((3, 2)))
    >>> [chunk.views for chunk in FolderSource(folder).chunks(2)]
    [Views(2 rows; image: 3, text: 2; float64), Views(1 rows; image: 3, text: 2; float64)]
    """

    def __init__(self, path: str | os.PathLike[str], views: Sequence[str] | None = None) -> None:
        files = view_files(Path(path))
        names = list(dict.fromkeys(files if views is None else views))
        if unknown := [name for name in names if name not in files]:
            raise SourceError(f"Got views {listed(unknown)}; folder {path} has {listed(files)}.")
        super().__init__({name: _KINDS[files[name].suffix](files[name], name) for name in names})
        self.name = f"Folder {path}"
        features = tuple(
            _feature_names(files[name], width)
            for name, width in zip(names, self._schema.widths, strict=True)
        )
        self._schema = Schema(self._schema.names, self._schema.widths, features)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        names = known_names(self._schema)
        for chunk in super()._chunks(batch_size, cursor):
            yield replace(chunk, views=chunk.views.named(names))


def view_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by the name of the view, in the order of their numbers."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    if unfinished(folder):
        raise SourceError(
            f"Folder {folder} is not whole: who wrote it was ended before its last file was there. "
            "Write to it again, which brings the rest."
        )
    found: dict[str, tuple[int, Path]] = {}
    for file in folder.iterdir():
        if match := _VIEW.fullmatch(file.name):
            if match[2] in found:
                raise SourceError(f"Folder {folder} has two files of view {match[2]!r}.")
            found[match[2]] = int(match[1]), file
    if not found:
        raise FileNotFoundError(
            f"Folder {folder} has no file like view_0_text.npz or view_0_image.npy, nor parts of "
            "a table or of JSON Lines. For parts of another kind, give a glob: "
            f"'{folder}/*.npy'."
        )
    return {name: found[name][1] for name in sorted(found, key=lambda name: found[name])}


def _feature_names(view: Path, width: int) -> tuple[str, ...] | None:
    file = view.with_name(view.stem.replace("view", "features", 1) + ".txt")
    if not file.exists():
        return None
    try:
        # Not splitlines: a name may hold one of the rarer ends of lines.
        names = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise SourceError(f"{file} is no text in UTF-8: {error}") from error
    if len(names) != width:
        raise SourceError(f"{file} has {len(names):,} names; {view} has {width:,} features.")
    return tuple(names)


class FolderWriter(Writer):
    """Writes views as ``view_<number>_<name>.npz`` (CSR) or ``.npy``, and names of their features.

    Nothing but a chunk is held in memory. Used in a ``with`` block; the files appear together when
    it is left, not if that is by an error.

    Parameters
    ----------
    path : path
        The folder, made if missing. It must not hold views already.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> with FolderWriter(folder) as writer:
    ...     writer.append(Views({"image": np.eye(2)}))
    ...     writer.append(Views({"image": np.ones((1, 2))}))
    >>> FolderSource(folder).n_rows
    3
    """

    def __init__(self, path: PathLike) -> None:
        self._path, self._stack = Path(path), ExitStack()
        self._given, self._checked = None, False
        settle(self._path)
        self._check_free()
        self._writers: dict[str, Writer] = {}
        self._names: dict[str, Any] = {}

    def _check_free(self) -> None:
        files = self._path.iterdir() if self._path.is_dir() else ()
        if any(file.name.startswith(("view_", "features_")) for file in files):
            raise FileExistsError(f"Folder {self._path} holds views already.")

    def _append(self, views: Views, kept: Kept) -> None:
        if not self._writers:
            for number, (name, X) in enumerate(views.blocks.items()):
                self._begin(number, name, X)
                names = views.feature_names[name]
                if names is not None and not any("\n" in each for each in names):
                    self._names[f"features_{number}_{name}.txt"] = names
        for name in views.names:
            self._writers[name].append(views.only([name]))

    def _begin(self, number: int, name: str, X: Block) -> None:
        kind, ending = (NpzWriter, "npz") if sp.issparse(X) else (NpyWriter, "npy")
        path = self._path / f"view_{number}_{name}.{ending}"
        self._writers[name] = self._stack.enter_context(kind(path, staging=self._staging))

    def _publish(self) -> None:
        for file, names in self._names.items():
            text = "\n".join(names) + "\n"
            (self._staging.folder / file).write_text(text, encoding="utf-8")
        self._check_free()
        self._staging.publish()
