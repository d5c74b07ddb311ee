"""From a source to what was learned: source → selector → listeners, with checkpoints."""

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from omvfs import codec, disk, persistence
from omvfs.codec import CheckpointError
from omvfs.constraints import PARAMETERS
from omvfs.data.schema import Vocabulary
from omvfs.formats import Cursor, Source
from omvfs.model.drift import Change
from omvfs.omvfs import OMVFS
from omvfs.persistence import pack_params, unpack_params

# Parameters that do not change what is learned.
FREE = {name for name, each in PARAMETERS.items() if each.role in ("ranks", "reads")}

# What ends an error of a run that cannot go on.
_ANEW = "or begin anew: resume=False (without --resume)"
# Seconds between two looks whether to stop.
_PATIENCE = 0.1

T = TypeVar("T")


@dataclass(frozen=True)
class Status:
    """Where a run stands.

    Attributes
    ----------
    n_rows : int
        Rows learned from, before an interruption too.
    n_new : int
        Rows learned from in this run.
    total : int or None
        Rows of the source, None if unknown.
    seconds : float
        Time since this run began.
    saved : bool
        Whether a checkpoint was just written.
    drift : Change or None
        The change of the stream that was noticed in the last chunk, if any.
    selector : OMVFS or None
        As it is after the chunk; what it is asked takes time from the run.
    """

    n_rows: int
    n_new: int
    total: int | None
    seconds: float
    saved: bool
    drift: Change | None = None
    selector: OMVFS | None = None


@dataclass(frozen=True)
class Result:
    """What a run has come to.

    Attributes
    ----------
    selector : OMVFS
        After the last chunk.
    finished : bool
        Whether the source has no more rows; else the run was asked to stop.
    """

    selector: OMVFS
    finished: bool


Listener = Callable[[Status], None]


