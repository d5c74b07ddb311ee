"""The commands, each a few lines over the library."""

import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from omvfs import OMVFS, __version__
from omvfs._schema import listed
from omvfs.cli._about import COLUMNS, figures, remarks
from omvfs.cli._config import PARAMETERS, read_config
from omvfs.cli._output import Bar, Stop, selected, write_results, write_rows
from omvfs.run import run
from omvfs.sources import Joined, SourceError, open_source, open_writer

BAD_DATA, BAD_FILE, INTERRUPTED = 3, 4, 130
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
    Path, typer.Option("-o", "--out", help="Folder, or a file whose ending tells the format.")
]
_Views = Annotated[list[str] | None, typer.Option("--view", help="Read this view only; repeat.")]


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
    clusters: Annotated[int, typer.Option("-k", "--clusters", help="Consensus clusters.")] = 8,
    features: Annotated[int, typer.Option("-n", "--features", help="Features per view.")] = 100,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the results.")] = Path("out"),
    batch_size: Annotated[int, typer.Option(help="Rows of a chunk.")] = 200,
    prepare: Annotated[
        list[str] | None,
        typer.Option(help="l2, log1p, tfidf or scale, or VIEW:STEP; repeat, in order."),
    ] = None,
    negative: Annotated[str, typer.Option(help="error, clip or shift negative values.")] = "error",
    forgetting: Annotated[float, typer.Option(help="What a chunk leaves of all before it.")] = 1.0,
    view: _Views = None,
    key: _Key = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    checkpoint_every: Annotated[int, typer.Option(help="Chunks between checkpoints.")] = 50,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
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
    selector = OMVFS(
        clusters,
        n_features_to_select=features,
        batch_size=batch_size,
        negative=negative,  # type: ignore[arg-type] # checked when learning begins
        forgetting=forgetting,
        random_state=seed,
    )
    selector.set_params(**context.meta.get(PARAMETERS, {}))
    if write_data and "-" in inputs:
        raise typer.BadParameter("--write-data reads the rows again, which standard input cannot.")
    console = Console(stderr=True)
    opened = open_source(*inputs, views=view, key=key)
    with opened as source, Stop() as stop, Bar(console, source) as bar:
        result = run(
            source,
            selector,
            prepare=tuple(prepare or ()),
            save_to=out / "model.omvfs",
            save_every=checkpoint_every,
            resume=resume,
            listeners=(bar,),
            should_stop=stop,
        )
    if not result.finished:
        console.print(f"Stopped; the checkpoint is in {out}. Go on with --resume.", soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    write_results(out, result, inputs)
    if write_data:
        with open_source(*inputs, views=view, key=key) as source:
            write_rows(source, inputs, out / "data", selected(result.selector))
    if isinstance(opened, Joined) and opened.n_left_out:
        console.print(f"{opened.n_left_out:,} rows left out: not all files have their keys.")
    typer.echo(f"{result.selector.n_rows_seen_:,} rows; ranking in {out / 'ranking.csv'}")


@app.command()
def info(
    inputs: _Inputs,
    view: _Views = None,
    key: _Key = None,
    rows: Annotated[int, typer.Option(help="Rows to look at.")] = 10_000,
) -> None:
    """Tell views, shapes, sparsity, and what is wrong with the data."""
    with open_source(*inputs, views=view, key=key) as source:
        total = source.n_rows
        chunk = next(iter(source.chunks(rows)), None)
    if chunk is None:
        raise SourceError(f"There are no rows in {listed(inputs)}.")
    table = Table(*COLUMNS)
    for line in figures(chunk.views):
        table.add_row(*line)
    Console().print(table)
    known = "unknown" if total is None else f"{total:,}"
    typer.echo(f"{known} rows; figures of the first {len(chunk.views):,}.")
    for sentence in remarks(chunk.views):
        typer.echo(sentence)


@app.command()
def transform(
    model: Annotated[Path, typer.Argument(help="model.omvfs of a run.")],
    inputs: _Inputs,
    out: _Out,
    features: Annotated[int | None, typer.Option("-n", help="Features per view.")] = None,
    view: _Views = None,
    key: _Key = None,
) -> None:
    """Write the selected features of every view, in the format they come in."""
    selector = OMVFS.load(model)
    if features is not None:
        selector.set_params(n_features_to_select=features)
    with open_source(*inputs, views=view, key=key) as source:
        n_rows = write_rows(source, inputs, out, selected(selector))
    typer.echo(f"{n_rows:,} rows; selected features in {out}")


@app.command()
def convert(
    inputs: _Inputs,
    out: _Out,
    view: _Views = None,
    key: _Key = None,
) -> None:
    """Write data in another format: by default a folder of a file a view, which is read fastest."""
    n_rows = 0
    with open_source(*inputs, views=view, key=key) as source, open_writer(out) as writer:
        for chunk in source.chunks(1000):
            writer.append(chunk.views)
            n_rows += len(chunk.views)
    typer.echo(f"{n_rows:,} rows in {out}")


@app.command()
def demo() -> None:
    """Run the main job on data that needs no download."""
    from omvfs.demo import main

    main()


def run_app(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors are one sentence on stderr.

    Parameters
    ----------
    arguments : list of str
    """
    debug = "--debug" in arguments
    try:
        code: Any = app(arguments, standalone_mode=False)
        return int(code or 0)
    except typer.Exit as done:
        return done.exit_code
    except _ClickError as error:
        error.show()
        return int(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _told("Interrupted.", INTERRUPTED, debug)
    except OSError as error:
        return _told(str(error), BAD_FILE, debug)
    except (ValueError, TypeError) as error:
        return _told(str(error), BAD_DATA, debug)


def _told(sentence: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    sys.stderr.write(f"omvfs: {' '.join(sentence.split())}\n")
    return code
