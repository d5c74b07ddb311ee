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
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix, normalized_mutual_info_score
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from omvfs import OMVFS
from omvfs.datasets import make_planted
from omvfs.model.arrays import column_sums, squared_entries
from omvfs.model.score import contrast
from omvfs.selection import rank

SETS = ["fox", "reuters600", "citeseer", "debian_en_fr", "bdgp", "mfeat"]
EXTRA_SETS = ["reuters1200", "digits"]
KEPT_VIEWS = {"reuters600": [0, 1], "mfeat": [0, 1, 2, 4, 5]}
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
    """Return the views, nonnegative and with rows of unit norm, and the classes 0, 1, ..."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        images = X.reshape(-1, 8, 8)
        profiles = np.hstack([images.sum(axis=1), images.sum(axis=2)])
        views = [X, profiles, np.abs(np.fft.fft2(images)).reshape(len(X), -1)]
    else:
        y = np.load(data / name / "labels.npy")
        paths = {int(path.name.split("_")[1]): path for path in (data / name).glob("view_*")}
        kept = [paths[i] for i in KEPT_VIEWS.get(name, sorted(paths))]
        views = [sp.csr_array(sp.load_npz(p)) if p.suffix == ".npz" else np.load(p) for p in kept]
    clipped = [X.maximum(0) if sp.issparse(X) else np.maximum(X, 0) for X in views]
    return [normalize(X.astype(np.float64)) for X in clipped], np.unique(y, return_inverse=True)[1]


def agreement(y, found):
    """Return NMI, and the share of rows that are right under the best naming of the clusters."""
    table = confusion_matrix(y, found)
    acc = table[linear_sum_assignment(-table)].sum() / len(y)
    return float(normalized_mutual_info_score(y, found, average_method="geometric")), float(acc)


def spherical_k_means(X, K, rng, n_init=10, max_iter=40):
    """Return the best labels of several k-means++ starts, run side by side; rows of unit norm."""
    n = X.shape[0]
    dense = sp.csr_array.toarray if sp.issparse(X) else np.asarray
    chosen = [rng.integers(n, size=n_init)]
    distance = np.full((n, n_init), np.inf)
    while len(chosen) < K:
        distance = np.minimum(distance, np.maximum(1 - X @ dense(X[chosen[-1]]).T, 0))
        total = distance.cumsum(axis=0, dtype=np.float64)
        drawn = (total <= rng.random(n_init) * total[-1]).sum(axis=0)
        chosen.append(np.minimum(drawn, n - 1))
    centres = dense(X[np.transpose(chosen).ravel()])
    labels = np.full((n, n_init), -1)
    for _ in range(max_iter):
        similarity = (X @ centres.T).reshape(n, n_init, K)
        previous, labels = labels, similarity.argmax(axis=2)
        if (labels == previous).all():
            break
        cells = (labels + K * np.arange(n_init)).ravel(), np.arange(n).repeat(n_init)
        members = sp.csr_array((np.ones(labels.size, X.dtype), cells), shape=(n_init * K, n))
        centres = dense(members @ X)
        empty = ~centres.any(axis=1)
        centres[empty] = dense(X[rng.integers(n, size=empty.sum())])
        centres = normalize(centres)
    return labels[:, similarity.max(axis=2).sum(axis=0).argmax()]


def selected(views, scores, p):
    """Return the best p features of every view, of unit norm in each row and view, stacked."""
    parts = [normalize(X[:, rank(s) <= p]) for X, s in zip(views, scores, strict=True)]
    if not any(map(sp.issparse, parts)):
        return normalize(np.hstack(parts)).astype(np.float32)
    X = normalize(sp.hstack(parts, format="csr")).astype(np.float32)
    return X if X.nnz < 0.05 * np.prod(X.shape) else X.toarray()


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
            return list(fit[0].set_params(**FROM_FIT.get(method, {})).view_scores_.values())
        if method == "random":
            rng = np.random.default_rng([self.seed, seed])
            return [rng.random(X.shape[1]) for X in self.views]
        if method == "true labels":
            masses = np.bincount(self.y).astype(float)
            U = np.eye(self.n_classes)[self.y] / np.sqrt(masses)
            return [contrast(X.T @ U, masses) for X in self.views]
        means = [column_sums(X) / len(self.y) for X in self.views]
        if method != "variance":
            return means
        squares = [column_sums(squared_entries(X)) / len(self.y) for X in self.views]
        return [square - mean**2 for square, mean in zip(squares, means, strict=True)]


def stream_job(name, order, methods, n_seeds, data):
    """Return by method NMI and ACC for every evaluation seed and number of features."""
    views, y = load(name, data)
    rows = np.random.default_rng(order).permutation(len(y))
    stream, results = Stream([X[rows] for X in views], y[rows], order), {}
    for method in methods:
        figures = []
        for seed in range(n_seeds):
            scores = stream.scores(method, seed)
            figures.append([])
            for p in [np.inf] if method == "all features" else SIZES[name]:
                X, rng = selected(stream.views, scores, p), np.random.default_rng([order, seed])
                found = spherical_k_means(X, stream.n_classes, rng)
                figures[-1].append(agreement(stream.y, found))
        nmi, acc = np.moveaxis(figures, 2, 0).tolist()
        results[method] = {"nmi": nmi, "acc": acc}
        if fit := stream.fit(method):
            consensus = agreement(stream.y, fit[0].predict(stream.views))
            results[method] |= {"consensus": consensus, "seconds": fit[1]}
    return results


def planted_job(name, seed, methods):
    """Return by method the share of the planted features among as many best ones, per view."""
    planted = make_planted(n_classes=5, random_state=seed, **PLANTED[name])
    views = [normalize(X.astype(np.float64)) for X in planted.views.values()]
    stream, results = Stream(views, planted.labels, seed), {}
    for method in methods:
        pairs = zip(planted.informative.values(), stream.scores(method, seed), strict=True)
        results[method] = [float(truth[rank(s) <= truth.sum()].mean()) for truth, s in pairs]
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
