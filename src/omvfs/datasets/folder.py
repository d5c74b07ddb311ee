"""Data sets kept as one folder: a file a view, and the labels."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.views import Views
from omvfs.formats import FolderSource

# Rows read at a time.
_ROWS = 1 << 16


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
    >>> import scipy.sparse as sp
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "view_0_image.npy", np.eye(3))
    >>> sp.save_npz(folder / "view_1_text.npz", sp.eye_array(3, 5, format="csr"))
    >>> load_folder(folder)
    (Views(3 rows; image: 3, text: 5 sparse; float64), None)
    """
    folder = Path(path)
    with FolderSource(folder, views) as source:
        data = Views.concat([chunk.views for chunk in source.chunks(_ROWS)])
    if not (folder / "labels.npy").exists():
        return data, None
    labels = np.load(folder / "labels.npy")
    if labels.shape != (len(data),):
        raise ValueError(
            f"Folder {folder} has labels of shape {labels.shape} for {len(data):,} rows."
        )
    return data, labels
