"""The commands, each a few lines over the library."""

import os
import select as polling
import sys
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from omvfs import OMVFS, __version__
from omvfs.cli._about import COLUMNS, figures, remarks
from omvfs.cli._checks import check_free, check_key, check_out, check_parameters, local
from omvfs.cli._config import (
    DEFAULTS,
    number_or_auto,
    parameter,
    parameters_of,
    read_config,
)
from omvfs.cli._messages import (
    discreet,
    of_anything,
    of_missing,
    of_system,
    say,
    shown,
    told,
)
from omvfs.cli._output import Bar, verdict, write_results
from omvfs.cli._rows import as_they_came, chunks_of, no_rows, selected, write_rows
from omvfs.cli._signals import Interrupted, Stop
from omvfs.data.schema import Schema
from omvfs.disk import BusyError, locked, settle, sweep
from omvfs.formats import Joined, Source, open_source
from omvfs.persistence import checkpoint
from omvfs.pipeline.loop import run
from omvfs.selectors.settings import NegativeMode

FAILED, USAGE, BAD_DATA, BAD_FILE, INTERRUPTED = 1, 2, 3, 4, 130
# Older versions of typer use click, newer ones have their own copy of it.
_ClickError: Any = typer.BadParameter.__bases__[0].__bases__[0]

app = typer.Typer(
    name="omvfs",
    help="Pick the informative features of unlabelled multi-view data, in one pass.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


_Inputs = Annotated[
    list[str],
    typer.Argument(
        help="A folder of view_<number>_<name>.npz/.npy, files, view=FILE, or - for standard input."
    ),
]
_Key = Annotated[
    str | None, typer.Option(help="Column by which files are aligned; all are sorted by it.")
]
_Out = Annotated[
    Path,
    typer.Option(
        "-o",
        "--out",
        parser=local,
        metavar="PATH",
        help="Folder, or a file whose ending tells the format.",
    ),
]
_Views = Annotated[list[str] | None, typer.Option("--view", help="Read this view only; repeat.")]
_Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave this column out, such as a label; repeat."),
]


