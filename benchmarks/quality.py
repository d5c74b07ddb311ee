"""How good the selected features are, on real data as streams and on planted ones.

    python benchmarks/quality.py --csv docs/quality.csv --page docs/quality.md
    python benchmarks/quality.py --planted

Each set is streamed in several seeded orders. The top p features per view are judged by the
clusters that they alone give, against the true classes: by spherical k-means on the views stacked,
and by multi-view spherical k-means. An interrupted run goes on from its file; after a change of the
code, take out the rows of the methods that it changes, or begin with another file.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.preprocessing import normalize

import fastcan_peer
from digits import digits_views
from omvfs import OMVFS
from omvfs.datasets import make_planted
from omvfs.evaluation import (
    clustering_accuracy,
    evaluate_selection,
    normalized_mutual_information,
)
from omvfs.model.separation import mean_separation
from omvfs.model.sums import ViewSums
from omvfs.selector import rank
from paper import Place, table
from paper.methods import OFFLINE, OURS, PRINTED, make
from paper.rows import cell, mean, names, those
from paper.sets import load
from quality_store import read, run
from quality_tables import (
    CHOSEN_ON,
    CLUSTERINGS,
    CONSENSUS,
    HELD_BACK,
    SIZES,
    VERDICT,
    page,
    set_table,
)

SETS = [*CHOSEN_ON, *HELD_BACK]
# Sets of more than 5,000 rows, of which a clustering takes long and differs little by its seed.
LARGE = ["debian_en_fr", "blogcatalog", "mdn_en_fr", "openclipart"]
ALL = "all features"
# Rankings that the clusters of one default fit give.
FROM_FIT = {
    "omvfs": {"criterion": OMVFS().criterion},
    "norm": {"criterion": "norm"},
}
METHODS = [*FROM_FIT, "column sum", "variance", ALL, "MVUFS", "NDFS", "random"]
PUBLISHED, FASTCAN, TRUTH = "published", fastcan_peer.NAME, "true labels"
EXTRA_METHODS = [*(m for m in ("FSDS", *OFFLINE) if m not in METHODS), FASTCAN, PUBLISHED, TRUTH]
# Slow ones, and the one that is there for scale only, have fewer orders.
FEWER_ORDERS = [*OFFLINE, "FSDS", FASTCAN, "random"]
PLANTED_METHODS = ["omvfs", "norm", "column sum", "variance", TRUTH]
PLANTED = {
    "easy": {"n_informative": (200, 100), "row_length": 60, "concentration": 0.9},
    "hard": {"n_informative": (150, 60), "row_length": (25, 20), "concentration": 0.7},
}
# Not matched: informative features come from the upper third of the frequency ranks.
PLANTED["hard, frequent"] = {**PLANTED["hard"], "informative_ranks": 0.33}
PLANTED_BARS = {"easy": (0.85, 0.85), "hard": (0.45, 0.55), "hard, frequent": (0.45, 0.55)}


def views_of(name, data):
    """Return the views, nonnegative and with rows of unit norm, and the classes."""
    if name != "digits":
        found = load(name, Place(data=data))
        return found.views, found.labels
    views, y = digits_views()
    return {v: normalize(X.astype(np.float64)) for v, X in views.blocks.items()}, y


class Stream:
    """The rows of a set in one order, and what each method makes of them."""

    def __init__(self, views, y, seed):
        self.views, self.y, self.seed = views, y, seed
        self.n_classes = len(np.unique(y))
        self._fits = {}

    def fit(self, method):
        """Return the fitted OMVFS of a method, with the seconds it took."""
        kind = PRINTED if method == PUBLISHED else OURS
        if kind not in self._fits:
            started = time.perf_counter()
            fitted = make(kind, self.n_classes, self.seed).fit(self.views)
            self._fits[kind] = fitted, time.perf_counter() - started
        return self._fits[kind]

    def scores(self, method, seed=0, most=600):
        """Return the scores by view; `seed` is for random ones, `most` for fastcan."""
        if has_fit(method):
            return self.fit(method)[0].set_params(**FROM_FIT.get(method, {})).view_scores_
        if method == TRUTH:
            y, K, every = self.y, self.n_classes, np.ones(len(self.y))
            return {
                view: mean_separation(ViewSums.from_rows(X, y, K), X, every, y, [y], K)
                for view, X in self.views.items()
            }
        if method == FASTCAN:
            return fastcan_peer.scores(self.views, self.n_classes, most, self.seed)
        seed = 1000 * self.seed + seed if method == "random" else self.seed
        return make(method, self.n_classes, seed).fit(self.views).view_scores_

    def consensus(self):
        """Return how good the clusters are that OMVFS itself finds."""
        fitted, seconds = self.fit("omvfs")
        found = fitted.predict(self.views)
        nmi = normalized_mutual_information(self.y, found, "geometric")
        return {"NMI": nmi, "ACC": clustering_accuracy(self.y, found), "seconds": seconds}


def has_fit(method):
    return method in FROM_FIT or method == PUBLISHED


def judges(method):
    """Return by which clusterings a method is judged."""
    return [*CLUSTERINGS, CONSENSUS] if method == "omvfs" else [*CLUSTERINGS]


def stream_job(name, order, wanted, n_seeds, data):
    """Return NMI and ACC, means over evaluation seeds, a row a clustering and number of features.

    `wanted` has the clusterings to do by method.
    """
    views, y = views_of(name, data)
    rows = np.random.default_rng(order).permutation(len(y))
    stream, results = Stream({v: X[rows] for v, X in views.items()}, y[rows], order), []
    single = {view: X.astype(np.float32) for view, X in stream.views.items()}
    for method, clusterings in wanted.items():
        if method == FASTCAN and not fastcan_peer.can_select(views):
            continue
        # Only random scores differ from seed to seed.
        n_scores = n_seeds if method == "random" else 1
        scores = [stream.scores(method, seed, max(SIZES[name])) for seed in range(n_scores)]
        seeds = np.array_split(1000 * order + np.arange(n_seeds), n_scores)
        for clustering in clusterings:
            about = {"method": method, "clustering": clustering}
            if clustering == CONSENSUS:
                results.append(about | stream.consensus())
                continue
            sizes = [None] if method == ALL else list(SIZES[name])
            judged = []
            for each, own in zip(scores, seeds, strict=True):
                judged += evaluate_selection(
                    single, stream.y, {method: each}, sizes, seeds=own, clustering=clustering
                )
            for p in sizes:
                nmi, acc = (mean(judged, metric, p=p) for metric in ("NMI geometric", "ACC"))
                results.append(about | {"p": "all" if p is None else p, "NMI": nmi, "ACC": acc})
    return results


def planted_job(name, seed, wanted, n_seeds):
    """Return the share of the planted features among as many best ones, a row a method and view."""
    planted = make_planted(n_classes=5, random_state=seed, **PLANTED[name])
    views = {view: normalize(X.astype(np.float64)) for view, X in planted.views.items()}
    stream, results = Stream(views, planted.labels, seed), []
    for method in wanted:
        scores = stream.scores(method, seed)
        for view, truth in planted.informative.items():
            found = float(truth[rank(scores[view]) <= truth.sum()].mean())
            results.append({"method": method, "view": view, "found": found})
    return results


def plan(orders, seeds):
    """Return what to do, in this order, as (set, order, methods, seeds).

    `orders` has the number of orders by method, `seeds` that of evaluation seeds by set. One order
    of all sets comes before the next. What does not hang on the model comes first, a method at a
    time, then all that one fit gives.
    """
    single = [[m] for m in orders if not has_fit(m)]
    groups = [single, [[m for m in orders if has_fit(m)]]]
    return [
        (name, order, methods, n_seeds)
        for group in groups
        for order in range(max(orders.values()))
        for each in group
        for name, n_seeds in seeds.items()
        if (methods := [m for m in each if order < orders[m]])
    ]


def report_sets(args):
    methods = args.methods or METHODS
    if FASTCAN in methods and not fastcan_peer.is_here():
        raise SystemExit(fastcan_peer.MISSING)
    fewer = min(args.orders, args.slow_orders)
    orders = {m: fewer if m in FEWER_ORDERS else args.orders for m in methods}
    seeds = {n: min(args.seeds, args.large_seeds) if n in LARGE else args.seeds for n in args.sets}
    job = partial(stream_job, data=args.data)
    rows = run(job, plan(orders, seeds), judges, args.jobs, args.csv)
    for name in args.sets:
        for clustering in CLUSTERINGS:
            head = f"{name}, {clustering}"
            print(f"\n### {head}\n\n{set_table(rows, name, clustering, methods)}")
    print(f"\n{page(rows, args.sets, methods)}")
    if args.page:
        args.page.write_text(whole_page(read(args.csv)), encoding="utf-8")


def whole_page(rows):
    """Return the page of all that a file has."""
    there = names(rows, "method")
    return page(rows, SETS, [m for m in [*METHODS, *EXTRA_METHODS] if m in there])


def report_planted(args):
    methods = args.methods or PLANTED_METHODS
    everything = plan(dict.fromkeys(methods, args.seeds), dict.fromkeys(PLANTED, 1))
    rows = run(planted_job, everything, lambda method: [""], args.jobs, args.csv)
    for name, bars in PLANTED_BARS.items():
        own = those(rows, set=name)
        views = names(own, "view")
        lines = [
            [m, *(cell(those(own, method=m), "found", view=view) for view in views)]
            for m in methods
        ]
        if "omvfs" in methods:
            found = [mean(own, "found", method="omvfs", view=view) for view in views]
            verdicts = [VERDICT[x >= bar] for x, bar in zip(found, bars, strict=True)]
            lines.append(["bar", *(f"{b}: {v}" for b, v in zip(bars, verdicts, strict=True))])
        title = f"Planted, {name} ({args.seeds} seeds)"
        print(f"\n### {title}\n\n{table(lines, ['found', 'view 0', 'view 1'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=[*SETS, "digits"])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *EXTRA_METHODS])
    parser.add_argument("--orders", type=int, default=5, help="stream orders; 0: only the page")
    parser.add_argument("--slow-orders", type=int, default=2, help="of slow methods, at most")
    parser.add_argument("--seeds", type=int, default=5, help="evaluation seeds; of --planted, data")
    parser.add_argument("--large-seeds", type=int, default=2, help="of large sets, at most")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--csv", type=Path, help="results: kept, and taken up again")
    parser.add_argument("--page", type=Path, help="where to write all that the file has")
    parser.add_argument("--planted", action="store_true", help="planted streams instead")
    args = parser.parse_args()
    if args.page and not args.csv:
        parser.error("--page shows what the file of --csv has: give both.")
    (report_planted if args.planted else report_sets)(args)


if __name__ == "__main__":
    main()
