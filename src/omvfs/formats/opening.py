"""From what a user types to a source, and to what writes a file."""

import glob
import logging
import os
import re
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from omvfs.data.schema import NewFeatures, Schema, listed
from omvfs.data.table import Table
from omvfs.disk import PathLike, Staging
from omvfs.formats.combined import Appended, Join, Joined, SideBySide
from omvfs.formats.files import File, errors_of_storage, without_secrets
from omvfs.formats.numpy_files import FolderSource, FolderWriter
from omvfs.formats.registry import FORMATS, load
from omvfs.formats.source import NOTHING, ReadOptions, Source, SourceError, is_text, matching
from omvfs.formats.text_files import STANDARD_INPUT, JsonStream, Stream, are_values, parsed_lines
from omvfs.formats.writer import Writer

Given: TypeAlias = PathLike | Sequence[PathLike]

# What rows are called that have no other name.
ROWS = "rows"
_ANYTHING = ReadOptions()
_logger = logging.getLogger(__name__)
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Input:
    """What one argument stands for."""

    # That tells it apart; its view is called so if the file does not name it.
    name: str
    # One; or parts, in the order of their rows.
    files: tuple[File, ...] = ()
    # Whether these are parts, should there be but one.
    parts: bool = False
    # Whether it is one file that was given no name: it may be a part of rows with others.
    bare: bool = False
    # Of a file a view; it has no files then.
    folder: Path | None = None
    # Where it is, as it was typed, without secrets.
    place: str = ""

    @property
    def streamed(self) -> bool:
        """Whether it is standard input."""
        return any(file.text == "-" for file in self.files)

    @property
    def file_name(self) -> str:
        """What one file of its format is called, with these rows or some of them."""
        first = self.files[0]
        return self.name + first.ending + first.compression if self.parts else first.name


def read_input(given: Given) -> Input:
    """Return what an argument stands for.

    It is a path, an address, "-", or a str of the form ``view=path``; or a list of files. A path or
    an address may be a folder, or a glob: ``part-*.parquet``, ``**/*.csv``.
    """
    if not isinstance(given, str | os.PathLike):
        if not given:
            raise SourceError("Got an empty list; expected files whose rows are appended.")
        files = tuple(map(File, given))
        return Input(ROWS, files, parts=True, place=str(files[0]))
    text = os.fspath(given)
    name, sign, rest = text.partition("=")
    named = sign and "/" not in name and not Path(text).exists() and not _matching(text)
    place = rest if named else text
    if place == "-":
        return Input(name if named else ROWS, (File(place),), place=place)
    if (found := _parts(place)) is not None:
        return Input(name if named else ROWS, found, parts=True, place=without_secrets(place))
    if Path(place).is_dir() and not named:
        return Input(ROWS, folder=Path(place))
    file = File(place)
    return Input(name if named else file.stem, (file,), bare=not named, place=str(file))


def natural_order(file: File) -> tuple[list[str | int], str]:
    """Return by what to sort files: their names, numbers in them by their size."""
    # Text and digits take turns, so that like is compared with like.
    pieces = re.split("([0-9]+)", file.text)
    return [int(each) if i % 2 else each for i, each in enumerate(pieces)], file.text


def _parts(place: str) -> tuple[File, ...] | None:
    """Return the files of a glob, or of a folder of tables or JSON Lines; None if it is neither."""
    if "://" in place:
        return _remote_parts(place)
    if Path(place).is_dir():
        return _parts_in(place, (File(path) for path in Path(place).iterdir() if path.is_file()))
    if _MAGIC.search(place) and not Path(place).exists():
        found = _matching(place)
        if not found:
            raise FileNotFoundError(f"No file is called like {place}.")
        return tuple(sorted(map(File, found), key=natural_order))
    return None


def _matching(place: str) -> list[str]:
    """Return the files that a glob stands for; none if it is no glob."""
    if not _MAGIC.search(place) or "://" in place:
        return []
    return [path for path in glob.glob(place, recursive=True) if Path(path).is_file()]


