"""All methods on all sets: ACC and NMI of the features they select, as tables for the docs.

    python benchmarks/compare.py --store results --write docs/results.md

Every method runs in its fixed default on several orders of the rows, and in every setting of a grid
on one. The best of those is chosen with the labels, as the paper does; without labels nobody can
choose so. An interrupted run goes on from its store; after a change of the code, take another.
"""

import argparse
from pathlib import Path

import numpy as np
from quality import SETS, load
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from omvfs import OMVFS
from omvfs.baselines import (
    EUFS,
    FSDS,
    MCFS,
    MVUFS,
    NDFS,
    SPEC,
    ColumnSum,
    LaplacianScore,
    RandomScore,
    Variance,
)
from omvfs.evaluation import Shuffled, grid_search, summarise

SIZES = dict.fromkeys(SETS, tuple(range(100, 700, 100)))
# Views of 500 and of 6 to 240 features.
SIZES |= {"bdgp": tuple(range(50, 350, 50)), "mfeat": tuple(range(10, 70, 10))}

PAPER_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
GRIDS = {
    "OMVFS": {"graph_weight": [0.3, 1.0, 3.0, 10.0], "sparsity": [0.1, 1.0]},
    "as published": [{"graph_weight": [a], "sparsity": [a]} for a in PAPER_GRID],
    "FSDS": {"ridge_exponent": [float(i) for i in range(1, 11)]},
    "Laplacian score": {"n_neighbors": [5, 20], "weights": ["heat", "cosine"]},
    "MCFS": {"n_neighbors": [5, 20], "weights": ["heat", "cosine"]},
    "SPEC": {"n_neighbors": [5, 20], "weights": ["heat", "cosine"]},
    "EUFS": {"sparsity": [0.01, 0.1], "penalty": [1e-3, 1.0]},
    "NDFS": {"sparsity": [0.01, 0.1, 1.0]},
    "MVUFS": [{"regression_weight": [a], "sparsity": [a]} for a in (0.1, 1.0, 10.0)],
}
FIGURES = {"NMI": "NMI max", "ACC": "ACC"}


def methods(n_clusters):
    return {
        "OMVFS": OMVFS(n_clusters),
        "as published": OMVFS.as_published(n_clusters),
        "FSDS": FSDS(n_clusters),
        "Laplacian score": LaplacianScore(),
        "MCFS": MCFS(n_clusters),
        "SPEC": SPEC(n_clusters),
        "EUFS": EUFS(n_clusters),
        "NDFS": NDFS(n_clusters),
        "MVUFS": MVUFS(n_clusters),
        "column sum": ColumnSum(),
        "variance": Variance(),
        "random": RandomScore(),
    }


def run_set(name, args, progress):
    """Return the figures of the defaults, and of the best settings, by method and size."""
    views, labels = load(name, args.data)
    # In single precision, as the files have them.
    rows = Shuffled.of({view: X.astype(np.float32) for view, X in views.items()}, labels)
    chosen = {m: e for m, e in methods(len(set(labels))).items() if m in args.methods}
    grids = {method: GRIDS[method] for method in chosen if method in GRIDS}
    bar = progress.add_task(name, total=None)

    def search(methods, n_features=SIZES[name], **how):
        return grid_search(
            methods,
            rows,
            n_features=n_features,
            n_jobs=args.jobs,
            store=args.store / f"{name}.jsonl",
            on_progress=lambda done, total: progress.update(bar, completed=done, total=total),
            **how,
        )

    default = search(chosen, orders=args.orders, seeds=args.seeds)
    everything = search(
        {"all features": ColumnSum()}, orders=args.orders, seeds=args.seeds, n_features=[None]
    )
    gridded = {method: chosen[method] for method in grids}
    best = search(gridded, grids=grids, orders=[0], seeds=args.grid_seeds)
    for failure in default.failures + best.failures:
        progress.console.print(f"{name}: {failure}")
    return default.rows + everything.rows, best.best_rows("NMI max"), best.default_rows()


def spread(values):
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


def by_order(rows, method, metric):
    """Return the mean of a figure over sizes and seeds, for every order."""
    own = [row for row in rows if row["method"] == method]
    return [row[metric] for row in summarise(own, ("order",))]


