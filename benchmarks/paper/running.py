"""Do the tasks of an experiment that are not done yet, and write what came out."""

import csv
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from joblib import Parallel, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import omvfs
from omvfs.disk import replacing_text
from paper.base import Experiment, Place, Row, Task
from paper.store import Store

# Rooms of the package that learn, select and judge, with all that is in them.
_ROOMS = "data", "model", "baselines", "evaluation"


def rows_of(
    experiment: Experiment,
    place: Place,
    store: Path,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Row]:
    """Return the rows of an experiment: those in the store, and those that are missing there.

    Parameters
    ----------
    experiment : Experiment
    place : Place
    store : Path
        Folder that takes every result as it comes: an interrupted experiment goes on. Results of
        other code are kept, and can be told, see `older_results`.
    n_jobs : int, optional
        Processes, as for scikit-learn; an experiment that measures time has one.
    on_progress : callable
        ``on_progress(done, total)`` is called at the beginning and after each task.
    """
    tasks = list(experiment.tasks(place))
    code = version_of_code()
    found: dict[int, list[Row]] = {}
    with Store(store_file(experiment, place, store)) as known:
        for i, task in enumerate(tasks):
            result = known.get(task.what)
            if result is not None:
                found[i] = result["rows"]
        on_progress(len(found), len(tasks))
        missing = [delayed(_done)(i, task, place) for i, task in enumerate(tasks) if i not in found]
        jobs = 1 if experiment.timed else n_jobs
        for i, rows in Parallel(jobs, return_as="generator_unordered")(missing):
            known.add(tasks[i].what, {"rows": rows, "code": code})
            found[i] = rows
            on_progress(len(found), len(tasks))
    return [{**tasks[i].what, **row} for i in range(len(tasks)) for row in found[i]]


def older_results(experiment: Experiment, place: Place, store: Path) -> int:
    """Return how many results in the store are of other code than today's."""
    code = version_of_code()
    with Store(store_file(experiment, place, store)) as known:
        results = [known.get(task.what) for task in experiment.tasks(place)]
    return sum(each is not None and each.get("code") != code for each in results)


def version_of_code(rooms: Sequence[str] = _ROOMS) -> str:
    """Return a short mark of the code, by default of all that learns, selects and judges.

    Parameters
    ----------
    rooms : sequence of str
        Folders of the package; what lies beside them counts too.
    """
    found = hashlib.sha256()
    for path in files_of(rooms):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def files_of(rooms: Sequence[str], home: Path = Path(omvfs.__file__).parent) -> list[Path]:
    """Return the modules of some folders, however deep, and those beside them."""
    inside = (sorted(home.glob(f"{room}/**/*.py")) for room in rooms)
    return [*sorted(home.glob("*.py")), *(path for paths in inside for path in paths)]


def store_file(experiment: Experiment, place: Place, store: Path) -> Path:
    """Return the file of an experiment's results in a store; quick ones have their own."""
    return store / f"{experiment.name}{'-quick' if place.quick else ''}.jsonl"


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows as a tidy table: one a line, a column a key."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with replacing_text(path) as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _shown(value) for key, value in row.items()})


def _shown(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _done(i: int, task: Task, place: Place) -> tuple[int, list[Row]]:
    with threadpool_limits(1):
        return i, task.do(place, **task.what)
