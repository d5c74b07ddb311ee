"""The command that writes a page on a model, and the page at the end of a run."""

import contextlib
import hashlib
import json
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from omvfs import OMVFS
from omvfs.cli._checks import MODEL, check_writable, destination, leaving_no_folder
from omvfs.cli._config import check_one_size, resized
from omvfs.cli._messages import say
from omvfs.cli._options import RUNS, Features, Total
from omvfs.cli._reading import Reading
from omvfs.cli._rows import chunks_of
from omvfs.cli._wording import typed
from omvfs.disk import locked, replacing_text, sweep
from omvfs.formats import Chunk, Source
from omvfs.formats.files import Destination, without_secrets
from omvfs.pipeline import Status
from omvfs.report import Report
from omvfs.report.page import TITLE, check_can_be_made, report_on

# The page, and what it says for programs.
PAGE, VALUES = "report.html", "report.json"
# Rows that are read again for examples of clusters, and bytes that are told of a run at most.
_LOOKED_AT, _MOST_BYTES = 1000, 1 << 20
# Parameters that are asked anew of a model.
_ASKED_ANEW = "n_features_per_view", "n_features_to_select"
# Options that make no difference to the results.
_OF_ONE_RUN = "out", "resume", "overwrite", "status"
# What is told of a run, by the names of run.json.
_TOLD = {"command": "command", "inputs": "read", "versions": "learned with"}


def both(given: str | Path) -> tuple[Destination, Destination]:
    """Return where the page goes, and what it says.

    Parameters
    ----------
    given : str or Path
        As typed.

    Examples
    --------
    >>> [each.here.name for each in both("out/fox.html")]
    ['fox.html', 'fox.json']
    """
    beside, n = re.subn(r"\.html?(?=$|[?#])", ".json", str(given), count=1)
    if not n:
        raise typer.BadParameter(f"Got {given}; expected a file that ends in .html.")
    return destination(given), destination(beside)


def report(
    context: typer.Context,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The file model.omvfs of a run, or merged.")
    ],
    out: Annotated[
        Any,
        typer.Option(
            "-o",
            "--out",
            parser=both,
            metavar="FILE",
            help="For the page, here or at an address; what it says is beside it as JSON.",
        ),
    ] = PAGE,
    features: Features = None,
    total: Total = None,
    resamples: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Draw rows N times to tell how much of the selection is chance; 0 for not at all; "
            "by default 5 times, 2 of many views and clusters.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", rich_help_panel=RUNS, help="Replace a page that is there."),
    ] = False,
) -> None:
    """Write a page on what a model has learned.

    It tells of clusters and features, why they are, and how far to trust them, in one file that
    needs nothing else. Without -n or --total, as many features are
    selected as the run was asked for.
    """
    check_one_size(context)
    check_can_be_made()
    page, values = (context.with_resource(Destination(each)) for each in out)
    for each in (page, values):
        if each.here.is_dir():
            raise typer.BadParameter(f"{each} is a folder; expected a file, as {each / PAGE}.")
        if not overwrite:
            each.check_free()
            if each.here.exists():
                raise typer.BadParameter(
                    f"{each} is there already: take another file, or --overwrite."
                )
    selector = resized(OMVFS.load(model), features, total)
    with leaving_no_folder(page.here.parent):
        check_writable(page.here.parent, str(page))
        page.check_writable()
        with locked(page.here):
            sweep(page.here)
            found: Report = selector.report(resamples, run=run_of(model, selector))
            for each, text in ((page, found.html()), (values, found.json())):
                with replacing_text(each.here) as file:
                    file.write(text)
                each.publish()
    say(f"{selector.n_samples_seen_:,} rows; report in {page}")


def pages_for(asked: bool) -> list[str]:
    """Return the files that a report takes, none if none is asked for; see that it can be made.

    Parameters
    ----------
    asked : bool

    Examples
    --------
    >>> pages_for(True), pages_for(False)
    (['report.html', 'report.json'], [])
    """
    if asked:
        check_can_be_made()
    return [PAGE, VALUES] if asked else []


def replace_report(
    pages: Sequence[str],
    out: Path,
    selector: OMVFS,
    reading: Reading,
    opened: Callable[..., Source],
) -> None:
    """Write the page of a run into the folder of its results; none of a run before stays there.

    Parameters
    ----------
    pages : sequence of str
        The files to write; none if there is to be no report.
    out : Path
        Folder, in which the other results are.
    selector : OMVFS
    reading : Reading
        What was read.
    opened : callable
        Opens it anew.
    """
    remove_stale(out)
    if not pages:
        return
    examples = None
    if reading.names_rows:
        with opened(reading, selector.schema_) as source:
            first = next(chunks_of(source, reading.inputs, _LOOKED_AT))
        examples = examples_of(first, selector)
    selector.report(examples=examples, run=run_of(out / MODEL, selector)).save(out / PAGE)


