"""How good the selected features are, on real data as streams and on planted ones.

    python benchmarks/quality.py --csv quality.csv
    python benchmarks/quality.py --planted

Each set is streamed in several seeded orders. The top p features per view are judged by spherical
k-means on them alone, against the true classes. An interrupted run goes on from its file;
after a change of the code, begin with another.
"""

import argparse
import csv
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from omvfs import OMVFS
from omvfs.baselines import ColumnSum, RandomScore, Variance
from omvfs.datasets import make_planted
from omvfs.demo import digits_views
from omvfs.evaluation import (
    clustering_accuracy,
    evaluate_selection,
    normalized_mutual_information,
)
from omvfs.experiments import Place, table, write_csv
from omvfs.experiments.rows import cell, mean, names, those
from omvfs.experiments.sets import load
from omvfs.model.ranking.criteria import contrast
from omvfs.selectors.base import rank

SETS = ["fox", "reuters600", "citeseer", "debian_en_fr", "bdgp", "mfeat"]
EXTRA_SETS = ["reuters1200", "digits"]
BASELINES = {"column sum": ColumnSum, "variance": Variance, "random": RandomScore}
SIZES = dict.fromkeys([*SETS, *EXTRA_SETS], range(100, 700, 100))
SIZES |= {"mfeat": (10, 20, 40), "digits": (5, 10, 20)}

# Rankings that the clusters of one default fit give.
FROM_FIT = {
    "omvfs": {key: OMVFS().get_params()[key] for key in ("criterion", "diversity")},
    "norm": {"criterion": "norm", "diversity": 0.0},
    "contrast": {"criterion": "contrast", "diversity": 0.0},
}
METHODS = [*FROM_FIT, "column sum", "variance", "random", "all features"]  # published is slow
PLANTED_METHODS = [*FROM_FIT, "column sum", "variance", "true labels"]
PLANTED = {
    "easy": {"n_informative": (200, 100), "row_length": 60, "concentration": 0.9},
    "hard": {"n_informative": (150, 60), "row_length": (25, 20), "concentration": 0.7},
}
# Not matched: informative features come from the upper third of the frequency ranks.
PLANTED["hard, frequent"] = {**PLANTED["hard"], "informative_ranks": 0.33}
PLANTED_BARS = {"easy": (0.85, 0.85), "hard": (0.45, 0.55), "hard, frequent": (0.45, 0.55)}
VERDICT = {True: "pass", False: "**fail**"}
# In place of a number of features: all of them, and the clusters that OMVFS itself finds.
ALL, CONSENSUS = "all", "consensus"


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
        """Return the fitted OMVFS of a method with the seconds it took, or None if it has none."""
        kind = "default" if method in FROM_FIT else method
        make = {"default": OMVFS, "published": OMVFS.as_published}.get(kind)
        if make and kind not in self._fits:
            started = time.perf_counter()
            fitted = make(n_clusters=self.n_classes, random_state=self.seed).fit(self.views)
            self._fits[kind] = fitted, time.perf_counter() - started
        return self._fits.get(kind)

    def scores(self, method, seed):
        """Return the scores by view; `seed` is for the random ones."""
        if fit := self.fit(method):
            return fit[0].set_params(**FROM_FIT.get(method, {})).view_scores_
        if method == "true labels":
            masses = np.bincount(self.y).astype(float)
            U = np.eye(self.n_classes)[self.y] / np.sqrt(masses)
            return {view: contrast(X.T @ U, masses, masses) for view, X in self.views.items()}
        selector = BASELINES.get(method, ColumnSum)()
        if method == "random":
            selector.set_params(random_state=1000 * self.seed + seed)
        return selector.fit(self.views).view_scores_


def stream_job(name, order, methods, n_seeds, data):
    """Return NMI and ACC, means over evaluation seeds, a row a method and number of features."""
    views, y = views_of(name, data)
    rows = np.random.default_rng(order).permutation(len(y))
    stream, results = Stream({v: X[rows] for v, X in views.items()}, y[rows], order), []
    single = {view: X.astype(np.float32) for view, X in stream.views.items()}
    for method in methods:
        judged = []
        for seed in range(n_seeds):
            judged += evaluate_selection(
                single,
                stream.y,
                {method: stream.scores(method, seed)},
                [None] if method == "all features" else list(SIZES[name]),
                seeds=[1000 * order + seed],
                clustering="stacked",
            )
        for p in names(judged, "p"):
            nmi, acc = (mean(judged, metric, p=p) for metric in ("NMI geometric", "ACC"))
            p = ALL if method == "all features" else p
            results.append({"method": method, "p": p, "NMI": nmi, "ACC": acc})
        if fit := stream.fit(method):
            found = fit[0].predict(stream.views)
            nmi = normalized_mutual_information(stream.y, found, "geometric")
            acc = clustering_accuracy(stream.y, found)
            of_fit = {"p": CONSENSUS, "NMI": nmi, "ACC": acc, "seconds": fit[1]}
            results.append({"method": method, **of_fit})
    return results


def planted_job(name, seed, methods):
    """Return the share of the planted features among as many best ones, a row a method and view."""
    planted = make_planted(n_classes=5, random_state=seed, **PLANTED[name])
    views = {view: normalize(X.astype(np.float64)) for view, X in planted.views.items()}
    stream, results = Stream(views, planted.labels, seed), []
    for method in methods:
        scores = stream.scores(method, seed)
        for view, truth in planted.informative.items():
            found = float(truth[rank(scores[view]) <= truth.sum()].mean())
            results.append({"method": method, "view": view, "found": found})
    return results


def read(path):
    """Return the rows of a file, none if there is none."""
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {key: _value(key, text) for key, text in row.items() if text}
            for row in csv.DictReader(file)
        ]


