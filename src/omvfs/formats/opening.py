"""From what a user types to a source, and to what writes a file."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from omvfs.data.schema import Schema, listed
from omvfs.disk import Staging
from omvfs.formats._asked import Asked
from omvfs.formats._base import DROP, Only, SideBySide, Source, SourceError
from omvfs.formats._files import File, PathLike
from omvfs.formats._rows import is_text
from omvfs.formats._writer import Writer
from omvfs.formats.folder import FolderSource, FolderWriter
from omvfs.formats.joined import Joined
from omvfs.formats.registry import FORMATS, load
from omvfs.formats.standard_input import standard_input
from omvfs.wording import Clause, Sentence


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
        end in ``.gz`` or ``.zst`` too, and an address is one of http or https, or one that fsspec
        understands. A server may take 30 seconds to answer, or as many as the environment variable
        ``OMVFS_HTTP_TIMEOUT`` says. Without a name a view is called as its file, without the
        ending.
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
    asked = Asked(key, tuple(drop), schema)
    if len(inputs) == 1 and Path(inputs[0]).is_dir():
        return _checked(_folder(inputs[0], views, asked))
    with ExitStack() as stack:
        parts: dict[str, Source] = {}
        for name, file in named_files(inputs).items():
            parts[name] = _opened(name, file, asked)
            stack.callback(parts[name].close)
        _check_dropped(parts.values(), drop)
        source = _checked(_together(parts, views, key))
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
    path: str | os.PathLike[str], views: Sequence[str] | None, asked: Asked
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
            Sentence(
                f"No input has {listed(unknown)} to leave out; expected columns of tables, values "
                "of JSON Lines or MATLAB variables. Correct the names given by ",
                DROP,
                ".",
            )
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


def _checked(source: Source) -> Source:
    """Return a source, whose views must have columns, and names that can be written."""
    schema = source.schema
    for view, width, features in zip(
        schema.names, schema.widths, schema.feature_names, strict=True
    ):
        if not width:
            raise SourceError(
                Sentence(
                    f"View {view!r} of {source.name} has no columns. Leave it out: ",
                    Clause("other views", "views=[...]"),
                    ".",
                )
            )
        if not is_text(view):
            raise SourceError(
                f"{source.name} has a view called {view!r}, which is no text in UTF-8. Rename it, "
                "or name its file: view=FILE."
            )
        if features is not None and not is_text("".join(features)):
            odd = next(feature for feature in features if not is_text(feature))
            raise SourceError(
                f"View {view!r} of {source.name} has a feature called {odd!r}, which is no text "
                "in UTF-8. Rename it."
            )
    return source


def _opened(name: str, file: File, asked: Asked) -> Source:
    streamed = file.text == "-"
    if not streamed:
        file.check()
        if file.kind not in FORMATS:
            raise SourceError(f"{file} ends in {file.kind!r}; expected {listed(FORMATS)}.")
    if asked.key is not None and (streamed or not FORMATS[file.kind].keys):
        raise SourceError(f"{file} has no column {asked.key!r} to align its rows by.")
    if streamed:
        return standard_input(name, drop=asked.drop, schema=asked.schema)
    source: Source = load(file.kind).open_reader(file, name, asked)
    return source


def open_writer(path: PathLike, key: str | None = None, staging: Staging | None = None) -> Writer:
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
    staging : Staging, default=None
        Where a file is to wait for others that are to appear with it, in the folder of its path;
        by default it appears by itself.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from omvfs import Views
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> with open_writer(path) as writer:
    ...     writer.append(Views({"image": np.eye(2)}))
    >>> path.read_text().splitlines()
    ['{"image": [1.0, 0.0]}', '{"image": [0.0, 1.0]}']
    """
    file = File(path)
    if file.remote:
        raise SourceError(f"{file} is not of this machine; files are written here only.")
    if not file.kind:
        return FolderWriter(path)
    if file.kind not in FORMATS:
        raise SourceError(f"{file} ends in {file.kind!r}; expected {listed(['', *FORMATS])}.")
    writer: Writer = load(file.kind, "Writing").open_writer(path, key, staging)
    return writer
