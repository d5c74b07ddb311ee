"""What a view costs as a CSR matrix beside the same view as an array, by how full it is.

    python benchmarks/density.py            # the table of docs/research.md, "Speed"
    python benchmarks/density.py --many     # `predict` of many rows beside a pass over them

Processor time, one thread, both kinds in turn, run after run in one process. Ratios are medians
over the runs, with the least and the most.
"""

import argparse
import json
import subprocess
import sys

import numpy as np
import scipy.sparse as sp

from made import cells, full
from measure import held, one_thread, ratios
from omvfs import OMVFS
from omvfs.baselines import FSDS
from omvfs.datasets import planted_stream
from paper import table
from paper.timing import shown, timed

RUNS, CHUNK = 3, 500
MANY = 25_000, 100_000
WORKS = "pass", "ranking", "predict"
# By how full they are: rows, features, clusters.
CASES = {10: (2405, 4973, 17), 13: (2405, 4973, 17), 30: (2405, 4973, 17), 100: (2107, 996, 10)}


def rows_of(percent, n_rows=None):
    """Return the rows of a case as an array, and the number of clusters."""
    n, width, n_clusters = CASES[percent]
    n = n_rows or n
    if percent == 100:
        return full(n, width, n_clusters), n_clusters
    return cells(n, width, n_clusters, percent / 100).toarray(), n_clusters


def learned(selector, X):
    for start in range(0, X.shape[0], CHUNK):
        selector.partial_fit({"view": X[start : start + CHUNK]})


def costs(X, n_clusters):
    """Return the times of a pass, of the ranking after it, and of `predict`."""
    selector = OMVFS(n_clusters, random_state=0)
    return {
        "pass": timed(lambda: learned(selector, X))[0],
        "ranking": timed(lambda: selector.view_scores_)[0],
        "predict": timed(lambda: selector.predict({"view": X}))[0],
    }


def peer(X, n_clusters):
    """Return the time of FSDS, its ranking included."""
    selector = FSDS(n_clusters)
    return timed(lambda: (learned(selector, X), selector.view_scores_))[0]


def by_density(percent, runs, n_rows=None):
    """Return the times of both kinds and of FSDS, run by run."""
    X, n_clusters = rows_of(percent, n_rows)
    for kind in (sp.csr_array, np.asarray):  # who comes first in a process pays for it
        costs(kind(X[:CHUNK]), n_clusters)
    found = {}
    for _ in range(runs):
        sparse = costs(sp.csr_array(X), n_clusters)
        times = {f"CSR, {work}": each for work, each in sparse.items()}
        times |= {f"array, {work}": each for work, each in costs(X, n_clusters).items()}
        both = zip(sparse["pass"], sparse["ranking"], strict=True)
        times["CSR, pass and ranking"] = tuple(map(sum, both))
        times["FSDS"] = peer(sp.csr_array(X), n_clusters)
        for name, each in times.items():
            found.setdefault(name, []).append(each)
    return found


def by_rows(n):
    """Return the times of a pass and of `predict` of the same rows, and what the latter holds."""
    chunks = [chunk.views for chunk in planted_stream(n, random_state=0)]
    whole = {name: sp.vstack([c[name] for c in chunks], format="csr") for name in chunks[0]}
    selector = OMVFS(5, random_state=0)
    passed, _ = timed(lambda: [selector.partial_fit(chunk) for chunk in chunks])
    # Whatever is asked first re-clusters, with more memory than all else.
    selector.predict(chunks[0])
    before = held(anew=True)[0]
    predicted, _ = timed(lambda: selector.predict(whole))
    return {"pass": passed, "predict": predicted, "memory": held()[1] - before}


def in_a_process(n):
    """Return what `by_rows` finds in a fresh process on one thread."""
    command = [sys.executable, __file__, "--child", str(n)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_thread())
    return json.loads(done.stdout)


def table_by_density(runs):
    """Return the table of all cases."""
    rows = []
    for percent, (n, width, n_clusters) in CASES.items():
        times = by_density(percent, runs)
        row = [f"{n:,} × {width:,}, {percent} % full, K = {n_clusters}"]
        row += [" / ".join(shown([run[0] for run in times[f"CSR, {work}"]]) for work in WORKS)]
        row += [shown(ratios(times[f"CSR, {work}"], times[f"array, {work}"])) for work in WORKS]
        rows.append([*row, shown(ratios(times["CSR, pass and ranking"], times["FSDS"]))])
    head = ["view", "pass / ranking / predict as CSR, s", *(f"{work} ÷ array" for work in WORKS)]
    return table(rows, [*head, "pass and ranking ÷ FSDS"])


def table_by_rows(runs):
    """Return the table of `predict`."""
    rows = []
    for n in MANY:
        found = [in_a_process(n) for _ in range(runs)]
        compared = ratios([each["predict"] for each in found], [each["pass"] for each in found])
        most = max(each["memory"] for each in found) / 2**20
        rows.append([f"{n:,}", shown(compared), f"{most:.0f}"])
    return table(rows, ["rows, planted stream", "predict ÷ pass", "memory above that before, MB"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(by_rows(given.child)))
    else:
        print((table_by_rows if given.many else table_by_density)(given.runs))


if __name__ == "__main__":
    main()
