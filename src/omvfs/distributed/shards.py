"""Files as parts of one data set: which they are, what they have in common, what each has learned.

Whoever asks names the files only; they are opened where they are read.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from sklearn.base import clone

from omvfs import disk
from omvfs.codec import CheckpointError
from omvfs.data.schema import Schema
from omvfs.data.table import Table
from omvfs.distributed.steps import (
    PartState,
    merged,
    naming,
    settled,
    settled_by,
    state_of,
    worker_copy,
)
from omvfs.formats import Source, SourceError, open_source
from omvfs.formats.combined import together
from omvfs.formats.files import without_secrets
from omvfs.formats.opening import ROWS, Given, Input, read_input
from omvfs.omvfs import OMVFS
from omvfs.pipeline import check_same, run

# What a finished part is called: by its key; the second is one without rows.
_STATE, _EMPTY = ".omvfs", ".empty"
_OURS = re.compile(r"[0-9a-f]{32}(\.omvfs|\.empty)")

T = TypeVar("T")
# Called with the numbers of finished parts and of all.
Listener = Callable[[int, int], None]
# How work on parts is done: given the work, the parts, what else it is given and whether to stop,
# yields numbers of parts as they are done, each with what it came to.
Compute = Callable[
    [Callable[..., Any], Sequence["FilePart"], Sequence[Any], Callable[[], bool]],
    Iterator[tuple[int, Any]],
]


@dataclass(frozen=True)
class FilePart:
    """A part of a data set, in files: what errors call it, what `open_source` opens and is told."""

    name: str
    inputs: tuple[Given, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, schema: Schema | None = None, table: Table | None = None) -> Source:
        """Return its rows, with the schema and the columns of all parts."""
        known: dict[str, Any] = {} if schema is None else {"schema": schema}
        known |= {} if table is None else {"columns": table}
        return open_source(*self.inputs, **{**self.options, **known})

    @cached_property
    def key(self) -> str:
        """A digest of what is read: the names of the files, as they are now, and the options."""
        files = [text for each in self.inputs for text in _paths(each)]
        about = [self.inputs, list(map(_stamp, files)), sorted(self.options.items())]
        told = json.dumps(about, default=str)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def parts_of(inputs: Sequence[Given], options: Mapping[str, Any] | None = None) -> list[FilePart]:
    """Return the parts that some inputs are: a file each, where their rows are appended.

    `open_source` reads the same rows one after another.
    """
    told = dict(options or {})
    given = [read_input(each) for each in inputs]
    if len(given) == 1 and given[0].parts:
        return [_of_file(given[0].name, file, told) for file in given[0].files]
    if told.get("key") is None and len(given) > 1 and all(each.bare for each in given):
        files = [each.files[0] for each in given]
        if len({file.kind for file in files}) == 1 and _of_one_table(given, told):
            return [_of_file(ROWS, file, told) for file in files]
    name = ", ".join(without_secrets(os.fspath(each)) for each in inputs)  # type: ignore[arg-type]
    return [FilePart(name, tuple(map(_absolute, inputs)), told)]


def part_of(given: Any) -> FilePart:
    """Return the part that something is: a path, ``view=path``, or a tuple of them side by side."""
    inputs = given if isinstance(given, tuple) else (given,)
    name = ", ".join(without_secrets(os.fspath(each)) for each in inputs)
    if len(inputs) == 1 and (one := read_input(inputs[0])).bare:
        # The view is not called after the file, as it is one of all parts.
        return replace(_of_file(ROWS, one.files[0], {}), name=name)
    return FilePart(name, tuple(map(_absolute, inputs)))


def schema_of(part: FilePart) -> tuple[Schema, Table | None]:
    """Return the views of a part, and its columns if it is a table, where it can be read."""
    with naming(part.name), part.open() as source:
        return source.schema, source.table


def settled_by_file(
    part: FilePart, selector: OMVFS, schema: Schema, table: Table | None
) -> OMVFS | None:
    """Return the estimator with what the first rows of a part tell; None if there are none."""
    with naming(part.name), part.open(schema, table) as source:
        return settled_by(selector, (chunk.views for chunk in source.chunks(selector.batch_size)))


def fit_file(
    part: FilePart, selector: OMVFS, schema: Schema, table: Table | None
) -> PartState | None:
    """Return what is learned from a part, where it can be read; None if it has no rows."""
    with naming(part.name), part.open(schema, table) as source:
        return state_of(run(source, clone(selector)).selector)


def tried(work: Callable[..., T], *given: Any) -> T | Exception:
    """Return what some work comes to, or the error in the rows of its part, not raised."""
    try:
        return work(*given)
    except (ValueError, TypeError) as error:
        return SourceError(str(error))
    except OSError as error:
        name, why = error.filename, error.strerror
        return OSError(f"{name}: {why}." if name and why else str(error))


def size_of(parts: Sequence[FilePart]) -> int | None:
    """Return the bytes of the files of all parts, None where not all can be seen from here."""
    total = 0
    for path in [path for part in parts for each in part.inputs for path in _paths(each)]:
        if not os.path.isfile(path):
            return None
        total += os.path.getsize(path)
    return total


def _of_file(view: str, file: Any, told: Mapping[str, Any]) -> FilePart:
    place = _absolute(file.text)
    # A list of one: rows of one table, whose view is called as that of all parts.
    given: Given = (place,) if view == ROWS else f"{view}={place}"
    return FilePart(str(file), (given,), told)


def _of_one_table(given: Sequence[Input], told: Mapping[str, Any]) -> bool:
    """Tell whether files of one kind are parts of one table, not views side by side."""
    found: list[str] = []
    for each in given:
        # Of those that can be read: others are told of when it is their turn.
        with contextlib.suppress(SourceError, OSError), open_source(each.files[0].text, **told):
            found.append(each.files[0].text)
        if len(found) == 2:
            break
    if len(found) < 2:
        return True
    try:
        with open_source(*found, **told) as source:
            return list(getattr(source, "parts", ())) == [ROWS]
    except SourceError:
        return False


def _named(text: str) -> tuple[str, str]:
    """Return an input as ``view=``, if it begins so, and its path."""
    name, sign, rest = text.partition("=")
    is_named = sign and "/" not in name and not Path(text).exists()
    return (f"{name}=", rest) if is_named else ("", text)


def _absolute(given: Given) -> Any:
    """Return an input as other processes find it."""
    if not isinstance(given, str | os.PathLike):
        return tuple(map(_absolute, given))
    name, path = _named(os.fspath(given))
    return name + (path if "://" in path or path == "-" else os.path.abspath(path))


def _paths(given: Given) -> list[str]:
    if not isinstance(given, str | os.PathLike):
        return [text for each in given for text in _paths(each)]
    return [_named(os.fspath(given))[1]]


def _stamp(path: str) -> tuple[int, int] | None:
    """Return what tells that a file was written again, where it can be seen from here."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return stat.st_size, stat.st_mtime_ns


