"""A view that tells nothing beside views that do: what the selection of the others loses by it.

    python benchmarks/noise_views.py --data DIR --store FILE

NMI of clusters by the selected features of the real views alone, without the further view, and with
one of each kind. It has as many features as the first view, and rows of the same norm: rows of the
first view in another order ("permuted": its structure, and no relation to any other), words
("poisson"), absolute values of a normal, and lognormal ones; or words of a hundred times as many
features ("wide"). "padded" is no further view: the first view has 99 times its features of words
beside its own, and both have half of its squared norm.
"""

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from keep import Results
from omvfs import OMVFS
from omvfs.datasets import make_planted
from omvfs.evaluation import evaluate_selection
from paper import Place, table
from paper.rows import mean
from paper.sets import load, planted_set

SIZES = {"planted": (100,), "fox": (100, 300), "mdn_en_fr": (100, 300)}
OTHER_SIZES = (20, 40, 80)
KINDS = "permuted", "poisson", "normal", "lognormal", "wide", "padded"
WAYS = {"equal": 1.0, "auto": "auto"}
# Of dense noise, at most so many features.
DENSE = 500
# Of how many times the features.
TIMES = 100


def words(n, width, length, rng):
    """Return rows of so many words each, drawn by a law with a long tail, of unit norm."""
    law = rng.pareto(1.0, width) + 0.1
    columns = np.searchsorted(np.cumsum(law / law.sum()), rng.random(n * length))
    columns = np.minimum(columns, width - 1)
    rows = np.repeat(np.arange(n), length)
    return normalize(sp.csr_array((np.ones(n * length), (rows, columns)), shape=(n, width)))


def noise(kind, X, rng):
    """Return rows of a kind of noise, as those of a view."""
    n, width = X.shape
    length = max(1, round(X.nnz / n)) if sp.issparse(X) else min(width, 50)
    if kind == "permuted":
        return X[rng.permutation(n)]
    if kind in ("poisson", "wide"):
        return words(n, width * (TIMES if kind == "wide" else 1), length, rng)
    shape = n, min(width, DENSE)
    if kind == "normal":
        return normalize(np.abs(rng.standard_normal(shape)))
    return normalize(rng.lognormal(0, 2, shape))


def with_noise(views, kind, seed):
    """Return views with a further one of noise, or with a padded one."""
    rng = np.random.default_rng(1000 + seed)
    first, X = next(iter(views.items()))
    if kind == "without":
        return views
    if kind == "padded":
        wide = words(X.shape[0], X.shape[1] * (TIMES - 1), max(1, round(X.nnz / X.shape[0])), rng)
        return {**views, first: sp.csr_array(sp.hstack([X, wide])) * np.sqrt(0.5)}
    return {**views, "noise": noise(kind, X, rng)}


def judged(views, labels, scores, sizes):
    """Return the NMI of clusters by the best features, stacked and multi-view."""
    return [
        float(np.mean([mean(found, "NMI geometric", p=p) for p in sizes]))
        for clustering in ("stacked", "multiview")
        for found in [
            evaluate_selection(views, labels, {"x": scores}, sizes, seeds=2, clustering=clustering)
        ]
    ]


def rows_of(name, order, data):
    """Return a set in another order, or planted data of another seed."""
    if name == "planted":
        return planted_set(make_planted(3000, random_state=order))
    whole = load(name, Place(data=data))
    return whole.take(np.random.default_rng(order).permutation(len(whole.labels)))


def run(results, orders, data, names, kinds, ways):
    for order in range(orders):
        for name in names:
            sizes = SIZES.get(name, OTHER_SIZES)
            whole = rows_of(name, order, data)
            K, real = len(np.unique(whole.labels)), dict(whole.views)
            for kind in ("without", *kinds):
                if kind == "padded" and not sp.issparse(next(iter(real.values()))):
                    continue
                for way in ways:
                    key = f"{name}/{order}/{kind}/{way}"
                    if not results.wanted(key):
                        continue
                    views = with_noise(real, kind, order)
                    weight = WAYS[way]
                    model = OMVFS(K, view_weight=weight, random_state=order).fit(views)
                    scores = model.view_scores_
                    own = {view: scores[view][: X.shape[1]] for view, X in real.items()}
                    found = judged(real, whole.labels, own, sizes)
                    results.put(key, {"found": found, "weights": model.view_weights_})
                    print(key, np.round(found, 4), model.view_weights_, flush=True)


def show(results, orders, names, kinds, ways):
    for name in names:
        lines = []
        for kind in ("without", *kinds):
            for way in ways:
                done = [results.get(f"{name}/{order}/{kind}/{way}") for order in range(orders)]
                base = [results.get(f"{name}/{order}/without/{way}") for order in range(orders)]
                pairs = [
                    (np.array(a["found"]), np.array(b["found"]), a["weights"])
                    for a, b in zip(done, base, strict=True)
                    if a is not None and b is not None
                ]
                if not pairs:
                    continue
                own = np.array([a for a, _, _ in pairs])
                fall = np.array([b - a for a, b, _ in pairs])
                heard = [f"{each[2].get('noise', 0):.2f}" for each in pairs]
                cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(own.mean(0), own.std(0), strict=True)]
                falls = [
                    f"{m:+.3f} ± {s:.3f}" for m, s in zip(fall.mean(0), fall.std(0), strict=True)
                ]
                lines.append([kind, way, *cells, *falls, " ".join(heard)])
        heads = ["view", "weights", "stacked", "multi-view", "falls by", "falls by", "noise weighs"]
        print(f"**{name}**\n\n{table(lines, heads)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=list(SIZES))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", type=Path)
    args = parser.parse_args()
    results = Results(args.store)
    with threadpool_limits(1):
        run(results, args.orders, args.data, args.sets, args.kinds, args.ways)
    show(results, args.orders, args.sets, args.kinds, args.ways)


if __name__ == "__main__":
    main()
