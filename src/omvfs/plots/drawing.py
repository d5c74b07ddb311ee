"""What pictures share: matplotlib if it is there, axes, and texts that are drawn as they are."""

import unicodedata
from collections.abc import Callable
from typing import Any

# Of Okabe and Ito: told apart by everyone.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# Texts are no mathematics, whatever they hold.
PLAIN = {"parse_math": False, "usetex": False}
# Characters of a name.
_LONGEST = 28
# Of a figure, in inches, and of a line of text.
_WIDTH, _HEIGHT, _LINE = 6.4, 4.8, 0.19


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
