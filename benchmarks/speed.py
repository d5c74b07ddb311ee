"""What a pass costs: ours, its peers and the floor side by side, as ratios with their spread.

    make bench          # all, about 20 minutes: docs/performance.json, docs/performance.md
    make bench-quick    # under 3 minutes

The sets are twins of the paper's large ones (benchmarks/twins.py) and, where it is at hand,
debian_large. Everything runs in one process on one thread, in turn, several times over. The floor
is one sparse product XV and one XᵀU a chunk. Slow peers read a part of the stream and are compared
with ours on the same part.
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import MiniBatchNMF
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits
from twins import twin

from omvfs import OMVFS
from omvfs.baselines import FSDS, MVUFS, LaplacianScore

CHUNK = 1000
INTRODUCTION = """\
Made by `make bench`: processor time on one thread, everything in one process, in turn, repeated;
median (lowest to highest). Ratios compare, seconds do not. The twins have the shape of the paper's
sets, not their data.

A pass is `partial_fit` over all chunks of 1,000 rows. The ranking is worked out when it is asked
for, at a cost that does not grow with the stream. The floor is one product XV and one XᵀU a chunk.
Slow methods read the first rows only, and are compared with ours on the same ones."""


def sets(data, n_rows):
    """Yield name, views and number of clusters of every set."""
    for name in ("reuters", "youtube"):
        yield f"{name}-twin", *twin(name, n_rows)
    folder = data / "debian_large"
    if folder.exists():
        views = [sp.csr_array(sp.load_npz(folder / f"view_{v}.npz")) for v in DEBIAN]
        rows = np.random.default_rng(0).permutation(views[0].shape[0])[:n_rows]
        yield "debian_large", {v: normalize(X[rows]) for v, X in zip("ab", views, strict=True)}, 20


DEBIAN = ("0_english", "1_italian")


def chunks_of(views, n_rows=None):
    """Return the first rows as chunks."""
    n = next(iter(views.values())).shape[0]
    stop = n if n_rows is None else min(n, n_rows)
    return [{v: X[i : i + CHUNK] for v, X in views.items()} for i in range(0, stop, CHUNK)]


class Floor:
    """One product XV and one XᵀU a chunk, with V and U dense."""

    def __init__(self, views, n_clusters):
        rng = np.random.default_rng(0)
        self.V = {v: rng.random((X.shape[1], n_clusters)) for v, X in views.items()}
        self.U = rng.random((CHUNK, n_clusters))

    def partial_fit(self, chunk):
        for view, X in chunk.items():
            X @ self.V[view]
            X.T @ self.U[: X.shape[0]]


class Stacked:
    """A method of scikit-learn on the views side by side."""

    def __init__(self, method):
        self.method = method

    def partial_fit(self, chunk):
        self.method.partial_fit(sp.hstack(list(chunk.values()), format="csr"))


def methods(views, K):
    """Return by name how to make each method, and how many rows it reads at the most."""
    return {
        "floor": (lambda: Floor(views, K), None),
        "omvfs": (lambda: OMVFS(K, random_state=0), None),
        "omvfs, no graph": (lambda: OMVFS(K, graph_weight=0.0, random_state=0), None),
        "MiniBatchKMeans": (
            lambda: Stacked(MiniBatchKMeans(K, n_init=1, random_state=0)),
            None,
        ),
        "MiniBatchNMF": (lambda: Stacked(MiniBatchNMF(K, random_state=0)), None),
        "FSDS": (lambda: FSDS(), 10 * CHUNK),
        "paper": (lambda: OMVFS.as_published(K, random_state=0), 3 * CHUNK),
    }


def seconds(make, chunks):
    """Return the time of a pass, of the processor."""
    model = make()
    began = time.process_time()
    for chunk in chunks:
        model.partial_fit(chunk)
    return time.process_time() - began, model


def race(name, views, K, repeats, share):
    """Return by method the ratios of its time to ours and to the floor, on the same rows."""
    contest, times = methods(views, K), {}
    n = next(iter(views.values())).shape[0]
    parts = sorted({min(n, most or n) // share for _, most in contest.values()})
    for part in parts:
        chunks = chunks_of(views, max(CHUNK, part))
        for _ in range(repeats):
            for method, (make, most) in contest.items():
                own = max(CHUNK, min(n, most or n) // share)
                if own == max(CHUNK, part) or method in ("floor", "omvfs", "omvfs, no graph"):
                    slow = method == "paper" and times.get((method, part))
                    if not slow:
                        times.setdefault((method, part), []).append(seconds(make, chunks)[0])
    found = {}
    for (method, part), own in times.items():
        ours, floor = (np.array(times[other, part]) for other in ("omvfs", "floor"))
        k = len(own)
        found[f"{method} @ {max(CHUNK, part):,}"] = {
            "rows": max(CHUNK, part),
            "seconds": spread(own),
            "over ours": spread(np.array(own) / ours[:k]),
            "over the floor": spread(np.array(own) / floor[:k]),
        }
        print(
            f"{name:14s} {method:16s} {max(CHUNK, part):7,d} rows",
            json.dumps(found[f"{method} @ {max(CHUNK, part):,}"]),
            flush=True,
        )
    return found


def spread(values):
    """Return median, lowest and highest."""
    return [round(float(f(values)), 4) for f in (np.median, np.min, np.max)]


def offline(n_rows):
    """Return how MVUFS and the Laplacian score compare with ours on the first rows of a twin."""
    views, K = twin("reuters", n_rows)
    ours = seconds(lambda: OMVFS(K, random_state=0), chunks_of(views))[0]
    found = {}
    for name, make in {"LaplacianScore": LaplacianScore, "MVUFS": lambda: MVUFS(K)}.items():
        began = time.process_time()
        make().fit(views)
        found[name] = {"rows": n_rows, "over ours": (time.process_time() - began) / ours}
        print("offline", name, found[name], flush=True)
    return found


def growth(quick):
    """Return fitted exponents of the time of a pass against N, D and K, and the times."""
    cases = {
        "N": [
            (n, {"n_rows": n})
            for n in (
                [4_000, 8_000, 16_000, 32_000]
                if quick
                else [8_000, 16_000, 32_000, 64_000, 128_000]
            )
        ],
        "D": [
            (d, {"n_rows": 20_000, "widths": (d // 2, d // 2)})
            for d in ([10_000, 100_000] if quick else [10_000, 30_000, 100_000, 300_000, 1_000_000])
        ],
        "K": [
            (k, {"n_rows": 20_000, "clusters": k})
            for k in ([5, 20, 80] if quick else [5, 10, 20, 50, 100, 200])
        ],
    }
    found = {}
    for what, points in cases.items():
        times = []
        for value, how in points:
            views, K = twin("reuters", words=(40, 40), **how)
            chunks = chunks_of(views)
            runs = [seconds(lambda K=K: OMVFS(K, random_state=0), chunks)[0] for _ in range(2)]
            times.append([value, min(runs)])
            print("growth", what, times[-1], flush=True)
        x, y = np.log(np.array(times)).T
        found[what] = {"exponent": round(float(np.polyfit(x, y, 1)[0]), 3), "times": times}
        print("growth", what, "exponent", found[what]["exponent"], flush=True)
    return found


def report(results):
    """Return the results as a page, the bars first."""
    lines = ["# What a pass costs", "", INTRODUCTION]
    for name, rows in results.get("race", {}).items():
        lines += [
            "",
            f"## {name}",
            "",
            "| | rows | × ours | × floor | s |",
            "|---|---|---|---|---|",
        ]
        for key, row in rows.items():
            lines.append(
                f"| {key.split(' @ ')[0]} | {row['rows']:,} | {shown(row['over ours'])} | "
                f"{shown(row['over the floor'])} | {shown(row['seconds'])} |"
            )
    if "offline" in results:
        lines += ["", "## Offline methods on the Reuters twin", "", "| | rows | × ours |"]
        lines += ["|---|---|---|"]
        for name, row in results["offline"].items():
            lines.append(f"| {name} | {row['rows']:,} | {row['over ours']:,.0f} |")
    if "growth" in results:
        lines += ["", "## Growth", "", "Time of a pass, rows of 40 + 40 words.", ""]
        lines += ["| against | exponent | from | to | times |", "|---|---|---|---|---|"]
        for what, row in results["growth"].items():
            values, times = zip(*row["times"], strict=True)
            seconds = ", ".join(f"{each:.2f}" for each in times)
            lines.append(
                f"| {what} | {row['exponent']} | {values[0]:,} | {values[-1]:,} | {seconds} |"
            )
    return "\n".join(lines) + "\n"


def shown(values):
    """Return a median with its range."""
    middle, low, high = values
    return f"{middle:,.3g} ({low:,.3g} to {high:,.3g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", type=Path, help="the results as a page")
    parser.add_argument("--only", choices=["race", "offline", "growth"])
    args = parser.parse_args()
    results = {"python": platform.python_version(), "quick": args.quick}
    if args.json and args.json.exists():
        results |= json.loads(args.json.read_text())
    with threadpool_limits(1):
        if args.only in (None, "race"):
            n_rows, repeats, share = (10_000, 2, 2) if args.quick else (None, 3, 1)
            results["race"] = {
                name: race(name, views, K, repeats, share)
                for name, views, K in sets(args.data, n_rows)
            }
        if args.only in (None, "offline"):
            results["offline"] = offline(1_000 if args.quick else 10_000)
        if args.only in (None, "growth"):
            results["growth"] = growth(args.quick)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    if args.write:
        args.write.write_text(report(results), encoding="utf-8")


if __name__ == "__main__":
    main()
