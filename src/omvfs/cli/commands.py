"""The commands, each a few lines over the library."""

import contextlib
import logging
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omvfs.cli import options as opt
from omvfs.cli.errors import Stop, discreet, ended, said_of, say, saying_what_is_logged
from omvfs.cli.options import Grouped, Reading, destination, is_given, parameters_of, table_of
from omvfs.cli.output import (
    COLUMNS,
    COLUMNS_OF_TABLE,
    MODEL,
    PAGE,
    RESULTS,
    VALUES,
    WRITTEN,
    Bar,
    PageOnTheWay,
    StatusFile,
    as_they_came,
    chunks_of,
    command_of,
    figures,
    figures_of_columns,
    leaving_no_folder,
    list_selected,
    named,
    no_rows,
    remarked,
    remarks,
    remove_stale,
    run_of,
    show_table,
    summarise,
    write_report,
    write_results,
    write_rows,
)

# Types only, and what a command that runs needs: `--help` is to be quick.
if TYPE_CHECKING:
    from omvfs import OMVFS
    from omvfs.data.schema import NewFeatures
    from omvfs.distributed.shards import Compute, FilePart, Kept
    from omvfs.formats import Source
    from omvfs.formats.files import Destination
    from omvfs.pipeline import Listener, Result

# Where finished parts of a run with workers are kept in the folder of the results.
PARTS = "parts"
# Seconds that a scheduler may take to answer.
_ANSWER = 10
# Bytes of data below which workers take longer to start than they save: of Parquet, 700 MB took
# 5.4 s without workers and 7.7 s with two, and 32 MB in 50 parts 2.1 s and 8.1 s.
SMALL = 1_000_000_000

app = typer.Typer(
    name="omvfs",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done, 1 failed, 2 wrong command or option, 3 data that cannot be used, "
    "4 a file that cannot be read or written, 130 and 143 stopped by Ctrl-C or SIGTERM.",
)


