"""From what a user types to a source."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from omvfs._schema import listed
from omvfs.sources._base import Only, SideBySide, Source, SourceError
from omvfs.sources._files import File
from omvfs.sources.folder import FolderSource
from omvfs.sources.joined import Joined
from omvfs.sources.json_lines import JsonLinesSource
from omvfs.sources.numpy_files import NpySource, NpzSource
from omvfs.sources.standard_input import standard_input
from omvfs.sources.svmlight import SvmlightSource

Opener = Callable[[File, str, str | None], Source]


def _without_key(reader: Callable[[File, str], Source]) -> Opener:
    def opened(file: File, view: str, key: str | None) -> Source:
        if key is not None:
            raise SourceError(f"{file} has no column {key!r} to align its rows by.")
        return reader(file, view)

    return opened


def _table(file: File, view: str, key: str | None) -> Source:
    # pyarrow is large, and an extra.
    from omvfs.sources import _tables, arrow_files, long_tables

    with _tables.errors_of(file):
        names = _tables.open_table(file).describe()[0].names
    if key is None and set(names) - {"view"} == long_tables.COLUMNS:
        return long_tables.LongSource(file, view)
    return arrow_files.TableSource(file, view, key=key)


def _anndata(file: File, view: str) -> Source:
    from omvfs.sources.hdf5_files import AnnDataSource

    return AnnDataSource(file, view)


def _matlab(file: File, view: str) -> Source:
    from omvfs.sources.mat_files import MatSource

    return MatSource(file)


def _json_lines(file: File, view: str, key: str | None) -> Source:
    return JsonLinesSource(file, key)


# By the end of a file's name: who reads it.
READERS: dict[str, Opener] = {
    ".npy": _without_key(NpySource),
    ".npz": _without_key(NpzSource),
    ".parquet": _table,
    ".feather": _table,
    ".arrow": _table,
    ".csv": _table,
    ".h5ad": _without_key(_anndata),
    ".h5mu": _without_key(_anndata),
    ".mat": _without_key(_matlab),
    ".jsonl": _json_lines,
    ".svm": _without_key(SvmlightSource),
    ".svmlight": _without_key(SvmlightSource),
    ".libsvm": _without_key(SvmlightSource),
}
# These may be compressed.
_TEXT = (".csv", ".jsonl", ".svm", ".svmlight", ".libsvm")


def open_source(
    *inputs: str | os.PathLike[str], views: Sequence[str] | None = None, key: str | None = None
) -> Source:
    """Open files for reading by chunks.

    Parameters
    ----------
    *inputs : path, address, "-", or str of the form ``view=path``
        A folder of one file a view; or files aligned by row: ``.npy``, ``.npz``, tables
        ``.parquet``, ``.feather``, ``.csv`` (see `TableSource` and `LongSource`), ``.h5ad``,
        ``.h5mu``, ``.mat``, ``.jsonl`` and svmlight's ``.svm``; or ``-``, standard input. Text may
        end in ``.gz`` or ``.zst`` too, and an address is one that fsspec understands. Without a
        name a view is called as its file, without the ending.
    views : sequence of str, default=None
        Which views to read; by default all.
    key : str, default=None
        Column by which tables and JSON Lines are aligned instead, all of them sorted by it; rows
        whose keys not all of them have are left out.

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
    parts = {name: _opened(name, file, key) for name, file in named_files(inputs).items()}
    parts = parts if views is None else _only(parts, views)
    return SideBySide(parts) if key is None else Joined(parts)


def named_files(inputs: Sequence[str | os.PathLike[str]]) -> dict[str, File]:
    """Return the files that a user typed by the names that tell them apart.

    Examples
    --------
    >>> {name: str(file) for name, file in named_files(["a/text.npz", "pixels=b.npy"]).items()}
    {'text': 'a/text.npz', 'pixels': 'b.npy'}
    """
    found: dict[str, File] = {}
    for given in inputs:
        text = os.fspath(given)
        name, sign, rest = text.partition("=")
        is_named = sign and "/" not in name and not Path(text).exists()
        file = File(rest if is_named else text)
        name = name if is_named else "rows" if text == "-" else file.stem
        if name in found:
            raise SourceError(f"Got two files for view {name!r}; name them: other={file}.")
        found[name] = file
    return found


def _only(parts: Mapping[str, Source], views: Sequence[str]) -> dict[str, Source]:
    """Return the sources that have some of the views, without other views."""
    known = [view for part in parts.values() for view in part.schema.names]
    if unknown := [view for view in views if view not in known]:
        raise SourceError(f"Got views {listed(unknown)}; the files give {listed(known)}.")
    kept: dict[str, Source] = {}
    for name, part in parts.items():
        own = [view for view in part.schema.names if view in views]
        if not own:
            part.close()
        else:
            kept[name] = part if len(own) == len(part.schema.names) else Only(part, own)
    return kept


def _opened(name: str, file: File, key: str | None) -> Source:
    if file.text == "-":
        return _without_key(lambda _, view: standard_input(view))(file, name, key)
    file.check()
    ending = file.ending + (file.compression if file.ending not in _TEXT else "")
    if ending not in READERS:
        raise SourceError(f"{file} ends in {ending!r}; expected {listed(READERS)}.")
    return READERS[ending](file, name, key)
