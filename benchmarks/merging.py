"""Fits of parts of a stream, merged, beside one pass over all of it.

    python benchmarks/merging.py --data DIR --store FILE
    python benchmarks/merging.py --speed

Rows are cut to W parts, at random or sorted by class, so that each part sees other classes; each is
learned from by itself, and all are merged once. The features that come of it are judged by the
clusters that they alone give, against the classes; on planted data, by how many of the planted ones
are among as many of the best. An interrupted run goes on from its file.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import omvfs
from keep import Results
from omvfs import OMVFS, as_views, rechunk
from omvfs.datasets import make_planted
from omvfs.evaluation import evaluate_selection
from paper import Place, table
from paper.rows import mean
from paper.sets import load

PLANTED = "planted"
SETS = [PLANTED, "mdn_en_fr", "wordnet", "debian_large"]
PARTS = [1, 2, 4, 8, 16, 64]
HOW = ["random", "sorted by class"]
CLUSTERINGS = ("stacked", "multiview")
SIZES, SEEDS, JUDGED = (100, 300, 500), 2, 2500
ROWS = 20_000
# Faint enough that a first chunk alone misleads.
FAINT = {"n_features": (20_000, 5_000), "n_informative": (1_000, 500), "n_classes": 10}
FAINT |= {"row_length": (100, 50)}


class Rows:
    """Rows in a random order, with what is to be found in them."""

    def __init__(self, name, order, data):
        if name == PLANTED:
            self._found = make_planted(ROWS, random_state=order, **FAINT)
            self.views, self.labels = self._found.views, self._found.labels
        else:
            found = load(name, Place(data=data))
            found = found.take(np.random.default_rng(order).permutation(len(found.labels)))
            self._found, self.views, self.labels = None, found.views, found.labels
        self.n_clusters = len(np.unique(self.labels))

    def parts(self, n_parts, how):
        """Return the views of each part."""
        rows = np.arange(len(self.labels))
        rows = rows if how == "random" else np.argsort(self.labels, kind="stable")
        some = np.array_split(rows, n_parts)
        return [{view: X[held] for view, X in self.views.items()} for held in some]

    def judged(self, scores):
        """Return two figures: of the views, or of the clusterings."""
        if self._found is not None:
            return [
                float(truth[np.argsort(-scores[view], kind="stable")[: truth.sum()]].mean())
                for view, truth in self._found.informative.items()
            ]
        views = {view: X[:JUDGED].astype(np.float32) for view, X in self.views.items()}
        return [
            float(np.mean([mean(found, "NMI geometric", p=p) for p in SIZES]))
            for clustering in CLUSTERINGS
            for found in [
                evaluate_selection(
                    views,
                    self.labels[:JUDGED],
                    {"omvfs": scores},
                    SIZES,
                    seeds=SEEDS,
                    clustering=clustering,
                )
            ]
        ]


def learned(views, n_clusters, seed):
    """Return what is learned of a part; not by `fit`, which also tells the clusters of its rows."""
    model = OMVFS(n_clusters, random_state=seed)
    for chunk in rechunk([as_views(views)], model.batch_size):
        model.partial_fit(chunk)
    return model


def quality(results, name, order, data):
    """Find what is missing of one order of a set."""
    keys = {(W, how): f"{name}/{order}/{W}/{how}" for W in PARTS for how in HOW}
    wanted = {each: key for each, key in keys.items() if results.wanted(key)}
    if not wanted:
        return
    rows = Rows(name, order, data)
    for (W, how), key in wanted.items():
        models = [learned(X, rows.n_clusters, order) for X in rows.parts(W, how)]
        results.put(key, {"found": rows.judged(omvfs.merge(models).view_scores_)})
        print(key, results[key]["found"], flush=True)


def shown(results, name, orders):
    """Return the table of a set: mean and spread of both figures over the orders that are done."""
    lines = []
    for W in PARTS:
        told = [["one pass" if W == 1 else f"{W} parts"]]
        for how in HOW:
            done = [results.get(f"{name}/{order}/{W}/{how}") for order in range(orders)]
            own = np.array([each["found"] for each in done if each is not None])
            pairs = zip(own.mean(axis=0), own.std(axis=0), strict=True) if len(own) else ()
            cell = " / ".join(f"{a:.3f} ± {b:.3f}" for a, b in pairs)
            told.append([cell, len(own)])
        lines.append([str(each) for cell in told for each in cell])
    heads = ["", HOW[0], "orders", HOW[1], "orders"]
    return f"**{name}**\n\n{table(lines, heads)}"


def speed(n_parts=64, repeats=3):
    """Tell what it costs to merge parts, beside what it costs to learn from them."""
    n = 2_500
    law = {"n_features": (60_000, 40_000), "n_informative": (1_000, 600), "n_classes": 20}
    planted = make_planted(n * n_parts, row_length=(60, 40), random_state=0, **law)
    for dtype in (np.float32, np.float64):
        models, began = [], time.process_time()
        for i in range(n_parts):
            part = {view: X[n * i : n * (i + 1)].astype(dtype) for view, X in planted.views.items()}
            models.append(learned(part, 20, 0))
        learning, merging, asking = time.process_time() - began, [], []
        for _ in range(repeats):
            began = time.process_time()
            merged = omvfs.merge(models)
            assert merged.n_samples_seen_ == n * n_parts  # worked out when it is asked for
            merging.append(time.process_time() - began)
            merged.view_scores_  # noqa: B018
            asking.append(time.process_time() - began - merging[-1])
        print(
            f"{np.dtype(dtype)}: {n_parts} parts of {n:,} rows, 100,000 features, 20 clusters: "
            f"merging {min(merging):.2f} to {max(merging):.2f} s of one CPU, "
            f"{min(merging) / learning:.1%} of learning ({learning:.0f} s), "
            f"{min(merging) / min(asking):.1f} × one ranking ({min(asking):.2f} s)"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", type=Path, help="JSON file to keep results in, and go on from")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--speed", action="store_true", help="the time that merging takes")
    args = parser.parse_args()
    with threadpool_limits(1):
        if args.speed:
            speed()
            return
        results = Results(args.store)
        for order in range(args.orders):
            for name in args.sets:
                quality(results, name, order, args.data)
        print("\n\n".join(shown(results, name, args.orders) for name in args.sets))


if __name__ == "__main__":
    main()
