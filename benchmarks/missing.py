"""Rows that lack a view: what is found in them, beside filling them and dropping them.

    python benchmarks/missing.py planted
    python benchmarks/missing.py sets --data DIR --store FILE

`planted`: how many of the planted features are among as many of the best, and how many of half as
many best ones are planted. Half of the rows lack one of two views, by chance; or nine rows in ten
of two classes lack the second view, and none of the others; or as many rows, by chance.
`sets`: NMI of clusters by the selected features alone, judged on the complete rows, where 10, 30
and 50 % of the rows lack one of the views.
"""

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from keep import Results
from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.evaluation import evaluate_selection
from paper import Place, table
from paper.rows import mean
from paper.sets import load
from paper.timefs import TIMEFS

WAYS = "known to lack", "zeros", "means", "rows dropped"
SETS = {"fox": (100, 300, 500), "openclipart": (50, 100, 200)}
SHARES = (0.1, 0.3, 0.5)
CLUSTERINGS = ("stacked", "multiview")
# Faint enough that some of the words are missed with all views there.
LAW = {"n_features": (4_000, 2_000), "n_informative": (200, 100), "n_classes": 5}
LAW |= {"row_length": (100, 70)}
ROWS = 1_500
MISSING = "by chance", "by class", "as many by chance"


def lacking_one(n, n_views, share, rng):
    """Return which rows have which views, so many of them lacking one by chance."""
    present = np.ones((n, n_views), bool)
    rows = np.flatnonzero(rng.random(n) < share)
    present[rows, rng.integers(0, n_views, len(rows))] = False
    return present


def lacking_by_class(labels, n_views, rng):
    """Return which rows have which views: of two classes, one in ten has the second."""
    present = np.ones((len(labels), n_views), bool)
    present[np.isin(labels, [0, 1]) & (rng.random(len(labels)) < 0.9), 1] = False
    return present


def filled(views, present, way):
    """Return the rows in one of the ways."""
    names = list(views)
    if way == "known to lack":
        return Views(views, present={view: present[:, v] for v, view in enumerate(names)})
    if way == "rows dropped":
        rows = np.flatnonzero(present.all(axis=1))
        return Views({view: X[rows] for view, X in views.items()})
    made = {}
    for v, view in enumerate(names):
        has = present[:, v]
        if way == "zeros":
            X = Views({view: views[view]}, present={view: has})[view]
        else:
            X = np.array(views[view].toarray() if sp.issparse(views[view]) else views[view])
            X[~has] = X[has].mean(axis=0)
        made[view] = X
    return Views(made)


def recovered(planted, scores, part=1):
    """Return the share of planted features among as many of the best, or a part of that, by view.

    Of as many it is recall and precision in one; of fewer, the precision of the top.
    """
    return [
        float(truth[np.argsort(-scores[view], kind="stable")[: truth.sum() // part]].mean())
        for view, truth in planted.informative.items()
    ]


def planted(seeds):
    lines = []
    for what in MISSING:
        found = {way: [] for way in ("complete", *WAYS)}
        for seed in range(seeds):
            data = make_planted(ROWS, random_state=seed, **LAW)
            rng = np.random.default_rng(seed)
            by_class = lacking_by_class(data.labels, 2, rng)
            present = {
                "by chance": lacking_one(ROWS, 2, 0.5, rng),
                "by class": by_class,
                "as many by chance": by_class[rng.permutation(ROWS)],
            }[what]
            for way in found:
                X = data.views if way == "complete" else filled(data.views, present, way)
                model = OMVFS(LAW["n_classes"], random_state=seed).fit(X)
                each = [recovered(data, model.view_scores_, part) for part in (1, 2)]
                found[way].append(np.concatenate(each))
                print(what, seed, way, found[way][-1].round(3), flush=True)
        for way, each in found.items():
            a, s = np.mean(each, axis=0), np.std(each, axis=0)
            cells = [f"{m:.3f} ± {d:.3f}" for m, d in zip(a, s, strict=True)]
            lines.append([what, way, *cells])
    views = [
        f"{which} view, {what}" for what in ("all", "top half") for which in ("first", "second")
    ]
    print(table(lines, ["missing", "way", *views]))


def judged(views, labels, scores, sizes):
    """Return the NMI of clusters by the best features of complete rows, by both clusterings."""
    return [
        float(np.mean([mean(found, "NMI geometric", p=p) for p in sizes]))
        for clustering in CLUSTERINGS
        for found in [
            evaluate_selection(views, labels, {"x": scores}, sizes, seeds=2, clustering=clustering)
        ]
    ]


def sets(results, orders, data, names):
    for name in names:
        sizes = SETS[name]
        for order in range(orders):
            whole = load(name, Place(data=data))
            whole = whole.take(np.random.default_rng(order).permutation(len(whole.labels)))
            K, names_of = len(np.unique(whole.labels)), list(whole.views)
            views = {view: whole.views[view].astype(np.float32) for view in names_of}
            for share in (0.0, *SHARES):
                rng = np.random.default_rng(1000 + order)
                present = lacking_one(len(whole.labels), len(views), share, rng)
                for way in (*WAYS, "TIME-FS") if share else ("known to lack", "TIME-FS"):
                    key = f"{name}/{order}/{share}/{way}"
                    if not results.wanted(key):
                        continue
                    if way == "TIME-FS":
                        model = TIMEFS(K, random_state=order)
                        X = filled(views, present, "known to lack") if share else Views(views)
                    else:
                        model = OMVFS(K, random_state=order)
                        X = filled(views, present, way) if share else Views(views)
                    scores = model.fit(X).view_scores_
                    results.put(key, {"found": judged(views, whole.labels, scores, sizes)})
                    print(key, results[key]["found"], flush=True)
    for name in names:
        lines = []
        for share in (0.0, *SHARES):
            for way in (*WAYS, "TIME-FS"):
                done = [results.get(f"{name}/{order}/{share}/{way}") for order in range(orders)]
                own = np.array([each["found"] for each in done if each is not None])
                if len(own):
                    pairs = zip(own.mean(axis=0), own.std(axis=0), strict=True)
                    cells = [f"{a:.3f} ± {s:.3f}" for a, s in pairs]
                    lines.append([f"{share:.0%}", way, *cells, str(len(own))])
        heads = ["rows that lack a view", "way", *CLUSTERINGS, "orders"]
        print(f"**{name}**\n\n{table(lines, heads)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["planted", "sets"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", type=Path)
    args = parser.parse_args()
    with threadpool_limits(1):
        if args.what == "planted":
            planted(args.seeds)
        else:
            sets(Results(args.store), args.orders, args.data, args.sets)


if __name__ == "__main__":
    main()
