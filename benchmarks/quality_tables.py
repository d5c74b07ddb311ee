"""The page of what quality.py finds: a table an evaluation, and bars."""

import math

import numpy as np

from paper import table
from paper.methods import OFFLINE
from paper.rows import cell, mean, names, those

CHOSEN_ON = ["fox", "reuters600", "citeseer", "debian_en_fr", "bdgp", "mfeat"]
CHOSEN_ON += ["blogcatalog", "libreoffice_help"]
HELD_BACK = ["reuters1200", "mdn_en_fr", "openclipart", "cora"]
SIZES = dict.fromkeys([*CHOSEN_ON, *HELD_BACK], range(100, 700, 100))
SIZES |= {"mfeat": (10, 20, 40), "digits": (5, 10, 20)}

CLUSTERINGS = {
    "stacked": "Views stacked, spherical k-means",
    "multiview": "Multi-view spherical k-means",
}
# In place of a clustering of selected features: the clusters that OMVFS itself finds.
CONSENSUS = "consensus"
OURS, OWN = "omvfs", ("omvfs", "norm", "published")
STRONG = ["column sum", "variance", "MVUFS", "NDFS"]
NEAR = 0.005
VERDICT = {True: "pass", False: "**fail**"}

HEAD = """\
# How good the selected features are

Made by `python benchmarks/quality.py --csv docs/quality.csv --page docs/quality.md`. Every set is
streamed in seeded orders. The best p features a view, and they alone, give as many clusters as
there are classes, compared with them by NMI (geometric mean). A figure is the mean over orders,
evaluation seeds and p = 100, 200, …, 600 (mfeat 10, 20, 40). "omvfs" is the default, "norm" the
criterion of the paper on the same fit. Off-line, with all rows at once: {offline}. "–": not run.

The rules of ranking were chosen on eight sets; four were held back, but not when it was set how
clearly one must be ahead of the other to be taken ([research.md](research.md)). Slow methods have
fewer orders, sets of more than 5,000 rows fewer seeds: the last line of a table says how many, from
the least to the most of a set, and `quality.csv` row by row.
"""
OF_BARS = f"""\
One run tells what is ahead now, not what was gained over an earlier version. "Others" are all
methods above but our own; the strong ones are {", ".join(STRONG)}.
Near: not more than {NEAR} behind the best of them.
"""


def by_set(rows, clustering, sets, methods):
    """Return mean NMI by set and method, NaN where there is none."""
    own = those(rows, clustering=clustering)
    return {n: {m: mean(own, "NMI", set=n, method=m) for m in methods} for n in sets}


def over(nmi, sets, method):
    """Return the mean over sets, NaN if one is missing."""
    return float(np.mean([nmi.get(name, {}).get(method, math.nan) for name in sets]))


def number(value, form=".3f"):
    """Return a figure as text.

    Examples
    --------
    >>> number(0.25), number(0.25, "+.2f"), number(math.nan)
    ('0.250', '+0.25', '–')
    """
    return "–" if math.isnan(value) else f"{value:{form}}"


def set_table(rows, name, clustering, methods):
    """Return the table of one set by one evaluation."""
    lines = []
    for method in methods:
        own = those(rows, set=name, method=method)
        selected = those(own, clustering=clustering)
        by_size = [number(mean(selected, "NMI", p=p)) for p in SIZES[name]]
        lines.append([method, *by_size, cell(selected, "NMI"), number(mean(selected, "ACC"))])
    return table(lines, ["NMI", *map(str, SIZES[name]), "mean ± sd over orders", "mean ACC"])


def sets_table(rows, clustering, sets, methods):
    """Return the table of all sets by one evaluation, and of means over them."""
    nmi = by_set(rows, clustering, sets, methods)
    lines = [[name, *(number(nmi[name][m]) for m in methods)] for name in sets]
    groups = {
        f"**mean of {len(sets)}**": sets,
        f"mean of {len(CHOSEN_ON)}, chosen on": CHOSEN_ON,
        f"mean of {len(HELD_BACK)}, held back": HELD_BACK,
    }
    for title, group in groups.items():
        if set(group) <= set(sets):
            lines.append([title, *(number(over(nmi, group, m)) for m in methods)])
    own = those(rows, clustering=clustering)
    lines.append(["orders × seeds", *(_repeats(those(own, method=m)) for m in methods)])
    return table(lines, ["mean NMI", *methods])


def _repeats(rows):
    """Return how often a method was run and judged: the least and the most of all sets."""
    orders = [len(names(those(rows, set=name), "order")) for name in names(rows, "set")]
    return f"{_range(orders)} × {_range(names(rows, 'seeds'))}" if rows else "–"


def _range(values):
    return "–".join(str(each) for each in sorted({min(values), max(values)}))


def consensus_table(rows, sets):
    """Return the table of the clusters that OMVFS itself finds; None if there are none."""
    own = those(rows, clustering=CONSENSUS, method=OURS)
    lines = [
        [name, cell(each, "NMI"), cell(each, "ACC"), number(mean(each, "seconds"), ".1f")]
        for name in sets
        if (each := those(own, set=name))
    ]
    return table(lines, ["set", "NMI", "ACC", "fit, s"]) if lines else None


def standing(rows, sets, methods):
    """Return lines on how OMVFS stands among the others, by each evaluation and by both.

    Of means, only methods that have one of all sets are compared.
    """
    nmi = {clustering: by_set(rows, clustering, sets, methods) for clustering in CLUSTERINGS}
    others = [m for m in methods if m not in OWN]
    lines, near = [], []
    for clustering, found in nmi.items():
        means = {m: over(found, sets, m) for m in others}
        means = {m: x for m, x in means.items() if not math.isnan(x)}
        best = max(means, key=means.get, default=None)
        gain = over(found, sets, OURS) - means.get(best, math.nan)
        what = f"mean of {len(sets)}, {clustering}, over the best of the others ({best})"
        if not math.isnan(gain):
            lines.append([what, f"{gain:+.3f}", "above 0", VERDICT[gain > 0]])
        strong = [m for m in STRONG if m in methods]
        gains = {n: by[OURS] - max(by[m] for m in strong) for n, by in found.items() if strong}
        near.append({name for name, each in gains.items() if each >= -NEAR})
        if any(math.isnan(each) for each in gains.values()) or not gains:
            near[-1] = None
    if None not in near:
        titles = [f"sets near the strong ones, {clustering}" for clustering in CLUSTERINGS]
        found = [*near, set.intersection(*near)]
        for title, which in zip(
            [*titles, "sets near the strong ones, by both"], found, strict=True
        ):
            far = ", ".join(name for name in sets if name not in which) or "none"
            lines.append([title, f"{len(which)} of {len(sets)}", "–", f"not: {far}"])
    return lines


def page(rows, sets, methods):
    """Return the page."""
    parts = [HEAD.format(offline=", ".join(m for m in methods if m in OFFLINE) or "none")]
    for clustering, title in CLUSTERINGS.items():
        parts += [f"## {title}\n", sets_table(rows, clustering, sets, methods) + "\n"]
    if OURS in methods and (bars := standing(rows, sets, methods)):
        head = ["bar", "got", "at least", ""]
        parts += ["## Bars\n", OF_BARS, table(bars, head) + "\n"]
    if found := consensus_table(rows, sets):
        parts += ["## Clusters that OMVFS itself finds\n", found + "\n"]
    return "\n".join(parts)
