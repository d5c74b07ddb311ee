"""Learn from many files at a time: workers of this machine, or of a cluster that is there."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from omvfs import OMVFS, persistence
from omvfs.cli._checks import MODEL
from omvfs.cli._messages import say
from omvfs.cli._output import StatusFile
from omvfs.cli._reading import Reading
from omvfs.cli._rows import no_rows
from omvfs.cli._signals import Stop
from omvfs.distributed.shards import Kept, Outcome, parts_of
from omvfs.distributed.steps import ClusterError
from omvfs.formats.files import Destination
from omvfs.pipeline import Result

# Where finished parts are kept in the folder of the results.
PARTS = "parts"
# Seconds that a scheduler may take to answer.
_ANSWER = 10
_LOGGERS = "distributed", "tornado", "bokeh", "asyncio"


def kept_in(out: Destination) -> Kept:
    """Return the finished parts of a run."""
    return Kept(out.here / PARTS)


def check_workers(
    workers: int | None, scheduler: str | None, given: Mapping[str, Any], out: Destination
) -> bool:
    """Tell whether workers were asked for, and refuse what they cannot do.

    Parameters
    ----------
    workers : int or None
    scheduler : str or None
    given : mapping of str to object
        Options and arguments by name.
    out : Destination
    """
    if workers is None and scheduler is None:
        for name in ("skip_damaged", "order"):
            if given[name]:
                option = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(f"{option} is for --workers or --scheduler: give one.")
        return False
    if workers is not None and scheduler is not None:
        raise typer.BadParameter(
            "--workers starts some on this machine, --scheduler has its own: give one of them."
        )
    if any(each.rpartition("=")[2] == "-" for each in given["inputs"]):
        raise typer.BadParameter("Workers read files; standard input is read without --workers.")
    if given["skip_damaged"] and given["write_data"]:
        raise typer.BadParameter(
            "--write-data reads all parts again, also damaged ones: not with --skip-damaged."
        )
    if out.remote:
        raise typer.BadParameter(
            f"{out} is not of this machine, where finished parts are kept: take a folder for -o."
        )
    return True


def check_same_kind(out: Destination, workers: bool, resume: bool) -> None:
    """Refuse to go on with a run of the other kind.

    Parameters
    ----------
    out : Destination
    workers : bool
        Whether this run has workers.
    resume : bool
        Whether it is to go on.
    """
    if not resume:
        return
    if not workers and kept_in(out):
        raise typer.BadParameter(
            f"{out / PARTS} is of a run with workers: go on with --workers or --scheduler, or "
            "begin anew with --overwrite."
        )
    if workers and not kept_in(out) and _is_begun(out.here / MODEL):
        raise typer.BadParameter(
            f"{out / MODEL} is of a run without workers: go on without --workers, or begin anew "
            "with --overwrite."
        )


def learned(
    selector: OMVFS,
    reading: Reading,
    out: Destination,
    workers: int | None,
    scheduler: str | None,
    order: bool,
    skip_damaged: bool,
    told: StatusFile,
) -> tuple[Result, dict[str, Any]]:
    """Return what was learned of all parts, and what is to be told of them.

    Parameters
    ----------
    selector : OMVFS
    reading : Reading
    out : Destination
        Folder, in which finished parts are kept.
    workers : int or None
        How many to start.
    scheduler : str or None
        Whose to take instead.
    order, skip_damaged : bool
        As for `run_parts`.
    told : StatusFile
        Told how many parts are done, and of how many.
    """
    from omvfs.distributed.dask import run_parts

    parts = parts_of(reading.inputs, reading.options())
    if len(parts) == 1:
        say("The data are one part: one worker reads them.", err=True)
    kept = kept_in(out)
    with Stop() as stop, _quietly(), _client(workers, scheduler) as client:
        console = Console(stderr=True)
        columns = BarColumn(), TextColumn("{task.completed:,} of {task.total:,} parts")
        with (
            _telling_of_parts(kept, out),
            Progress(
                *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
            ) as bar,
        ):
            task = bar.add_task("", total=len(parts))

            def listener(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)
                told.parts(done, total)

            found = run_parts(
                client,
                selector,
                parts,
                kept,
                order=order,
                skip_damaged=skip_damaged,
                listener=listener,
                should_stop=stop,
            )
    if not found.finished:
        left = (
            f"finished parts are in {out / PARTS}. Go on with --resume."
            if kept
            else "nothing was read."
        )
        say(f"Stopped; {left}", err=True)
        raise typer.Exit(stop.code)
    if found.selector is None:
        raise no_rows(reading.inputs)
    found.selector.save(out.here / MODEL)
    return Result(found.selector, finished=True), _about(found)


def tell_of_damaged(about: Mapping[str, Any]) -> None:
    """Say which parts were left out, if any."""
    for each in about.get("damaged", ()):
        say(f"Left out {each['part']}: {each['why']}", err=True)


def _about(found: Outcome) -> dict[str, Any]:
    def told(name: str, failure: Exception) -> dict[str, str]:
        return {"part": name, "why": str(failure).removeprefix(f"{name}: ")}

    damaged = [told(*each) for each in found.damaged.items()]
    return {"parts": found.n_parts, "damaged": damaged}


@contextmanager
def _client(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Give a client of new workers of this machine, or of a scheduler that is there."""
    from distributed import Client

    if scheduler is None:
        from omvfs.distributed.dask import local_workers

        with local_workers(workers or 1, timeout=_ANSWER) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=_ANSWER)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No scheduler answers at {scheduler}: is it there? It is started by: dask scheduler"
        ) from error
    with client:
        yield client


@contextmanager
def _quietly() -> Iterator[None]:
    """Have what Dask logs left out: what matters is told by errors."""
    # It sets up its loggers, each with a level of its own.
    import distributed  # noqa: F401

    found = {
        name: logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.partition(".")[0] in _LOGGERS and isinstance(logger, logging.Logger)
    }
    before = {name: logger.level for name, logger in found.items()}
    for logger in found.values():
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, logger in found.items():
            logger.setLevel(before[name])


@contextmanager
def _telling_of_parts(kept: Kept, out: Destination) -> Iterator[None]:
    """If the block fails, have the error tell of the parts that are finished."""
    try:
        yield
    except BaseException as error:
        if kept:
            error.add_note(f"Finished parts are in {out / PARTS}: go on with --resume.")
        raise


def _is_begun(model: Path) -> bool:
    """Tell whether a model is the checkpoint of a run without workers."""
    try:
        _, meta = persistence.read(model)
    except (OSError, ValueError):
        return False
    extra = meta.get("extra") if isinstance(meta, dict) else None
    return isinstance(extra, dict) and isinstance(extra.get("cursor"), dict)
