"""From the name of a file to what writes it."""

from collections.abc import Callable
from typing import TypeAlias

from omvfs._schema import listed
from omvfs.sources._base import SourceError
from omvfs.sources._files import File, PathLike
from omvfs.sources.writing._base import Writer
from omvfs.sources.writing.numpy_files import FolderWriter, NpyWriter, NpzWriter
from omvfs.sources.writing.text_files import JsonLinesWriter, SvmlightWriter

AnyWriter: TypeAlias = Writer | FolderWriter


def _table(path: PathLike) -> Writer:
    # pyarrow is large, and an extra.
    from omvfs.sources.writing.tables import TableWriter

    return TableWriter(path)


def _anndata(path: PathLike) -> Writer:
    from omvfs.sources.writing.hdf5_files import AnnDataWriter

    return AnnDataWriter(path)


def _matlab(path: PathLike) -> Writer:
    from omvfs.sources.mat_files import MatWriter

    return MatWriter(path)


# By the end of a file's name: who writes it.
WRITERS: dict[str, Callable[[PathLike], AnyWriter]] = {
    "": FolderWriter,
    ".npy": NpyWriter,
    ".npz": NpzWriter,
    ".parquet": _table,
    ".feather": _table,
    ".arrow": _table,
    ".csv": _table,
    ".h5ad": _anndata,
    ".h5mu": _anndata,
    ".mat": _matlab,
    ".jsonl": JsonLinesWriter,
    ".svm": SvmlightWriter,
    ".svmlight": SvmlightWriter,
    ".libsvm": SvmlightWriter,
}


def open_writer(path: PathLike) -> AnyWriter:
    """Return what writes a file by the end of its name; without an ending, a folder.

    Parameters
    ----------
    path : path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from omvfs import Views
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> with open_writer(path) as writer:
    ...     writer.append(Views({"image": np.eye(2)}))
    >>> path.read_text().splitlines()
    ['{"image": [1.0, 0.0]}', '{"image": [0.0, 1.0]}']
    """
    file = File(path)
    if file.remote:
        raise SourceError(f"{file} is not of this machine; files are written here only.")
    if file.ending not in WRITERS:
        raise SourceError(f"{file} ends in {file.ending!r}; expected {listed(WRITERS)}.")
    return WRITERS[file.ending](path)
