"""Rows on their way from a source to files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from omvfs import OMVFS, Views
from omvfs.cli._checks import leaving_no_folder
from omvfs.data.schema import listed
from omvfs.disk import Staging
from omvfs.formats import (
    MAX_CHUNK_BYTES,
    Chunk,
    SideBySide,
    Source,
    SourceError,
    open_writer,
)
from omvfs.formats.addresses import without_secrets
from omvfs.formats.opening import named_files

# Of a chunk that is written at once, if they are not too wide.
ROWS = 1000


def no_rows(inputs: Sequence[str]) -> SourceError:
    """Return the error of inputs that have no rows."""
    return SourceError(f"There are no rows in {listed(map(without_secrets, inputs))}.")


def chunks_of(source: Source, inputs: Sequence[str], rows: int = ROWS) -> Iterator[Chunk]:
    """Yield chunks that fit into memory if they are dense, and refuse inputs that have none.

    Parameters
    ----------
    source : Source
    inputs : sequence of str
        What was opened.
    rows : int
        Most rows of a chunk.
    """
    fit = MAX_CHUNK_BYTES // (16 * sum(source.schema.widths))
    empty = True
    for chunk in source.chunks(max(1, min(rows, fit))):
        empty = False
        yield chunk
    if empty:
        raise no_rows(inputs)


def write_rows(
    chunks: Iterator[Chunk],
    targets: Mapping[Path, Sequence[str]],
    key: str | None,
    change: Callable[[Views], Views] = lambda views: views,
) -> int:
    """Write rows and count them; the files appear together.

    Parameters
    ----------
    chunks : iterator of Chunk
    targets : mapping of Path to sequence of str
        Which views to write where; the ending tells the format. Several are in one folder.
    key : str or None
        Name of what tells the rows apart, which is written too.
    change : callable
        From views to views.
    """
    n_rows = 0
    first = next(iter(targets))
    with leaving_no_folder(first), ExitStack() as outer:
        folder = first.parent
        staging = outer.enter_context(Staging(folder)) if len(targets) > 1 else None
        with ExitStack() as stack:
            writers: list[tuple[Any, Sequence[str]]] = [
                (stack.enter_context(open_writer(path, key, staging)), names)
                for path, names in targets.items()
            ]
            for chunk in chunks:
                rows = change(chunk.views)
                for writer, names in writers:
                    writer.append(rows.only(names), chunk.keys)
                n_rows += len(rows)
        if staging is not None:
            staging.publish()
    return n_rows


def as_they_came(source: Source, inputs: Sequence[str], out: Path) -> dict[Path, Sequence[str]]:
    """Return where to write which views of a source, in the format they came in.

    Parameters
    ----------
    source : Source
        As `open_source` returns it.
    inputs : sequence of str
        What was opened.
    out : Path
        Folder, or a file with an ending that tells another format.
    """
    files = {} if Path(inputs[0]).is_dir() else named_files(inputs)
    if out.suffix or not files or any(file.text == "-" for file in files.values()):
        return {out: source.schema.names}
    assert isinstance(source, SideBySide)
    names = {part: files[part].name for part in source.parts}
    if len(set(names.values())) < len(names):
        names = {part: f"{part}_{name}" for part, name in names.items()}
    return {out / names[name]: part.schema.names for name, part in source.parts.items()}


def selected(selector: OMVFS) -> Callable[[Views], Views]:
    """Return what leaves the selected features of some rows, called by name or by number.

    Parameters
    ----------
    selector : OMVFS
    """
    schema, support = selector.schema_, selector.view_support_
    described = zip(schema.names, schema.widths, schema.feature_names, strict=True)
    names = {
        view: [str(j if known is None else known[j]) for j in range(width) if support[view][j]]
        for view, width, known in described
    }
    return lambda views: views.replaced(selector.transform_views(views)).named(names)
