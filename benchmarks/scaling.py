"""A model of fits on many workers, calibrated here: where the time goes, and what is in the way.

    python benchmarks/scaling.py measure --store build/scaling.json
    python benchmarks/scaling.py show --store build/scaling.json --picture docs/scaling.svg

`measure` times every step of `omvfs.distributed.steps` on parts of 25,000 to 400,000 features, and
learning by the row. `show` fits a line to each step, and adds up what each would take on machines
that nobody here has. What is not measured is assumed, and said: the network, and that workers are
as fast as the one here.
"""

import argparse
import json
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from omvfs import OMVFS
from omvfs.distributed import steps
from omvfs.distributed.shards import fit_file, part_of, schema_of
from omvfs.parts import Plan
from paper import table
from paper.figures import pyplot, save
from workers import wide

WIDTHS = 25_000, 50_000, 100_000, 200_000, 400_000
N_PARTS, ROWS, K = 4, 2_500, 20
# Learning is measured from longer parts too.
WIDE, MORE_ROWS = 100_000, 25_000
# Held back from the fit, to see what the model says of it.
HELD_BACK = 64, 100_000
# Bytes a second between two machines: 10 Gbit/s. Assumed.
BANDWIDTH = 1.25e9
# The question: so many rows of so many features, on so many workers, a few parts each.
ASKED_ROWS, ASKED_WIDTH, ASKED_WORKERS, PARTS_PER_WORKER = 10**9, 10**7, (100, 300, 1_000), 2
# Steps that are done once a part, once a sum of two, and once in all.
BY_PART = "sample", "sums"
ONCE = "clustering", "merged"
COLOURS = {
    "learning": "#0072B2",
    "moving sums": "#E69F00",
    "adding": "#D55E00",
    "travel": "#CC79A7",
    "clustering": "#009E73",
}


def timed(work, *given):
    began = time.perf_counter()
    return work(*given), time.perf_counter() - began


def measured(folder, n_parts, rows, width):
    """Return the seconds of every step over some parts, and the bytes of what travels."""
    paths = wide(folder, n_parts, rows, width)
    selector = steps.worker_copy(OMVFS(K, random_state=0))
    found = {name: [] for name in ("learning", "sample", "sums", "add")}
    states = []
    for path in paths:
        part = part_of(path)
        state, seconds = timed(fit_file, part, selector, schema_of(part))
        states.append(state)
        found["learning"].append(seconds)
    plan = Plan.of(map(steps.brief_of, states), paths)
    samples = []
    for i in plan.order:
        sample, seconds = timed(steps.sample_of, plan, i, states[i])
        samples.append(sample)
        found["sample"].append(seconds)
    sample = steps.in_levels(samples, steps.added)
    known = steps.known_of(plan, states[plan.lead])
    common, found["clustering"] = timed(steps.common_of, plan, sample, known)
    sums = []
    for i in plan.order:
        some, seconds = timed(steps.sums_of, plan, i, states[i], common)
        sums.append(some)
        found["sums"].append(seconds)

    def add(a, b):
        both, seconds = timed(steps.added, a, b)
        found["add"].append(seconds)
        return both

    total = steps.in_levels(sums, add)
    _, found["merged"] = timed(steps.merged_of, plan, common, total, states[0])
    found["bytes"] = len(states[0])
    return {name: float(np.median(each)) for name, each in found.items()}


def fitted(found, more):
    """Return a line a + b D of every step, by least squares; of learning, a + b rows."""
    widths = sorted(found)
    lines = {"learning": by_row(found[WIDE], more)}
    for name in (*BY_PART, "add", *ONCE, "bytes"):
        b, a = np.polyfit(widths, [found[D][name] for D in widths], 1)
        lines[name] = max(0.0, a), max(0.0, b)
    return lines


def by_row(few, many):
    """Return what learning from a part costs: at least, and for every row.

    A row costs what its entries cost, however many features there are; but each part is clustered
    while its sample fills.
    """
    each = (many["learning"] - few["learning"]) / (MORE_ROWS - ROWS)
    return max(0.0, few["learning"] - each * ROWS), each


