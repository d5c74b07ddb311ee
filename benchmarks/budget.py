"""So many features in all: shared between the views by what they tell, or equally.

    python benchmarks/budget.py --data DIR --store FILE

NMI of k-means on 5 % to 40 % of all features, views side by side and every feature from 0 to 1, as
`evaluate_joint_ranking` has it. The same rankings within the views, three ways to share: as
`n_features_to_select` does, the same part of every view, and the same number of every view.
"""

import argparse
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from keep import Results
from omvfs import OMVFS
from omvfs.evaluation import evaluate_joint_ranking, in_unit_range
from paper import Place, table
from paper.rows import mean
from paper.sets import load

SETS = "mfeat", "reuters600", "fox", "bdgp"
HELD_BACK = "citeseer", "mdn_en_fr", "openclipart"
PERCENTS = (5, 10, 15, 20, 25, 30, 35, 40)
WAYS = "as proved", "same part", "same number"


def rounded(parts, total):
    """Return whole numbers near some parts of a total, at least 1 each, that add up to it."""
    exact = np.asarray(parts) / np.sum(parts) * total
    counts = np.maximum(1, np.floor(exact)).astype(int)
    for v in np.argsort(counts - exact)[: total - counts.sum()]:
        counts[v] += 1
    return counts


def same_number(widths, total):
    """Return the same number of every view, more of others where a view has not so many."""
    counts = np.zeros(len(widths), int)
    while (left := total - counts.sum()) > 0:
        open_ = np.flatnonzero(counts < widths)
        for i, v in enumerate(open_):
            share = -(-(total - counts.sum()) // (len(open_) - i)) if left < len(open_) else 0
            share = share or left // len(open_)
            counts[v] += min(share, widths[v] - counts[v], total - counts.sum())
    return counts


def counts_of(way, model, total):
    """Return how many features of each view are taken."""
    widths = np.array(model.schema_.widths)
    if way == "same part":
        return rounded(widths, total)
    if way == "same number":
        return same_number(widths, total)
    model.set_params(n_features_to_select=total)
    return np.array([int(mask.sum()) for mask in model.view_support_.values()])


def run(results, orders, data, names, seeds):
    for name in names:
        for order in range(orders):
            keys = {(way, p): f"{name}/{order}/{p}/{way}" for p in PERCENTS for way in WAYS}
            if not any(map(results.wanted, keys.values())):
                continue
            whole = load(name, Place(data=data))
            whole = whole.take(np.random.default_rng(order).permutation(len(whole.labels)))
            model = OMVFS(len(np.unique(whole.labels)), random_state=order).fit(whole.views)
            ranks, scaled = model.view_ranking_, in_unit_range(whole.views)
            n, judged = sum(model.schema_.widths), {}
            for (way, percent), key in keys.items():
                if not results.wanted(key):
                    continue
                counts = counts_of(way, model, max(1, round(percent * n / 100)))
                taken = tuple(counts.tolist())
                if taken not in judged:
                    chosen = zip(ranks.values(), counts, strict=True)
                    scores = np.concatenate([1.0 * (own <= k) for own, k in chosen])
                    found = evaluate_joint_ranking(
                        scaled, whole.labels, scores, [percent], seeds=seeds
                    )
                    judged[taken] = mean(found, "NMI geometric")
                results.put(key, {"NMI": judged[taken], "counts": list(taken)})
            print(
                name, order, *(f"{line:.3f}" for line in _means(results, name, order)), flush=True
            )


def _means(results, name, order):
    return [np.mean([results[f"{name}/{order}/{p}/{w}"]["NMI"] for p in PERCENTS]) for w in WAYS]


def show(results, orders, names):
    lines = []
    for name in names:
        known = [o for o in range(orders) if results.get(f"{name}/{o}/{PERCENTS[-1]}/{WAYS[-1]}")]
        if not known:
            continue
        own = np.array([_means(results, name, order) for order in known])
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(own.mean(0), own.std(0), strict=True)]
        gains = own[:, :1] - own[:, 1:]
        more = [f"{m:+.3f} ± {s:.3f}" for m, s in zip(gains.mean(0), gains.std(0), strict=True)]
        lines.append([name, *cells, *more, str(len(known))])
    heads = ["set", *WAYS, "over the same part", "over the same number", "orders"]
    print(table(lines, heads))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=[*SETS, *HELD_BACK])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", type=Path)
    args = parser.parse_args()
    results = Results(args.store)
    with threadpool_limits(1):
        run(results, args.orders, args.data, args.sets, args.seeds)
    show(results, args.orders, args.sets)


if __name__ == "__main__":
    main()