def _value(key, text):
    if key in ("order", "seeds", "p") and text.isdigit():
        return int(text)
    return float(text) if key in ("NMI", "ACC", "seconds", "found") else text


def write(rows, path):
    """Write rows, sorted, so that two files differ only where results do."""
    part = path.with_suffix(".part")
    write_csv(sorted(rows, key=_place), part)
    part.replace(path)


def _place(row):
    p = str(row.get("p", ""))
    return row["set"], row["method"], row["order"], row["seeds"], len(p), p, row.get("view", "")


def work(job, name, order, methods, seeds):
    with threadpool_limits(1):
        rows = job(name, order, methods)
    about = {"set": name, "method": "", "order": order, "seeds": seeds}
    return [about | row for row in rows]


def run(job, sets, n, methods, args):
    """Run what the file lacks of job(name, 0 … n - 1); return the rows of these."""
    stored = read(args.csv)
    rows = those(stored, seeds=args.seeds)
    others = [row for row in stored if row["seeds"] != args.seeds]
    known = {(row["set"], row["order"], row["method"]) for row in rows}
    tasks = []
    for name, order in product(sets, range(n)):
        if missing := [m for m in methods if (name, order, m) not in known]:
            tasks.append(delayed(work)(job, name, order, missing, args.seeds))
    for found in Parallel(args.jobs, return_as="generator_unordered")(tasks):
        rows += found
        if args.csv:
            write(others + rows, args.csv)
    return [
        row for row in rows if row["set"] in sets and row["method"] in methods and row["order"] < n
    ]


def show(title, head, rows):
    print(f"\n### {title}\n\n{table(rows, head)}")


def show_set(name, rows, methods):
    """Print the table of one set."""
    lines = []
    for method in methods:
        own = those(rows, set=name, method=method)
        selected, consensus = selections(own), those(own, p=CONSENSUS)
        by_size = [cell(selected, "NMI", p=p).split()[0] for p in SIZES[name]]
        acc = mean(selected, "ACC")
        seconds = f"{mean(consensus, 'seconds'):.1f}" if consensus else "–"
        of_fit = [cell(consensus, metric) for metric in ("NMI", "ACC")]
        lines.append([method, *by_size, cell(selected, "NMI"), f"{acc:.3f}", *of_fit, seconds])
    head = ["NMI", *map(str, SIZES[name]), "mean ± sd over orders", "mean ACC"]
    show(name, [*head, "consensus NMI", "consensus ACC", "fit, s"], lines)


def selections(rows):
    """Return the rows of selected features, and of all."""
    return [row for row in rows if row["p"] != CONSENSUS]


def report_sets(args):
    methods = args.methods or METHODS
    job = partial(stream_job, n_seeds=args.seeds, data=args.data)
    rows = run(job, args.sets, args.orders, methods, args)
    for name in args.sets:
        show_set(name, rows, methods)
    nmi = {
        n: {m: mean(selections(rows), "NMI", set=n, method=m) for m in methods} for n in args.sets
    }
    core = [name for name in SETS if name in nmi] or args.sets
    over = {m: np.mean([nmi[n][m] for n in core]) for m in methods}
    others = [m for m in ("column sum", "variance") if m in methods]
    lines = [
        [m, *(f"{x:.3f}" for x in (*(nmi[n][m] for n in nmi), over[m]))]
        + [f"{over[m] - over[other]:+.3f}" for other in others]
        for m in methods
    ]
    head = ["mean NMI", *nmi, f"mean of {len(core)}", *(f"over {other}" for other in others)]
    show("Summary", head, lines)
    if set(nmi) >= set(SETS) and set(methods) >= set(METHODS):
        show_bars(rows, nmi, over)


def show_bars(rows, nmi, over):
    """Print whether what is asked for is reached."""
    gain = {name: nmi[name]["omvfs"] - nmi[name]["column sum"] for name in SETS}
    worst = min(gain, key=gain.get)
    acc = mean(rows, "ACC", set="fox", method="omvfs", p=CONSENSUS)
    at_40 = {m: mean(rows, "NMI", set="mfeat", method=m, p=40) for m in ("omvfs", "random")}
    bars = [
        ("fox: consensus ACC", acc, 0.80),
        ("fox: mean NMI over column sum", gain["fox"], 0.04),
        (f"worst set ({worst}) over column sum", gain[worst], -0.01),
        ("mean of the sets over column sum", over["omvfs"] - over["column sum"], 0.03),
        ("mean of the sets over variance", over["omvfs"] - over["variance"], 0.03),
        ("mfeat, 40 features, over random", at_40["omvfs"] - at_40["random"], 0.0),
    ]
    lines = [[what, f"{x:+.3f}", f"{bar:+.2f}", VERDICT[x >= bar]] for what, x, bar in bars]
    show("Bars", ["bar", "got", "at least", ""], lines)


def report_planted(args):
    methods = args.methods or PLANTED_METHODS
    rows = run(planted_job, PLANTED, args.seeds, methods, args)
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
        show(f"Planted, {name} ({args.seeds} seeds)", ["found", "view 0", "view 1"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=[*SETS, *EXTRA_SETS])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, "published", "true labels"])
    parser.add_argument("--orders", type=int, default=5, help="stream orders")
    parser.add_argument("--seeds", type=int, default=5, help="evaluation seeds; of --planted, data")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--csv", type=Path, help="results: kept, and taken up again")
    parser.add_argument("--planted", action="store_true", help="planted streams instead")
    args = parser.parse_args()
    (report_planted if args.planted else report_sets)(args)


if __name__ == "__main__":
    main()
