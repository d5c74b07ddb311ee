"""The commands over models that are there: merge them, rank by one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from omvfs import OMVFS
from omvfs.cli._checks import check_writable, destination, leaving_no_folder
from omvfs.cli._config import check_one_size, resized
from omvfs.cli._messages import say
from omvfs.cli._options import RUNS, Features, Overwrite, ResultsOut, Total
from omvfs.cli._output import WRITTEN, write_results
from omvfs.cli._report import remove_stale
from omvfs.cli._summary import summarise
from omvfs.disk import locked, settle, sweep
from omvfs.formats.files import Destination
from omvfs.parts import merge_files
from omvfs.pipeline import Result


def merge(
    context: typer.Context,
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL", help="Files model.omvfs of runs of select over parts."),
    ],
    out: Annotated[
        Any,
        typer.Option(
            "-o",
            "--out",
            parser=destination,
            metavar="FILE",
            help="For the merged model, here or at an address.",
        ),
    ],
    order: Annotated[
        bool,
        typer.Option("--order", help="The parts follow each other in time, as they are given."),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", rich_help_panel=RUNS, help="Replace a file that is there."),
    ] = False,
) -> None:
    """Merge what was learned from parts of the data, each by itself.

    The merged model is one of all rows, the same in whatever order the parts are given.
    """
    to: Destination = context.with_resource(Destination(out))
    here = to.here
    if here.is_dir():
        raise typer.BadParameter(f"{to} is a folder; expected a file, as {to / 'all.omvfs'}.")
    given: set[Path] = set()
    for model in models:
        if model.resolve() in given:
            raise typer.BadParameter(f"{model} is given twice: its rows would count twice.")
        given.add(model.resolve())
    if here.resolve() in given:
        raise typer.BadParameter(f"{to} is one of the parts: take another file for -o.")
    if not overwrite:
        to.check_free()
        if here.exists():
            raise typer.BadParameter(f"{to} is there already: take another file, or --overwrite.")
    with leaving_no_folder(here.parent):
        check_writable(here.parent)
        to.check_writable()
        with locked(here):
            sweep(here)
            merged = merge_files(models, order)
            merged.save(here)
        to.publish()
    parts = f"{len(models):,} part{'s' if len(models) > 1 else ''}"
    say(f"{parts}, {merged.n_samples_seen_:,} rows; merged in {to}")


def rank(
    context: typer.Context,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The file model.omvfs of a run, or merged.")
    ],
    features: Features = None,
    total: Total = None,
    out: ResultsOut = Path("out"),
    overwrite: Overwrite = False,
) -> None:
    """Write the ranking of a model, as a run does at its end.

    Without -n or --total, as many features are selected as the run was asked for.
    """
    check_one_size(context)
    selector = resized(OMVFS.load(model), features, total)
    to: Destination = context.with_resource(Destination(out))
    here = to.here
    with leaving_no_folder(here):
        check_writable(here, str(to))
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
    summarise(selector, chosen, to, (), asked_clusters=True, wrote_data=False)