def _remote_parts(place: str) -> tuple[File, ...] | None:
    file = File(place)
    if file.is_web:
        return None
    globbed = "*" in place.partition("::")[0]
    if file.kind and not globbed:
        return None
    fs, path = file.storage()
    with errors_of_storage(file, "looked at"):
        if not globbed and not fs.isdir(path):
            return None
        found = fs.glob(path) if globbed else fs.find(path, maxdepth=1)
    files = [File.stored(fs, each, place) for each in found]
    if not globbed:
        return _parts_in(str(file), files)
    if not files:
        raise FileNotFoundError(f"No file is called like {file}.")
    return tuple(sorted(files, key=natural_order))


def _parts_in(folder: str, files: Iterable[File]) -> tuple[File, ...] | None:
    """Return the parts in a folder, which are of one format; None if it has a file a view."""
    # What Spark, Dask and others put beside their parts begins so.
    shown = [file for file in files if not file.name.startswith((".", "_"))]
    if any(re.match(r"view_\d+_", file.name) for file in shown):
        return None
    parts = [file for file in shown if file.format.keys]
    if not parts:
        return None
    if len(kinds := sorted({file.kind for file in parts})) > 1:
        raise SourceError(
            f"Folder {folder} has files of several formats: {listed(kinds)}; expected parts of "
            f"one. Name those to read: '{folder.rstrip('/')}/*{kinds[0]}'."
        )
    return tuple(sorted(parts, key=natural_order))


def open_source(
    *inputs: Given,
    views: Sequence[str] | None = None,
    key: str | None = None,
    join: Join = "outer",
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    tokenize: Sequence[str] = (),
    layer: str | None = None,
    schema: Schema | None = None,
    new_features: NewFeatures = "error",
    columns: Any = None,
    delimiter: str | None = None,
    split_by: str = "prefix",
) -> Source:
    """Open files for reading by chunks.

    Parameters
    ----------
    *inputs : path, address, "-", or str of the form ``view=path``; or a list of paths
        A folder of one file a view; or files aligned by row: ``.npy``, ``.npz``, tables
        ``.parquet``, ``.feather``, ``.csv`` (see `TableSource` and `LongSource`), ``.h5ad``,
        ``.h5mu``, ``.mat``, ``.jsonl`` and svmlight's ``.svm``; or ``-``, standard input. Text may
        end in ``.gz``, ``.bz2`` or ``.zst`` too, and an address is one of http or https, or one
        that fsspec understands. A web server may take 30 seconds to answer. Without a name a view
        is called as its file, without the ending.

        A glob (``part-*.parquet``), a folder of tables or of JSON Lines, and a list stand for
        parts, whose rows are appended (see `Appended`): in natural order, part 9 before part 10; a
        list as it is. Their view is called ``rows`` if nothing else names it. Tables of the same
        columns and JSON Lines of the same views that are given one by one, without names or a key,
        are such parts too.
    views : sequence of str, default=None
        Which views to read; by default all. Others are not looked at.
    key : str, default=None
        Column by which tables and JSON Lines are aligned instead. Files that are not sorted by it
        are held in memory.
    join : {"outer", "inner"}, default="outer"
        With a key: rows whose keys any of them has, which lack the views of the others; or only
        those that all have, whatever views are read.
    drop : sequence of str, default=()
        Columns of tables, values of JSON Lines and MATLAB variables to leave out, such as labels;
        of tables also patterns, such as ``Metadata_*``.
    keep : sequence of str, default=()
        Columns of tables and values of JSON Lines that are no features and go along with the rows,
        such as labels: `Chunk.kept`. Those of CSV are text, as it is written. Of tables also
        patterns.
    tokenize : sequence of str, default=()
        Views of JSON Lines that are texts, whose words are counted: lower-cased runs of two or more
        letters, digits or underscores, as scikit-learn's `CountVectorizer` has them.
    layer : str, default=None
        Layer of ``.h5ad`` and ``.h5mu`` files that is read in the place of ``X``.
    schema : Schema, default=None
        Views that a model has learned. Features that have names are taken by their names, wherever
        they are: a table must have all of them; JSON Lines and tables in long form may have others,
        which are passed over. svmlight, and numbers in long form, have its widths. Views that do
        not fit it are for the model to refuse.
    new_features : {"error", "grow"}, default="error"
        With "grow", words on standard input are read as they come: a chunk has its own, for
        `OMVFS` with the same parameter. By default it is read to its end first.
    columns : mapping of str to str, or Table, default=None
        Kinds of columns of tables, see `omvfs.data.table`; or the table that a model has learned.
    delimiter : str, default=None
        What stands between the values of CSV: one sign, or "tab"; by default the first lines tell.
    split_by : str, default="prefix"
        How columns of tables begin that tell their view: as `views` of `as_views`, if that is text.

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
    >>> open_source([path, path]).n_rows
    6
    """
    if not inputs:
        raise SourceError("Got no input; expected a folder, or a file for each view.")
    options = ReadOptions(
        key,
        tuple(drop),
        schema,
        None if views is None else tuple(views),
        # A key goes along by itself.
        tuple(name for name in keep if name != key),
        tuple(tokenize),
        layer,
        new_features,
        columns or None,
        delimiter,
        split_by,
    )
    given = [read_input(each) for each in inputs]
    files = [file for each in given for file in each.files]
    if layer is not None and not any(file.format.layers for file in files):
        raise SourceError(f"No input has a layer {layer!r}: only .h5ad and .h5mu have layers.")
    if delimiter is not None and not any(file.ending in (".csv", ".tsv", "") for file in files):
        raise SourceError(f"No input has a delimiter {delimiter!r}: only .csv and .tsv have one.")
    if split_by != "prefix" and not any(
        f.text == "-" or f.format.module == "tables" for f in files
    ):
        raise SourceError(f"No input has columns to split by views={split_by!r}: only tables have.")
    if len(given) == 1 and given[0].folder is not None:
        if key is not None:
            raise SourceError(f"Folder {given[0].folder} has no column {key!r} to align rows by.")
        _check_dropped((), drop)
        source: Source = FolderSource(given[0].folder, options.views)
        _check_kept(source, options)
        return _checked(source)
    with ExitStack() as stack:
        parts = _by_name(given, options, stack)
        source = _checked(_together(parts, views, key, join))
        _check_kept(source, options)
        stack.pop_all()
    return source


