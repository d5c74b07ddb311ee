"""What commands show and write: progress, results, reports, rows, and what they say of them."""

import contextlib
import csv
import hashlib
import json
import math
import os
import shlex
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Self

import typer

from omvfs.cli.errors import say
from omvfs.cli.options import Reading

# Types only, and what a command that runs needs: `--help` is to be quick.
if TYPE_CHECKING:
    from omvfs import OMVFS
    from omvfs.data.table import Table
    from omvfs.data.views import Views
    from omvfs.formats import Chunk, Source, SourceError
    from omvfs.formats.files import Destination
    from omvfs.model.arrays import Block
    from omvfs.pipeline import Result, Status

# The files of `write_results`; the page of a report, and what it says for programs.
WRITTEN = ("ranking.csv", "ranking.json", "run.json")
PAGE, VALUES = "report.html", "report.json"
# What a run leaves in its folder: the checkpoint, and what it has come to.
MODEL = "model.omvfs"
RESULTS = (MODEL, *WRITTEN)
# Rows of a chunk that is written at once, if they are not too wide.
AT_ONCE = 1000
# Figures of a view, as `figures` returns them.
_COUNTED = "rows without it", "nonzero", "negative", "empty columns"
COLUMNS = ("view", "features", "named", "kind", *_COUNTED)
# How what a spreadsheet would compute begins, and what keeps it from that.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "'")
# Features of a view, views, letters of a name, and changes of the rows that are shown; the rest is
# in the files.
_FEATURES, _VIEWS, _LETTERS, _EVENTS = 10, 20, 40, 5
# Files that the title of a report names.
_NAMED = 4
# Rows that are read again for examples of clusters, and bytes that are told of a run at most.
_LOOKED_AT, _MOST_BYTES = 1000, 1 << 20
# Parameters that are asked anew of a model, and options that make no difference to the results.
_ASKED_ANEW = "n_features_per_view", "n_features_to_select"
_OF_ONE_RUN = "-o", "--out=", "--resume", "--overwrite", "--status="
# What is told of a run in its report, by the names of run.json.
_TOLD = {"command": "command", "inputs": "read", "versions": "learned with"}


# Progress


