"""From what a user types to a source."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from omvfs.data.schema import Schema, listed
from omvfs.formats._base import Only, SideBySide, Source, SourceError
from omvfs.formats._column_names import is_long
from omvfs.formats._files import File
from omvfs.formats._known import known_width
from omvfs.formats.folder import FolderSource
from omvfs.formats.joined import Joined
from omvfs.formats.json_lines import JsonLinesSource
from omvfs.formats.numpy_files import NpySource, NpzSource
from omvfs.formats.standard_input import standard_input
from omvfs.formats.svmlight import SvmlightSource


@dataclass(frozen=True)
class _Asked:
    """What is asked of every file."""

    key: str | None
    drop: tuple[str, ...]
    schema: Schema | None


Opener = Callable[[File, str, _Asked], Source]


def _without_key(reader: Opener) -> Opener:
    def opened(file: File, view: str, asked: _Asked) -> Source:
        if asked.key is not None:
            raise SourceError(f"{file} has no column {asked.key!r} to align its rows by.")
        return reader(file, view, asked)

    return opened


def _table(file: File, view: str, asked: _Asked) -> Source:
    # pyarrow is large, and an extra.
    from omvfs.formats import _tables, arrow_files, long_tables

    with _tables.errors_of(file):
        arrow = _tables.open_table(file).describe()[0]
        names = set(arrow.names)
        data = names - _tables.index_of(arrow) - set(asked.drop)
    if asked.key is not None or not is_long(data):
        return arrow_files.TableSource(
            file, view, key=asked.key, drop=asked.drop, schema=asked.schema
        )
    source = long_tables.LongSource(file, view, schema=asked.schema)
    source.dropped = frozenset(asked.drop) & names
    return source


def _anndata(file: File, view: str, asked: _Asked) -> Source:
    from omvfs.formats.hdf5_files import AnnDataSource

    return AnnDataSource(file, view)


def _matlab(file: File, view: str, asked: _Asked) -> Source:
    from omvfs.formats.mat_files import MatSource

    return MatSource(file, drop=asked.drop)


def _json_lines(file: File, view: str, asked: _Asked) -> Source:
    return JsonLinesSource(file, asked.key, asked.drop, asked.schema)


def _svmlight(file: File, view: str, asked: _Asked) -> Source:
    return SvmlightSource(file, view, known_width(asked.schema, view))


def _npy(file: File, view: str, asked: _Asked) -> Source:
    return NpySource(file, view)


def _npz(file: File, view: str, asked: _Asked) -> Source:
    return NpzSource(file, view)


def _standard_input(file: File, view: str, asked: _Asked) -> Source:
    return standard_input(view, drop=asked.drop, schema=asked.schema)


# By the end of a file's name: who reads it.
READERS: dict[str, Opener] = {
    ".npy": _without_key(_npy),
    ".npz": _without_key(_npz),
    ".parquet": _table,
    ".feather": _table,
    ".arrow": _table,
    ".csv": _table,
    ".h5ad": _without_key(_anndata),
    ".h5mu": _without_key(_anndata),
    ".mat": _without_key(_matlab),
    ".jsonl": _json_lines,
    ".svm": _without_key(_svmlight),
    ".svmlight": _without_key(_svmlight),
    ".libsvm": _without_key(_svmlight),
}


def open_source(
    *inputs: str | os.PathLike[str],
    views: Sequence[str] | None = None,
    key: str | None = None,
    drop: Sequence[str] = (),
    schema: Schema | None = None,
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
        whose keys not all of them have are left out, whatever views are read.
    drop : sequence of str, default=()
        Columns of tables, values of JSON Lines and MATLAB variables to leave out, such as labels.
    schema : Schema, default=None
        Views that a model has learned. Features that have names are taken by their names, wherever
        they are: a table must have all of them; JSON Lines and tables in long form may have others,
        which are passed over. svmlight, and numbers in long form, have its widths. Views that do
        not fit it are for the model to refuse.

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
    asked = _Asked(key, tuple(drop), schema)
    if len(inputs) == 1 and Path(inputs[0]).is_dir():
        return _folder(inputs[0], views, asked)
    with ExitStack() as stack:
        parts: dict[str, Source] = {}
        for name, file in named_files(inputs).items():
            parts[name] = _opened(name, file, asked)
            stack.callback(parts[name].close)
        _check_dropped(parts.values(), drop)
        source = _together(parts, views, key)
        stack.pop_all()
    return source


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


def _folder(
    path: str | os.PathLike[str], views: Sequence[str] | None, asked: _Asked
) -> FolderSource:
    if asked.key is not None:
        raise SourceError(f"Folder {path} has no column {asked.key!r} to align its rows by.")
    _check_dropped((), asked.drop)
    return FolderSource(path, views)


def _check_dropped(parts: Iterable[Source], drop: Sequence[str]) -> None:
    """Refuse to leave out what is nowhere."""
    there = frozenset[str]().union(*(part.dropped for part in parts))
    if unknown := [name for name in drop if name not in there]:
        raise SourceError(
            f"No input has {listed(unknown)} to leave out; expected columns of tables, values of "
            "JSON Lines or MATLAB variables. Correct the names given to drop, or --drop."
        )


def _together(
    parts: Mapping[str, Source], views: Sequence[str] | None, key: str | None
) -> SideBySide:
    """Return the files as one, those without any of the views for their keys only."""
    known = [view for part in parts.values() for view in part.schema.names]
    if unknown := [view for view in views or () if view not in known]:
        raise SourceError(f"Got views {listed(unknown)}; the files give {listed(known)}.")
    kept: dict[str, Source] = {}
    for name, part in parts.items():
        own = [view for view in part.schema.names if views is None or view in views]
        if own:
            kept[name] = part if len(own) == len(part.schema.names) else Only(part, own)
    others = {name: part for name, part in parts.items() if name not in kept}
    if key is not None:
        return Joined(kept, others)
    n_rows = max((part.n_rows or 0 for part in parts.values()), default=0)
    for part in others.values():
        part.close()
    for part in kept.values():
        part.lengthen(n_rows)
    return SideBySide(kept)


def _opened(name: str, file: File, asked: _Asked) -> Source:
    if file.text == "-":
        return _without_key(_standard_input)(file, name, asked)
    file.check()
    if file.kind not in READERS:
        raise SourceError(f"{file} ends in {file.kind!r}; expected {listed(READERS)}.")
    return READERS[file.kind](file, name, asked)
