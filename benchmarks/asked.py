"""Ranked passes, half-dense views, asking, predicting and starting, beside what each compares with.

Kept under keys that begin with ``asked/``: times of all that takes turns, by name, as processor and
wall time a run. `speed.py --only asked/` finds just these, `make bench-bars` anew.
"""

from sklearn.decomposition import MiniBatchNMF

import command
import density
import elsewhere
import growth
from asking import ASKED, turns
from made import load
from measure import ratios
from omvfs import OMVFS
from paper.timing import shown
from race import SPARSE, Floor, Ranked, as_read, chunks_of, one_pass

RANKED = (*SPARSE, "cells-twin")
# Rows at which the memory of a pass is looked at: after the reservoir was first full, and long
# after.
EARLY, LATE = 10**4, 10**6


def asked(results, data, quick):
    """Find what is missing, and keep it."""
    runs = 1 if quick else 3
    for percent in density.CASES:
        key = f"asked/density/{percent}"
        if results.wanted(key):
            n_rows = 300 if quick else None
            put(results, key, {"times": density.by_density(percent, 1 if quick else 5, n_rows)})
    for name in RANKED:
        if results.wanted(f"asked/ranked/{name}"):
            put(results, f"asked/ranked/{name}", ranked(name, data, quick, runs))
    if results.wanted("asked/asking"):
        times, twin = turns(data, 2_000 if quick else 50_000, 1 if quick else 5)
        put(results, "asked/asking", {"times": times, "twin": twin})
    if results.wanted("asked/predict"):
        put(results, "asked/predict", predicted(quick, runs))
    if results.wanted("asked/command"):
        times = command.times(1 if quick else 7, 200 if quick else command.ROWS)
        put(results, "asked/command", {"times": times})
    if results.wanted("asked/elsewhere"):
        put(results, "asked/elsewhere", {"times": elsewhere.times(runs, quick)})
    if results.wanted("asked/memory"):
        marks = [2_000, 4_000] if quick else [EARLY, LATE]
        how = {**growth.BASE, "rows": marks[-1], "marks": marks}
        results.put("asked/memory", {"runs": [growth.in_a_process(how) for _ in range(runs)]})


def put(results, key, cell):
    """Keep a result, and print it."""
    results.put(key, cell)
    for name, runs in cell["times"].items():
        print(f"{key:26s} {name:30s} {shown([run[0] for run in runs])} s", flush=True)


def ranked(name, data, quick, runs):
    """Return the times of the floor, ours and MiniBatchNMF, each run after run, in turn."""
    views, K, twin = load(name, data, 2_000 if quick else None)
    chunks = chunks_of(views)
    stacked = as_read(chunks, "stacked")
    ways = {
        "floor": lambda: one_pass(Floor(chunks[0], K), chunks),
        "omvfs": lambda: one_pass(OMVFS(K, random_state=0), chunks),
        "omvfs, ranked": lambda: one_pass(Ranked(K, random_state=0), chunks),
        "MiniBatchNMF": lambda: one_pass(MiniBatchNMF(K, random_state=0), stacked),
    }
    times = {each: [] for each in ways}
    for _ in range(runs):
        for each, way in ways.items():
            times[each].append(way())
    return {"rows": next(iter(views.values())).shape[0], "twin": twin, "times": times}


def predicted(quick, runs):
    """Return the times of a pass and of `predict`, and what it holds, of few and of many rows."""
    found = {"times": {}, "memory": {}}
    for _ in range(runs):
        sizes = (2_000, 4_000) if quick else density.MANY
        for how_many, n in zip(("few", "many"), sizes, strict=True):
            each = density.in_a_process(n)
            for name in ("pass", "predict"):
                found["times"].setdefault(f"{name}, {how_many} rows", []).append(each[name])
            found["memory"].setdefault(how_many, []).append(each["memory"])
    return found


def comparisons():
    """Yield what is compared: in words, the result, the time above, and the time below."""
    for name in RANKED:
        key = f"asked/ranked/{name}"
        yield f"{name}: a pass ÷ floor", key, "omvfs", "floor"
        yield f"{name}: MiniBatchNMF ÷ a pass and its ranking", key, "MiniBatchNMF", "omvfs, ranked"
    for percent in density.CASES:
        key = f"asked/density/{percent}"
        for work in density.WORKS:
            yield f"{percent} % full: {work}, CSR ÷ array", key, f"CSR, {work}", f"array, {work}"
        what = f"{percent} % full: a pass and its ranking ÷ FSDS"
        yield what, key, "CSR, pass and ranking", "FSDS"
    for name in ASKED:
        yield f"debian_large: {name} ÷ a pass of 50,000 rows", "asked/asking", name, "pass"
    what = f"predict of {density.MANY[1]:,} rows ÷ a pass over them"
    yield what, "asked/predict", "predict, many rows", "pass, many rows"


def rows_of(results):
    """Return what was found, a row each: what, and the figure with its spread."""
    rows = [
        [what, shown(ratios(results[key]["times"][above], results[key]["times"][below]))]
        for what, key, above, below in comparisons()
        if key in results
    ]
    if cell := results.get("asked/command"):
        rows += [
            [f"{name}, from start to end, s", shown([run[1] for run in runs])]
            for name, runs in cell["times"].items()
        ]
    if cell := results.get("asked/memory"):
        late, early = ([run["marks"][place]["memory"] for run in cell["runs"]] for place in (-1, 0))
        flat = [a / b for a, b in zip(late, early, strict=True)]
        rows.append([f"memory of a pass: {LATE:,} rows ÷ {EARLY:,}", shown(flat)])
    return rows