def _opened(given: Input, options: ReadOptions, stack: ExitStack) -> Source:
    """Return what an argument stands for, to be closed with a stack."""
    if given.folder is not None:
        raise IsADirectoryError(f"{given.folder} is a folder; expected a file.")
    files = [file for file in given.files if not given.parts or not _has_nothing(file)]
    sources = []
    for file in files or given.files[:1]:
        sources.append(_opened_file(given.name, file, options))
        stack.callback(sources[-1].close)
    return Appended(sources) if given.parts else sources[0]


def _has_nothing(file: File) -> bool:
    """Tell whether a part has no rows, nor room for the names of columns."""
    return file.format.text and not file.remote and not file.size()


def _by_name(given: Sequence[Input], options: ReadOptions, stack: ExitStack) -> dict[str, Source]:
    """Return what was given by its names; as one, if it is files that one table is cut into."""
    cut = options.key is None and len(given) > 1 and all(each.bare for each in given)
    # A file of no rows does not tell what it is a part of.
    told = [each for each in given if not (cut and _has_nothing(each.files[0]))] or given
    opened = {id(each): _opened(each, options, stack) for each in told}
    _check_dropped(opened.values(), options.drop)
    _check_columns(opened.values(), options.columns)
    if cut and (whole := _as_parts(told, opened, options, stack)):
        return {ROWS: whole}
    found: dict[str, Source] = {}
    for each in given:
        if each.name in found:
            raise SourceError(
                f"Got two inputs for view {each.name!r}; name them: other={each.place}."
            )
        found[each.name] = opened.get(id(each)) or _opened(each, options, stack)
    tables = [name for name, part in found.items() if part.table is not None]
    if len(found) > 1 and not isinstance(options.columns, Table):
        for name in tables:
            prefix = f"{name}." if len(tables) > 1 else ""
            found[name].adopt(found[name].table.under(name, prefix))
    return found


