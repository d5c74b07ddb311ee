"""The pictures of a benchmark's results, as SVG."""

from growth import curves, fits
from paper.figures import pyplot, save
from race import METHODS, SETS, ratio

# Of Okabe and Ito: told apart by everyone, and in grey.
COLOURS = dict(
    zip(SETS, ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"), strict=True)
)
MARKERS = dict(zip(SETS, "os^vDP", strict=True))
NAMES = {"N": "rows", "D": "features", "K": "clusters", "nonzeros": "nonzeros a row"}


def draw(results, folder):
    """Draw all pictures that there are results for into a folder."""
    for name, figure in (("race", race(results)), ("growth", growth(results))):
        if figure is not None:
            save(figure, folder / f"performance-{name}.svg")


def race(results):
    """Return the race: a row a method, a mark a set, ours at 1."""
    found = {}
    for name in SETS:
        for method in METHODS:
            if (value := ratio(results, name, method)) is not None:
                found.setdefault(method, {})[name] = value
        if (value := ratio(results, name, "omvfs", "floor")) is not None:
            found.setdefault("floor", {})[name] = value
    if not found:
        return None
    order = sorted(found, key=lambda method: max(found[method].values()))
    figure, axes = pyplot().subplots(figsize=(7.5, 0.34 * len(order) + 1.2), layout="constrained")
    for name in SETS:
        points = [(found[m][name], i) for i, m in enumerate(order) if name in found[m]]
        if points:
            x, y = zip(*points, strict=True)
            axes.scatter(x, y, c=COLOURS[name], marker=MARKERS[name], label=name, zorder=3)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="processor time over ours, the same rows")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(order)), order)
    axes.grid(axis="x", color="#dddddd")
    axes.legend(loc="lower right")
    return figure


def growth(results):
    """Return time and memory against what grows, each on logarithmic scales."""
    grown = curves(results)
    if not grown:
        return None
    figure, axes = pyplot().subplots(
        2,
        len(grown),
        figsize=(2.2 * len(grown), 4.8),
        layout="constrained",
        squeeze=False,
        sharey="row",
    )
    for column, (what, points) in enumerate(grown.items()):
        sizes, fit = list(points), fits(points)
        seconds = [[run[0] for run in point["times"]] for point in points.values()]
        memory = [[each / 2**20 for each in point["memory"]] for point in points.values()]
        for row, (values, colour, unit) in enumerate(
            ((seconds, "#0072B2", "processor s"), (memory, "#D55E00", "MB"))
        ):
            place = axes[row, column]
            place.fill_between(
                sizes, [min(v) for v in values], [max(v) for v in values], color=colour, alpha=0.25
            )
            place.plot(sizes, [min(v) for v in values], "o-", color=colour, markersize=3)
            place.set(xscale="log", yscale="log", xlabel=NAMES.get(what, what))
            place.set_xticks(sizes, [short(size) for size in sizes], rotation=45)
            place.minorticks_off()
            place.yaxis.set_major_formatter("{x:g}")
            place.grid(color="#eeeeee")
            if not column:
                place.set_ylabel(unit)
            if fit:
                title = f"exponent {fit[('time', 'memory')[row]]:.2g}"
                place.set_title(title, fontsize=9)
    return figure


def short(size):
    """Return a size in few letters.

    >>> short(300_000), short(1_000_000), short(96.4)
    ('300k', '1M', '96')
    """
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if size >= unit:
            return f"{size / unit:g}{letter}"
    return f"{size:.0f}"
