"""Pictures along the stream: what learning did, and how ranks came about."""

from typing import Any, Literal

import numpy as np

from omvfs.parameters import whole
from omvfs.plots.drawing import COLOURS, PLAIN, axes, count, labeller, legend

# Ranks that are drawn, over those that are named.
_BEYOND = 2
# Clusters are told apart by these, whatever colours one sees.
_MARKERS = "osv^DXP*"


def plot_stream(
    selector: Any, what: Literal["objective", "shares"] = "objective", n: int = 8, ax: Any = None
) -> Any:
    """Draw what happened along the stream: the objective a row, or the shares of clusters.

    Dashed lines are changes of the stream, if `detect_drift` is on; squares are chunks after which
    the reservoir was clustered anew. Shares are those of `ShareHistory`: of the rows that came
    since the point before, as they were placed when they came.

    Parameters
    ----------
    selector : fitted OMVFS
        Of whose chunks the last 10,000 are known.
    what : {"objective", "shares"}, default="objective"
    n : int, default=8
        Clusters at most, the largest.
    ax : matplotlib Axes, default=None
        To draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    n = whole("n", n, least=1)
    if what not in ("objective", "shares"):
        raise ValueError(f"Got what={what!r}; expected 'objective' or 'shares'.")
    events, ax = selector.drift_, axes(ax)
    first = _objective(selector, ax) if what == "objective" else _shares(selector, n, ax)
    for i, event in enumerate(each for each in events if each.row >= first):
        name = "_" if i else "the stream changed"
        ax.axvline(event.row, color=COLOURS[2], linestyle="--", linewidth=1.2, label=name)
        place = {"xycoords": ("data", "axes fraction"), "rotation": 90, "fontsize": "small"}
        offset = {"xytext": (3, -4), "textcoords": "offset points", "va": "top"}
        ax.annotate(event.kind, (event.row, 1), **place, **offset, **PLAIN)
    ax.set_xlabel("rows")
    ax.set_title("Along the stream")
    count(ax)
    legend(ax, fontsize="small")
    return ax


def _objective(selector: Any, ax: Any) -> int:
    """Draw the objective a row, chunk by chunk; return the row where it begins."""
    infos = list(selector.history_)
    sizes = np.array([info.n_rows for info in infos])
    rows = selector.n_samples_seen_ - sizes.sum() + np.cumsum(sizes)
    values = np.array([info.objective for info in infos]) / sizes
    style = "o-" if len(rows) == 1 else "-"
    ax.plot(rows, values, style, color=COLOURS[0], linewidth=1, label="objective a row")
    anew = np.array([info.reclustered for info in infos])
    if anew.any():
        ax.plot(rows[anew], values[anew], "s", color=COLOURS[1], label="clustered anew")
    ax.set_ylabel("objective a row")
    return int(rows[0])


def _shares(selector: Any, n: int, ax: Any) -> int:
    """Draw the shares of the largest clusters; return the row where they begin."""
    history = selector.share_history_
    lengths = np.diff(history.n_rows, prepend=0)[:, np.newaxis]
    largest = np.argsort(-np.nansum(history.shares * lengths, axis=0), kind="stable")[:n]
    for i, k in enumerate(largest.tolist()):
        style = f"{_MARKERS[i % len(_MARKERS)]}-"
        colour = COLOURS[i % len(COLOURS)]
        drawn = {"color": colour, "linewidth": 1, "markersize": 4, "label": f"cluster {k}"}
        ax.plot(history.n_rows, history.shares[:, k], style, **drawn)
    ax.set_ylabel("share of rows")
    ax.set_ylim(bottom=0)
    return int(history.n_rows[0])


def plot_ranks(selector: Any, view: str | None = None, n: int = 10, ax: Any = None) -> Any:
    """Draw how the features that are now the best of a view got there: their ranks by rows.

    As ranked on the way, repetition not discounted; see `RankHistory`. A line ends where a feature
    was not among the best.

    Parameters
    ----------
    selector : fitted OMVFS
    view : str, default=None
        Name of the view; by default the first.
    n : int, default=10
        Features at most.
    ax : matplotlib Axes, default=None
        To draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    n, history = whole("n", n, least=1), selector.rank_history_
    schema = selector.schema_
    view = schema.names[0] if view is None else schema.names[schema.number_of(view)]
    best = history.top[view][-1][:n]
    best = best[best >= 0]
    ranks = history.ranks(view, best).astype(float)
    ranks[ranks == 0] = np.nan
    ax, label = axes(ax, len(best)), labeller()
    for i in range(len(best)):
        colour, style = COLOURS[i % len(COLOURS)], "-" if i < len(COLOURS) else "--"
        line = ax.plot(history.n_rows, ranks[:, i], style, color=colour)[0]
        line.set(marker="o", markersize=3)
    names = [f"{i + 1}  {label(history.names[view][j])}" for i, j in enumerate(best.tolist())]
    ax.yaxis.tick_right()
    ax.set_yticks(np.arange(1, len(best) + 1), labels=names, **PLAIN)
    lowest = np.nanmax(ranks, initial=1)
    ax.set_ylim(min(lowest, _BEYOND * max(1, len(best))) + 0.5, 0.5)
    ax.set_xlabel("rows")
    ax.set_ylabel("rank, as on the way")
    ax.set_title(f"Ranks of the best features of {label(view)}", **PLAIN)
    count(ax)
    return ax