def predicted(lines, rows, width, workers, parts, bandwidth=BANDWIDTH):
    """Return the seconds of each stage by the model.

    >>> lines = dict.fromkeys(["sample", "sums", "add", "clustering", "merged"], (1.0, 0.0))
    >>> lines |= {"learning": (5.0, 1.0), "bytes": (8.0, 0.0)}
    >>> found = predicted(lines, rows=40, width=10, workers=2, parts=4, bandwidth=1.0)
    >>> found["learning"], found["moving sums"], found["adding"], found["travel"]
    (30.0, 4.0, 3.0, 32.0)
    """

    def of(name):
        a, b = lines[name]
        return a + b * (rows / parts if name == "learning" else width)

    turns, levels = math.ceil(parts / workers), math.ceil(math.log2(max(2, workers)))
    # A worker adds what it has by itself, and then there is a level for each doubling.
    adds = turns + levels if workers > 1 else parts
    # Sums up the tree and the common clusters down it, the sample's few rows left aside; then the
    # result comes to whoever asked.
    travels = 2 * levels + 2 if workers > 1 else 0
    return {
        "learning": turns * of("learning"),
        "moving sums": turns * (of("sample") + of("sums")),
        "adding": adds * of("add"),
        "travel": travels * of("bytes") / bandwidth,
        "clustering": of("clustering") + of("merged"),
    }


def shown(found, more, held_back):
    """Return the model as text: its lines, how it does on what it did not see, what it says."""
    lines = fitted(found, more)
    begun, a_row = lines["learning"]
    each = [
        [name, f"{a:.3g}", f"{b * 1e5:.3g}"] for name, (a, b) in lines.items() if name != "learning"
    ]
    n_parts, width = HELD_BACK
    guess = {**predicted(lines, 0, width, 1, n_parts), "learning": 0.0}
    seen = n_parts * (held_back["sample"] + held_back["sums"] + held_back["add"])
    seen += held_back["clustering"] + held_back["merged"]
    rows = []
    for workers in ASKED_WORKERS:
        stages = predicted(lines, ASKED_ROWS, ASKED_WIDTH, workers, PARTS_PER_WORKER * workers)
        total = sum(stages.values())
        rows.append([f"{workers:,}", *(f"{s:,.0f}" for s in stages.values()), f"{total:,.0f}"])
    return "\n\n".join(
        [
            table(each, ["step", "a", "b, for 100,000 features"]),
            f"Learning: {begun:.2f} s a part and {a_row * 1e6:.0f} µs a row of 100 entries.",
            (
                f"Held back, {n_parts} parts of {width:,} features merged by one process: "
                f"{sum(guess.values()):.1f} s by the model, {seen:.1f} s measured."
            ),
            table(rows, ["workers", *COLOURS, "seconds in all"]),
            (
                f"A state of {ASKED_WIDTH:,} features: "
                f"{(lines['bytes'][0] + lines['bytes'][1] * ASKED_WIDTH) / 1e9:.2f} GB."
            ),
        ]
    )


def picture(found, more):
    """Return the stages of the model against the number of workers."""
    lines, workers = fitted(found, more), np.unique(np.geomspace(1, 10_000, 60).astype(int))
    stages = [
        predicted(lines, ASKED_ROWS, ASKED_WIDTH, int(W), PARTS_PER_WORKER * int(W))
        for W in workers
    ]
    figure, axes = pyplot().subplots(figsize=(6.5, 4), layout="constrained")
    for name, colour in COLOURS.items():
        axes.plot(workers, [each[name] for each in stages], color=colour, label=name)
    axes.plot(workers, [sum(each.values()) for each in stages], "k--", label="in all")
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="seconds, by the model")
    axes.set_title(f"Model: {ASKED_ROWS:,} rows of {ASKED_WIDTH:,} features", fontsize=10)
    axes.grid(color="#eeeeee")
    axes.legend(fontsize=8)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "show"])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    if args.what == "measure":
        found = {}
        asked = {str(width): (N_PARTS, ROWS, width) for width in WIDTHS}
        asked |= {"more rows": (N_PARTS, MORE_ROWS, WIDE)}
        asked |= {"held back": (HELD_BACK[0], ROWS, HELD_BACK[1])}
        for name, size in asked.items():
            with tempfile.TemporaryDirectory(prefix="omvfs-") as folder:
                found[name] = measured(Path(folder), *size)
            print(name, found[name], flush=True)
        args.store.parent.mkdir(parents=True, exist_ok=True)
        args.store.write_text(json.dumps(found))
        return
    stored = json.loads(args.store.read_text())
    held_back, more = stored.pop("held back"), stored.pop("more rows")
    found = {int(width): each for width, each in stored.items()}
    print(shown(found, more, held_back))
    if args.picture:
        save(picture(found, more), args.picture)


if __name__ == "__main__":
    main()