@dataclass(frozen=True)
class Outcome:
    """What a run over parts has come to."""

    # Of all rows; None if it was asked to stop before, or there are no rows.
    selector: OMVFS | None
    # Whether it was not asked to stop.
    finished: bool
    # Parts that were learned from, those without rows included.
    n_parts: int
    # Parts that were left out, by name.
    damaged: Mapping[str, Exception]


class Kept:
    """Finished parts, a file each in a folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __bool__(self) -> bool:
        return any(True for _ in self._files())

    def put(self, part: FilePart, state: PartState | None) -> None:
        """Keep what was learned from a part, whole or not at all."""
        path = self.path(part, _EMPTY if state is None else _STATE)
        # The rows in it may be private.
        with disk.replacing(path, 0o600) as descriptor:
            left = memoryview(state or b"")
            while left:
                left = left[os.write(descriptor, left[: 1 << 20]) :]

    def has(self, part: FilePart, schema: Schema, selector: OMVFS) -> bool:
        """Tell whether a part is finished, as it would be learned from now."""
        if self.is_empty(part):
            return True
        path = self.path(part)
        if not path.exists():
            return False
        try:
            loaded = OMVFS.load(path)
        except CheckpointError:
            # It is damaged, and is learned again.
            return False
        check_same(path, loaded, selector)
        return bool(loaded.schema_ == schema)

    def path(self, part: FilePart, ending: str = _STATE) -> Path:
        """Return where a part is kept."""
        return self.folder / f"{part.key}{ending}"

    def is_empty(self, part: FilePart) -> bool:
        """Tell whether a part is finished, and has no rows."""
        return self.path(part, _EMPTY).exists()

    def remove(self) -> None:
        """Remove all parts, and the folder if nothing else is in it."""
        for file in self._files():
            with contextlib.suppress(FileNotFoundError):
                file.unlink()
                disk.sweep(file)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _files(self) -> Iterator[Path]:
        if self.folder.is_dir():
            yield from [file for file in self.folder.iterdir() if _OURS.fullmatch(file.name)]


def one_by_one(
    work: Callable[..., Any],
    parts: Sequence[FilePart],
    given: Sequence[Any],
    should_stop: Callable[[], bool],
) -> Iterator[tuple[int, Any]]:
    """Do work on parts in this process, one after another."""
    for i, part in enumerate(parts):
        if should_stop():
            return
        yield i, tried(work, part, *given)


def run_parts(
    compute: Compute,
    selector: OMVFS,
    parts: Sequence[FilePart],
    kept: Kept,
    *,
    order: bool = False,
    skip_damaged: bool = False,
    listener: Listener = lambda done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Learn from parts, wherever `compute` does it, and merge what was learned.

    A finished part is kept in a file before anything else is done with it; those that are kept
    already are not learned from again. Who wants to begin anew removes them first. If
    `should_stop`, which is asked now and then, is True, the run ends with what is kept.
    """
    copy = worker_copy(selector)
    damaged: dict[str, Exception] = {}

    def asked(work: Callable[..., Any], some: Sequence[FilePart], *given: Any) -> Iterator[Any]:
        """Yield parts as they are done, each with what came of it; damaged ones are put aside."""
        for i, found in compute(work, some, given, should_stop):
            if isinstance(found, Exception):
                if not skip_damaged:
                    raise found
                damaged[some[i].name] = found
            else:
                yield some[i], found

    def outcome(model: OMVFS | None, finished: bool) -> Outcome:
        return Outcome(model, finished, len(parts) - len(damaged), damaged)

    about = {part.name: found for part, found in asked(schema_of, parts)}
    if should_stop():
        return outcome(None, False)
    sound = [part for part in parts if part.name in about]
    if not sound:
        raise next(iter(damaged.values()))
    schema = together([about[part.name][0] for part in sound])
    tables = [table for part in sound if (table := about[part.name][1]) is not None]
    table = Table.of_parts(tables) if tables else None
    first = (
        found for part in sound for _, found in asked(settled_by_file, [part], copy, schema, table)
    )
    copy = settled(copy, first)
    wanted = [part for part in sound if not kept.has(part, schema, copy)]
    n_done = len(sound) - len(wanted)
    listener(n_done, len(sound))
    for part, state in asked(fit_file, wanted, copy, schema, table):
        kept.put(part, state)
        n_done += 1
        listener(n_done, len(sound))
    if should_stop():
        return outcome(None, False)
    found = [part for part in sound if part.name not in damaged]
    if not found:
        raise next(iter(damaged.values()))
    full = [part for part in found if not kept.is_empty(part)]
    if not full:
        return outcome(None, True)
    files = [(part.name, kept.path(part)) for part in full]
    return outcome(merged(selector, files, order), True)
