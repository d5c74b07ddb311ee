"""Pictures of how many: features that are enough, and clusters that there are."""

from typing import Any

from omvfs.plots.drawing import COLOURS, axes, count, labeller, legend


def plot_agreement(selector: Any, ax: Any = None) -> Any:
    """Draw how much of the clusters the best features alone reproduce, by their number.

    Of all views together, with a band of a standard deviation to either side, and of each view
    alone; the dashed line is at the number that is enough.

    Parameters
    ----------
    selector : fitted OMVFS
    ax : matplotlib Axes, default=None
        To draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    quality = selector.selection_quality_
    ax, label = axes(ax), labeller()
    low, high = quality.agreement - quality.spread, quality.agreement + quality.spread
    ax.fill_between(quality.sizes, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
    several = len(quality.views) > 1
    name = "all views" if several else label(next(iter(quality.views)))
    ax.plot(quality.sizes, quality.agreement, "o-", color=COLOURS[0], label=_shown(name))
    if several:
        for i, (view, own) in enumerate(quality.views.items(), start=1):
            colour, style = COLOURS[i % len(COLOURS)], "-" if i < len(COLOURS) else "--"
            shown = _shown(label(view))
            ax.plot(own.sizes, own.agreement, style, color=colour, linewidth=1, label=shown)
    enough = quality.levels_off_at
    ax.axvline(enough, color="0.4", linestyle="--", linewidth=1, label=f"{enough:,} are enough")
    ax.set_ylim(0, 1.02)
    in_all = selector.n_features_to_select is not None
    ax.set_xlabel("best features, of all views" if in_all else "best features of each view")
    ax.set_ylabel("agreement with the clusters (NMI)")
    ax.set_title("How many features are enough")
    count(ax, log=True)
    legend(ax, fontsize="small", loc="lower right")
    return ax


def plot_n_clusters(selector: Any, ax: Any = None) -> Any:
    """Draw how far views agree on who belongs together, by the number of clusters.

    Parameters
    ----------
    selector : OMVFS, fitted with ``n_clusters="auto"``
    ax : matplotlib Axes, default=None
        To draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    curve = selector.n_clusters_curve_
    ax = axes(ax)
    ax.plot(curve.n_clusters, curve.criterion, "o-", color=COLOURS[0], label="mean of all halves")
    low, high = curve.criterion - curve.spread, curve.criterion + curve.spread
    ax.fill_between(curve.n_clusters, low, high, color=COLOURS[0], alpha=0.15, label="spread")
    text = f"{curve.best:,} clusters"
    ax.axvline(curve.best, color="0.4", linestyle="--", linewidth=1, label=text)
    ax.set_xlabel("clusters")
    ax.set_ylabel("agreement of views (correlation)")
    ax.set_title("How many clusters there are")
    count(ax, log=True)
    legend(ax, fontsize="small")
    return ax


def _shown(name: str) -> str:
    """Return a name that matplotlib does not take for one to hide."""
    return f" {name}" if name.startswith("_") else name
