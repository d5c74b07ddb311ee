"""The commands, each a few lines over the library."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.main import get_command

from omvfs import OMVFS, persistence
from omvfs.cli._about import COLUMNS, figures, remarked, remarks
from omvfs.cli._checks import (
    MODEL,
    RESULTS,
    check_free,
    check_key,
    check_out,
    check_parameters,
    leaving_no_folder,
    telling_of_checkpoint,
)
from omvfs.cli._config import (
    DEFAULTS,
    check_one_size,
    is_given,
    options_of,
    parameters_of,
    resized,
    table_of,
)
from omvfs.cli._ending import ended, said_of
from omvfs.cli._front import new_app
from omvfs.cli._logged import saying_what_is_logged
from omvfs.cli._messages import discreet, say, shown
from omvfs.cli._models import merge, rank
from omvfs.cli._options import (
    BatchSize,
    CheckpointEvery,
    Clusters,
    Config,
    DetectDrift,
    Drop,
    Features,
    Grouped,
    HalfLife,
    Inputs,
    Join,
    Keep,
    Key,
    Layer,
    Negative,
    Order,
    Out,
    Overwrite,
    Prepare,
    Recency,
    ResultsOut,
    Resume,
    Scheduler,
    Seed,
    SkipDamaged,
    StatusPath,
    Tokenize,
    Total,
    View,
    Vocabulary,
    WithReport,
    Workers,
    WriteData,
)
from omvfs.cli._output import Bar, StatusFile, write_results
from omvfs.cli._reading import Reading, of_parts
from omvfs.cli._report import (
    PAGE,
    PageOnTheWay,
    command_of,
    pages_for,
    replace_report,
    report,
)
from omvfs.cli._rows import as_they_came, chunks_of, no_rows, write_rows
from omvfs.cli._signals import Stop
from omvfs.cli._summary import summarise
from omvfs.cli._wording import worded
from omvfs.cli._workers import (
    PARTS,
    check_same_kind,
    check_workers,
    kept_in,
    learned,
    tell_of_damaged,
)
from omvfs.data.read import mark_missing
from omvfs.data.schema import NewFeatures, Schema
from omvfs.disk import locked, settle, sweep
from omvfs.formats import Joined, Source, open_source
from omvfs.formats.files import Destination
from omvfs.pipeline import Listener, Result, run

app = new_app()


@app.command(cls=Grouped)
def info(
    context: typer.Context,
    inputs: Inputs,
    rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Look at the first N rows only.")
    ] = 10_000,
    view: View = None,
    drop: Drop = None,
    key: Key = None,
    join: Join = None,
    keep: Keep = None,
    tokenize: Tokenize = None,
    layer: Layer = None,
) -> None:
    """Show what is in the data, and what is wrong with it."""
    check_key(inputs, key)
    with _opened(Reading.of(context)) as source:
        total = source.n_rows
        views = mark_missing(next(chunks_of(source, inputs, rows)).views)
    lines = [[shown(cell) for cell in line] for line in figures(views)]
    if sys.stdout.isatty():
        table = Table()
        for name in COLUMNS:
            table.add_column(name, overflow="fold")
        for line in lines:
            table.add_row(*map(Text, line))
        Console().print(table)
    else:
        for line in (list(COLUMNS), *lines):
            typer.echo("\t".join(line))
    known = "unknown" if total is None else f"{total:,}"
    say(f"{known} rows; figures of the first {len(views):,}.")
    for sentence in remarks(views, inputs):
        say(sentence)


@app.command(cls=Grouped)
def select(
    context: typer.Context,
    inputs: Inputs,
    clusters: Clusters = DEFAULTS["n_clusters"],
    features: Features = DEFAULTS["n_features_per_view"],
    total: Total = DEFAULTS["n_features_to_select"],
    out: ResultsOut = Path("out"),
    prepare: Prepare = DEFAULTS["prepare"],
    negative: Negative = DEFAULTS["negative"],
    write_data: WriteData = False,
    with_report: WithReport = False,
    view: View = None,
    drop: Drop = None,
    key: Key = None,
    join: Join = None,
    keep: Keep = None,
    tokenize: Tokenize = None,
    vocabulary: Vocabulary = None,
    layer: Layer = None,
    batch_size: BatchSize = DEFAULTS["batch_size"],
    half_life: HalfLife = DEFAULTS["half_life"],
    recency: Recency = DEFAULTS["recency"],
    detect_drift: DetectDrift = DEFAULTS["detect_drift"],
    # Not by default another ranking in every run.
    seed: Seed = 0,
    workers: Workers = None,
    scheduler: Scheduler = None,
    order: Order = False,
    skip_damaged: SkipDamaged = False,
    checkpoint_every: CheckpointEvery = 50,
    resume: Resume = False,
    overwrite: Overwrite = False,
    status: StatusPath = None,
    config: Config = None,
) -> None:
    """Rank the features of every view, and select the best.

    Rows are read once, a few at a time, from data of any size. The folder of the results gets
    ranking.csv and ranking.json (all features by rank), run.json (how they were made) and
    model.omvfs (for omvfs transform, and to go on if it was stopped).
    """
    check_one_size(context)
    selector = OMVFS(**parameters_of(context))
    check_parameters(selector)
    check_key(inputs, key)
    pages = pages_for(with_report)
    if resume and overwrite:
        raise typer.BadParameter("--resume goes on, --overwrite begins anew: give one of them.")
    to: Destination = context.with_resource(Destination(out))
    out, many = to.here, check_workers(workers, scheduler, context.params, to)
    with ExitStack() as stack:
        stack.enter_context(leaving_no_folder(out))
        check_out(to, inputs, write_data)
        stack.enter_context(locked(out))
        kept = kept_in(to)
        check_free(to, resume, overwrite, [PARTS, *pages] if kept else pages)
        check_same_kind(to, many, resume)
        settle(out)
        sweep(out / "data")
        if resume:
            to.fetch(MODEL)
        else:
            kept.remove()
        stack.enter_context(telling_of_checkpoint(to))
        told = stack.enter_context(_telling_end(StatusFile(status), context))
        page = stack.enter_context(PageOnTheWay(out / PAGE if pages else None))
        warned: list[str] = []
        if many:
            result, about = learned(
                selector,
                Reading.of(context),
                to,
                workers,
                scheduler,
                order,
                skip_damaged,
                told,
            )
        else:
            with remarked(inputs) as warned:
                result, about = _learned_here(context, selector, to, (told, page)), {}
        told.enter("ranking")
        reading = Reading.of(context)
        made = {"command": command_of(context), "reading": reading.asked, **about}
        chosen = write_results(out, result, inputs, made)
        if write_data or with_report:
            told.enter("writing")
        if write_data:
            _write_selected(result.selector, reading, out / "data")
        if pages or resume or overwrite:
            replace_report(pages, out, result.selector, reading, _opened)
        to.publish(*RESULTS, *pages, "data")
        kept.remove()
        page.done()
        told.enter("finished")
    tell_of_damaged(about)
    asked = is_given(context, "clusters")
    summarise(result.selector, chosen, to, warned, asked_clusters=asked, wrote_data=write_data)
    if with_report:
        say(f"Report: {to / PAGE}")


@app.command(cls=Grouped)
def transform(
    context: typer.Context,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The file model.omvfs of a run of select.")
    ],
    inputs: Inputs,
    out: Out,
    features: Features = None,
    total: Total = None,
    view: View = None,
    drop: Drop = None,
    key: Key = None,
    join: Join = None,
    keep: Keep = None,
    tokenize: Tokenize = None,
    layer: Layer = None,
) -> None:
    """Write rows with the selected features only.

    The rows may be others than those of the run. Files keep their format, unless -o is a file with
    the ending of another. Values are written as they were prepared for the run. Without -n or
    --total, as many features are written as the run selected.
    """
    check_one_size(context)
    check_key(inputs, key)
    selector = resized(OMVFS.load(model), features, total)
    to = _free(context, out)
    n_rows = _write_selected(selector, Reading.of(context), to.here)
    to.publish()
    say(f"{n_rows:,} rows; selected features in {to}")


app.command(cls=Grouped)(merge)
app.command(cls=Grouped)(rank)
app.command(cls=Grouped)(report)


@app.command(cls=Grouped)
def convert(
    context: typer.Context,
    inputs: Inputs,
    out: Out,
    view: View = None,
    drop: Drop = None,
    key: Key = None,
    join: Join = None,
    keep: Keep = None,
    tokenize: Tokenize = None,
    layer: Layer = None,
) -> None:
    """Write data in another format.

    Where -o has no ending, it is a folder with a file for each view, which is read fastest.
    """
    check_key(inputs, key)
    to = _free(context, out)
    with _opened(Reading.of(context)) as source:
        n_rows = write_rows(source, inputs, {to.here: source.schema.names}, key)
    to.publish()
    say(f"{n_rows:,} rows in {to}")


@app.command()
def demo() -> None:
    """See it at work, on data that need no download."""
    from omvfs.demo import main

    main()


def _learned_here(
    context: typer.Context,
    selector: OMVFS,
    to: Destination,
    listeners: Sequence[Listener],
) -> Result:
    """Return what was learned from all rows, one after another, in this process."""
    given, model = context.params, to.here / MODEL
    if given["resume"] and persistence.kept(model) == persistence.previous(model):
        there = to / MODEL
        say(f"There is no {there}; going on from the one before it, {there}.1.", err=True)
    wanted: NewFeatures = table_of(context).get("new_features", "grow")
    opened = _opened(Reading.of(context), new_features=wanted)
    if opened.grows:
        # Words that the rows bring later are learned too, those of a longer file among them.
        selector.set_params(new_features=wanted)

    with opened as source, Stop() as stop, Bar(Console(stderr=True), source) as bar:
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


@contextmanager
def _telling_end(told: StatusFile, context: typer.Context) -> Iterator[StatusFile]:
    """Have the status file tell how the run ends, if it does not finish."""
    try:
        yield told
    except Exception as error:
        if isinstance(error, typer.Exit):
            told.enter("stopped")
        else:
            sentence = worded(said_of(error)[0], lambda: options_of(context.find_root().command))
            told.enter("failed", shown(discreet(sentence, context.params["inputs"])))
        raise
    except BaseException:
        told.enter("stopped")
        raise


def _opened(
    reading: Reading, schema: Schema | None = None, new_features: NewFeatures = "error"
) -> Source:
    source = open_source(*reading.inputs, **reading.options(schema, new_features))
    reading.check(source)
    if sentence := of_parts(reading.inputs, source):
        say(sentence, err=True)
    return source


def _free(context: typer.Context, out: Any) -> Destination:
    """Return where to write, while a command runs; if not here, it can be written, and is free."""
    to: Destination = context.with_resource(Destination(out))
    to.check_free()
    to.check_writable()
    return to


def _write_selected(selector: OMVFS, reading: Reading, out: Path) -> int:
    with _opened(reading, selector.schema_) as source:
        targets = as_they_came(source, reading.inputs, out)
        return write_rows(source, reading.inputs, targets, reading.key, selector)


def run_app(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors are one sentence on stderr.

    Parameters
    ----------
    arguments : list of str
        Among them, anywhere, ``--debug`` to show where an error comes from.
    """
    given = [each for each in arguments if each != "--debug"]

    def options() -> dict[str, str]:
        return options_of(get_command(app))

    with saying_what_is_logged(options):
        return ended(lambda: app(given, standalone_mode=False), arguments, options)
