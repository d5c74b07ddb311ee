"""What commands show and write: progress and results."""

import contextlib
import csv
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from omvfs import OMVFS, disk
from omvfs.disk import Staging
from omvfs.formats import Source
from omvfs.formats.files import without_secrets
from omvfs.model.settings import AUTO
from omvfs.persistence import pack_events
from omvfs.pipeline import Result, Status
from omvfs.report.summary import versions

# The files of `write_results`.
WRITTEN = ("ranking.csv", "ranking.json", "run.json")
# How what a spreadsheet would compute begins, and what keeps it from that.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")


class Bar:
    """Shows the progress of a run on a terminal, and nothing elsewhere.

    Parameters
    ----------
    console : Console
    source : Source
    """

    def __init__(self, console: Console, source: Source) -> None:
        text = TextColumn(
            "{task.completed:,} rows, {task.fields[rate]:,.0f} a second{task.fields[memory]}"
        )
        columns = BarColumn(), text, TimeRemainingColumn()
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=source.n_rows, rate=0.0, memory="")

    def __call__(self, status: Status) -> None:
        rate = status.n_new / max(status.seconds, 1e-9)
        self._progress.update(self._task, completed=status.n_rows, rate=rate, memory=_memory())

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()


class StatusFile:
    """Tells programs where a run stands, in a small JSON file that is replaced as it goes.

    Readers find a whole file at any moment. A file that cannot be written does not end the run.

    Parameters
    ----------
    path : Path or None
        None to write nothing.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "status.json"
    >>> StatusFile(path).enter("ranking")
    >>> json.loads(path.read_text())["state"]
    'ranking'
    """

    # Seconds between two writes, at least.
    EVERY = 0.5

    def __init__(self, path: Path | None) -> None:
        self.path, self._began, self._written = path, time.monotonic(), -math.inf
        self._told: dict[str, Any] = {"state": "reading", "unit": "rows", "done": 0, "total": None}
        self._write()

    def __call__(self, status: Status) -> None:
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
        seconds = round(time.monotonic() - self._began, 2)
        told = {"pid": os.getpid(), **self._told, "seconds": seconds, "memory": peak_memory()}
        with contextlib.suppress(OSError), disk.replacing_text(self.path) as file:
            json.dump(told, file)
        self._written = time.monotonic()


def write_results(
    out: Path, result: Result, inputs: Sequence[str], more: Mapping[str, Any] | None = None
) -> dict[str, list[str]]:
    """Write the ranking as CSV and JSON, and how it was made.

    Parameters
    ----------
    out : Path
        Folder.
    result : Result
    inputs : sequence of str
        What was read.
    more : mapping of str to object, default=None
        What else is to be told of how it was made.

    Returns
    -------
    dict of str to list of str
        Names of the selected features by view, the best first.
    """
    selector = result.selector
    columns, chosen, rows = _ranked(selector)
    with Staging(out) as staging:
        with _text(staging.folder / "ranking.csv", newline="") as file:
            writer = csv.writer(_PlainEnds(file))
            writer.writerow(columns)
            writer.writerows(map(_for_spreadsheets, rows))
        with _text(staging.folder / "ranking.json") as file:
            # A feature a line, one by one: all of them together may be large. One encoder for all,
            # as json.dumps would make one for each.
            encode = json.JSONEncoder(ensure_ascii=False).encode
            told = (
                f'"n_clusters": {selector.n_clusters_},\n ' if selector.n_clusters == AUTO else ""
            )
            file.write(f'{{\n {told}"selected": {encode(chosen)},\n "features": [\n  ')
            features = (encode(dict(zip(columns, row, strict=True))) for row in rows)
            file.write(next(features))
            file.writelines(f",\n  {feature}" for feature in features)
            file.write("\n ]\n}")
        with _text(staging.folder / "run.json") as file:
            json.dump(
                {**_about(result, inputs), **_clusters(selector), **(more or {})},
                file,
                indent=1,
                ensure_ascii=False,
            )
        staging.publish()
    return chosen


class _PlainEnds:
    r"""A file in which the rows of a CSV end as lines do.

    Not by ``lineterminator="\n"``: for some versions of Python a carriage return in a name would
    then need no quotes, and readers would take it for the end of a row.

    Parameters
    ----------
    file : file

    Examples
    --------
    >>> import io
    >>> csv.writer(_PlainEnds(text := io.StringIO())).writerow(["a", "b\r"])
    7
    >>> text.getvalue()
    'a,"b\r"\n'
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, row: str) -> int:
        return self._file.write(row.removesuffix("\r\n") + "\n")


def _about(result: Result, inputs: Sequence[str]) -> dict[str, Any]:
    """Return how a result was made."""
    selector = result.selector
    lost = selector.n_features_forgotten_
    return {
        "inputs": [without_secrets(each) for each in inputs],
        "rows": selector.n_samples_seen_,
        "parameters": selector.get_params(),
        **({"features_forgotten": lost} if any(lost.values()) else {}),
        **({"drift": pack_events(tuple(selector.drift_))} if selector.detect_drift else {}),
        "versions": versions(),
        "byte_order": sys.byteorder,
    }


def _clusters(selector: OMVFS) -> dict[str, Any]:
    """Return how many clusters the rows have told of, if that was left to them."""
    if selector.n_clusters != AUTO:
        return {}
    found: dict[str, Any] = {"n_clusters": selector.n_clusters_}
    if hasattr(selector, "n_clusters_curve_"):
        curve = selector.n_clusters_curve_
        found["n_clusters_curve"] = {
            "n_clusters": curve.n_clusters.tolist(),
            "criterion": curve.criterion.tolist(),
        }
    return found


def _text(path: Path, newline: str | None = None) -> IO[str]:
    """Open a file for text; what is none, such as half a surrogate pair, as JSON escapes it."""
    return path.open("w", newline=newline, encoding="utf-8", errors="backslashreplace")


def _for_spreadsheets(row: tuple[Any, ...]) -> list[Any]:
    """Return a row in which no name begins as a formula does.

    An apostrophe stands before such a name, and before one that begins with an apostrophe: taken
    off again, every name is what it was.

    Examples
    --------
    >>> _for_spreadsheets(("text", 1, "=1+1", "'tis", -0.5))
    ['text', 1, "'=1+1", "''tis", -0.5]
    """
    return [
        f"'{each}" if isinstance(each, str) and each.startswith(_FORMULA) else each for each in row
    ]


def _ranked(
    selector: OMVFS,
) -> tuple[list[str], dict[str, list[str]], list[tuple[Any, ...]]]:
    """Return columns, names of the selected features by view, and a row a feature."""
    table = selector.ranking_table()
    columns = [each.tolist() if isinstance(each, np.ndarray) else each for each in table.values()]
    chosen: dict[str, list[str]] = {view: [] for view in selector.schema_.names}
    for view, name, selected in zip(table["view"], table["name"], table["selected"], strict=True):
        if selected:
            chosen[view].append(name)
    return list(table), chosen, list(zip(*columns, strict=True))


def peak_memory() -> int | None:
    """Return the most bytes that this process has held, None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def _memory() -> str:
    """Return the most memory that the process has used, where the system tells."""
    peak = peak_memory()
    return "" if peak is None else f", {peak / 1e6:,.0f} MB"
