"""Pictures of what was found, with matplotlib: ``pip install 'omvfs[plots]'``."""

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from omvfs.parameters import whole

__all__ = ["plot_agreement", "plot_clusters", "plot_scores", "plot_stability"]

# Of Okabe and Ito: told apart by everyone.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# Texts are no mathematics, whatever they hold.
PLAIN = {"parse_math": False, "usetex": False}
# Characters of a name.
_LONGEST = 28
# Of a figure, in inches, and of a line of text.
_WIDTH, _HEIGHT, _LINE = 6.4, 4.8, 0.19
# Rows of a picture of clusters that are easy to read.
_ROWS = 24


def plot_scores(selector: Any, view: str | None = None, n: int = 20, ax: Any = None) -> Any:
    """Draw the best features of a view; those not selected are grey.

    Of `OMVFS` the share of their variance that the clusters explain (η²), of others their scores.

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
    check_is_fitted(selector)
    n, schema = whole("n", n, least=1), selector.schema_
    view = schema.names[0] if view is None else schema.names[schema.number_of(view)]
    best = np.argsort(selector.view_ranking_[view])[:n]
    selected = selector.view_support_[view][best]
    if tells := hasattr(selector, "feature_notes"):
        values = selector.feature_notes()[view].explained
    else:
        values = selector.view_scores_[view]
    ax = _bars(ax, values[best], selected, best, schema.names_of(view))
    what = "share of variance explained by the clusters (η²)" if tells else "score"
    ax.set_xlabel(what if selected.all() else f"{what}; grey: not selected")
    ax.set_title(f"Best features of {labeller()(view)}", **PLAIN)
    return ax


def plot_clusters(selector: Any, n: int | None = None, ax: Any = None) -> Any:
    """Draw what clusters are about: their most telling selected features.

    The darker, the larger is the share of the cluster in what the feature tells of all clusters it
    stands for. A feature that does not stand for a cluster is white there.

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
    told = {k: {(each.view, each.feature): each.part for each in own} for k, own in about.items()}
    # Every feature once, where it is first told of.
    rows = list(dict.fromkeys(feature for own in told.values() for feature in list(own)[:n]))
    cells = np.full((len(rows), len(told)), np.nan)
    for k, own in told.items():
        for i, feature in enumerate(rows):
            cells[i, k] = own.get(feature, np.nan)
    cells /= np.nansum(cells, axis=1, keepdims=True)
    ax, label = axes(ax, len(rows)), labeller()
    if len(rows):
        drawn = ax.imshow(cells, aspect="auto", cmap="Blues", vmin=0, vmax=1)
        ax.figure.colorbar(drawn, ax=ax, label="share of what it tells")
    views = len(selector.schema_.names) > 1
    texts = [label(f"{view}: {name}" if views else name) for view, name in rows]
    ax.set_yticks(np.arange(len(rows)), labels=texts, fontsize="small", **PLAIN)
    shares = selector.cluster_shares_
    few = len(told) <= 12
    ticks = [f"{k}\n{shares[k]:.0%}" if few else f"{k}" for k in told]
    ax.set_xticks(np.arange(len(told)), labels=ticks, fontsize="medium" if few else "xx-small")
    ax.set_xlabel("cluster and its share of the rows" if few else "cluster")
    ax.set_title("What clusters are about")
    return ax


def plot_agreement(selector: Any, ax: Any = None) -> Any:
    """Draw how well the best features alone predict the clusters, by their number.

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
    ax.set_ylabel("agreement with the clusters (AMI)")
    ax.set_title("How many features are enough")
    count(ax, log=True)
    legend(ax, fontsize="small", loc="lower right")
    return ax


def plot_stability(selector: Any, view: str | None = None, n: int = 30, ax: Any = None) -> Any:
    """Draw how often features of a view are selected if other rows are looked at.

    Parameters
    ----------
    selector : fitted OMVFS
    view : str, default=None
        Name of the view; by default the first.
    n : int, default=30
        Features at most, the best first; those that are not selected are grey.
    ax : matplotlib Axes, default=None
        To draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(selector)
    n, found, schema = whole("n", n, least=1), selector.stability(), selector.schema_
    view = schema.names[0] if view is None else schema.names[schema.number_of(view)]
    best = np.argsort(selector.view_ranking_[view])[:n]
    selected, own = selector.view_support_[view][best], found.views[view]
    ax = _bars(ax, own.frequencies[best], selected, best, schema.names_of(view))
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"share of {found.n_resamples} other samples that select it")
    stay = f"{own.stays.share:.0%} of the selected stay"
    ax.set_title(f"Stability of {labeller()(view)}: {stay}", **PLAIN)
    return ax


def _bars(ax: Any, values: Any, selected: Any, places: Any, names: Any) -> Any:
    """Draw a bar a feature, the first above; those not selected are grey."""
    ax, label = axes(ax, len(places)), labeller()
    at = np.arange(len(places))
    ax.barh(at, values, color=[COLOURS[0] if each else COLOURS[-1] for each in selected])
    ax.set_yticks(at, labels=[label(names[j]) for j in places.tolist()], **PLAIN)
    ax.set_ylim(len(places) - 0.4, -0.6)
    return ax


def matplotlib() -> Any:
    """Return matplotlib; without it, say how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ModuleNotFoundError(
            "Figures need matplotlib. Install it: pip install 'omvfs[plots]'."
        ) from error
    return mpl


def axes(ax: Any, n_lines: int = 0) -> Any:
    """Return axes to draw on: those given, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
    n_lines : int, default=0
        Lines of text that stand above each other, for which a new figure is high enough.
    """
    matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    size = _WIDTH, max(_HEIGHT, 1 + _LINE * n_lines)
    return plt.subplots(figsize=size, layout="constrained")[1]


def labeller() -> Callable[[Any], str]:
    """Return what makes a label of a name: one line, not too long, of characters the font has."""
    matplotlib()
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = []
    for family in FontProperties().get_family():
        prop = FontProperties()
        prop.set_family(family)
        fonts.append(get_font(findfont(prop)))

    def drawn(character: str) -> str:
        if unicodedata.category(character) in ("Cc", "Zl", "Zp"):
            return " "
        known = any(font.get_char_index(ord(character)) for font in fonts)
        return character if known else "\N{WHITE SQUARE}"

    def label(name: Any) -> str:
        text = str(name)
        cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        return "".join(map(drawn, cut))

    return label


def legend(ax: Any, **options: Any) -> None:
    """Add a legend, whose texts are drawn as they are."""
    handles, labels = ax.get_legend_handles_labels()
    for text in ax.legend(handles, labels, **options).get_texts():
        text.set(**PLAIN)


def count(ax: Any, log: bool = False) -> None:
    """Let the x axis tell whole numbers, with commas, by their logarithms if asked to."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if log:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(NullFormatter())
    ticks = LogLocator(subs=(1, 2, 5)) if log else MaxNLocator(nbins=7, integer=True)
    ax.xaxis.set_major_locator(ticks)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))


def _shown(name: str) -> str:
    """Return a name that matplotlib does not take for one to hide."""
    return f" {name}" if name.startswith("_") else name
