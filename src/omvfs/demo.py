"""The main job on data that needs no download: ``python -m omvfs.demo``, or ``make demo``.

A planted stream, of which the features that matter are known, drawn while it is read; at the end a
report on it.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from omvfs import OMVFS
from omvfs.baselines import ColumnSum, Variance
from omvfs.datasets import PlantedStream, planted_stream
from omvfs.selector import rank


def main(n_rows: int = 50_000, page: Path | None = None) -> None:
    """Read the stream, print what came out, and write a report.

    Parameters
    ----------
    n_rows : int
        Rows of the planted stream.
    page : Path, default=None
        Where the report goes; by default to a temporary folder.
    """
    console = Console(highlight=False)
    # The products are small: on a busy machine threads wait for each other longer than they work.
    with threadpool_limits(1):
        selector = show_stream(console, n_rows)
        show_report(console, selector, page)
    console.rule("[bold]Your data")
    console.print("omvfs info DATA, then omvfs select DATA -k 10 -n 100 -o out; omvfs --help.")


def show_stream(console: Console, n_rows: int) -> OMVFS:
    """Select features over a planted stream, and tell how many of the planted ones were found."""
    console.rule("[bold]A stream whose truth is known")
    console.print(
        f"{n_rows:,} made-up pages on 10 topics, drawn as they are read, with two views: 20,000\n"
        "words and 5,000 tags. One word in 20 and one tag in 10 belongs to a topic and is called\n"
        "after it, such as sport_0017. The others are noise, and just as frequent. Which are\n"
        "which is for OMVFS to find out.\n"
    )
    stream = planted_stream(
        n_rows,
        n_features=(20_000, 5_000),
        n_informative=(1_000, 500),
        n_classes=10,
        row_length=(100, 50),
        view_names=("words", "tags"),
        random_state=0,
    )
    started = time.perf_counter()
    selectors = _read_stream(console, stream)
    seconds = time.perf_counter() - started
    console.print(f"\n[bold]{n_rows / seconds:,.0f} rows per second[/] ({seconds:.1f} s).\n")
    table = _table("Words and tags of topics found", "view", "of topics", *selectors)
    for view, truth in stream.informative.items():
        n = int(truth.sum())
        best = (np.argsort(rank(each.view_scores_[view]))[:n] for each in selectors.values())
        shares = (f"{truth[chosen].mean():.1%}" for chosen in best)
        table.add_row(view, f"{n:,} of {len(truth):,}", *shares)
    console.print(table)
    console.print(
        "How many of them a ranking has among its first 1,000 words and 500 tags. Column sum\n"
        "puts the most frequent first, variance those that vary most.\n"
    )
    selector: OMVFS = selectors["OMVFS"]
    views = selector.schema_.names
    table = _table("Best features by OMVFS", "rank", *views)
    tops = (selector.top_features(view, 10) for view in views)
    for place, features in enumerate(zip(*tops, strict=True), start=1):
        table.add_row(str(place), *features)
    console.print(table)
    return selector


def show_report(console: Console, selector: OMVFS, page: Path | None) -> None:
    """Write a report on the stream, and tell where it is."""
    console.rule("[bold]The report")
    if page is None:
        page = Path(tempfile.mkdtemp(prefix="omvfs-demo-")) / "report.html"
    try:
        selector.report("Words and tags").save(page)
    except ModuleNotFoundError as missing:
        console.print(str(missing), markup=False)
        return
    console.print("What was learned of the stream, to read and to look into, is in")
    console.print(str(page), markup=False, soft_wrap=True)


def _read_stream(console: Console, stream: PlantedStream) -> dict[str, Any]:
    selectors: dict[str, Any] = {
        "OMVFS": OMVFS(n_clusters=10, random_state=0),
        "column sum": ColumnSum(),
        "variance": Variance(),
    }
    text = TextColumn("{task.completed:,} rows, {task.fields[rate]:,.0f} a second")
    with Progress(BarColumn(), text, console=console) as progress:
        task = progress.add_task("", total=stream.n_rows, rate=0.0)
        started, done = time.perf_counter(), 0
        for batch in stream.batches():
            for selector in selectors.values():
                selector.partial_fit(batch)
            done += len(batch)
            progress.update(task, completed=done, rate=done / (time.perf_counter() - started))
    return selectors


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(first, title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in others:
        table.add_column(heading, justify="right")
    return table


if __name__ == "__main__":
    main(page=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
