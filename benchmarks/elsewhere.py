"""What a pass costs where rows lack views, words are new, or more than one process learns.

    python benchmarks/elsewhere.py

Each beside the plain pass over the same rows, in turn. Growing vocabularies and missing views are
compared by processor time on one thread, workers by the wall clock.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import growing
import workers
from measure import ratios
from missing import lacking_one
from omvfs import OMVFS, Views
from omvfs.datasets import planted_stream
from omvfs.distributed.dask import fit, local_workers
from paper.timing import shown, timed

LACKING = 0.2
# What is compared with what, and by which clock: that of the processor, or the one on the wall.
COMPARED = {
    "a vocabulary that doubles ten times ÷ all words known": ("growing", "known", 0),
    "a fifth of the rows lack a view ÷ none does": ("lacking", "complete", 0),
    "one worker ÷ a loop over the same files": ("one worker", "loop", 1),
    "two workers ÷ one": ("two workers", "one worker", 1),
}


def learned(model, chunks):
    """Return the times of a pass."""
    return timed(lambda: [model.partial_fit(chunk) for chunk in chunks])[0]


def new_words(seed, quick):
    """Return the times of a pass over words that come as they go, and of all words known."""
    rows = growing.doubling_stream(seed)[: 20 if quick else None]
    names = np.array([f"word{j}" for j in range(rows[-1].shape[1])], dtype=object)
    as_they_go = [growing.deliveries(names)["words so far"](X) for X in rows]
    known = [growing.known_from_the_start(X, names) for X in rows]
    settings = {"n_clusters": growing.CLASSES, "random_state": 0}
    return {
        "growing": learned(OMVFS(new_features="grow", **settings), as_they_go),
        "known": learned(OMVFS(**settings), known),
    }


def missing_views(seed, quick):
    """Return the times of a pass over rows of which some lack a view, and over all complete."""
    stream = planted_stream(2_000 if quick else 20_000, random_state=seed)
    rng, complete, lacking = np.random.default_rng(seed), [], []
    for chunk in stream:
        n, names = len(chunk.labels), list(chunk.views)
        has = lacking_one(n, len(names), LACKING, rng)
        complete.append(chunk.views)
        lacking.append(Views(chunk.views, present=dict(zip(names, has.T, strict=True))))
    return {
        "lacking": learned(OMVFS(5, random_state=0), lacking),
        "complete": learned(OMVFS(5, random_state=0), complete),
    }


def several_workers(runs, quick):
    """Return the times of a loop over files, of one worker and of two, run by run."""
    found = {"loop": [], "one worker": [], "two workers": []}
    selector = OMVFS(5, batch_size=1_000, random_state=0)
    with (
        tempfile.TemporaryDirectory() as folder,
        local_workers(1) as one,
        local_workers(2) as two,
    ):
        paths = workers.words(Path(folder), 4, 200 if quick else 5_000)
        for client in (one, two):
            fit(selector, paths[:2], client)  # everything imported
        for _ in range(runs):
            found["loop"].append(timed(lambda: workers.in_one_process(selector, paths))[0])
            found["one worker"].append(timed(lambda: fit(selector, paths, one))[0])
            found["two workers"].append(timed(lambda: fit(selector, paths, two))[0])
    return found


def times(runs, quick=False):
    """Return all times by name, run by run."""
    found = {}
    for seed in range(runs):
        for name, each in (new_words(seed, quick) | missing_views(seed, quick)).items():
            found.setdefault(name, []).append(each)
    return found | several_workers(runs, quick)


def rows_of(found):
    """Return what was compared, with its ratios and the clock, a row each."""
    return [
        [what, shown(ratios(found[above], found[below], clock)), ("processor", "wall")[clock]]
        for what, (above, below, clock) in COMPARED.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    with threadpool_limits(1):
        found = times(parser.parse_args().runs)
    for what, ratio, clock in rows_of(found):
        print(f"{what}: {ratio}, {clock} time")


if __name__ == "__main__":
    main()
