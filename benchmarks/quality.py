"""How good the selected features are, on real data as streams and on planted ones.

    python benchmarks/quality.py --json quality.json
    python benchmarks/quality.py --planted

Each set is streamed in several seeded orders. The top p features per view are judged by spherical
k-means on them alone, against the true classes. An interrupted run goes on from its JSON file;
after a change of the code, begin with another.
"""

import argparse
import json
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from omvfs import OMVFS, as_views
from omvfs.baselines import ColumnSum, RandomScore, Variance
from omvfs.datasets import load_folder, make_planted
from omvfs.demo import digits_views
from omvfs.evaluation import (
    clustering_accuracy,
    evaluate_selection,
    normalized_mutual_information,
)
from omvfs.model.ranking import contrast
from omvfs.selectors.base import rank

SETS = ["fox", "reuters600", "citeseer", "debian_en_fr", "bdgp", "mfeat"]
EXTRA_SETS = ["reuters1200", "digits"]
VIEWS = {
    "reuters600": ["english", "french"],
    "mfeat": ["pixels", "profile", "fourier", "zernike", "morphological"],
}
BASELINES = {"column sum": ColumnSum, "variance": Variance, "random": RandomScore}
SIZES = dict.fromkeys([*SETS, *EXTRA_SETS], range(100, 700, 100))
SIZES |= {"mfeat": (10, 20, 40), "digits": (5, 10, 20)}

# Rankings that the clusters of one default fit give.
FROM_FIT = {
    "omvfs": {key: OMVFS().get_params()[key] for key in ("score", "diversity")},
    "norm": {"score": "norm", "diversity": 0.0},
    "contrast": {"score": "contrast", "diversity": 0.0},
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


def load(name, data):
    """Return the views, nonnegative and with rows of unit norm, and the classes."""
    if name == "digits":
        views, y = digits_views()
    else:
        views, y = load_folder(data / name, VIEWS.get(name))
    clipped = as_views(views, negative="clip")
    unit = {v: normalize(X.astype(np.float64)) for v, X in clipped.blocks.items()}
    return unit, np.unique(y, return_inverse=True)[1]


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
    """Return by method NMI and ACC for every evaluation seed and number of features."""
    views, y = load(name, data)
    rows = np.random.default_rng(order).permutation(len(y))
    stream, results = Stream({v: X[rows] for v, X in views.items()}, y[rows], order), {}
    single = {view: X.astype(np.float32) for view, X in stream.views.items()}
    for method in methods:
        sizes = [None] if method == "all features" else list(SIZES[name])
        judged = []
        for seed in range(n_seeds):
            judged += evaluate_selection(
                single,
                stream.y,
                {method: stream.scores(method, seed)},
                sizes,
                seeds=[1000 * order + seed],
                clustering="stacked",
            )
        figures = np.array([[row["NMI geometric"], row["ACC"]] for row in judged])
        nmi, acc = figures.T.reshape(2, n_seeds, len(sizes)).tolist()
        results[method] = {"nmi": nmi, "acc": acc}
        if fit := stream.fit(method):
            found = fit[0].predict(stream.views)
            consensus = (
                normalized_mutual_information(stream.y, found, "geometric"),
                clustering_accuracy(stream.y, found),
            )
            results[method] |= {"consensus": consensus, "seconds": fit[1]}
    return results


def planted_job(name, seed, methods):
    """Return by method the share of the planted features among as many best ones, per view."""
    planted = make_planted(n_classes=5, random_state=seed, **PLANTED[name])
    views = {view: normalize(X.astype(np.float64)) for view, X in planted.views.items()}
    stream, results = Stream(views, planted.labels, seed), {}
    for method in methods:
        scores = stream.scores(method, seed)
        results[method] = [
            float(truth[rank(scores[view]) <= truth.sum()].mean())
            for view, truth in planted.informative.items()
        ]
    return results


def work(job, name, i, methods):
    with threadpool_limits(1):
        return name, i, job(name, i, methods)


def run(job, names, n, methods, args):
    """Run what the file lacks of job(name, 0 … n - 1); return the results by name and method."""
    store = json.loads(args.json.read_text()) if args.json and args.json.exists() else {}
    key = partial("{seeds} seeds, {} {}: {}".format, seeds=args.seeds)
    tasks = []
    for name, i in product(names, range(n)):
        if missing := [m for m in methods if key(name, i, m) not in store]:
            tasks.append(delayed(work)(job, name, i, missing))
    for name, i, results in Parallel(args.jobs, return_as="generator_unordered")(tasks):
        store |= {key(name, i, method): result for method, result in results.items()}
        if args.json:
            args.json.with_suffix(".part").write_text(json.dumps(store, indent=1))
            args.json.with_suffix(".part").replace(args.json)
    return {
        name: {m: [store[key(name, i, m)] for i in range(n)] for m in methods} for name in names
    }


def show(title, head, rows):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join([*row, *['–'] * (len(head) - len(row))])} |")


