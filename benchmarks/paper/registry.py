"""All experiments by name, and where their results go."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from omvfs.disk import replacing_text
from paper.base import Experiment, Place
from paper.drift import Drift
from paper.figures import save
from paper.jmvfg import Jmvfg
from paper.large import Large
from paper.page import page, section, sections_of
from paper.parameters import Parameters
from paper.running import older_results, rows_of, write_csv
from paper.runtime import Runtime
from paper.small import Small
from paper.tables import DataSets, Methods
from paper.why import Why

# In the order of the paper, then what is beside it.
EXPERIMENTS: dict[str, Experiment] = {
    each.name: each
    for each in (
        DataSets(),
        Methods(),
        Small(),
        Large(),
        Runtime(),
        Drift(),
        Parameters(),
        Why(),
        Jmvfg(),
    )
}

INTRODUCTION = """\
Made by `make experiments`: every table and figure of the paper's evaluation, and some beside them,
on the data at hand. Where a section does not say otherwise, rows have unit norm in each view and
negative values are set to 0. K is the number of classes. Rows behind the figures are in `results/`
as CSV, a file an experiment.
"""


def write_experiment(
    name: str,
    place: Place,
    out: Path,
    store: Path,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Run an experiment, and write its rows, figures and section into a folder.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    place : Place
    out : Path
        Folder of ``<name>.csv``, ``<name>-<figure>.svg`` and ``<name>.md``.
    store : Path
        Folder of results as they come, see `rows_of`.
    n_jobs, on_progress
        As for `rows_of`.

    Returns
    -------
    Path
        The section.
    """
    experiment = EXPERIMENTS[name]
    rows = rows_of(experiment, place, store, n_jobs, on_progress)
    out.mkdir(parents=True, exist_ok=True)
    write_csv(rows, out / f"{name}.csv")
    figures = {f"{name}-{title}.svg": each for title, each in experiment.figures(rows).items()}
    for file, figure in figures.items():
        save(figure, out / file)
    path = out / f"{name}.md"
    text = section(experiment, rows, list(figures), place.quick)
    if older := older_results(experiment, place, store):
        text += f"\n{older} of its results are of an earlier version of the code.\n"
    with replacing_text(path) as written:
        written.write(text)
    return path


def write_page(out: Path, path: Path, names: Sequence[str] = tuple(EXPERIMENTS)) -> None:
    """Put the sections of experiments in a folder on one page.

    Parameters
    ----------
    out : Path
        Folder of the sections.
    path : Path
        The page. What it has already of experiments without a section in the folder, it keeps.
    names : sequence of str
        Which, in this order; those without any section are left out.
    """
    folder = Path(os.path.relpath(out, path.parent)).as_posix()
    known = sections_of(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in names:
        if (file := out / f"{name}.md").exists():
            text = file.read_text(encoding="utf-8")
            known[name] = text.replace("](" + name, f"]({folder}/{name}")
    shown = [known[name] for name in names if name in known]
    with replacing_text(path) as written:
        written.write(page(shown, INTRODUCTION))
