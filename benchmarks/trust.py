"""Can `selection_quality_`, which knows no classes, be trusted?

    python benchmarks/trust.py --data DIR

Of each set: how far the quality correlates with the NMI of the selected features with the classes,
over numbers of features and, on one order, over ranking rules; and what is lost by taking the
suggested number of features instead of the best of those tried.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from omvfs import OMVFS
from omvfs.evaluation import evaluate_selection
from paper import Place, table
from paper.rows import mean
from paper.sets import load

SETS = ["fox", "reuters600", "citeseer", "debian_en_fr", "bdgp", "mfeat", "blogcatalog"]
SETS += ["libreoffice_help", "reuters1200", "mdn_en_fr", "openclipart", "cora"]
CLUSTERINGS = ("stacked", "multiview")
SIZES, FEW = (10, 20, 40, 80, 120, 240, 320, 480, 640), (5, 10, 15, 20, 30, 40, 60)
# Those that tell rules apart, at little cost.
OF_RULES = {"mfeat": (10, 30)}
RULES = [
    ("signal", 4.0),
    *product(("separation", "balanced", "information", "contrast", "norm"), (4.0, 0.0)),
]
JUDGED = 2500


def sizes_of(name):
    """Return the numbers of features to try; mfeat has views of few."""
    return FEW if name == "mfeat" else SIZES


def judged(model, rows, sizes, clustering, seeds):
    """Return the NMI with the classes by number of features."""
    views = {view: X.astype(np.float32) for view, X in rows.views.items()}
    scores = {"omvfs": model.view_scores_}
    how = {"seeds": seeds, "clustering": clustering}
    found = evaluate_selection(views, rows.labels, scores, sizes, **how)
    return [mean(found, "NMI geometric", p=p) for p in sizes]


def measured(name, order, place, n_seeds):
    """Return qualities and truths over sizes and over rules, and the number suggested."""
    rows = load(name, place)
    rows = rows.take(np.random.default_rng(order).permutation(len(rows.labels)))
    model = OMVFS(rows.n_classes, random_state=order, n_features_per_view=640).fit(rows.views)
    some, sizes, few = rows.take(slice(JUDGED)), sizes_of(name), OF_RULES.get(name, (80, 240))
    quality = model.selection_quality_
    found = {
        "over sizes": [quality.at(size) for size in sizes],
        "suggested": quality.levels_off_at,
    }
    for clustering in CLUSTERINGS:
        found[clustering] = judged(model, some, sizes, clustering, range(n_seeds))
    for criterion, diversity in RULES if order == 0 else ():
        model.set_params(criterion=criterion, diversity=diversity)
        quality = model.selection_quality_
        found.setdefault("over rules", []).append(np.mean([quality.at(size) for size in few]))
        for clustering in CLUSTERINGS:
            truth = np.mean(judged(model, some, few, clustering, range(2)))
            found.setdefault(f"{clustering}, rules", []).append(truth)
    return found


def work(name, order, place, n_seeds):
    with threadpool_limits(1):
        return name, measured(name, order, place, n_seeds)


def shown(name, found):
    """Return the line of a set, and what the suggested number loses by each evaluation."""
    # Rules are tried on one order only.
    own = {key: np.mean([each[key] for each in found if key in each], axis=0) for key in found[0]}
    sizes = np.array(sizes_of(name))
    cells, losses = [], []
    for what, suffix in (("over sizes", ""), ("over rules", ", rules")):
        for clustering in CLUSTERINGS:
            r = np.corrcoef(own[what], own[clustering + suffix])[0, 1]
            cells.append(f"{r:.2f}")
    for clustering in CLUSTERINGS:
        at = np.mean([np.interp(each["suggested"], sizes, own[clustering]) for each in found])
        losses.append(own[clustering].max() - at)
    suggested = ", ".join(str(each["suggested"]) for each in found)
    return [name, *cells, suggested, *(f"{loss:.3f}" for loss in losses)], losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=5, help="evaluation seeds over sizes")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    tasks = [
        delayed(work)(name, order, Place(data=args.data), args.seeds)
        for name, order in product(args.sets, range(args.orders))
    ]
    found = {}
    for name, each in Parallel(args.jobs, return_as="generator")(tasks):
        found.setdefault(name, []).append(each)
    lines, losses = zip(*(shown(name, found[name]) for name in args.sets), strict=True)
    head = ["set", *(f"r {what}, {c}" for what in ("sizes", "rules") for c in CLUSTERINGS)]
    head += ["suggested", *(f"lost, {clustering}" for clustering in CLUSTERINGS)]
    print(table(list(lines), head))
    for i, clustering in enumerate(CLUSTERINGS):
        own = [loss[i] for loss in losses]
        small = sum(loss <= 0.01 for loss in own)
        print(f"\n{clustering}: {small} of {len(own)} lose at most .01, mean {np.mean(own):.3f}")


if __name__ == "__main__":
    main()
