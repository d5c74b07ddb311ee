"""The command that runs experiments."""

from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from omvfs.cli._messages import say
from omvfs.data.schema import listed
from omvfs.experiments import EXPERIMENTS, Place, store_file, write_experiment, write_page


def run_experiments(
    names: list[str],
    out: Path,
    data: Path | None,
    page: Path | None,
    quick: bool,
    again: bool,
    jobs: int,
) -> None:
    """Run experiments by name, and say where their results are."""
    if names == ["list"]:
        for name, each in EXPERIMENTS.items():
            typer.echo(f"{name:12s} {each.title}")
        return
    names = list(EXPERIMENTS) if names == ["all"] else names
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        raise typer.BadParameter(
            f"Got {listed(unknown)}; expected 'all', or some of {listed(EXPERIMENTS)}."
        )
    if data is not None and not data.is_dir():
        raise typer.BadParameter(f"There is no folder {data}; leave --data out to use twins.")
    store = out / "store"
    place = Place(data=data, quick=quick)
    if again:
        for name in names:
            store_file(EXPERIMENTS[name], place, store).unlink(missing_ok=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        for name in names:
            bar = progress.add_task(name, total=None)

            def show(done: int, total: int, bar: object = bar) -> None:
                progress.update(bar, completed=done, total=total)  # type: ignore[arg-type]

            path = write_experiment(name, place, out, store, jobs, show)
            say(f"{name}: {path}")
    if page is not None:
        write_page(out, page)
        say(f"page: {page}")
