"""From what a user types to a source."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from omvfs._schema import listed
from omvfs.sources._base import SideBySide, Source, SourceError
from omvfs.sources.folder import FolderSource
from omvfs.sources.json_lines import JsonLinesSource
from omvfs.sources.numpy_files import NpySource, NpzSource
from omvfs.sources.svmlight import SvmlightSource


def _table(path: Path, view: str) -> Source:
    # pyarrow is large, and an extra.
    from omvfs.sources.arrow_files import TableSource

    return TableSource(path, view)


def _anndata(path: Path, view: str) -> Source:
    from omvfs.sources.hdf5_files import AnnDataSource

    return AnnDataSource(path, view)


# By the end of a file's name: who reads it.
READERS: dict[str, Callable[[Path, str], Source]] = {
    ".npy": NpySource,
    ".npz": NpzSource,
    ".parquet": _table,
    ".feather": _table,
    ".arrow": _table,
    ".csv": _table,
    ".h5ad": _anndata,
    ".h5mu": _anndata,
    ".jsonl": JsonLinesSource,
    ".svm": SvmlightSource,
    ".svmlight": SvmlightSource,
    ".libsvm": SvmlightSource,
}
# These may be compressed.
_TEXT = (".jsonl", ".svm", ".svmlight", ".libsvm")


def _ending(path: Path) -> str:
    """Return the end of a file's name that tells its kind."""
    inner = Path(path.stem).suffix
    return inner if path.suffix == ".gz" and inner in _TEXT else path.suffix


def open_source(*inputs: str | os.PathLike[str], views: Sequence[str] | None = None) -> Source:
    """Open files for reading by chunks.

    Parameters
    ----------
    *inputs : path, or str of the form ``view=path``
        A folder of one file a view, or files aligned by row: ``.npy``, ``.npz``, and tables
        ``.parquet``, ``.feather``, ``.csv`` (see `TableSource`), ``.h5ad``, ``.h5mu``,
        ``.jsonl``, and svmlight's ``.svm``, the last two with ``.gz`` too. Without a name
        a view is called as its file, without the ending.
    views : sequence of str, default=None
        Which views to read; by default all.

    Returns
    -------
    Source

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "image.npy"
    >>> np.save(path, np.eye(3))
    >>> open_source(path).schema.names, open_source(f"pixels={path}").schema.names
    (('image',), ('pixels',))
    """
    if not inputs:
        raise SourceError("Got no input; expected a folder, or a file for each view.")
    if len(inputs) == 1 and Path(inputs[0]).is_dir():
        return FolderSource(inputs[0], views)
    parts: dict[str, Source] = {}
    for given in inputs:
        name, path = _name_and_path(given)
        if name in parts:
            raise SourceError(f"Got two files for view {name!r}; name them: other={path}.")
        if not path.exists():
            raise FileNotFoundError(f"There is no file {path}.")
        if _ending(path) not in READERS:
            raise SourceError(f"{path} ends in {_ending(path)!r}; expected {listed(READERS)}.")
        parts[name] = READERS[_ending(path)](path, name)
    if views is not None:
        if unknown := [name for name in views if name not in parts]:
            raise SourceError(f"Got views {listed(unknown)}; the files give {listed(parts)}.")
        parts = {name: parts[name] for name in views}
    return SideBySide(parts)


def _name_and_path(given: str | os.PathLike[str]) -> tuple[str, Path]:
    text = os.fspath(given)
    name, sign, path = text.partition("=")
    if sign and not Path(text).exists():
        return name, Path(path)
    return Path(text).name.partition(".")[0], Path(text)