class Bar:
    """Shows the progress of a run on a terminal, and nothing elsewhere."""

    def __init__(self, total: int | None, unit: str = "rows") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        of_rows = "{task.completed:,} rows, {task.fields[rate]:,.0f} a second{task.fields[memory]}"
        of_parts = "{task.completed:,} of {task.total:,} parts"
        text = TextColumn(of_rows if unit == "rows" else of_parts)
        columns = BarColumn(), text, TimeRemainingColumn()
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=total, rate=0.0, memory="")

    def __call__(self, status: "Status") -> None:
        """Show where a run over rows stands."""
        rate, peak = status.n_new / max(status.seconds, 1e-9), peak_memory()
        memory = "" if peak is None else f", {peak / 1e6:,.0f} MB"
        self._progress.update(self._task, completed=status.n_rows, rate=rate, memory=memory)

    def parts(self, done: int, total: int) -> None:
        """Show how many parts are done."""
        self._progress.update(self._task, completed=done, total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()


class StatusFile:
    """Tells programs where a run stands, in a small JSON file that is replaced as it goes.

    Readers find a whole file at any moment. A file that cannot be written does not end the run.
    """

    # Seconds between two writes, at least.
    EVERY = 0.5

    def __init__(self, path: Path | None) -> None:
        self.path, self._began, self._written = path, time.monotonic(), -math.inf
        self._told: dict[str, Any] = {"state": "reading", "unit": "rows", "done": 0, "total": None}
        self._write()

    def __call__(self, status: "Status") -> None:
        """Take note of a chunk that was learned."""
        self._progress("rows", status.n_rows, status.total)

    def parts(self, done: int, total: int) -> None:
        """Take note of how many parts are learned, where workers learn from them."""
        self._progress("parts", done, total)

    def enter(self, state: str, message: str = "") -> None:
        """Tell at once what the run does now, or how it ended.

        Parameters
        ----------
        state : {"reading", "learning", "ranking", "writing", "finished", "stopped", "failed"}
        message : str, default=""
            Why it failed.
        """
        self._told.update(state=state, message=message)
        self._write()

    def _progress(self, unit: str, done: int, total: int | None) -> None:
        self._told.update(state="learning", unit=unit, done=done, total=total)
        if time.monotonic() >= self._written + self.EVERY:
            self._write()

    def _write(self) -> None:
        if self.path is None:
            return
        from omvfs.disk import replacing_text

        seconds = round(time.monotonic() - self._began, 2)
        told = {"pid": os.getpid(), **self._told, "seconds": seconds, "memory": peak_memory()}
        with contextlib.suppress(OSError), replacing_text(self.path) as file:
            json.dump(told, file)
        self._written = time.monotonic()


def peak_memory() -> int | None:
    """Return the most bytes that this process has held, None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


# Results


def write_results(
    out: Path, result: "Result", inputs: Sequence[str], more: Mapping[str, Any] | None = None
) -> dict[str, list[str]]:
    """Write the ranking as CSV and JSON, and how it was made, with what `more` tells of that.

    Returns the names of the selected features by view, the best first.
    """
    from omvfs.disk import Staging

    selector = result.selector
    columns, chosen, rows = _ranked(selector)
    with Staging(out) as staging:
        with _text(staging.folder / "ranking.csv", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(map(_for_spreadsheets, rows))
        with _text(staging.folder / "ranking.json") as file:
            # A feature a line. One encoder for all, as json.dumps would make one for each.
            encode = json.JSONEncoder(ensure_ascii=False).encode
            counted = selector.n_clusters == "auto"
            told = f'"n_clusters": {selector.n_clusters_},\n ' if counted else ""
            file.write(f'{{\n {told}"selected": {encode(chosen)},\n "features": [\n  ')
            file.write(",\n  ".join(encode(dict(zip(columns, row, strict=True))) for row in rows))
            file.write("\n ]\n}")
        with _text(staging.folder / "run.json") as file:
            about = {**_about(result, inputs), **(more or {})}
            json.dump(about, file, indent=1, ensure_ascii=False)
        staging.publish()
    return chosen


def _about(result: "Result", inputs: Sequence[str]) -> dict[str, Any]:
    """Return how a result was made."""
    from omvfs.formats.files import without_secrets
    from omvfs.report.summary import versions

    selector = result.selector
    about = {
        "inputs": [without_secrets(each) for each in inputs],
        "rows": selector.n_samples_seen_,
        "parameters": selector.get_params(),
        **({"drift": list(map(asdict, selector.drift_))} if selector.detect_drift else {}),
        "versions": versions(),
        "byte_order": sys.byteorder,
    }
    if selector.n_clusters == "auto":
        about["n_clusters"] = selector.n_clusters_
    return about


def _text(path: Path, newline: str | None = None) -> IO[str]:
    """Open a file for text; what is none, such as half a surrogate pair, as JSON escapes it."""
    return path.open("w", newline=newline, encoding="utf-8", errors="backslashreplace")


def _for_spreadsheets(row: tuple[Any, ...]) -> list[Any]:
    """Return a row of one line, in which no name begins as a formula does.

    An apostrophe stands before such a name, and before one that begins with an apostrophe: taken
    off again, every name is what it was, but for what is unseen, which is escaped.

    Examples
    --------
    >>> _for_spreadsheets(("text", 1, "=1+1", "'tis", -0.5))
    ['text', 1, "'=1+1", "''tis", -0.5]
    """
    from omvfs.data.schema import shown

    line = [shown(each) if isinstance(each, str) else each for each in row]
    return [
        f"'{each}" if isinstance(each, str) and each.startswith(_FORMULA) else each for each in line
    ]


def _ranked(
    selector: "OMVFS",
) -> tuple[list[str], dict[str, list[str]], list[tuple[Any, ...]]]:
    """Return columns, names of the selected features by view, and a row a feature."""
    table = selector.ranking_table()
    columns = [each.tolist() if hasattr(each, "tolist") else each for each in table.values()]
    chosen: dict[str, list[str]] = {view: [] for view in selector.schema_.names}
    for view, name, selected in zip(table["view"], table["name"], table["selected"], strict=True):
        if selected:
            chosen[view].append(name)
    return list(table), chosen, list(zip(*columns, strict=True))


def summarise(
    selector: "OMVFS",
    chosen: Mapping[str, Sequence[str]],
    out: "Destination",
    warned: Sequence[str] = (),
    *,
    asked_clusters: bool = True,
    wrote_data: bool = False,
) -> None:
    """Say what came of a run.

    Parameters
    ----------
    selector : OMVFS
    chosen : mapping of str to sequence of str
        Names of the selected features by view, the best first.
    out : Destination
        Folder of the results.
    warned : sequence of str, default=()
        Sentences on columns that are hardly features.
    asked_clusters : bool, default=True
        Whether the number of clusters was asked for.
    wrote_data : bool, default=False
        Whether the selected features of all rows were written too.
    """
    from omvfs.report.page import count
    from omvfs.report.summary import in_order, preparation
    from omvfs.results import cut

    default = "" if asked_clusters else " (the default: -k sets another number)"
    if selector.n_clusters == "auto":
        default = ", as the rows tell"
    n_rows, n_clusters = selector.n_samples_seen_, selector.n_clusters_
    say(f"{count(n_rows, 'row')} in {count(n_clusters, 'cluster')}{default}.")
    say("The best features of each view, the best first:")
    lines = []
    for view, known in zip(selector.schema_.names, selector.schema_.feature_names, strict=True):
        names = ", ".join(cut(name, _LETTERS) for name in chosen[view][:_FEATURES])
        lines.append(
            [f"  {cut(view, _LETTERS)}", names if known is not None else f"columns {names}"]
        )
    show_table(lines[:_VIEWS], between=": ")
    if len(chosen) > _VIEWS:
        say(f"and those of {len(chosen) - _VIEWS:,} more views.")
    steps = preparation(selector.prepared_)
    ordered = in_order(selector, selector._known)
    for sentence in (_changes(selector), ordered, steps, *warned):
        if sentence:
            say(sentence)
    if wrote_data:
        say(f"Selected features of all rows: {out / 'data'}")
    say(f"All features by rank, and why: {out / 'ranking.csv'}")
    for sentence in selector.verdict().sentences:
        say(sentence)


def list_selected(selectors: Sequence["OMVFS"], at_least: int | None = None) -> None:
    """Print the names of the features that all selectors select, or some; say how many there are.

    The order is that of the first selector. A name that occurs in several views follows its view.
    """
    from omvfs.data.schema import shown

    there: dict[str, dict[str, None]] = {}
    times: Counter[tuple[str, str]] = Counter()
    for each in selectors:
        for view, support in each.view_support_.items():
            there.setdefault(view, {}).update(dict.fromkeys(each.schema_.names_of(view)))
            times.update((view, name) for name in each.top_features(view, int(support.sum())))
    views_of = Counter(name for names in there.values() for name in names)
    needed = len(selectors) if at_least is None else at_least
    kept = [pair for pair, n in times.items() if n >= needed]
    for view, name in kept:
        typer.echo(shown(name if views_of[name] == 1 else f"{view}__{name}"))
    counted = Counter(view for view, _ in kept)
    for view, names in there.items():
        say(f"{view}: {counted[view] or 'none'} of {len(names):,} kept", err=True)


def _changes(selector: "OMVFS") -> str:
    """Tell in a line at which rows the stream has changed; nothing if nobody asked."""
    from omvfs.report.summary import KINDS

    if not selector.detect_drift:
        return ""
    events = selector.drift_
    if not events:
        return "The rows have not changed on the way, as far as they tell."
    told = ", ".join(f"{event.row:,} ({KINDS[event.kind]})" for event in events[:_EVENTS])
    more = f" and {len(events) - _EVENTS:,} more" if len(events) > _EVENTS else ""
    times = "once" if len(events) == 1 else f"{len(events):,} times"
    rows = "row" if len(events) == 1 else "rows"
    return f"The rows have changed {times}, noticed at {rows} {told}{more}; run.json tells more."


def show_table(
    lines: Sequence[Sequence[str]], head: Sequence[str] = (), between: str = "\t"
) -> None:
    """Show a table, in columns on a terminal and a plain line a row elsewhere."""
    from omvfs.data.schema import shown

    lines = [[shown(cell) for cell in line] for line in lines]
    if not sys.stdout.isatty():
        for line in [list(head), *lines] if head else lines:
            typer.echo(between.join(line))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table() if head else Table.grid(padding=(0, 0, 0, 2))
    for name in head:
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*(Text(cell, overflow="fold") for cell in line))
    Console().print(table)


# Figures of rows, and what is wrong with them


COLUMNS_OF_TABLE = ("kind", "missing", "different", "example", "becomes")


def figures_of_columns(table: "Table") -> list[list[str]]:
    """Return a line of text for every column of a table."""
    return [
        [own.name, own.kind, f"{own.missing:.1%}", f"{own.distinct:,}", own.example, own.becomes]
        for own in table.columns
    ]


def figures(views: "Views") -> list[list[str]]:
    """Return a line of text for every view, as `COLUMNS` says."""
    import numpy as np
    import scipy.sparse as sp

    return [
        [
            name,
            f"{X.shape[1]:,}",
            "no" if views.feature_names[name] is None else "yes",
            "sparse" if sp.issparse(X) else "dense",
            f"{np.count_nonzero(~views.has(name)):,}",
            f"{np.count_nonzero(_values(X)) / max(1, X.shape[0] * X.shape[1]):.2%}",
            f"{np.count_nonzero(_values(X) < 0):,}",
            f"{np.count_nonzero(np.asarray(abs(X).sum(axis=0)) == 0):,}",
        ]
        for name, X in views.blocks.items()
    ]


def remarks(views: "Views") -> list[str]:
    """Return sentences on what is wrong, each with its remedy."""
    import numpy as np

    from omvfs.data.read import find_suspects
    from omvfs.prepare import Preparation, auto_steps
    from omvfs.report.summary import preparation

    own = Preparation.of(auto_steps(views, "auto"), views.names)
    steps = dict(zip(views.names, own.steps, strict=True))
    found, sound = [], True
    for name, X in views.blocks.items():
        values = _values(X)
        gaps = np.count_nonzero(np.isnan(values)) if name in views.gaps else 0
        if gaps:
            found.append(f"View {name!r} lacks {gaps:,} numbers: each counts as the mean so far.")
        if strange := np.count_nonzero(~np.isfinite(values)) - gaps:
            sound = False
            found.append(
                f"View {name!r} has {strange:,} values that are missing or not finite: fill or "
                "drop them."
            )
        sums = np.asarray(abs(X).sum(axis=1)).ravel()
        if empty := np.count_nonzero((sums == 0) & views.has(name)):
            found.append(f"View {name!r} has {empty:,} empty rows, which say nothing.")
    if sound:
        found += map(str, find_suspects(own.without("l2").learn(views)[0], steps))
    return [*found, preparation(steps)]


@contextmanager
def remarked() -> Iterator[list[str]]:
    """Say what the library warns of as sentences, at once, and keep these to be said again."""
    from omvfs import SuspectColumnWarning

    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", SuspectColumnWarning)
        otherwise = warnings.showwarning

        def show(message: Warning | str, *about: Any, **more: Any) -> None:
            if not isinstance(message, SuspectColumnWarning):
                otherwise(message, *about, **more)
                return
            for each in message.suspects:
                said.append(str(each))
                say(said[-1], err=True)

        warnings.showwarning = show
        yield said


def _values(X: "Block") -> Any:
    """Return the values that a block holds: all of them, or, of a sparse one, those stored."""
    import numpy as np
    import scipy.sparse as sp

    return np.asarray(X.data if sp.issparse(X) else X)


# Rows on their way from a source to files


def no_rows(inputs: Sequence[str]) -> "SourceError":
    """Return the error of inputs that have no rows."""
    from omvfs.data.schema import listed
    from omvfs.formats import SourceError
    from omvfs.formats.files import without_secrets

    return SourceError(f"There are no rows in {listed(map(without_secrets, inputs))}.")


def chunks_of(source: "Source", inputs: Sequence[str], rows: int = AT_ONCE) -> Iterator["Chunk"]:
    """Yield chunks that fit into memory if they are dense, and refuse inputs that have none."""
    from omvfs.formats import files

    fit = files.MAX_CHUNK_BYTES // (16 * sum(source.schema.widths))
    empty = True
    for chunk in source.chunks(max(1, min(rows, fit))):
        empty = False
        yield chunk
    if empty:
        raise no_rows(inputs)


def write_rows(
    source: "Source",
    inputs: Sequence[str],
    targets: Mapping[Path, Sequence[str]],
    key: str | None,
    selector: "OMVFS | None" = None,
) -> int:
    """Write the rows of a source and count them; the files appear together.

    Targets tell which views go where; the ending is the format, and several are in one folder. The
    key is written too. With a selector, its selected features are written, else all.
    """
    from omvfs.data.schema import listed
    from omvfs.disk import Staging
    from omvfs.formats import SourceError, open_writer
    from omvfs.formats.files import File

    if source.kept and not any(File(path).format.keys for path in targets):
        raise SourceError(
            f"{listed(map(str, targets))} has no place for {listed(source.kept)} beside its views. "
            "Write a table or JSON Lines, or leave them out: --drop NAME."
        )
    kept = {} if key is None else {key: None}
    change = (lambda views: views) if selector is None else _selected(selector)
    support = {} if selector is None else selector.view_support_
    columns = {view: mask.nonzero()[0] for view, mask in support.items()}
    n_rows = 0
    first = next(iter(targets))
    with leaving_no_folder(first), ExitStack() as outer:
        staging = outer.enter_context(Staging(first.parent)) if len(targets) > 1 else None
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
    for path, names in targets.items():
        origins = (source.origin(each) for each in names)
        annotated = dict.fromkeys(origin.name for origin in origins if origin.annotated)
        if annotated and not File(path).format.layers:
            where, which = listed([str(path)]), listed(annotated)
            say(f"{where} has no place for obs, var and layers of {which}.", err=True)
    return n_rows


def as_they_came(source: "Source", inputs: Sequence[str], out: Path) -> dict[Path, Sequence[str]]:
    """Return where to write which views of a source, in the format they came in."""
    from omvfs.formats import SideBySide
    from omvfs.formats.opening import ROWS, Input, read_input

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


def _selected(selector: "OMVFS") -> Callable[["Views"], "Views"]:
    """Return what leaves the selected features of some rows, called by name or by number."""
    schema, support = selector.schema_, selector.view_support_
    described = zip(schema.names, schema.widths, schema.feature_names, strict=True)
    names = {
        view: [str(j if known is None else known[j]) for j in range(width) if support[view][j]]
        for view, width, known in described
    }
    return lambda views: views.replaced(selector.transform_views(views)).named(names)


@contextmanager
def leaving_no_folder(path: Path) -> Iterator[None]:
    """If the block fails, remove the empty folders that it has made on the way to `path`."""
    new = list(takewhile(lambda each: not each.exists(), (path, *path.parents)))
    try:
        yield
    except BaseException:
        for folder in new:
            # What is not empty stays, and so does what is around it.
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


# Reports


class PageOnTheWay:
    """Writes the page of a run at its checkpoints; a listener of the run, and a context.

    Pages take a tenth of the run's time at most. The page loads itself again until it is replaced
    by that of the finished run, or, if the run stops or fails, by one that does not.
    """

    _SHARE = 0.1

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._selector: OMVFS | None = None
        self._began, self._spent, self._open = time.monotonic(), 0.0, False

    def __call__(self, status: "Status") -> None:
        """Write the page if a checkpoint was just written, and it is not too soon."""
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
        from omvfs.report import report_on

        assert self._path is not None
        report_on(self._selector, state=state).save(self._path)


def write_report(out: Path, selector: "OMVFS", reading: Reading) -> None:
    """Write the page of a run into the folder of its results.

    Where rows have names, some are read again as examples of clusters.
    """
    examples: dict[int, list[dict[str, Any]]] | None = None
    if (reading.key or reading.keep) and not reading.from_stdin:
        with reading.opened(selector.schema_) as source:
            chunk = next(chunks_of(source, reading.inputs, _LOOKED_AT))
        examples = {}
        for i, k in enumerate(selector.predict(chunk.views).tolist()):
            own: dict[str, Any] = {"row": chunk.start + i}
            if chunk.keys is not None:
                own["key"] = chunk.keys[i]
            own |= {name: column[i] for name, column in chunk.kept.items()}
            examples.setdefault(k, []).append(own)
    name = named(reading.inputs)
    selector.report(name, examples=examples, run=run_of(out / MODEL, selector)).save(out / PAGE)


def named(inputs: Sequence[str]) -> str | None:
    """Return what data are called: by the files, without their folders; None if there are none.

    Examples
    --------
    >>> named(["data/tickets.csv"]), named(["text=a/text.npz", "image=a/image.npy"]), named(["-"])
    ('tickets', 'text, image', 'standard input')
    """
    from omvfs.formats.files import without_secrets

    if list(inputs) in ([], ["-"]):
        return "standard input" if inputs else None
    whole = [PurePosixPath(without_secrets(each).rpartition("=")[2]) for each in inputs]
    names = list(dict.fromkeys(each.name.split(".")[0] or str(each) for each in whole))
    return ", ".join(names) if len(names) <= _NAMED else f"{names[0]} and {len(names) - 1} more"


def remove_stale(out: Path) -> None:
    """Remove the page of a run before, which is not on the results that are there now."""
    from omvfs.report.page import TITLE

    page = out / PAGE
    if page.is_file() and TITLE.encode() in page.read_bytes()[:_MOST_BYTES]:
        page.unlink()
        (out / VALUES).unlink(missing_ok=True)


def run_of(model: Path, selector: "OMVFS") -> dict[str, Any]:
    """Return how a model was made, as run.json beside it tells, if that is on the same run."""
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


def _is_of(told: Mapping[str, Any], selector: "OMVFS") -> bool:
    params = json.loads(json.dumps(selector.get_params(), default=repr))
    then = told.get("parameters")
    if told.get("rows") != selector.n_samples_seen_ or not isinstance(then, Mapping):
        return False
    return all(then.get(name) == params[name] for name in params if name not in _ASKED_ANEW)


def command_of(arguments: Sequence[str]) -> str:
    """Return a command as it was typed, without secrets, and without what is of one run only.

    Where its results go, and that it went on, is: the results are the same.

    Examples
    --------
    >>> command_of(["select", "a b.csv", "-n", "5", "-o", "out", "--resume"])
    "omvfs select 'a b.csv' -n 5"
    """
    from omvfs.formats.files import without_secrets

    words, given = ["omvfs"], iter(arguments)
    for each in given:
        if each in ("-o", "--out", "--status"):
            next(given, None)
        elif not each.startswith(_OF_ONE_RUN):
            words.append(shlex.quote(without_secrets(each)))
    return " ".join(words)
