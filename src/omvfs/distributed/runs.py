"""A run over parts that outlives crashes: what was learned from each is kept until all is done."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from omvfs import disk
from omvfs.data.schema import Schema
from omvfs.distributed import steps
from omvfs.distributed.files import (
    Failure,
    FilePart,
    common_schema,
    fit_file,
    schema_of,
    tried,
)
from omvfs.omvfs import OMVFS
from omvfs.parts import merge_files
from omvfs.persistence.checkpoint import CheckpointError
from omvfs.pipeline.loop import check_same

# What a finished part is called: by its key; the second is one without rows.
_STATE, _EMPTY = ".omvfs", ".empty"
_OURS = re.compile(r"[0-9a-f]{32}(\.omvfs|\.empty)")

Listener = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """What a run over parts has come to.

    Attributes
    ----------
    selector : OMVFS or None
        Of all rows; None if it was asked to stop before, or there are no rows.
    finished : bool
        Whether it was not asked to stop.
    n_parts : int
        Parts that were learned from, those without rows included.
    damaged : dict of str to Failure
        Parts that were left out, by name.
    """

    selector: OMVFS | None
    finished: bool
    n_parts: int
    damaged: Mapping[str, Failure]


class Kept:
    """Finished parts, a file each in a folder.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __bool__(self) -> bool:
        return any(True for _ in self._files())

    def put(self, part: FilePart, state: steps.PartState | None) -> None:
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


def run_parts(
    client: Any,
    selector: OMVFS,
    parts: Sequence[FilePart],
    kept: Kept,
    *,
    order: bool = False,
    skip_damaged: bool = False,
    listener: Listener = lambda done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Learn from parts on a cluster, and merge what was learned here.

    A finished part is kept in a file before anything else is done with it; those that are kept
    already are not learned from again. Who wants to begin anew removes them first.

    Parameters
    ----------
    client : distributed.Client
    selector : OMVFS
        With the parameters to learn by; it is not changed.
    parts : sequence of FilePart
    kept : Kept
        Where finished parts are; they stay until `Kept.remove`.
    order : bool, default=False
        Whether the parts follow each other in time.
    skip_damaged : bool, default=False
        Whether to go on without parts that cannot be read or used.
    listener : callable
        Called with the number of finished parts, and of all.
    should_stop : callable
        Asked now and then; if True, the run ends with what is kept.

    Returns
    -------
    Outcome
    """
    copy = steps.worker_copy(selector)
    damaged: dict[str, Failure] = {}

    def asked(work: Callable[..., Any], some: Sequence[FilePart], *given: Any) -> Iterator[Any]:
        """Yield parts as they are done, each with what came of it; damaged ones are put aside."""
        for part, found in _on_workers(client, work, some, given, should_stop):
            if isinstance(found, Failure):
                if not skip_damaged:
                    raise found.error
                damaged[part.name] = found
            else:
                yield part, found

    def outcome(model: OMVFS | None, finished: bool) -> Outcome:
        return Outcome(model, finished, len(parts) - len(damaged), damaged)

    schemas = {part.name: schema for part, schema in asked(schema_of, parts)}
    if should_stop():
        return outcome(None, False)
    sound = [part for part in parts if part.name in schemas]
    if not sound:
        raise next(iter(damaged.values())).error
    schema = common_schema([schemas[part.name] for part in sound])
    wanted = [part for part in sound if not kept.has(part, schema, copy)]
    n_done = len(sound) - len(wanted)
    listener(n_done, len(sound))
    for part, state in asked(fit_file, wanted, copy, schema):
        kept.put(part, state)
        n_done += 1
        listener(n_done, len(sound))
    if should_stop():
        return outcome(None, False)
    found = [part for part in sound if part.name not in damaged]
    if not found:
        raise next(iter(damaged.values())).error
    full = [part for part in found if not kept.is_empty(part)]
    if not full:
        return outcome(None, True)
    merged = merge_files([kept.path(part) for part in full], order, [p.name for p in full])
    return outcome(merged.set_params(**selector.get_params(deep=False)), True)


def _on_workers(
    client: Any,
    work: Callable[..., Any],
    parts: Sequence[FilePart],
    given: Sequence[Any],
    should_stop: Callable[[], bool],
) -> Iterator[tuple[FilePart, Any]]:
    """Yield parts as they are done, each with what came of some work."""
    from omvfs.distributed.watching import check_alive, done, result_of

    check_alive(client)
    own = uuid4().hex[:8]
    # Sent once, not with every part; worked out, not scattered, so that it can be again.
    shared = [client.submit(_itself, each, key=f"omvfs-{i}-{own}") for i, each in enumerate(given)]
    futures = {
        client.submit(
            _called, work, part, *shared, key=f"{work.__name__}-{i}-{own}", pure=False
        ): part
        for i, part in enumerate(parts)
    }
    names = {future: part.name for future, part in futures.items()}
    try:
        for future in done(client, names, should_stop):
            part = futures.pop(future)
            found = result_of(future, part.name)
            # What is here need not be there any more.
            future.release()
            yield part, found
    finally:
        if futures and client.status == "running":
            client.cancel(list(futures))


def _itself(value: Any) -> Any:
    return value


def _called(work: Callable[..., Any], part: FilePart, *given: Any) -> Any:
    return tried(work, part, *given)
