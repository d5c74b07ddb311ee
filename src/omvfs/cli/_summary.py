"""What is said at the end of a run: the best features, what they are worth, where to find all."""

import sys
from collections.abc import Mapping, Sequence

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from omvfs import OMVFS
from omvfs.cli._messages import say, shown
from omvfs.formats.files import Destination
from omvfs.model.settings import AUTO
from omvfs.report.summary import KINDS, verdict

# Features of a view, views, and letters of a name that are shown; the rest is in the files.
MOST_FEATURES, MOST_VIEWS, MOST_LETTERS = 10, 20, 40
# Changes of the rows that are told in a line.
MOST_EVENTS = 5


def summarise(
    selector: OMVFS,
    chosen: Mapping[str, Sequence[str]],
    out: Destination,
    warned: Sequence[str],
    *,
    asked_clusters: bool,
    wrote_data: bool,
) -> None:
    """Say what came of a run.

    Parameters
    ----------
    selector : OMVFS
    chosen : mapping of str to sequence of str
        Names of the selected features by view, the best first.
    out : Destination
        Folder of the results.
    warned : sequence of str
        Sentences on columns that are hardly features.
    asked_clusters : bool
        Whether the number of clusters was asked for.
    wrote_data : bool
        Whether the selected features of all rows were written too.
    """
    default = "" if asked_clusters else " (the default: -k sets another number)"
    if selector.n_clusters == AUTO:
        default = ", as the rows tell"
    n_rows, n_clusters = selector.n_samples_seen_, selector.n_clusters_
    say(f"{_count(n_rows, 'row')} in {_count(n_clusters, 'cluster')}{default}.")
    say("The best features of each view, the best first:")
    _show(_lines(selector, chosen))
    if len(chosen) > MOST_VIEWS:
        say(f"and those of {len(chosen) - MOST_VIEWS:,} more views.")
    for sentence in (verdict(selector), changes(selector), *warned):
        if sentence:
            say(sentence)
    if wrote_data:
        say(f"Selected features of all rows: {out / 'data'}")
    say(f"All features by rank: {out / 'ranking.csv'}")


def changes(selector: OMVFS) -> str:
    """Tell in a line at which rows the stream has changed; nothing if nobody asked.

    Parameters
    ----------
    selector : OMVFS
    """
    if not selector.detect_drift:
        return ""
    events = selector.drift_
    if not events:
        return "The rows have not changed on the way, as far as they tell."
    told = ", ".join(f"{event.row:,} ({KINDS[event.kind]})" for event in events[:MOST_EVENTS])
    more = f" and {len(events) - MOST_EVENTS:,} more" if len(events) > MOST_EVENTS else ""
    times = "once" if len(events) == 1 else f"{len(events):,} times"
    rows = "row" if len(events) == 1 else "rows"
    return f"The rows have changed {times}, noticed at {rows} {told}{more}; run.json tells more."


def _lines(selector: OMVFS, chosen: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return the views and their best features, as a terminal may see them."""
    lines = []
    for view, known in zip(selector.schema_.names, selector.schema_.feature_names, strict=True):
        names = ", ".join(_brief(name) for name in chosen[view][:MOST_FEATURES])
        lines.append((_brief(view), names if known is not None else f"columns {names}"))
    return lines[:MOST_VIEWS]


def _show(lines: Sequence[tuple[str, str]]) -> None:
    """Show views and names, below each other on a terminal and a line each elsewhere."""
    if not sys.stdout.isatty():
        for view, names in lines:
            typer.echo(f"  {view}: {names}")
        return
    table = Table.grid(padding=(0, 0, 0, 2))
    for view, names in lines:
        table.add_row(Text(f"  {view}"), Text(names, overflow="fold"))
    Console().print(table)


def _brief(name: str) -> str:
    """Return a name as it is shown among others.

    Examples
    --------
    >>> _brief("w" * 50) == "w" * 39 + "…"
    True
    """
    name = name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
    return shown(name)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
