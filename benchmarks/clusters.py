"""How many clusters `n_clusters="auto"` finds, what that is worth, and what it costs.

    python benchmarks/clusters.py planted
    python benchmarks/clusters.py sets --data DIR --store FILE
    python benchmarks/clusters.py cost
    python benchmarks/clusters.py stability

`planted`: the number found beside the number of classes. `sets`: NMI of clusters by the selected
features alone, with the number found and with that of the classes. `cost`: processor time of a pass
and of asking for a ranking, with the number found and with as many fixed, one after the other.
`stability`: how much of a selection stays, on planted data of ever less signal and on noise.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from keep import Results
from omvfs import OMVFS
from omvfs.data.read import SuspectColumnWarning
from omvfs.datasets import make_planted, planted_stream
from omvfs.evaluation import evaluate_selection
from paper import Place, table
from paper.sets import load

CLASSES = 3, 5, 8, 12, 20
CHOSEN_ON = "mfeat", "reuters600", "fox", "bdgp"
HELD_BACK = "citeseer", "mdn_en_fr", "openclipart", "cora", "blogcatalog"
SIZES = {"mfeat": (10, 20, 40), "openclipart": (50, 100, 200)}
CLUSTERINGS = "stacked", "multiview"
# Rows that a selection is judged on at most.
JUDGED = 2_500


def planted(seeds):
    lines = []
    for K in CLASSES:
        found = []
        for seed in range(seeds):
            data = make_planted(3_000, n_classes=K, random_state=seed)
            found.append(OMVFS("auto", random_state=seed).fit(data.views).n_clusters_)
        near = sum(abs(k - K) <= 0.3 * K for k in found)
        lines.append([str(K), ", ".join(map(str, found)), f"{near} of {seeds}"])
        print(*lines[-1], flush=True)
    print(table(lines, ["classes", "found, seed by seed", "within 30 %"]))


def judged(whole, scores, name):
    """Return the NMI of clusters by the best features, by both clusterings."""
    rows, sizes = whole.take(slice(0, JUDGED)), SIZES.get(name, (100, 300, 600))
    found = []
    for clustering in CLUSTERINGS:
        own = evaluate_selection(
            rows.views, rows.labels, {"x": scores}, sizes, seeds=2, clustering=clustering
        )
        found.append(float(np.mean([row["NMI geometric"] for row in own])))
    return found


def sets(results, orders, data, names):
    for name in names:
        for order in range(orders):
            whole = load(name, Place(data=data))
            whole = whole.take(np.random.default_rng(order).permutation(len(whole.labels)))
            for way, K in (("classes", whole.n_classes), ("auto", "auto")):
                key = f"{name}/{order}/{way}"
                if not results.wanted(key):
                    continue
                model = OMVFS(K, random_state=order).fit(whole.views)
                nmi = judged(whole, model.view_scores_, name)
                results.put(key, {"n_clusters": model.n_clusters_, "nmi": nmi})
                print(key, model.n_clusters_, nmi, flush=True)
    lines = []
    for name in names:
        ways = [
            [results.get(f"{name}/{order}/{way}") for order in range(orders)]
            for way in ("classes", "auto")
        ]
        given, own = ([each for each in way if each is not None] for way in ways)
        if not given or len(given) != len(own):
            continue
        nmi = np.array([[each["nmi"] for each in way] for way in (given, own)])
        gain = nmi[1] - nmi[0]
        cells = [f"{a:.3f} → {b:.3f}" for a, b in zip(*nmi.mean(axis=1), strict=True)]
        numbers = ", ".join(str(each["n_clusters"]) for each in own)
        spread = f"{gain.mean():+.3f} ± {gain.mean(axis=1).std():.3f}"
        lines.append([name, str(given[0]["n_clusters"]), numbers, *cells, spread])
    heads = ["set", "classes", "found, order by order", *CLUSTERINGS, "mean difference"]
    print(table(lines, heads))


def cost(repeats):
    lines = []
    for name, law in (
        ("planted, 3,000 rows", {"n_rows": 3_000}),
        ("planted, 20,000 rows", {"n_rows": 20_000, "n_features": (20_000, 5_000)}),
    ):
        stream = planted_stream(n_classes=8, random_state=0, batch_size=200, **law)
        chunks = [chunk.views for chunk in stream]
        taken = {"fixed": [], "auto": []}
        for _ in range(repeats):
            for way, K in (("fixed", 8), ("auto", "auto")):
                model, began = OMVFS(K, random_state=0), time.process_time()
                for chunk in chunks:
                    model.partial_fit(chunk)
                passed = time.process_time()
                model.view_scores_  # noqa: B018
                taken[way].append((passed - began, time.process_time() - passed))
        a, b = (np.array(taken[way]) for way in ("fixed", "auto"))
        for i, what in enumerate(("a pass", "asking")):
            ratio = b[:, i] / a[:, i]
            times = [f"{np.median(each[:, i]):.2f}" for each in (a, b)]
            between = f"{ratio.min():.2f} to {ratio.max():.2f}"
            lines.append([name, what, *times, f"{np.median(ratio):.2f}", between])
            print(*lines[-1], flush=True)
    print(table(lines, ["rows", "what", "fixed, s", "auto, s", "ratio, median", "range"]))


def stability(seeds):
    lines = []
    for length in (60, 40, 25, 10):
        for concentration in (0.9, 0.0):
            found = []
            for seed in range(seeds):
                data = make_planted(
                    3_000, row_length=length, concentration=concentration, random_state=seed
                )
                model = OMVFS(5, random_state=seed).fit(data.views)
                top = {
                    view: truth[np.argsort(model.view_ranking_[view])[:100]].mean()
                    for view, truth in data.informative.items()
                }
                found.append([model.stability().index.value, np.mean(list(top.values()))])
            index, precision = (
                f"{a:.2f} ± {s:.2f}"
                for a, s in zip(np.mean(found, axis=0), np.std(found, axis=0), strict=True)
            )
            what = "planted" if concentration else "noise"
            lines.append([what, str(length), index, precision if concentration else "–"])
            print(*lines[-1], flush=True)
    print(table(lines, ["rows", "words a row and view", "stability", "planted among the best"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["planted", "sets", "cost", "stability"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=[*CHOSEN_ON, *HELD_BACK])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore", SuspectColumnWarning)
    with threadpool_limits(1):
        if args.what == "planted":
            planted(args.seeds)
        elif args.what == "cost":
            cost(args.repeats)
        elif args.what == "stability":
            stability(args.seeds)
        else:
            sets(Results(args.store), args.orders, args.data, args.sets)


if __name__ == "__main__":
    main()
