"""The loop: source → selector → listeners, with checkpoints along the way."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from omvfs import disk
from omvfs.constraints import PARAMETERS
from omvfs.data.schema import Vocabulary
from omvfs.formats import Cursor, Source
from omvfs.model.stream.event import DriftEvent
from omvfs.omvfs import OMVFS
from omvfs.persistence import checkpoint
from omvfs.persistence.params import pack_params, unpack_params
from omvfs.pipeline.digest import Digest, chunks_with_digests
from omvfs.pipeline.prefetch import prefetch
from omvfs.wording import BEGIN_ANEW, Sentence, Setting, sentence_of

# Parameters that do not change what is learned.
FREE = {name for name, each in PARAMETERS.items() if each.role in ("ranks", "reads", "tells")}


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
    drift : DriftEvent or None
        The change of the stream that was noticed in the last chunk, if any.
    selector : OMVFS or None
        As it is after the chunk; what it is asked takes time from the run.
    """

    n_rows: int
    n_new: int
    total: int | None
    seconds: float
    saved: bool
    drift: DriftEvent | None = None
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
        What was read before is read again first, to see that the rows are the same; there may be
        more of them.
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
    cursor, digest = None, Digest()
    if save_to is not None:
        # What cannot be saved is told now, not when the first checkpoint is due.
        pack_params(selector.get_params(deep=False))
        disk.sweep(save_to)
    kept = checkpoint.kept(save_to) if resume and save_to is not None else None
    if kept is not None:
        selector, cursor, digest = restore(kept, selector, source.identity)
    before = selector.n_samples_seen_ if cursor is not None else 0
    started, saved_at, finished = time.perf_counter(), 0, True
    n_chunks = 0
    chunks = chunks_with_digests(source, selector.batch_size, cursor, digest)
    for item in prefetch(chunks, should_stop):
        if item is None:
            finished = False
            break
        chunk, read = item
        with _rows_from(chunk.start):
            selector.partial_fit(chunk.views)
        cursor, digest = chunk.cursor, read
        n_chunks += 1
        stop = should_stop()
        save = save_to is not None and (stop or n_chunks - saved_at >= save_every)
        if save:
            save_run(save_to, selector, cursor, digest, source.identity)
            saved_at = n_chunks
        seen = selector.n_samples_seen_
        seconds = time.perf_counter() - started
        events = selector.drift_
        drift = events[-1] if events and events[-1].row > seen - len(chunk.views) else None
        for listener in listeners:
            listener(Status(seen, seen - before, source.n_rows, seconds, save, drift, selector))
        if stop:
            finished = False
            break
    if save_to is not None and n_chunks > saved_at:
        save_run(save_to, selector, cursor, digest, source.identity)
    return Result(selector, finished)


@contextmanager
def _rows_from(start: int) -> Iterator[None]:
    """Have errors say where the chunk begins within which they count rows."""
    try:
        yield
    except ValueError as error:
        if start:
            place = f"In the chunk that begins at row {start:,}: "
            error.args = (Sentence(place, sentence_of(error)),)
        raise


def save_run(
    path: Any,
    selector: OMVFS,
    cursor: Cursor | None,
    digest: Digest,
    identity: Any = None,
) -> None:
    """Write all that a run needs to go on."""
    selector.save(path, {"cursor": cursor, "digest": digest.plain, "source": identity})


def restore(
    path: str | os.PathLike[str],
    selector: OMVFS,
    identity: Any = None,
) -> tuple[OMVFS, Cursor, Digest]:
    """Return what `save_run` wrote, which must be of the same parameters over the same data.

    Parameters
    ----------
    path : path
    selector : OMVFS
        With the parameters of this run.
    identity : object, default=None
        What the source of this run says of itself; by default any will do.
    """
    arrays, meta = checkpoint.read(path)
    loaded = OMVFS._of(arrays, meta, path)
    extra = meta.get("extra")
    if not isinstance(extra, dict) or not isinstance(extra.get("cursor"), dict):
        raise checkpoint.CheckpointError(
            f"{os.fspath(path)} is a model, not the checkpoint of a run: it has no cursor."
        )
    check_same(path, loaded, selector)
    # Checkpoints of before do not tell.
    before = extra.get("source")
    grows = [
        view
        for view, names in zip(loaded.schema_.names, loaded.schema_.feature_names, strict=True)
        if isinstance(names, Vocabulary)
    ]
    if grows:
        before, identity = (_without_widths(each, grows) for each in (before, identity))
    if None not in (before, identity) and (other := _differences(before, identity)):
        raise checkpoint.CheckpointError(
            Sentence(
                f"{os.fspath(path)} is of a run over other data: {other}. Go on with the same, or ",
                BEGIN_ANEW,
                ".",
            )
        )
    digest = Digest.of(extra.get("digest"))
    if digest is None:
        raise checkpoint.CheckpointError(
            Sentence(
                f"{os.fspath(path)} does not tell which rows it has learned from: ", BEGIN_ANEW, "."
            )
        )
    params = selector.get_params(deep=False)
    loaded.set_params(**{name: params[name] for name in FREE})
    return loaded, extra["cursor"], digest


def check_same(path: str | os.PathLike[str], loaded: OMVFS, selector: OMVFS) -> None:
    """Refuse to go on from what was learned by other parameters.

    Parameters
    ----------
    path : path
        For errors.
    loaded : OMVFS
        What was learned.
    selector : OMVFS
        With the parameters of this run.
    """
    asked, kept = (
        unpack_params(pack_params(each.get_params(deep=False))) for each in (selector, loaded)
    )
    ours, theirs = ({k: v for k, v in p.items() if k not in FREE} for p in (asked, kept))
    changed: list[str | Setting] = [
        part
        for name in theirs
        if theirs[name] != ours[name]
        for part in (", ", Setting(name, theirs[name]), f", now {ours[name]!r}")
    ]
    if changed:
        raise checkpoint.CheckpointError(
            Sentence(
                f"{os.fspath(path)} is of a run with other parameters: ",
                *changed[1:],
                ". Go on with those, or ",
                BEGIN_ANEW,
                ".",
            )
        )


def _without_widths(identity: Any, views: Sequence[str]) -> Any:
    """Return what a source says of itself, but for how many features some views have.

    Examples
    --------
    >>> _without_widths({"kind": "x", "views": {"text": 7, "image": 2}}, ["text"])
    {'kind': 'x', 'views': {'text': None, 'image': 2}}
    """
    if not isinstance(identity, dict):
        return identity
    return {
        name: {view: None if view in views else width for view, width in own.items()}
        if name == "views" and isinstance(own, dict)
        else _without_widths(own, views)
        for name, own in identity.items()
    }


def _differences(kept: Any, now: Any, place: str = "") -> str:
    """Say where two plain values differ, empty if nowhere.

    Examples
    --------
    >>> _differences({"a": {"kind": "csv", "n": 1}}, {"a": {"kind": "npy", "n": 1}})
    "a.kind='csv', now 'npy'"
    """
    if isinstance(kept, dict) and isinstance(now, dict):
        found = (
            _differences(kept.get(name), now.get(name), f"{place}.{name}" if place else str(name))
            for name in {**kept, **now}
        )
        return ", ".join(each for each in found if each)
    return "" if kept == now else f"{place}={kept!r}, now {now!r}"