def run(
    source: Source,
    selector: OMVFS,
    *,
    save_to: str | os.PathLike[str] | None = None,
    save_every: int = 50,
    resume: bool = False,
    listeners: tuple[Listener, ...] = (),
    should_stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Learn from all rows of a source, the next chunk being read while this one is learned.

    Parameters
    ----------
    source : Source
    selector : OMVFS
        Its `batch_size` is the size of the chunks.
    save_to : path, default=None
        Where to keep checkpoints. One is written every `save_every` chunks, and at the end.
    save_every : int, default=50
    resume : bool, default=False
        Go on from the checkpoint at `save_to`, or else from the one before it, if there is one.
        Its files must be those of before, by name, size and time; lines may have been added to a
        text, and parts behind the last.
    listeners : tuple of callable
        Called with a `Status` after every chunk.
    should_stop : callable
        Asked after every chunk, and now and then while waiting for one. If True, a checkpoint is
        written and the run ends.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from omvfs.formats import ArraySource
    >>> rows = ArraySource(np.random.default_rng(0).random((100, 5)))
    >>> result = run(rows, OMVFS(2, batch_size=30, random_state=0))
    >>> result.selector.n_samples_seen_, result.finished
    (100, True)
    """
    cursor = None
    if save_to is not None:
        # What cannot be saved is told now, not when the first checkpoint is due.
        pack_params(selector.get_params(deep=False))
        disk.sweep(save_to)
    kept = codec.kept(save_to) if resume and save_to is not None else None
    if kept is not None:
        selector, cursor = restore(kept, selector, source)
    # As they are now: what changes while they are read is told when the run goes on.
    files = [file.stamp() for file in source.files]
    before = selector.n_samples_seen_ if cursor is not None else 0
    started, n_chunks, saved_at, finished = time.perf_counter(), 0, 0, True

    def save() -> None:
        about = {"cursor": cursor, "files": files, "source": source.identity}
        selector.save(save_to, about)  # type: ignore[arg-type]

    for chunk in prefetch(source.chunks(selector.batch_size, cursor), should_stop):
        if chunk is None:
            finished = False
            break
        with _rows_from(chunk.start):
            selector.partial_fit(chunk.views)
        cursor, n_chunks = chunk.cursor, n_chunks + 1
        stop = should_stop()
        saved = save_to is not None and (stop or n_chunks - saved_at >= save_every)
        if saved:
            save()
            saved_at = n_chunks
        seen = selector.n_samples_seen_
        seconds = time.perf_counter() - started
        events = selector.drift_
        drift = events[-1] if events and events[-1].row > seen - len(chunk.views) else None
        for listener in listeners:
            listener(Status(seen, seen - before, source.n_rows, seconds, saved, drift, selector))
        if stop:
            finished = False
            break
    if save_to is not None and n_chunks > saved_at:
        save()
    return Result(selector, finished)


@contextmanager
def _rows_from(start: int) -> Iterator[None]:
    """Have errors say where the chunk begins within which they count rows."""
    try:
        yield
    except ValueError as error:
        if start:
            error.args = (f"In the chunk that begins at row {start:,}: {error}",)
        raise


def restore(path: str | os.PathLike[str], selector: OMVFS, source: Source) -> tuple[OMVFS, Cursor]:
    """Return what a run has learned and where it stands, if it can go on with this source.

    It can if the parameters, and the views, files and kind of the source, are the same as before.
    """
    tensors, tree = codec.read(path)
    loaded, name = persistence.selector_of(OMVFS, tensors, tree, path), os.fspath(path)
    extra = tree.get("extra")
    if not isinstance(extra, dict) or not isinstance(extra.get("cursor"), dict):
        raise CheckpointError(f"{name} is a model, not the checkpoint of a run: it has no cursor.")
    check_same(path, loaded, selector)
    grows = [
        view
        for view, names in zip(loaded.schema_.names, loaded.schema_.feature_names, strict=True)
        if isinstance(names, Vocabulary)
    ]
    if other := _differences(extra.get("source"), source.identity, grows):
        raise CheckpointError(
            f"{name} is of a run over other data: {other}. Go on with the same, {_ANEW}."
        )
    _check_files(name, extra.get("files"), source)
    params = selector.get_params(deep=False)
    loaded.set_params(**{name: params[name] for name in FREE})
    return loaded, extra["cursor"]


def _check_files(name: str, before: Any, source: Source) -> None:
    """Refuse files that are not those of a run; others may have come behind them."""
    files = source.files
    if not isinstance(before, list) or not all(isinstance(each, dict) for each in before):
        raise CheckpointError(f"{name} does not tell which files it has learned from; {_ANEW}.")
    if len(before) > len(files) or (files and not before):
        raise CheckpointError(
            f"{name} is of a run over {len(before):,} files, and there are {len(files):,}. Go on "
            f"with the same, {_ANEW}."
        )
    for file, stamp in zip(files, before, strict=False):
        if changes := file.changes(stamp):
            raise CheckpointError(
                f"{file} has changed since the run of {name} read it: {changes}. Go on with the "
                f"same file, {_ANEW}; or keep the results elsewhere: save_to=... (-o)."
            )


def check_same(path: str | os.PathLike[str], loaded: OMVFS, selector: OMVFS) -> None:
    """Refuse to go on from what was learned by other parameters than those of this run."""
    ours, theirs = (
        unpack_params(pack_params({k: v for k, v in own.items() if k not in FREE}))
        for own in (selector.get_params(deep=False), loaded.get_params(deep=False))
    )
    if changed := _differences(theirs, ours):
        raise CheckpointError(
            f"{os.fspath(path)} is of a run with other parameters: {changed}. Go on with those, "
            f"{_ANEW}."
        )


def _differences(kept: Any, now: Any, growing: Sequence[str] = (), place: str = "") -> str:
    """Say where two plain values differ, empty if nowhere; some views may have more features."""
    if isinstance(kept, dict) and isinstance(now, dict):
        wider = set(growing) & kept.keys() & now.keys() if place.endswith("views") else set()
        found = (
            _differences(kept.get(name), now.get(name), growing, f"{place}.{name}".lstrip("."))
            for name in {**kept, **now}
            if name not in wider
        )
        return ", ".join(each for each in found if each)
    return "" if kept == now else f"{place}={kept!r}, now {now!r}"


def prefetch(
    items: Iterator[T], should_stop: Callable[[], bool] = lambda: False
) -> Iterator[T | None]:
    """Yield items, each fetched in another thread while the one before is used.

    While there is nothing to yield, `should_stop` is asked; if True, the last item is None.
    """
    fetched: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(1)
    enough = threading.Event()

    def put(item: tuple[T | None, BaseException | None]) -> bool:
        while not enough.is_set():
            try:
                fetched.put(item, timeout=_PATIENCE)
                return True
            except queue.Full:
                continue
        return False

    def fetch() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
            put((None, StopIteration()))
        except BaseException as error:
            put((None, error))

    reader = threading.Thread(target=fetch, name="omvfs reader", daemon=True)
    reader.start()
    try:
        while True:
            try:
                item, error = fetched.get(timeout=_PATIENCE)
            except queue.Empty:
                if should_stop():
                    yield None
                    return
                continue
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        enough.set()
        # A reader that waits for another program may wait for ever.
        reader.join(timeout=1)
