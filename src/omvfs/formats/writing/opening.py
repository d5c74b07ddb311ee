"""From the name of a file to what writes it."""

from collections.abc import Callable
from typing import TypeAlias

from omvfs.data.schema import listed
from omvfs.formats._base import SourceError
from omvfs.formats._files import File, PathLike
from omvfs.formats.writing._base import Writer
from omvfs.formats.writing.numpy_files import FolderWriter, NpyWriter, NpzWriter
from omvfs.formats.writing.text_files import JsonLinesWriter, SvmlightWriter

AnyWriter: TypeAlias = Writer | FolderWriter


def _table(path: PathLike, key: str | None) -> Writer:
    # pyarrow is large, and an extra.
    from omvfs.formats.writing.tables import TableWriter

    return TableWriter(path, key)


def _anndata(path: PathLike, key: str | None) -> Writer:
    from omvfs.formats.writing.hdf5_files import AnnDataWriter

    return AnnDataWriter(path)


def _matlab(path: PathLike, key: str | None) -> Writer:
    from omvfs.formats.writing.mat_files import MatWriter

    return MatWriter(path)


def _without_key(writer: Callable[[PathLike], AnyWriter]) -> Callable[..., AnyWriter]:
    return lambda path, key: writer(path)


# By the end of a file's name: who writes it.
WRITERS: dict[str, Callable[[PathLike, str | None], AnyWriter]] = {
    "": _without_key(FolderWriter),
    ".npy": _without_key(NpyWriter),
    ".npz": _without_key(NpzWriter),
    ".parquet": _table,
    ".feather": _table,
    ".arrow": _table,
    ".csv": _table,
    ".h5ad": _anndata,
    ".h5mu": _anndata,
    ".mat": _matlab,
    ".jsonl": JsonLinesWriter,
    ".svm": _without_key(SvmlightWriter),
    ".svmlight": _without_key(SvmlightWriter),
    ".libsvm": _without_key(SvmlightWriter),
}


def open_writer(path: PathLike, key: str | None = None) -> AnyWriter:
    """Return what writes a file by the end of its name; without an ending, a folder.

    Each is the kind of its format that can be written row by row: a table has a column a feature,
    whatever was read in long form, and ``.mat`` is of version 7.3. Text may end in ``.gz`` or
    ``.zst`` too.

    Parameters
    ----------
    path : path
    key : str, default=None
        What the keys of the rows are called in a table and in JSON Lines, so that they can be
        matched; by default, and in other formats, they are not written.

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
    if file.kind not in WRITERS:
        raise SourceError(f"{file} ends in {file.kind!r}; expected {listed(WRITERS)}.")
    return WRITERS[file.kind](path, key)
