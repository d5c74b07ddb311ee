"""Data sets kept as one folder: a file a view, and the labels."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs._schema import listed
from omvfs.views import Views

_VIEW = re.compile(r"view_(\d+)_(.+)\.(npz|npy)")


def load_folder(
    path: str | os.PathLike[str], views: Sequence[str] | None = None
) -> tuple[Views, NDArray[Any] | None]:
    """Read a folder of ``view_<number>_<name>.npz`` (CSR) or ``.npy`` files and ``labels.npy``.

    Names of the features are read from ``features_<number>_<name>.txt``, one a line, if there.

    Parameters
    ----------
    path : path
        The folder.
    views : sequence of str, default=None
        Names of the views to read; by default all, in the order of their numbers.

    Returns
    -------
    views : Views
        Under the names in the files.
    labels : ndarray of shape (n_rows,), or None
        What ``labels.npy`` holds, if there is one.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "view_0_image.npy", np.eye(3))
    >>> sp.save_npz(folder / "view_1_text.npz", sp.eye_array(3, 5, format="csr"))
    >>> load_folder(folder)
    (Views(3 rows; image: 3, text: 5 sparse; float64), None)
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    found: dict[str, tuple[int, Path]] = {}
    for file in folder.iterdir():
        if match := _VIEW.fullmatch(file.name):
            if match[2] in found:
                raise ValueError(f"Folder {folder} has two files of view {match[2]!r}.")
            found[match[2]] = int(match[1]), file
    if not found:
        raise FileNotFoundError(
            f"Folder {folder} has no file like view_0_text.npz or view_0_image.npy."
        )
    names = sorted(found, key=lambda name: found[name][0]) if views is None else list(views)
    if unknown := [name for name in names if name not in found]:
        raise ValueError(f"Got views {listed(unknown)}; folder {folder} has {listed(found)}.")
    blocks = {name: _read(found[name][1]) for name in names}
    features = {name: _features(found[name][1]) for name in names}
    named = {name: lines for name, lines in features.items() if lines is not None}
    data = Views(blocks, feature_names=named)
    if not (folder / "labels.npy").exists():
        return data, None
    labels = np.load(folder / "labels.npy")
    if labels.shape != (len(data),):
        raise ValueError(
            f"Folder {folder} has labels of shape {labels.shape} for {len(data):,} rows."
        )
    return data, labels


def _read(file: Path) -> Any:
    return sp.csr_array(sp.load_npz(file)) if file.suffix == ".npz" else np.load(file)


def _features(view: Path) -> list[str] | None:
    file = view.with_name(view.stem.replace("view", "features", 1) + ".txt")
    if not file.exists():
        return None
    # Not splitlines: a name may hold one of the rarer ends of lines.
    return file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
