"""Pictures of features: how good they are, and what clusters they stand for."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from omvfs.parameters import whole
from omvfs.plots.drawing import COLOURS, PLAIN, axes, labeller

# Rows of a picture of clusters that are easy to read.
_ROWS = 24


def plot_scores(selector: Any, view: str | None = None, n: int = 20, ax: Any = None) -> Any:
    """Draw the best features of a view and their scores; those not selected are grey.

    Parameters
    ----------
    selector : fitted selector
        `OMVFS`, or any of ``omvfs.baselines``.
    view : str, default=None
        Name of the view; by default the first.
    n : int, default=20
        Features at most.
    ax : matplotlib Axes, default=None
        To draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from omvfs.baselines import Variance
    >>> ax = plot_scores(Variance(n_features_per_view=1).fit({"text": [[1.0, 0.0], [5.0, 1.0]]}))
    >>> ax.get_title(), [float(bar.get_width()) for bar in ax.patches]
    ('Best features of text', [4.0, 0.25])
    """
    n, scores = whole("n", n, least=1), selector.view_scores_
    schema = selector.schema_
    view = schema.names[0] if view is None else schema.names[schema.number_of(view)]
    best = np.argsort(selector.view_ranking_[view])[:n]
    selected, names = selector.view_support_[view][best], schema.names_of(view)
    ax, label = axes(ax, len(best)), labeller()
    places = np.arange(len(best))
    colours = [COLOURS[0] if each else COLOURS[-1] for each in selected]
    ax.barh(places, scores[view][best], color=colours)
    ax.set_yticks(places, labels=[label(names[j]) for j in best.tolist()], **PLAIN)
    ax.set_ylim(len(best) - 0.4, -0.6)
    ax.set_xlabel("score" if selected.all() else "score; grey: not selected")
    ax.set_title(f"Best features of {label(view)}", **PLAIN)
    return ax


def plot_clusters(selector: Any, n: int | None = None, ax: Any = None) -> Any:
    """Draw what clusters are about: their most telling selected features.

    The darker, the more a feature correlates with being in the cluster (without a reservoir, the
    more of it the rows of the cluster have, over what all have). A feature that does not stand for
    a cluster is white there.

    Parameters
    ----------
    selector : fitted OMVFS
    n : int, default=None
        Features of each cluster at most; by default so many that all are easy to read.
    ax : matplotlib Axes, default=None
        To draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(selector)
    about = selector.cluster_features(n=sum(selector.schema_.widths))
    n = max(1, _ROWS // len(about)) if n is None else whole("n", n, least=1)
    told = {
        k: {
            (each.view, each.feature): each.strength
            if each.correlation is None
            else each.correlation
            for each in own
        }
        for k, own in about.items()
    }
    # Every feature once, where it is first told of.
    rows = list(dict.fromkeys(feature for own in told.values() for feature in list(own)[:n]))
    cells = np.full((len(rows), len(told)), np.nan)
    for k, own in told.items():
        for i, feature in enumerate(rows):
            cells[i, k] = own.get(feature, np.nan)
    ax, label = axes(ax, len(rows)), labeller()
    by = "correlation" if selector.cluster_shares_ is not None else "times the mean of all rows"
    if len(rows):
        drawn = ax.imshow(cells, aspect="auto", cmap="Blues", vmin=0, interpolation="nearest")
        ax.figure.colorbar(drawn, ax=ax, label=by)
    views = len(selector.schema_.names) > 1
    texts = [label(f"{view}: {name}" if views else name) for view, name in rows]
    ax.set_yticks(np.arange(len(rows)), labels=texts, fontsize="small", **PLAIN)
    shares = selector.cluster_shares_
    few = len(told) <= 12
    ticks = [f"{k}\n{shares[k]:.0%}" if few and shares is not None else f"{k}" for k in told]
    ax.set_xticks(np.arange(len(told)), labels=ticks, fontsize="medium" if few else "xx-small")
    ax.set_xlabel("cluster and its share of the rows" if few and shares is not None else "cluster")
    ax.set_title("What clusters are about")
    return ax
