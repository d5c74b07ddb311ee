"""MATLAB's ``.mat`` files, written chunk by chunk in version 7.3."""

import re

import numpy as np

from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.formats._base import SourceError
from omvfs.formats._files import PathLike
from omvfs.formats.writing._base import MOST_COLUMNS, Keys, Writer
from omvfs.model.arrays import dense

try:
    import h5py
except ImportError as missing:
    raise ImportError("Writing this file needs h5py: pip install omvfs[files]") from missing

_USER_BLOCK = 512
_HEADER = b"MATLAB 7.3 MAT-file, Platform: Python, Created by: omvfs HDF5 schema 1.00 ."
_KEYWORDS = re.compile(
    "break|case|catch|classdef|continue|else|elseif|end|for|function|global|if|otherwise|parfor|"
    "persistent|return|spmd|switch|try|while"
)


class MatWriter(Writer):
    """Writes views as the matrices of a MATLAB file of version 7.3, rows below rows.

    Nothing but a chunk is held in memory. Used in a ``with`` block; the file appears when it is
    left, not if that is by an error. MATLAB lists variables by name, so that their order is lost,
    and so are the names of features.

    Parameters
    ----------
    path : path
        The file, which must not be there yet.

    Notes
    -----
    Sparse views are written dense: this is meant for selected features. A name that is no MATLAB
    identifier is made one: other signs than ``A`` to ``Z``, digits and ``_`` become ``_``, an
    ``x`` is put before one that begins otherwise or is a keyword, and the 63 first signs are kept.

    Examples
    --------
    >>> import tempfile
    >>> from omvfs.formats.mat_files import MatSource
    >>> path = tempfile.mkdtemp() + "/selected.mat"
    >>> with MatWriter(path) as writer:
    ...     writer.append(Views({"text": np.eye(2), "4th image": np.ones((2, 3))}))
    ...     writer.append(Views({"text": np.ones((1, 2)), "4th image": np.ones((1, 3))}))
    >>> [chunk.views for chunk in MatSource(path).chunks(3)]
    [Views(3 rows; text: 2, x4th_image: 3; float64)]
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(path)
        # MATLAB reads what HDF5 1.8 does.
        self._file = h5py.File(
            self._temporary, "w", libver=("earliest", "v108"), userblock_size=_USER_BLOCK
        )
        self._schema: Schema | None = None
        self._names: dict[str, str] = {}
        self._n_rows = 0

    def _append(self, views: Views, keys: Keys) -> None:
        if self._schema is None:
            self._names, self._schema = self._start(views), views.schema
        self._schema.check(views.schema)
        start, self._n_rows = self._n_rows, self._n_rows + len(views)
        for view, X in views.blocks.items():
            dataset = self._file[self._names[view]]
            dataset.resize(self._n_rows, axis=1)
            dataset[:, start:] = dense(X).T

    def _start(self, views: Views) -> dict[str, str]:
        """Make a matrix without rows for every view, and return their names."""
        names = {view: _identifier(view) for view in views.names}
        if len(set(names.values())) < len(names):
            raise SourceError(
                f"{self._path} cannot hold views {listed(names)}: as MATLAB names they are "
                f"{listed(names.values())}. Rename them."
            )
        for view, X in views.blocks.items():
            width = X.shape[1]
            if width > MOST_COLUMNS:
                raise SourceError(
                    f"View {view!r} has {width:,} columns; at most {MOST_COLUMNS:,} are "
                    f"written to {self._path}. Select features first, or write a folder."
                )
            rows = min(max(len(views), 64), 1024)
            columns = min((1 << 20) // (rows * X.dtype.itemsize), width)
            dataset = self._file.create_dataset(
                names[view],
                (width, 0),
                X.dtype,
                maxshape=(width, None),
                chunks=(columns, rows),
                compression="gzip",
                compression_opts=1,
            )
            kind = b"single" if X.dtype == np.float32 else b"double"
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
        return names

    def _finish(self, whole: bool) -> None:
        with self._file as file:
            for name in self._names.values() if whole else ():
                if not file[name].size:  # without entries, MATLAB writes the shape
                    shape, kind = file[name].shape[::-1], file[name].attrs["MATLAB_class"]
                    del file[name]
                    file[name] = np.array(shape, np.uint64)
                    file[name].attrs["MATLAB_class"] = kind
                    file[name].attrs["MATLAB_empty"] = np.uint8(1)
        if whole:
            with self._temporary.open("r+b") as raw:
                raw.write(_HEADER.ljust(116) + bytes(8) + b"\0\2IM")


def _identifier(name: str) -> str:
    """Return a name that MATLAB takes.

    Examples
    --------
    >>> _identifier("text"), _identifier("3-grams"), _identifier("end")
    ('text', 'x3_grams', 'xend')
    """
    signs = re.sub("[^A-Za-z0-9_]", "_", name)
    begins = re.match("[A-Za-z]", signs) and not _KEYWORDS.fullmatch(signs)
    return (signs if begins else f"x{signs}")[:63]
