"""The commands over models that are there: merge them, rank by one."""

from pathlib import Path
from typing import Annotated

import typer

from omvfs.cli._checks import check_writable, leaving_no_folder, local
from omvfs.cli._messages import say
from omvfs.cli._options import RUNS, Features, Overwrite, ResultsOut
from omvfs.cli._output import WRITTEN, write_results
from omvfs.cli._summary import summarise
from omvfs.disk import locked, settle, sweep
from omvfs.merging import merge_files, read
from omvfs.pipeline.loop import Result
from omvfs.pipeline.preparation import Preparation


def merge(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL", help="Files model.omvfs of runs of select over parts."),
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", parser=local, metavar="FILE", help="For the merged model."),
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
    if out.is_dir():
        raise typer.BadParameter(f"{out} is a folder; expected a file, as {out / 'all.omvfs'}.")
    given: set[Path] = set()
    for model in models:
        if model.resolve() in given:
            raise typer.BadParameter(f"{model} is given twice: its rows would count twice.")
        given.add(model.resolve())
    if out.resolve() in given:
        raise typer.BadParameter(f"{out} is one of the parts: take another file for -o.")
    if out.exists() and not overwrite:
        raise typer.BadParameter(f"{out} is there already: take another file, or --overwrite.")
    with leaving_no_folder(out.parent):
        check_writable(out.parent)
        with locked(out):
            sweep(out)
            merged, prepare = merge_files(models, order)
            merged.save(out, {"prepare": prepare})
    parts = f"{len(models):,} part{'s' if len(models) > 1 else ''}"
    say(f"{parts}, {merged.n_samples_seen_:,} rows; merged in {out}")


def rank(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The file model.omvfs of a run, or merged.")
    ],
    features: Features = None,
    out: ResultsOut = Path("out"),
    overwrite: Overwrite = False,
) -> None:
    """Write the ranking of a model, as a run does at its end.

    Without -n, as many features are selected as the run was asked for.
    """
    selector, prepare = read(model)
    if features is not None:
        selector.set_params(n_features_per_view=features)
    with leaving_no_folder(out):
        check_writable(out)
        with locked(out):
            there = next((out / name for name in WRITTEN if (out / name).exists()), None)
            if there is not None and not overwrite:
                raise typer.BadParameter(
                    f"{there} is there already: take another folder for -o, or --overwrite."
                )
            settle(out)
            result = Result(selector, Preparation(tuple(prepare or ())), True)
            chosen = write_results(out, result, [str(model)])
    summarise(selector, chosen, out, asked_clusters=True, wrote_data=False)