@app.callback(invoke_without_command=True)
def omvfs(
    version: Annotated[bool, typer.Option("--version", help="Tell the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Pick the informative features of unlabelled multi-view data, in one pass."""
    if version:
        typer.echo(f"omvfs {__version__}")
        raise typer.Exit


@app.command()
def select(
    context: typer.Context,
    inputs: _Inputs,
    clusters: Annotated[
        int, parameter("n_clusters", "-k", "--clusters", help="Consensus clusters.")
    ] = DEFAULTS["n_clusters"],
    features: Annotated[
        Any,
        parameter(
            "n_features_per_view",
            "-n",
            "--features",
            parser=number_or_auto,
            metavar="N|auto",
            help="Features per view; auto for as many as are enough.",
        ),
    ] = DEFAULTS["n_features_per_view"],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", parser=local, metavar="PATH", help="Folder of the results."),
    ] = Path("out"),
    batch_size: Annotated[int, parameter("batch_size", help="Rows of a chunk.")] = DEFAULTS[
        "batch_size"
    ],
    prepare: Annotated[
        list[str] | None,
        typer.Option(help="l2, log1p, tfidf or scale, or VIEW:STEP; repeat, in order."),
    ] = None,
    negative: Annotated[
        str,
        parameter(
            "negative",
            metavar=f"[{'|'.join(get_args(NegativeMode))}]",
            autocompletion=lambda: get_args(NegativeMode),
            help="What to do with negative values.",
        ),
    ] = DEFAULTS["negative"],
    forgetting: Annotated[
        float, parameter("forgetting", help="What a chunk leaves of all before it.")
    ] = DEFAULTS["forgetting"],
    recency: Annotated[
        float,
        parameter(
            "recency",
            help="Share of the places that the most recent rows have if they differ; 0 for none.",
        ),
    ] = DEFAULTS["recency"],
    view: _Views = None,
    key: _Key = None,
    drop: _Drop = None,
    # Not by default another ranking in every run.
    seed: Annotated[int, parameter("random_state", help="Seed of every random choice.")] = 0,
    checkpoint_every: Annotated[int, typer.Option(min=1, help="Chunks between checkpoints.")] = 50,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew where a run before has left results.")
    ] = False,
    write_data: Annotated[
        bool, typer.Option("--write-data", help="Write the selected features of all rows too.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            callback=read_config, is_eager=True, help="TOML file of these options; they win."
        ),
    ] = None,
) -> None:
    """Rank the features of every view."""
    selector = OMVFS(**parameters_of(context))
    check_parameters(selector, prepare or ())
    check_key(inputs, key)
    if resume and overwrite:
        raise typer.BadParameter("--resume goes on, --overwrite begins anew: give one of them.")
    check_out(out, inputs, write_data)
    with locked(out):
        check_free(out, resume, overwrite)
        settle(out)
        sweep(out / "data")
        model = out / "model.omvfs"
        if resume and checkpoint.kept(model) == checkpoint.previous(model):
            say(f"There is no {model}; going on from the one before it, {model}.1.", err=True)
        opened = _opened(inputs, view, key, drop)
        with opened as source, Stop() as stop, Bar(Console(stderr=True), source) as bar:
            result = run(
                source,
                selector,
                prepare=tuple(prepare or ()),
                save_to=model,
                save_every=checkpoint_every,
                resume=resume,
                listeners=(bar,),
                should_stop=stop,
            )
        began = hasattr(result.selector, "schema_")
        if not result.finished:
            kept = (
                f"the checkpoint is in {out}. Go on with --resume."
                if began
                else "nothing was read."
            )
            say(f"Stopped; {kept}", err=True)
            raise typer.Exit(stop.code)
        if not began:
            raise no_rows(inputs)
        write_results(out, result, inputs)
        if write_data:
            _write_selected(result.selector, inputs, out / "data", view, key, drop)
    if isinstance(opened, Joined) and opened.n_left_out:
        say(f"{opened.n_left_out:,} rows left out: not all files have their keys.", err=True)
    say(f"{result.selector.n_samples_seen_:,} rows; ranking in {out / 'ranking.csv'}")
    if sentence := verdict(result.selector):
        say(sentence)


@app.command()
def info(
    inputs: _Inputs,
    view: _Views = None,
    key: _Key = None,
    drop: _Drop = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows to look at.")] = 10_000,
) -> None:
    """Tell views, shapes, sparsity, and what is wrong with the data."""
    check_key(inputs, key)
    with _opened(inputs, view, key, drop) as source:
        total = source.n_rows
        views = next(chunks_of(source, inputs, rows)).views
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
    for sentence in remarks(views):
        say(sentence)


@app.command()
def transform(
    model: Annotated[Path, typer.Argument(help="model.omvfs of a run.")],
    inputs: _Inputs,
    out: _Out,
    features: Annotated[
        Any,
        parameter(
            "n_features_per_view",
            "-n",
            parser=number_or_auto,
            metavar="N|auto",
            help="Features per view.",
        ),
    ] = None,
    view: _Views = None,
    key: _Key = None,
    drop: _Drop = None,
) -> None:
    """Write the selected features of every view, in the format they come in."""
    check_key(inputs, key)
    selector = OMVFS.load(model)
    if features is not None:
        selector.set_params(n_features_per_view=features)
    n_rows = _write_selected(selector, inputs, out, view, key, drop)
    say(f"{n_rows:,} rows; selected features in {out}")


@app.command()
def convert(
    inputs: _Inputs,
    out: _Out,
    view: _Views = None,
    key: _Key = None,
    drop: _Drop = None,
) -> None:
    """Write data in another format: by default a folder of a file a view, which is read fastest."""
    check_key(inputs, key)
    with _opened(inputs, view, key, drop) as source:
        n_rows = write_rows(chunks_of(source, inputs), {out: source.schema.names}, key)
    say(f"{n_rows:,} rows in {out}")


@app.command()
def demo() -> None:
    """Run the main job on data that needs no download."""
    from omvfs.demo import main

    main()


@app.command()
def experiment(
    names: Annotated[
        list[str], typer.Argument(help="Experiments, or all; `omvfs experiment list` names them.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="PATH", help="Folder of tables and figures.")
    ] = Path("experiments"),
    data: Annotated[
        Path | None, typer.Option(help="Folder with a folder a set; twins without it.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write all sections as one page too.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Little effort, for a look.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Forget what was done before.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Reproduce the paper's tables and figures; interrupted, it continues."""
    from omvfs.cli._experiments import run_experiments

    run_experiments(names, out, data, page, quick, again, jobs)


def _opened(
    inputs: list[str],
    view: list[str] | None,
    key: str | None,
    drop: list[str] | None,
    schema: Schema | None = None,
) -> Source:
    return open_source(*inputs, views=view, key=key, drop=tuple(drop or ()), schema=schema)


def _write_selected(
    selector: OMVFS,
    inputs: list[str],
    out: Path,
    view: list[str] | None,
    key: str | None,
    drop: list[str] | None,
) -> int:
    with _opened(inputs, view, key, drop, selector.schema_) as source:
        targets = as_they_came(source, inputs, out)
        return write_rows(chunks_of(source, inputs), targets, key, selected(selector))


def run_app(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors are one sentence on stderr.

    Parameters
    ----------
    arguments : list of str
        Among them, anywhere, ``--debug`` to show where an error comes from.
    """
    debug = "--debug" in arguments

    def failed(sentence: str, code: int) -> int:
        return told(sentence, code, arguments, debug)

    try:
        given = [each for each in arguments if each != "--debug"]
        code: Any = app(given, standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except typer.Exit as done:
        return done.exit_code
    except _ClickError as error:
        if isinstance(error.message, str):
            error.message = shown(discreet(error.message, arguments))
        error.show()
        return int(error.exit_code)
    except Interrupted as end:
        return failed("Interrupted.", end.code)
    except (typer.Abort, KeyboardInterrupt):
        return failed("Interrupted.", INTERRUPTED)
    except ImportError as error:
        return failed(of_missing(error), USAGE)
    except (SystemExit, BrokenPipeError) as end:
        # Typer exits when a pipe breaks, be it that of the output, whose reader has enough.
        broken = end if isinstance(end, BrokenPipeError) else end.__context__
        if not isinstance(broken, BrokenPipeError):
            raise
        return 0 if _has_no_reader() else failed(of_system(broken), BAD_FILE)
    except BusyError as error:
        return failed(str(error), FAILED)
    except OSError as error:
        return failed(of_system(error), BAD_FILE)
    except (ValueError, TypeError) as error:
        return failed(str(error), BAD_DATA)
    except Exception as error:  # what nobody thought of is a sentence too
        return failed(of_anything(error), FAILED)


def _has_no_reader() -> bool:
    """Tell whether nobody reads the output any more; if so, let nothing more be said of it."""
    out = sys.__stdout__
    assert out is not None
    if hasattr(polling, "poll"):
        poll = polling.poll()
        poll.register(out, 0)
        if not poll.poll(0):
            return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    return True