class PageOnTheWay:
    """Writes the page of a run at its checkpoints; a listener of the run, and a context.

    Pages take a tenth of the run's time at most. The page loads itself again until it is replaced
    by that of the finished run, or, if the run stops or fails, by one that does not.

    Parameters
    ----------
    path : Path or None
        None to write nothing.
    """

    _SHARE = 0.1

    def __init__(self, path: Path | None) -> None:
        self._path, self._selector = path, None
        self._began, self._spent, self._open = time.monotonic(), 0.0, False

    def __call__(self, status: Status) -> None:
        now = time.monotonic()
        due = self._spent <= self._SHARE * (now - self._began)
        if self._path is None or not status.saved or status.selector is None or not due:
            return
        self._selector, self._open = status.selector, True
        self._write("running")
        self._spent += time.monotonic() - now

    def done(self) -> None:
        """Take note that the page of the finished run is there."""
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._open:
            with contextlib.suppress(Exception):
                self._write("stopped")

    def _write(self, state: str) -> None:
        assert self._path is not None
        report_on(self._selector, 0, state=state).save(self._path)


def examples_of(chunk: Chunk, selector: OMVFS) -> dict[int, list[dict[str, Any]]]:
    """Return rows by their clusters: their numbers, their keys, and columns that go along.

    Parameters
    ----------
    chunk : Chunk
    selector : OMVFS
    """
    found: dict[int, list[dict[str, Any]]] = {}
    for i, k in enumerate(selector.predict(chunk.views).tolist()):
        own: dict[str, Any] = {"row": chunk.start + i}
        if chunk.keys is not None:
            own["key"] = chunk.keys[i]
        own |= {name: column[i] for name, column in chunk.kept.items()}
        found.setdefault(k, []).append(own)
    return found


def remove_stale(out: Path) -> None:
    """Remove the page of a run before, which is not on the results that are there now.

    Parameters
    ----------
    out : Path
        Folder, in which the results are.
    """
    page = out / PAGE
    if page.is_file() and TITLE.encode() in page.read_bytes()[:_MOST_BYTES]:
        page.unlink()
        (out / VALUES).unlink(missing_ok=True)


def run_of(model: Path, selector: OMVFS) -> dict[str, Any]:
    """Return how a model was made, as run.json beside it tells, if that is on the same run.

    Parameters
    ----------
    model : Path
        Its file.
    selector : OMVFS
        What is in it.
    """
    with model.open("rb") as file:
        about = {"model": model.name, "SHA-256": hashlib.file_digest(file, "sha256").hexdigest()}
    try:
        beside = model.parent / "run.json"
        told = json.loads(beside.read_bytes()) if beside.stat().st_size < _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return about
    if not isinstance(told, Mapping) or not _is_of(told, selector):
        return {**about, "run.json": "the one beside the model is of another run: not shown"}
    return {**{_TOLD[name]: told[name] for name in _TOLD if name in told}, **about}


def _is_of(told: Mapping[str, Any], selector: OMVFS) -> bool:
    params = json.loads(json.dumps(selector.get_params(), default=repr))
    then = told.get("parameters")
    if told.get("rows") != selector.n_samples_seen_ or not isinstance(then, Mapping):
        return False
    return all(then.get(name) == params[name] for name in params if name not in _ASKED_ANEW)


def command_of(context: typer.Context) -> str:
    """Return a command as it was typed, without secrets, and without what is of one run only.

    Where its results go, and that it went on, is: the results are the same.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    """
    words, options = [], []
    for each in context.command.params:
        source = context.get_parameter_source(str(each.name))
        if source is None or source.name != "COMMANDLINE" or each.name in _OF_ONE_RUN:
            continue
        given = context.params[str(each.name)]
        if each.param_type_name == "argument":
            words += [shlex.quote(without_secrets(str(one))) for one in given]
        elif given is True:
            options.append(each.opts[-1])
        else:
            several = given if isinstance(given, list | tuple) else [given]
            options += [f"{each.opts[0]} {_word(one)}" for one in several]
    return " ".join(["omvfs", str(context.info_name), *words, *options])


def _word(given: Any) -> str:
    return typed(without_secrets(given) if isinstance(given, str) else given)
