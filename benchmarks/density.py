"""What a view costs as a CSR matrix beside the same view as an array, by how full it is.

    python benchmarks/density.py            # the table of docs/research.md, "Speed"
    python benchmarks/density.py --many     # `predict` of many rows beside a pass over them

Processor time, one thread, both kinds in turn, run after run in one process. Ratios are medians
over the runs, with the least and the most.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp
from measure import held

from omvfs import OMVFS
from omvfs.baselines import FSDS
from omvfs.datasets import planted_stream
from omvfs.experiments import table

RUNS, CHUNK = 3, 500
MANY = 25_000, 100_000


def cells(n, width, n_clusters, density):
    """Return the logarithms of counts of a few common and many rare features."""
    rng = np.random.default_rng(0)
    means, labels = rng.lognormal(-2.5, 1.6, width), rng.integers(n_clusters, size=n)
    marks = rng.random((n_clusters, width)) < 0.05
    fold = np.where(marks, rng.lognormal(1.2, 0.6, marks.shape), 1.0)
    rates = rng.lognormal(0, 0.35, n)[:, np.newaxis] * (means * fold[labels])
    rates *= rng.gamma(2.0, 0.5, rates.shape)
    least, most = 1e-6, 1e6
    for _ in range(40):
        depth = np.sqrt(least * most)
        fuller = np.mean(-np.expm1(-depth * rates)) > density
        least, most = (least, depth) if fuller else (depth, most)
    return np.log1p(rng.poisson(depth * rates).astype(float))


def full(n, width, n_clusters):
    """Return rows around some centres, without a zero."""
    rng = np.random.default_rng(0)
    centres, labels = rng.normal(size=(n_clusters, width)), rng.integers(n_clusters, size=n)
    return np.abs(centres[labels] + 2 * rng.normal(size=(n, width))) + 1e-3


CASES = {
    "2,405 × 4,973, 10 % full, K = 17": (lambda: cells(2405, 4973, 17, 0.10), 17),
    "the same, 13 %": (lambda: cells(2405, 4973, 17, 0.13), 17),
    "the same, 30 %": (lambda: cells(2405, 4973, 17, 0.30), 17),
    "2,107 × 996, 100 %, K = 10": (lambda: full(2107, 996, 10), 10),
}


def seconds(work):
    began = time.process_time()
    work()
    return time.process_time() - began


def learned(selector, X):
    for start in range(0, X.shape[0], CHUNK):
        selector.partial_fit({"view": X[start : start + CHUNK]})


def costs(X, n_clusters):
    """Return the processor time of a pass, of the ranking after it, and of `predict`."""
    selector = OMVFS(n_clusters, random_state=0)
    return [
        seconds(lambda: learned(selector, X)),
        seconds(lambda: selector.view_scores_),
        seconds(lambda: selector.predict({"view": X})),
    ]


def peer(X, n_clusters):
    selector = FSDS(n_clusters)
    return seconds(lambda: (learned(selector, X), selector.view_scores_))


def spread(ratios):
    return f"{np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def by_density(runs):
    """Return the rows of the table: what a CSR matrix costs, and how many times an array."""
    found = []
    for name, (make, n_clusters) in CASES.items():
        X = make()
        sparse, dense, other = [], [], []
        for _ in range(runs):
            sparse.append(costs(sp.csr_array(X), n_clusters))
            dense.append(costs(X, n_clusters))
            other.append(peer(sp.csr_array(X), n_clusters))
        a, b = np.array(sparse), np.array(dense)
        row = [name, " / ".join(f"{each:.1f}" for each in np.median(a, axis=0))]
        row += [spread(each) for each in (a / b).T]
        found.append([*row, spread(a[:, :2].sum(axis=1) / other)])
    head = ["view", "pass / ranking / predict as CSR, s", "pass ÷ array", "ranking ÷ array"]
    return [*head, "predict ÷ array", "pass and ranking ÷ FSDS"], found


def by_rows(runs):
    """Return the rows of the table: `predict` of many rows beside a pass, and what it holds."""
    found = []
    for n in MANY:
        chunks = [chunk.views for chunk in planted_stream(n, random_state=0)]
        whole = {name: sp.vstack([c[name] for c in chunks], format="csr") for name in chunks[0]}
        ratios, more = zip(*(predicted(chunks, whole) for _ in range(runs)), strict=True)
        found.append([f"{n:,}", spread(ratios), f"{max(more):.0f}"])
    return ["rows, planted stream", "predict ÷ pass", "memory above that before, MB"], found


def predicted(chunks, whole):
    """Return how many times a pass `predict` takes, and the megabytes that it takes beside."""
    selector = OMVFS(5, random_state=0)
    passed = seconds(lambda: [selector.partial_fit(chunk) for chunk in chunks])
    # Whatever is asked first re-clusters.
    selector.predict(chunks[0])
    before = held()[1]
    return seconds(lambda: selector.predict(whole)) / passed, (held()[1] - before) / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    head, rows = (by_rows if given.many else by_density)(given.runs)
    print(table(rows, head))


if __name__ == "__main__":
    main()
