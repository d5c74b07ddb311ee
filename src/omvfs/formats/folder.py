"""A folder of one file a view: ``view_<number>_<name>.npz`` or ``.npy``."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from omvfs.data.schema import Schema, listed
from omvfs.formats._base import SideBySide, SourceError
from omvfs.formats.numpy_files import NpySource, NpzSource

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
        features = (
            _feature_names(files[name], width)
            for name, width in zip(names, self._schema.widths, strict=True)
        )
        self._schema = Schema(self._schema.names, self._schema.widths, tuple(features))


def view_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by the name of the view, in the order of their numbers."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    found: dict[str, tuple[int, Path]] = {}
    for file in folder.iterdir():
        if match := _VIEW.fullmatch(file.name):
            if match[2] in found:
                raise SourceError(f"Folder {folder} has two files of view {match[2]!r}.")
            found[match[2]] = int(match[1]), file
    if not found:
        raise FileNotFoundError(
            f"Folder {folder} has no file like view_0_text.npz or view_0_image.npy."
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
