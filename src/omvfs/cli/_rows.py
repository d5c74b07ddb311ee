"""Rows on their way from a source to files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from omvfs import OMVFS, Views
from omvfs.cli._checks import leaving_no_folder
from omvfs.cli._messages import say
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
from omvfs.formats.files import without_secrets
from omvfs.formats.opening import ROWS, Input, has_annotations, has_columns, read_input

# Rows of a chunk that is written at once, if they are not too wide.
AT_ONCE = 1000


def no_rows(inputs: Sequence[str]) -> SourceError:
    """Return the error of inputs that have no rows."""
    return SourceError(f"There are no rows in {listed(map(without_secrets, inputs))}.")


def chunks_of(source: Source, inputs: Sequence[str], rows: int = AT_ONCE) -> Iterator[Chunk]:
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
    source: Source,
    inputs: Sequence[str],
    targets: Mapping[Path, Sequence[str]],
    key: str | None,
    selector: OMVFS | None = None,
) -> int:
    """Write the rows of a source and count them; the files appear together.

    Parameters
    ----------
    source : Source
    inputs : sequence of str
        What was opened.
    targets : mapping of Path to sequence of str
        Which views to write where; the ending tells the format. Several are in one folder.
    key : str or None
        Name of what tells the rows apart, which is written too.
    selector : OMVFS, default=None
        Whose selected features are written; by default all.
    """
    if source.kept and not any(has_columns(path) for path in targets):
        raise SourceError(
            f"{listed(map(str, targets))} has no place for {listed(source.kept)} beside its views. "
            "Write a table or JSON Lines, or leave them out: --drop NAME."
        )
    kept = {} if key is None else {key: None}
    change = _as_they_are if selector is None else selected(selector)
    support = {} if selector is None else selector.view_support_
    columns = {view: np.flatnonzero(mask) for view, mask in support.items()}
    n_rows = 0
    first = next(iter(targets))
    with leaving_no_folder(first), ExitStack() as outer:
        folder = first.parent
        staging = outer.enter_context(Staging(folder)) if len(targets) > 1 else None
        with ExitStack() as stack:
            writers: list[tuple[Any, Sequence[str]]] = [
                (stack.enter_context(open_writer(path, {**kept, **source.kept}, staging)), names)
                for path, names in targets.items()
            ]
            for writer, _ in writers:
                writer.describe(source, columns)
            for chunk in chunks_of(source, inputs):
                rows, beside = change(chunk.views), dict(chunk.kept)
                if key is not None and chunk.keys is not None:
                    beside[key] = chunk.keys
                for writer, names in writers:
                    writer.append(rows.only(names), beside)
                n_rows += len(rows)
        if staging is not None:
            staging.publish()
    # Only now: of what could not be written, there is but one thing to say.
    _say_what_has_no_place(source, targets)
    return n_rows


def _say_what_has_no_place(source: Source, targets: Mapping[Path, Sequence[str]]) -> None:
    for path, names in targets.items():
        annotated = dict.fromkeys(
            origin.name for each in names if (origin := source.origin(each)).annotated
        )
        if annotated and not has_annotations(path):
            where, which = listed([str(path)]), listed(annotated)
            say(f"{where} has no place for obs, var and layers of {which}.", err=True)


def _as_they_are(views: Views) -> Views:
    return views


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
    given = [read_input(each) for each in inputs]
    if out.suffix or any(each.folder is not None or each.streamed for each in given):
        return {out: source.schema.names}
    assert isinstance(source, SideBySide)
    # Rows of files that are parts of one table are written into one.
    whole = Input(ROWS, given[0].files, parts=True).file_name
    files = {ROWS: whole, **{each.name: each.file_name for each in given}}
    names = {part: files[part] for part in source.parts}
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