def spread(values):
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


def show_set(name, runs):
    """Print the table of one set; `runs` has by method the results of every order."""
    rows = []
    for method, results in runs.items():
        nmi, acc = (np.mean([r[key] for r in results], axis=1) for key in ("nmi", "acc"))
        by_size = ["–"] * len(SIZES[name])
        if method != "all features":
            by_size = [f"{x:.3f}" for x in nmi.mean(axis=0)]
        row = [method, *by_size, spread(nmi.mean(axis=1)), f"{acc.mean():.3f}"]
        if "consensus" in results[0]:
            row += map(spread, np.transpose([r["consensus"] for r in results]))
            row.append(f"{np.mean([r['seconds'] for r in results]):.1f}")
        rows.append(row)
    head = ["NMI", *map(str, SIZES[name]), "mean ± sd over orders", "mean ACC"]
    show(name, [*head, "consensus NMI", "consensus ACC", "fit, s"], rows)


def report_sets(args):
    methods = args.methods or METHODS
    job = partial(stream_job, n_seeds=args.seeds, data=args.data)
    runs = run(job, args.sets, args.orders, methods, args)
    for name in args.sets:
        show_set(name, runs[name])
    mean = {n: {m: np.mean([r["nmi"] for r in runs[n][m]]) for m in methods} for n in args.sets}
    core = [name for name in SETS if name in mean] or args.sets
    over = {m: np.mean([mean[n][m] for n in core]) for m in methods}
    others = [m for m in ("column sum", "variance") if m in methods]
    rows = [
        [m, *(f"{x:.3f}" for x in (*(mean[n][m] for n in mean), over[m]))]
        + [f"{over[m] - over[other]:+.3f}" for other in others]
        for m in methods
    ]
    head = ["mean NMI", *mean, f"mean of {len(core)}", *(f"over {other}" for other in others)]
    show("Summary", head, rows)
    if set(mean) >= set(SETS) and set(methods) >= set(METHODS):
        show_bars(runs, mean, over)


def show_bars(runs, mean, over):
    """Print whether what is asked for is reached."""
    gain = {name: mean[name]["omvfs"] - mean[name]["column sum"] for name in SETS}
    worst = min(gain, key=gain.get)
    acc = np.mean([r["consensus"][1] for r in runs["fox"]["omvfs"]])
    at_40 = {m: np.mean([r["nmi"] for r in runs["mfeat"][m]], axis=(0, 1))[-1] for m in METHODS}
    bars = [
        ("fox: consensus ACC", acc, 0.80),
        ("fox: mean NMI over column sum", gain["fox"], 0.04),
        (f"worst set ({worst}) over column sum", gain[worst], -0.01),
        ("mean of the sets over column sum", over["omvfs"] - over["column sum"], 0.03),
        ("mean of the sets over variance", over["omvfs"] - over["variance"], 0.03),
        ("mfeat, 40 features, over random", at_40["omvfs"] - at_40["random"], 0.0),
    ]
    rows = [[what, f"{x:+.3f}", f"{bar:+.2f}", VERDICT[x >= bar]] for what, x, bar in bars]
    show("Bars", ["bar", "got", "at least", ""], rows)


def report_planted(args):
    runs = run(planted_job, PLANTED, args.seeds, args.methods or PLANTED_METHODS, args)
    for name, bars in PLANTED_BARS.items():
        rows = [[method, *map(spread, np.transpose(runs[name][method]))] for method in runs[name]]
        if "omvfs" in runs[name]:
            means = zip(np.mean(runs[name]["omvfs"], axis=0), bars, strict=True)
            rows.append(["bar", *(f"{bar}: {VERDICT[x >= bar]}" for x, bar in means)])
        show(f"Planted, {name} ({args.seeds} seeds)", ["found", "view 0", "view 1"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=[*SETS, *EXTRA_SETS])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, "published", "true labels"])
    parser.add_argument("--orders", type=int, default=5, help="stream orders")
    parser.add_argument("--seeds", type=int, default=5, help="evaluation seeds; of --planted, data")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="results: kept, and taken up again")
    parser.add_argument("--planted", action="store_true", help="planted streams instead")
    args = parser.parse_args()
    (report_planted if args.planted else report_sets)(args)


if __name__ == "__main__":
    main()