def run_app(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors are one sentence on stderr."""
    given = [each for each in arguments if each != "--debug"]
    with saying_what_is_logged():
        return ended(
            lambda: app(given, prog_name="omvfs", standalone_mode=False, obj=given), arguments
        )


@app.callback(invoke_without_command=True)
def omvfs(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the program an error comes from.")
    ] = False,
) -> None:
    """Pick the informative features of data without labels, in one pass.

    Data have views: several kinds of features of the same rows, such as the words and the pixels
    of web pages. Begin with: omvfs info DATA. Then: omvfs select DATA -k 20 -n 200 -o out.
    """
    if version:
        from omvfs import __version__

        typer.echo(f"omvfs {__version__}")
        raise typer.Exit


@app.command(cls=Grouped)
def info(
    context: typer.Context,
    inputs: opt.Inputs,
    rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Look at the first N rows only.")
    ] = 10_000,
    view: opt.View = None,
    views: opt.SplitBy = None,
    drop: opt.Drop = None,
    key: opt.Key = None,
    join: opt.Join = None,
    keep: opt.Keep = None,
    column: opt.Column = None,
    delimiter: opt.Delimiter = None,
    tokenize: opt.Tokenize = None,
    layer: opt.Layer = None,
) -> None:
    """Show what is in the data, and what is wrong with it."""
    from omvfs.data.read import mark_missing

    with _opened(Reading.of(context)) as source:
        total = source.n_rows
        found = mark_missing(next(chunks_of(source, inputs, rows)).views)
    if source.table is not None:
        show_table(figures_of_columns(source.table), ["column", *COLUMNS_OF_TABLE])
    show_table(figures(found), COLUMNS)
    known = "unknown" if total is None else f"{total:,}"
    say(f"{known} rows; figures of the first {len(found):,}.")
    for sentence in remarks(found):
        say(sentence)
    options = [part for each in column or () for part in ("--column", each)]
    options += [part for each in drop or () for part in ("--drop", each)]
    options += ["--views", views] if views else []
    options += ["--delimiter", delimiter] if delimiter else []
    say(f"Next: {shlex.join(['omvfs', 'select', *inputs, *options, '-o', 'out'])}")


@app.command(cls=Grouped)
def select(
    context: typer.Context,
    inputs: opt.Inputs,
    # Defaults are those of OMVFS, but for the seed: not by default another ranking in every run.
    clusters: opt.Clusters = 8,
    features: opt.Features = 100,
    total: opt.Total = None,
    out: opt.ResultsOut = Path("out"),
    prepare: opt.Prepare = ["auto"],  # noqa: B006
    write_data: opt.WriteData = False,
    with_report: opt.WithReport = False,
    view: opt.View = None,
    views: opt.SplitBy = None,
    drop: opt.Drop = None,
    key: opt.Key = None,
    join: opt.Join = None,
    keep: opt.Keep = None,
    column: opt.Column = None,
    delimiter: opt.Delimiter = None,
    tokenize: opt.Tokenize = None,
    vocabulary: opt.Vocabulary = None,
    layer: opt.Layer = None,
    criterion: opt.CriterionOf = "separation",
    sample_size: opt.SampleSize = 2000,
    batch_size: opt.BatchSize = 200,
    half_life: opt.HalfLife = None,
    detect_drift: opt.DetectDrift = False,
    seed: opt.Seed = 0,
    workers: opt.Workers = None,
    scheduler: opt.Scheduler = None,
    order: opt.Order = False,
    skip_damaged: opt.SkipDamaged = False,
    checkpoint_every: opt.CheckpointEvery = 50,
    resume: opt.Resume = False,
    overwrite: opt.Overwrite = False,
    listed: opt.Listed = False,
    status: opt.StatusPath = None,
    config: opt.Config = None,
) -> None:
    """Rank the features of every view, and select the best.

    Rows are read once, a few at a time, from data of any size. The folder of the results gets
    ranking.csv and ranking.json (all features by rank), run.json (how they were made) and
    model.omvfs (for omvfs transform, and to go on if it was stopped).
    """
    from omvfs.disk import locked, settle, sweep

    _check_one_size(context)
    selector, reading = _selector(context), Reading.of(context)
    pages = _pages_for(with_report)
    if resume and overwrite:
        raise typer.BadParameter("--resume goes on, --overwrite begins anew: give one of them.")
    to: Destination = context.with_resource(destination(out))
    out, many = to.here, _check_workers(context.params, reading, to)
    about: dict[str, Any] = {}
    with ExitStack() as stack:
        stack.enter_context(leaving_no_folder(out))
        _check_out(to, reading, write_data)
        stack.enter_context(locked(out))
        kept = None
        if many or (out / PARTS).exists():
            from omvfs.distributed import shards

            kept = shards.Kept(out / PARTS)
        _check_free(to, resume, overwrite, [PARTS, *pages] if kept else pages)
        if resume:
            _check_same_kind(to, kept, many)
        settle(out)
        sweep(out / "data")
        if resume:
            to.fetch(MODEL)
        elif kept is not None:
            kept.remove()
        stack.enter_context(_telling_of_checkpoint(to))
        told = stack.enter_context(_telling_end(StatusFile(status), inputs))
        page = stack.enter_context(PageOnTheWay(out / PAGE if pages else None))
        warned: list[str] = []
        if many:
            assert kept is not None
            result, about = _learned_by_workers(context, selector, reading, to, kept, told)
        else:
            with remarked() as warned:
                result = _learned_here(context, selector, reading, to, (told, page))
        result.selector.check_rows()
        told.enter("ranking")
        made = {"command": command_of(context.obj), "reading": reading.asked, **about}
        chosen = write_results(out, result, inputs, made)
        if write_data or with_report:
            told.enter("writing")
        if write_data:
            _write_selected(result.selector, reading, out / "data")
        if pages or resume or overwrite:
            remove_stale(out)
        if pages:
            write_report(out, result.selector, reading)
        to.publish(*RESULTS, *pages, "data")
        if kept is not None:
            kept.remove()
        page.done()
        told.enter("finished")
    for each in about.get("damaged", ()):
        say(f"Left out {each['part']}: {each['why']}", err=True)
    asked = is_given(context, "clusters")
    with redirect_stdout(sys.stderr) if listed else nullcontext():
        summarise(result.selector, chosen, to, warned, asked_clusters=asked, wrote_data=write_data)
        if with_report:
            say(f"Report: {to / PAGE}")
    if listed:
        list_selected([result.selector])


@app.command(cls=Grouped)
def transform(
    context: typer.Context,
    model: opt.Model,
    inputs: opt.Inputs,
    out: opt.Out,
    features: opt.Features = None,
    total: opt.Total = None,
    view: opt.View = None,
    views: opt.SplitBy = None,
    drop: opt.Drop = None,
    key: opt.Key = None,
    join: opt.Join = None,
    keep: opt.Keep = None,
    delimiter: opt.Delimiter = None,
    tokenize: opt.Tokenize = None,
    layer: opt.Layer = None,
) -> None:
    """Write rows with the selected features only.

    The rows may be others than those of the run. Files keep their format, unless -o is a file with
    the ending of another. Values are written as they came, gaps filled, or prepared by
    the steps that the run was asked for. Without -n or --total, as many features are written as
    the run selected.
    """
    reading = Reading.of(context)
    _check_key(reading)
    selector = _loaded(context, model)
    to = _free(context, out)
    n_rows = _write_selected(selector, reading, to.here)
    to.publish()
    say(f"{n_rows:,} rows; selected features in {to}")


@app.command(cls=Grouped)
def merge(
    context: typer.Context,
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL", help="Files model.omvfs of runs of select over parts."),
    ],
    out: opt.MergedOut,
    order: Annotated[
        bool,
        typer.Option("--order", help="The parts follow each other in time, as they are given."),
    ] = False,
    overwrite: opt.Overwrite = False,
) -> None:
    """Merge what was learned from parts of the data, each by itself.

    The merged model is one of all rows, the same in whatever order the parts are given.
    """
    from omvfs.disk import locked, sweep
    from omvfs.parts import merge_files

    to: Destination = context.with_resource(destination(out))
    here = to.here
    given: set[Path] = set()
    for model in models:
        if model.resolve() in given:
            raise typer.BadParameter(f"{model} is given twice: its rows would count twice.")
        given.add(model.resolve())
    if here.resolve() in given:
        raise typer.BadParameter(f"{to} is one of the parts: take another file for -o.")
    _check_file(to, "all.omvfs", overwrite)
    with leaving_no_folder(here.parent):
        _check_writable(here.parent)
        to.check_writable()
        with locked(here):
            sweep(here)
            merged = merge_files(models, order)
            merged.save(here)
        to.publish()
    parts = f"{len(models):,} part{'s' if len(models) > 1 else ''}"
    say(f"{parts}, {merged.n_samples_seen_:,} rows; merged in {to}")


@app.command(cls=Grouped)
def rank(
    context: typer.Context,
    model: opt.Model,
    features: opt.Features = None,
    total: opt.Total = None,
    out: opt.ResultsOut = Path("out"),
    overwrite: opt.Overwrite = False,
    listed: opt.Listed = False,
) -> None:
    """Write the ranking of a model, as a run does at its end.

    Without -n or --total, as many features are selected as the run was asked for.
    """
    from omvfs.disk import locked, settle
    from omvfs.pipeline import Result

    selector = _loaded(context, model)
    to: Destination = context.with_resource(destination(out))
    here = to.here
    with leaving_no_folder(here):
        _check_writable(here, str(to))
        to.check_writable()
        with locked(here):
            there = next((to / name for name in WRITTEN if to.has(name)), None)
            if there is not None and not overwrite:
                raise typer.BadParameter(
                    f"{there} is there already: take another folder for -o, or --overwrite."
                )
            settle(here)
            chosen = write_results(here, Result(selector, finished=True), [str(model)])
            if overwrite:
                remove_stale(here)
            to.publish(*WRITTEN)
    with redirect_stdout(sys.stderr) if listed else nullcontext():
        summarise(selector, chosen, to)
    if listed:
        list_selected([selector])


@app.command("list", cls=Grouped)
def list_features(
    context: typer.Context,
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL", help="Files model.omvfs of runs, or merged.")
    ],
    features: opt.Features = None,
    total: opt.Total = None,
    at_least: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Features that so many models select are enough."),
    ] = None,
) -> None:
    """Print the names of the selected features.

    Of several models, such as one a plate, these are the features that all of them select. How
    many of each view they are is said on standard error. A model selects as many features as its
    run was asked for, or as -n or --total say.
    """
    if at_least is not None and at_least > len(models):
        raise typer.BadParameter(
            f"Got {at_least}; expected at most {len(models)}, the number of models.",
            param_hint="--at-least",
        )
    list_selected([_loaded(context, model) for model in models], at_least)


@app.command(cls=Grouped)
def report(
    context: typer.Context,
    model: opt.Model,
    out: opt.PageOut = PAGE,
    features: opt.Features = None,
    total: opt.Total = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Write a page on what a model has learned.

    It tells of clusters and features, why they are, and how far to trust them, in one file that
    needs nothing else. Without -n or --total, as many features are selected as the run was asked
    for.
    """
    from omvfs.disk import locked, replacing_text, sweep

    _pages_for(True)
    page, values = (context.with_resource(each) for each in out)
    for each in (page, values):
        _check_file(each, PAGE, overwrite)
    selector = _loaded(context, model)
    with leaving_no_folder(page.here.parent):
        _check_writable(page.here.parent, str(page))
        page.check_writable()
        with locked(page.here):
            sweep(page.here)
            run = run_of(model, selector)
            found = selector.report(named(run.get("read", ())), run=run)
            for each, text in ((page, found.html()), (values, found.json())):
                with replacing_text(each.here) as file:
                    file.write(text)
                each.publish()
    say(f"{selector.n_samples_seen_:,} rows; report in {page}")


@app.command(cls=Grouped)
def convert(
    context: typer.Context,
    inputs: opt.Inputs,
    out: opt.Out,
    view: opt.View = None,
    views: opt.SplitBy = None,
    drop: opt.Drop = None,
    key: opt.Key = None,
    join: opt.Join = None,
    keep: opt.Keep = None,
    delimiter: opt.Delimiter = None,
    tokenize: opt.Tokenize = None,
    layer: opt.Layer = None,
) -> None:
    """Write data in another format.

    Where -o has no ending, it is a folder with a file for each view, which is read fastest.
    """
    reading = Reading.of(context)
    _check_key(reading)
    to = _free(context, out)
    with _opened(reading) as source:
        n_rows = write_rows(source, inputs, {to.here: source.schema.names}, key)
    to.publish()
    say(f"{n_rows:,} rows in {to}")


@app.command()
def demo() -> None:
    """See it at work, on data that need no download."""
    from omvfs.demo import main

    main()


# What commands share


def _learned_here(
    context: typer.Context,
    selector: "OMVFS",
    reading: Reading,
    to: "Destination",
    listeners: Sequence["Listener"],
) -> "Result":
    """Return what was learned from all rows, one after another, in this process."""
    from omvfs import codec
    from omvfs.formats import Joined
    from omvfs.pipeline import run

    given, model = context.params, to.here / MODEL
    if given["resume"] and codec.kept(model) == codec.previous(model):
        there = to / MODEL
        say(f"There is no {there}; going on from the one before it, {there}.1.", err=True)
    wanted: NewFeatures = table_of(context).get("new_features", "grow")
    opened = _opened(reading, new_features=wanted)
    if opened.grows:
        # Words that the rows bring later are learned too, those of a longer file among them.
        selector.set_params(new_features=wanted)
    with opened as source, Stop() as stop, Bar(source.n_rows) as bar:
        result = run(
            source,
            selector,
            save_to=model,
            save_every=given["checkpoint_every"],
            resume=given["resume"],
            listeners=(bar, *listeners, lambda status: to.publish(MODEL) if status.saved else None),
            should_stop=stop,
        )
    to.publish(MODEL)
    began = hasattr(result.selector, "schema_")
    if not result.finished:
        kept = f"the checkpoint is in {to}. Go on with --resume." if began else "nothing was read."
        say(f"Stopped; {kept}", err=True)
        raise typer.Exit(stop.code)
    if not began:
        raise no_rows(given["inputs"])
    if isinstance(opened, Joined) and opened.n_left_out:
        say(f"{opened.n_left_out:,} rows left out: not all files have their keys.", err=True)
    return result


def _opened(reading: Reading, **how: Any) -> "Source":
    """Open what is to be read, and say so if files are taken for parts of one table."""
    from omvfs.formats import Appended, SideBySide

    _check_key(reading)
    source = reading.opened(**how)
    parts = list(source.parts.values()) if isinstance(source, SideBySide) else []
    if parts and len(parts) < len(reading.inputs) and isinstance(parts[0], Appended):
        say(
            f"{len(reading.inputs):,} files of the same columns: their rows are read one after "
            "another. Name files that are views side by side: view=FILE.",
            err=True,
        )
    return source


def _write_selected(selector: "OMVFS", reading: Reading, out: Path) -> int:
    with _opened(reading, schema=selector.schema_, columns=selector._known.table) as source:
        targets = as_they_came(source, reading.inputs, out)
        return write_rows(source, reading.inputs, targets, reading.key, selector)


def _selector(context: typer.Context) -> "OMVFS":
    """Return the selector that the options ask for; refuse what no data make sense of."""
    from omvfs import OMVFS
    from omvfs.constraints import check_all

    params = parameters_of(context)
    try:
        selector = OMVFS(**params)
        # Which views there are is not known yet.
        check_all(selector.get_params())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return selector


def _loaded(context: typer.Context, model: Path) -> Any:
    """Return a model that selects as many features as are asked for anew, if any are."""
    from omvfs import OMVFS

    _check_one_size(context)
    features, total = context.params["features"], context.params["total"]
    selector: Any = OMVFS.load(model)
    own = selector.get_params()
    if total is not None and "n_features_to_select" not in own:
        raise typer.BadParameter(
            f"--total is not for a model of {type(selector).__name__}: give -n instead."
        )
    if total is not None:
        selector.set_params(n_features_to_select=total)
    elif features is not None:
        selector.set_params(n_features_per_view=features)
        if "n_features_to_select" in own:
            selector.set_params(n_features_to_select=None)
    return selector


def _free(context: typer.Context, out: Any) -> "Destination":
    """Return where to write, while a command runs; if not here, it can be written, and is free."""
    to: Destination = context.with_resource(destination(out))
    to.check_free()
    to.check_writable()
    return to


def _pages_for(asked: bool) -> list[str]:
    """Return the files that a report takes, none if none is asked for; see that it can be made."""
    if not asked:
        return []
    from omvfs.report import check_can_be_made

    check_can_be_made()
    return [PAGE, VALUES]


# What can be told to be wrong with a command before anything is read


def _check_file(to: "Destination", example: str, overwrite: bool) -> None:
    if to.here.is_dir():
        raise typer.BadParameter(f"{to} is a folder; expected a file, as {to / example}.")
    if not overwrite:
        to.check_free()
        if to.here.exists():
            raise typer.BadParameter(f"{to} is there already: take another file, or --overwrite.")


def _check_one_size(context: typer.Context) -> None:
    if is_given(context, "features") and is_given(context, "total"):
        raise typer.BadParameter(
            "-n is of each view, --total of all views together: give one of them."
        )


def _check_key(reading: Reading) -> None:
    """Refuse a key for a folder of a file a view, which has none."""
    folders = [each for each in reading.inputs if reading.key is not None and Path(each).is_dir()]
    if not folders:
        return
    from omvfs.formats.opening import read_input

    if any(read_input(each).folder is not None for each in folders):
        raise typer.BadParameter("--key is for files; the views of a folder are aligned by row.")


def _check_out(out: "Destination", reading: Reading, write_data: bool) -> None:
    """Make the folder of the results, and see that all of them can be written."""
    _check_key(reading)
    if write_data and reading.from_stdin:
        raise typer.BadParameter("--write-data reads the rows again, which standard input cannot.")
    data = out.here / "data"
    # What a killed write may have left begins with a dot.
    there = data.is_dir() and any(not each.name.startswith(".") for each in data.iterdir())
    if write_data and (there or data.is_file() or (out.remote and out.has("data"))):
        raise typer.BadParameter(
            f"{out / 'data'} is there already: remove it for --write-data, or take another folder "
            "for -o."
        )
    _check_writable(out.here, str(out))
    out.check_writable()


def _check_writable(folder: Path, name: str = "") -> None:
    """Make a folder, which errors call by its name, and see that files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"Results cannot be written to {name or folder}: {error.strerror}."
        ) from error


def _check_free(out: "Destination", resume: bool, overwrite: bool, also: Sequence[str]) -> None:
    """Refuse to write over what a run before has left, unless told to."""
    there = next((name for name in (*RESULTS, f"{MODEL}.1", *also) if out.has(name)), None)
    if there is not None and not resume and not overwrite:
        raise typer.BadParameter(
            f"{out / there} is of a run before: go on with --resume, begin anew with --overwrite, "
            "or take another folder for -o."
        )


@contextmanager
def _telling_of_checkpoint(out: "Destination") -> Iterator[None]:
    """If the block fails, have the error tell of the checkpoint that it has left."""
    model = out.here / MODEL
    before = _stamp(model)
    try:
        yield
    except BaseException as error:
        if _stamp(model) not in (None, before):
            with contextlib.suppress(Exception):
                out.publish(MODEL)
            if out.has(MODEL):
                error.add_note(f"What was learned so far is in {out / MODEL}: go on with --resume.")
        raise


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what tells whether a file was written anew; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def _telling_end(told: StatusFile, inputs: Sequence[str]) -> Iterator[StatusFile]:
    """Have the status file tell how the run ends, if it does not finish."""
    try:
        yield told
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, typer.Exit):
            told.enter("failed", discreet(said_of(error)[0], inputs))
        else:
            told.enter("stopped")
        raise


# Many files at a time: workers of this machine, or of a cluster that is there


def _check_workers(given: Mapping[str, Any], reading: Reading, out: "Destination") -> bool:
    """Tell whether workers were asked for, and refuse what they cannot do."""
    if given["workers"] is None and given["scheduler"] is None:
        for name in ("skip_damaged", "order"):
            if given[name]:
                option = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(f"{option} is for --workers or --scheduler: give one.")
        return False
    if given["workers"] is not None and given["scheduler"] is not None:
        raise typer.BadParameter(
            "--workers starts some on this machine, --scheduler has its own: give one of them."
        )
    if reading.from_stdin:
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


def _check_same_kind(out: "Destination", kept: "Kept | None", workers: bool) -> None:
    """Refuse to go on with a run of the other kind."""
    if not workers and kept:
        raise typer.BadParameter(
            f"{out / PARTS} is of a run with workers: go on with --workers or --scheduler, or "
            "begin anew with --overwrite."
        )
    if workers and not kept and _is_begun(out.here / MODEL):
        raise typer.BadParameter(
            f"{out / MODEL} is of a run without workers: go on without --workers, or begin anew "
            "with --overwrite."
        )


def _is_begun(model: Path) -> bool:
    """Tell whether a model is the checkpoint of a run without workers."""
    from omvfs import codec

    try:
        _, meta = codec.read(model)
    except (OSError, ValueError):
        return False
    extra = meta.get("extra") if isinstance(meta, dict) else None
    return isinstance(extra, dict) and isinstance(extra.get("cursor"), dict)


def _learned_by_workers(
    context: typer.Context,
    selector: "OMVFS",
    reading: Reading,
    out: "Destination",
    kept: "Kept",
    told: StatusFile,
) -> tuple["Result", dict[str, Any]]:
    """Return what was learned of all parts, and what is to be told of them."""
    from omvfs.distributed.shards import parts_of, run_parts
    from omvfs.pipeline import Result

    given = context.params
    parts = parts_of(reading.inputs, reading.options())
    with (
        Stop() as stop,
        _quietly(),
        _computing(given["workers"], given["scheduler"], parts) as compute,
        _telling_of_parts(kept, out),
        Bar(len(parts), "parts") as bar,
    ):

        def listener(done: int, total: int) -> None:
            bar.parts(done, total)
            told.parts(done, total)

        found = run_parts(
            compute,
            selector,
            parts,
            kept,
            order=given["order"],
            skip_damaged=given["skip_damaged"],
            listener=listener,
            should_stop=stop,
        )
    if not found.finished:
        there = f"finished parts are in {out / PARTS}. Go on with --resume."
        say(f"Stopped; {there if kept else 'nothing was read.'}", err=True)
        raise typer.Exit(stop.code)
    if found.selector is None:
        raise no_rows(reading.inputs)
    found.selector.save(out.here / MODEL)
    damaged = [
        {"part": name, "why": str(failure).removeprefix(f"{name}: ")}
        for name, failure in found.damaged.items()
    ]
    about = {"parts": found.n_parts, "damaged": damaged}
    return Result(found.selector, finished=True), about


@contextmanager
def _computing(
    workers: int | None, scheduler: str | None, parts: Sequence["FilePart"]
) -> Iterator["Compute"]:
    """Give what learns from parts: new workers of this machine, those of a scheduler, or this."""
    from omvfs.distributed import shards

    if scheduler is None:
        size = shards.size_of(parts)
        if size is not None and size < SMALL:
            say(
                f"The files have {size:,} bytes in all: this process reads them sooner than "
                f"workers start. Those are for {SMALL:,} bytes or more.",
                err=True,
            )
            yield shards.one_by_one
            return
    if len(parts) == 1:
        say("The data are one part: one worker reads them.", err=True)
    from distributed import Client
    from omvfs.distributed.dask import local_workers, on_cluster

    if scheduler is None:
        with local_workers(workers or 1, timeout=_ANSWER) as client:
            yield on_cluster(client)
        return
    try:
        client = Client(scheduler, timeout=_ANSWER)
    except (OSError, ValueError) as error:
        from omvfs.distributed.steps import ClusterError

        raise ClusterError(
            f"No scheduler answers at {scheduler}: is it there? It is started by: dask scheduler"
        ) from error
    with client:
        yield on_cluster(client)


@contextmanager
def _quietly() -> Iterator[None]:
    """Have what Dask logs left out: what matters is told by errors."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def _telling_of_parts(kept: "Kept", out: "Destination") -> Iterator[None]:
    """If the block fails, have the error tell of the parts that are finished."""
    try:
        yield
    except BaseException as error:
        if kept:
            error.add_note(f"Finished parts are in {out / PARTS}: go on with --resume.")
        raise
