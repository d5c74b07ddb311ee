"""Quality before and after a change: two source trees, the same rows, orders and seeds.

    python benchmarks/before_after.py --before TREE/src --after src --data DIR

Each tree learns and ranks in processes of its own; the selected features are judged by this one, as
in `quality.py`, stacked: NMI of the clusters that they alone give, mean over sizes and seeds. Told
are by set the NMI of both, the difference order by order, and the spread of those of before. With
`--json` it is kept for the bars of docs/performance.md.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from keep import Results
from measure import one_thread
from omvfs.evaluation import evaluate_selection
from paper import Place, table
from paper.rows import NMI
from paper.sets import load
from paper.timing import shown

SETS = {
    "fox": (100, 300, 500),
    "bdgp": (50, 100, 200),
    "mfeat": (10, 30, 60),
    "openclipart": (50, 100, 200),
}
# What a tree runs: rows in, scores out; nothing but what it has always had.
_CHILD = """\
import pickle, sys
from omvfs import OMVFS
views, K, seed = pickle.load(open(sys.argv[1], "rb"))
scores = OMVFS(K, random_state=seed).fit(views).view_scores_
pickle.dump({view: own for view, own in scores.items()}, open(sys.argv[2], "wb"))
"""


def scores_by(tree, views, K, seed):
    """Return the scores that the library in a folder gives, in a fresh process on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        rows, found = Path(folder, "rows"), Path(folder, "scores")
        rows.write_bytes(pickle.dumps((views, K, seed)))
        environment = {**one_thread(), "PYTHONPATH": os.fspath(Path(tree).resolve())}
        command = [sys.executable, "-W", "ignore", "-c", _CHILD, str(rows), str(found)]
        subprocess.run(command, check=True, env=environment)
        return pickle.loads(found.read_bytes())


def compared(name, trees, data, orders, seeds):
    """Return by tree the NMI of each order, and how often the scores are the same to the bit."""
    whole, found, same = load(name, Place(data=data)), {tree: [] for tree in trees}, 0
    for order in range(orders):
        rows = whole.take(np.random.default_rng(order).permutation(len(whole.labels)))
        views = dict(rows.views)
        scores = {
            each: scores_by(tree, views, rows.n_classes, order) for each, tree in trees.items()
        }
        first, second = scores.values()
        same += all(np.array_equal(first[view], second[view]) for view in first)
        judged = evaluate_selection(
            views, rows.labels, scores, SETS[name], seeds=seeds, clustering="stacked"
        )
        for each in trees:
            own = [row[NMI] for row in judged if row["method"] == each]
            found[each].append(float(np.mean(own)))
    return found, same


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", required=True, help="src of the tree before")
    parser.add_argument("--after", default="src", help="src of the tree after")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", type=Path, help="results of speed.py, to keep it in")
    args = parser.parse_args()
    trees, kept, lines = {"before": args.before, "after": args.after}, {}, []
    for name in args.sets:
        if not (args.data / name).exists():
            print(f"{name} is not at hand.")
            continue
        found, same = compared(name, trees, args.data, args.orders, args.seeds)
        spread = float(np.std(found["before"], ddof=1)) if args.orders > 1 else 0.0
        kept[name] = {**found, "spread": spread}
        gains = np.subtract(found["after"], found["before"]).tolist()
        means = [f"{np.mean(found[each]):.4f}" for each in trees]
        lines.append([name, *means, shown(gains), f"{spread:.4f}", f"{same} of {args.orders}"])
        print(" ".join(lines[-1]), flush=True)
    head = ["set", "before", "after", "after less before", "spread of before", "same bits"]
    print(table(lines, head))
    if args.json and kept:
        Results(args.json).put("asked/quality", {"sets": kept})


if __name__ == "__main__":
    main()
