"""Vocabularies that grow: the same model at what cost.

    python benchmarks/growing.py doubling
    python benchmarks/growing.py hashed
    python benchmarks/growing.py off --other SRC

`doubling`: a stream whose vocabulary doubles ten times, beside the same rows with all words known
from the start. Processor time, chunk by chunk in turn; whether the bits are the same where the
words are in the same order; rank correlation of the words of at least three chunks where they are
not. `hashed`: a million different words, put into columns by a hash: memory and time. `off`: time
of a pass without any of it, beside that of the library in another folder, in turn.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from paper import table

CLASSES, CHUNK = 5, 200
# Words at first, how often they double, and how many chunks come between.
FIRST, DOUBLINGS, BETWEEN = 100, 10, 10
# Of a row: words of its class, and words of all.
OWN, COMMON = 6, 40


def doubling_stream(seed):
    """Return chunks of words of a vocabulary that doubles, and how wide it is in each.

    One word in ten is of a class, the others of all; earlier ones are the more frequent, as words
    are.
    """
    rng = np.random.default_rng(seed)
    chunks = []
    for i in range((DOUBLINGS + 1) * BETWEEN):
        width = FIRST << (i // BETWEEN)
        labels = rng.integers(0, CLASSES, CHUNK)
        law = np.floor(np.exp(rng.random((CHUNK, COMMON)) * np.log(width + 1)) - 1).astype(int)
        own = 10 * CLASSES * rng.integers(0, max(1, width // (10 * CLASSES)), (CHUNK, OWN))
        words = np.hstack([np.minimum(law, width - 1), own + 10 * labels[:, np.newaxis]])
        rows = np.repeat(np.arange(CHUNK), words.shape[1])
        X = sp.coo_array((np.ones(words.size), (rows, words.ravel())), shape=(CHUNK, width))
        chunks.append(X.tocsr())
    return chunks


def wide(X, width):
    """Return rows in a wider matrix."""
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def deliveries(names):
    """Return how the chunks of a stream may come, by name: views of each."""

    def own(X):
        columns = np.unique(X.indices)
        return Views({"text": X[:, columns]}, feature_names={"text": names[columns].tolist()})

    def so_far(X):
        return Views({"text": X}, feature_names={"text": names[: X.shape[1]].tolist()})

    def by_name(X):
        ends, words = X.indptr.tolist(), names[X.indices].tolist()
        values = X.data.tolist()
        rows = pairwise(ends)
        return {"text": [dict(zip(words[a:b], values[a:b], strict=True)) for a, b in rows]}

    return {"words so far": so_far, "own words": own, "rows by name": by_name}


def known_from_the_start(X, names):
    """Return a chunk with all words."""
    return Views({"text": wide(X, len(names))}, feature_names={"text": names.tolist()})


def timed(model, X):
    """Learn from a chunk, and return the processor time."""
    started = time.process_time()
    model.partial_fit(X)
    return time.process_time() - started


def doubling(seeds):
    """Compare streams that grow with one that knew all words, and print what came of it."""
    lines = []
    for how in ("words so far", "own words", "rows by name"):
        ratios, same, alike, seconds = [], [], [], []
        for seed in seeds:
            chunks = doubling_stream(seed)
            names = np.array([f"word{j}" for j in range(chunks[-1].shape[1])], dtype=object)
            given = deliveries(names)
            settings = {"n_clusters": CLASSES, "random_state": 0}
            grows, knew = OMVFS(new_features="grow", **settings), OMVFS(**settings)
            times = np.zeros(2)
            for i, X in enumerate(chunks):
                mine, whole = given[how](X), known_from_the_start(X, names)
                if i and how == "rows by name":
                    whole = mine  # what it takes to look words up is not for one of them alone
                times += timed(grows, mine), timed(knew, whole)
            ratios.append(times[0] / times[1])
            own, every = grows.view_scores_["text"], knew.view_scores_["text"]
            place = {name: j for j, name in enumerate(names)}
            columns = np.array([place[name] for name in grows.schema_.feature_names[0]])
            same.append(np.array_equal(own, every) if len(own) == len(every) else False)
            often = sum((np.bincount(X.indices, minlength=len(names)) > 0) for X in chunks) >= 3
            frequent = np.flatnonzero(often[columns])
            alike.append(spearmanr(own[frequent], every[columns[frequent]])[0])
            seconds.append(times)
        lines.append(
            {
                "the words come as": how,
                "time, of that of all words known": f"{np.median(ratios):.3f} "
                f"({min(ratios):.3f} to {max(ratios):.3f})",
                "seconds": " / ".join(f"{s:.2f}" for s in np.median(seconds, axis=0)),
                "same bits": f"{sum(same)} of {len(same)}",
                "rank correlation": f"{min(alike):.5f} to {max(alike):.5f}",
            }
        )
        print(lines[-1], flush=True)
    print(table([list(line.values()) for line in lines], list(lines[0])))


def endless_stream(seed, n_chunks, fresh, n_planted=200, n_common=2000):
    """Yield rows by name: words of a class, frequent words of all, and words that never come again.

    Half of the words of each class come in the second half of the stream only.
    """
    rng = np.random.default_rng(seed)
    each, count = n_planted // CLASSES, 0
    for i in range(n_chunks):
        labels = rng.integers(0, CLASSES, CHUNK).tolist()
        half = each // 2
        planted = rng.integers(0, half, (CHUNK, OWN)) + (half if 2 * i >= n_chunks else 0) * (
            rng.random((CHUNK, OWN)) < 0.5
        )
        law = np.floor(np.exp(rng.random((CHUNK, 20)) * np.log(n_common + 1)) - 1).astype(int)
        rows = []
        for label, own, common in zip(labels, planted.tolist(), law.tolist(), strict=True):
            row = {f"planted{label}_{j}": 1.0 for j in own}
            row |= {f"common{j}": 1.0 for j in common}
            row |= {f"once{count + j}": 1.0 for j in range(fresh)}
            count += fresh
            rows.append(row)
        yield {"text": rows}


def resident():
    """Return the memory that the process has now, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def endless(seeds, n_chunks, fresh, **settings):
    """Learn from an endless stream, and print memory and what is left of the planted words."""
    lines = []
    for seed in seeds:
        model = OMVFS(CLASSES, n_features_per_view=200, random_state=0, **settings)
        held, started = {}, time.process_time()
        for i, X in enumerate(endless_stream(seed, n_chunks, fresh), 1):
            model.partial_fit(X)
            if i * 10 in (n_chunks, 5 * n_chunks, 10 * n_chunks):
                held[i * 10 // n_chunks] = resident()
        seconds = time.process_time() - started
        line = {
            "seed": seed,
            "words": f"{n_chunks * CHUNK * fresh:,}",
            "features": f"{model.n_features_in_:,}",
            "MB after 10, 50, 100 %": ", ".join(f"{mb:.0f}" for mb in held.values()),
            "seconds": f"{seconds:.1f}",
        }
        lines.append(line)
        print(line, flush=True)
    print(table([list(line.values()) for line in lines], list(lines[0])))


def one_pass(seed):
    """Return the processor time of a pass over planted rows with nothing of all this."""
    planted = make_planted(10_000, n_features=(4_000, 2_000), random_state=seed)
    names = {v: [f"{v}{j}" for j in range(X.shape[1])] for v, X in planted.views.items()}
    rows = Views(planted.views, feature_names=names)
    chunks = [rows[i : i + CHUNK] for i in range(0, len(rows), CHUNK)]
    model = OMVFS(CLASSES, random_state=0)
    started = time.process_time()
    for chunk in chunks:
        model.partial_fit(chunk)
    taken = time.process_time() - started
    return taken, float(sum(scores.sum() for scores in model.view_scores_.values()))


def off(other, repeats):
    """Compare the time of passes with that of the library in another folder, in turn."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    ratios, bits = [], []
    for i in range(repeats):
        found = []
        for source in (os.path.join(here, "src"), other):
            given = {**os.environ, "PYTHONPATH": source}
            command = [sys.executable, __file__, "pass", "--seeds", str(i)]
            ran = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
            found.append(json.loads(ran.stdout))
        ratios.append(found[0][0] / found[1][0])
        bits.append(found[0][1] == found[1][1])
    print(f"pass ratio: median {np.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(f"same bits: {sum(bits)} of {len(bits)}")


def main():
    """Run one of the studies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=["doubling", "hashed", "off", "pass"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--chunks", type=int, default=1000)
    parser.add_argument("--fresh", type=int, default=5)
    parser.add_argument("--bits", type=int, default=16)
    parser.add_argument("--other", help="folder of another version of the library")
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    with threadpool_limits(1):
        if given.study == "doubling":
            doubling(given.seeds)
        elif given.study == "hashed":
            endless(given.seeds, given.chunks, given.fresh, prepare=f"hash:{given.bits}")
        elif given.study == "off":
            off(given.other, given.repeats)
        else:
            print(json.dumps(one_pass(given.seeds[0])))


if __name__ == "__main__":
    main()