def set_table(name, default, best, beside):
    """Return the lines of one set: NMI and ACC by the number of features."""
    sizes = SIZES[name]
    lines = [
        f"### {name}",
        "",
        f"| NMI / ACC | {' | '.join(map(str, sizes))} | mean NMI | mean ACC | fit, s |",
        f"|---|{'---|' * (len(sizes) + 3)}",
    ]
    for title, rows in (("", default), (", best of grid", best)):
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row for row in rows if row["method"] == method]
            at = {row["p"]: row for row in summarise(own, ("p",))}
            cells = ["–"] * len(sizes)
            if None not in at:
                cells = [f"{at[p]['NMI max']:.3f} / {at[p]['ACC']:.3f}" for p in sizes]
            if title:
                seeds = summarise(own, ("seed",))
                means = [spread([row[m] for row in seeds]) for m in FIGURES.values()]
                there = np.mean([row["NMI max"] for row in beside if row["method"] == method])
                label = f"{method}{title}: {own[0]['params']} (default there: {there:.3f})"
            else:
                means = [spread(by_order(own, method, m)) for m in FIGURES.values()]
                label = method
            seconds = f"{np.mean([row['seconds'] for row in own]):.1f}"
            lines.append(f"| {' | '.join([label, *cells, *means, seconds])} |")
    return [*lines, ""]


def summary_table(results, setting, metric):
    """Return the lines of the means over sizes, by method and set, best first."""
    table = {}
    for name, found in results.items():
        for row in summarise(found[setting], ("method",)):
            table.setdefault(row["method"], {})[name] = row[metric]
    names = list(results)
    ordered = sorted(table, key=lambda m: -np.mean([table[m].get(n, 0) for n in names]))
    lines = [f"| | {' | '.join(names)} | mean |", f"|---|{'---|' * (len(names) + 1)}"]
    for method in ordered:
        values = [table[method].get(name) for name in names]
        cells = ["–" if value is None else f"{value:.3f}" for value in values]
        mean = "–" if None in values else f"{np.mean(values):.3f}"
        lines.append(f"| {' | '.join([method, *cells, mean])} |")
    return [*lines, ""]


def behind(results):
    """Return the lines that say on which sets other methods are ahead, and by how much."""
    lines = []
    for name, (default, *_) in results.items():
        mean = {row["method"]: row["NMI max"] for row in summarise(default, ("method",))}
        ahead = {m: x - mean["OMVFS"] for m, x in mean.items() if x > mean["OMVFS"]}
        best = sorted(ahead, key=lambda m: -ahead[m])
        told = ", ".join(f"{method} +{ahead[method]:.3f}" for method in best)
        lines.append(f"* {name}: {told or 'none'}")
    return [*lines, ""]


def report(results, args):
    """Return the page."""
    lines = [
        "# All methods on all sets",
        "",
        "Made by `python benchmarks/compare.py --store results --write docs/results.md`. Rows of",
        "unit norm in each view, negative values clipped, K = number of classes, multi-view",
        "spherical k-means on the top p features a view. Defaults: mean over",
        f"{args.orders} orders of the rows × {args.seeds} seeds of the clustering, ± over orders.",
        f"Best of grid: one order × {args.grid_seeds} seeds, ± over seeds; the setting is chosen",
        "with the labels, by the same figures, so it flatters; beside it stands what the default",
        "gives on the same order and seeds. NMI: divided by the larger entropy.",
        "",
    ]
    titles = {"NMI max": "NMI", "NMI geometric": "NMI, geometric mean", "ACC": "ACC"}
    for setting, title in enumerate(("fixed defaults", "best of grid, by the labels")):
        for metric, what in titles.items():
            lines += [f"## Mean {what}, {title}", "", *summary_table(results, setting, metric)]
    lines += ["## Where another default is ahead of OMVFS, mean NMI", "", *behind(results)]
    lines += ["## By number of features", ""]
    for name, found in results.items():
        lines += set_table(name, *found)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(methods(2)), choices=list(methods(2)))
    parser.add_argument("--orders", type=int, default=3, help="orders of the rows, for defaults")
    parser.add_argument(
        "--seeds", type=int, default=4, help="seeds of the clustering, for defaults"
    )
    parser.add_argument("--grid-seeds", type=int, default=3, help="the same, for grids")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", type=Path, default=Path("results"), help="folder of results")
    parser.add_argument("--write", type=Path, help="write the page here instead of printing it")
    args = parser.parse_args()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn()) as progress:
        results = {name: run_set(name, args, progress) for name in args.sets}
    page = report(results, args)
    args.write.write_text(page, encoding="utf-8") if args.write else print(page)


if __name__ == "__main__":
    main()