def _as_parts(
    given: Sequence[Input], opened: Mapping[int, Source], options: ReadOptions, stack: ExitStack
) -> Source | None:
    """Return files that one table is cut into as one; None if they are not."""
    headers = [source.header or frozenset() for source in opened.values()]
    # Most columns in common: nobody would take them for views of their own.
    if 2 * len(frozenset.intersection(*headers)) <= max(map(len, headers)):
        return None
    parts = []
    for each in sorted(given, key=lambda each: natural_order(each.files[0])):
        source = opened[id(each)]
        if each.name in source.schema.names:
            # The view is called after the file: it is one of all of them.
            source.close()
            source = _opened_file(ROWS, each.files[0], options)
            stack.callback(source.close)
        parts.append(source)
    return Appended(parts)


def _check_columns(parts: Iterable[Source], given: Any) -> None:
    """Refuse kinds of columns that are nowhere."""
    known = {name for part in parts if part.table is not None for name in part.table.kinds}
    if isinstance(given, Mapping) and (unknown := [name for name in given if name not in known]):
        raise SourceError(
            f"Got a kind of column {listed(unknown)}; the columns are {listed(sorted(known))}."
        )


def _check_dropped(parts: Iterable[Source], drop: Sequence[str]) -> None:
    """Refuse to leave out what is nowhere."""
    there = frozenset[str]().union(*(part.dropped for part in parts))
    if unknown := [name for name in drop if not matching([name], there)]:
        raise SourceError(
            f"No input has {listed(unknown)} to leave out; expected columns of tables, values of "
            "JSON Lines or MATLAB variables. Correct the names: drop=[...] (--drop NAME)."
        )


def _check_kept(source: Source, options: ReadOptions) -> None:
    """Refuse to keep what no row has, and to take for texts what no view is."""
    if unknown := [name for name in options.keep if not matching([name], source.kept)]:
        raise SourceError(
            f"No input that is read has {listed(unknown)} to keep; expected columns of tables or "
            "values of JSON Lines. Correct the names: keep=[...] (--keep NAME)."
        )
    if unknown := [view for view in options.tokenize if view not in source.schema.names]:
        raise SourceError(
            f"Got {listed(unknown)} to take for texts; the views are "
            f"{listed(source.schema.names)}. Correct the names: tokenize=[...] (--tokenize NAME)."
        )


def _together(
    parts: Mapping[str, Source], views: Sequence[str] | None, key: str | None, join: Join
) -> SideBySide:
    """Return the files as one, those without any of the views for their keys only."""
    known = [view for part in parts.values() for view in part.schema.names + part.other_views]
    if unknown := [view for view in views or () if view not in known]:
        raise SourceError(f"Got views {listed(unknown)}; the files give {listed(known)}.")
    # A file with any of the views gives no others; see `ReadOptions.split`.
    kept = {
        name: part
        for name, part in parts.items()
        if views is None or not set(views).isdisjoint(part.schema.names)
    }
    others = {name: part for name, part in parts.items() if name not in kept}
    if key is not None:
        return Joined(kept, others, join)
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
                f"View {view!r} of {source.name} has no columns. Leave it out: "
                "views=[...] (--views NAMES)."
            )
        for name in (view, "".join(features or ())):
            if not is_text(name):
                raise SourceError(
                    f"View {view!r} of {source.name} has a name, or a feature with a name, that is "
                    "no text in UTF-8. Rename it, or name its file: view=FILE."
                )
    return source


def _opened_file(name: str, file: File, options: ReadOptions) -> Source:
    streamed = file.text == "-"
    if not streamed:
        file.check()
        if file.kind not in FORMATS:
            raise SourceError(f"{file} ends in {file.kind!r}; expected {listed(FORMATS)}.")
    if options.key is not None and not file.format.keys:
        raise SourceError(f"{file} has no column {options.key!r} to align its rows by.")
    if streamed:
        # Not sys.stdin.buffer, for which Python would wait at its end if a reader waits in it.
        stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
        return standard_input(name, stream, options)
    source: Source = load(file.kind).open_reader(file, name, options)
    return source


def standard_input(view: str, opened: IO[bytes], options: ReadOptions = _ANYTHING) -> Source:
    """Read a stream: JSON Lines, CSV with a header, or svmlight, told by its first line.

    Rows of numbers are read as they come, so that the stream need not end, and so are words if all
    of them are known before: `options.schema` has them. Other words, svmlight and CSV in long form
    (see `LongSource`) are put into a temporary file first: which features there are is known when
    all were read. But if `options.new_features` is "grow", words are read as they come too: every
    chunk has those of its own rows.

    `view` is the name of the view of CSV columns that name none, and of svmlight. Nothing has keys.
    """
    stream, file = Stream(opened), File("-", "Standard input")
    first = stream.first()
    words = first.split()
    if not first:
        raise SourceError("Standard input has no rows.")
    if first.lstrip().startswith(b"{") and are_values(
        next(zip(*parsed_lines([(first, {"row": 1})], STANDARD_INPUT), strict=True)), options
    ):
        table = load(".csv").JsonTable(file, stream)
        source: Source = load(".csv").TableSource(table, view, options)
    elif first.lstrip().startswith(b"{"):
        source = JsonStream(stream, options)
        if source.grows and options.new_features == "error":
            _logger.info(
                "Standard input is read to its end before the first row is used, as only then all "
                "words are known; schema=... (select --vocabulary VIEW=FILE) names them before."
            )
            source = _spooled(stream, ".jsonl", view, options)
    elif len(words) > 1 and all(b":" in word for word in words[1:] if not word.startswith(b"#")):
        source = _spooled(stream, ".svm", view, options)
    else:
        tables = load(".csv")
        dialect = tables.Dialect.of([first], options.delimiter)
        names = first.decode("utf-8", "replace").split(dialect.delimiter)
        if tables.is_long(set(names) - {*options.drop, *options.keep}):
            source = _spooled(stream, ".csv", view, options)
        else:
            table = tables.CsvTable(file, stream, options.delimiter)
            source = tables.TableSource(table, view, options)
    source.files = ()
    return source


def _spooled(stream: Stream, ending: str, view: str, options: ReadOptions) -> Source:
    """Put a stream into a temporary file, to be read by a reader of files."""
    # Without a name where it can be opened so, that nothing stays whatever ends the process.
    nameless = Path("/proc/self/fd").is_dir()
    make: Any = tempfile.TemporaryFile if nameless else tempfile.NamedTemporaryFile
    spool = make(suffix=ending)
    try:
        stream.spool(spool)
        place = f"/proc/self/fd/{spool.fileno()}" if nameless else spool.name
        file = File(place, STANDARD_INPUT)
        file.ending = ending
        source: Source = load(ending).open_reader(file, view, options)
    except BaseException:
        spool.close()
        raise
    weakref.finalize(source, spool.close)
    return source


def open_writer(
    path: PathLike, kept: Mapping[str, Any] = NOTHING, staging: Staging | None = None
) -> Writer:
    """Return what writes a file by the end of its name; without an ending, a folder.

    Each is the kind of its format that can be written row by row: a table has a column a feature,
    whatever was read in long form, and ``.mat`` is of version 7.3. Text may end in ``.gz``,
    ``.bz2`` or ``.zst`` too.

    Parameters
    ----------
    path : path
    kept : mapping of str to type of pyarrow or None, default={}
        Columns that tables and JSON Lines have beside the views, such as keys and labels, as a
        source knows them: `Source.kept`. None is for types that are told by the first rows. Other
        formats have none.
    staging : Staging, default=None
        Where a file is to wait for others that are to appear with it, in the folder of its path;
        by default it appears by itself.
    """
    file = File(path)
    if file.remote:
        raise SourceError(f"{file} is not of this machine; files are written here only.")
    if not file.kind:
        return FolderWriter(path)
    if file.kind not in FORMATS:
        raise SourceError(f"{file} ends in {file.kind!r}; expected {listed(['', *FORMATS])}.")
    writer: Writer = load(file.kind, "Writing").open_writer(path, kept, staging)
    return writer
