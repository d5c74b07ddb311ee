"""Changes of a stream as events: how soon they are noticed, and how often for nothing.

    python benchmarks/drift_events.py --data DIR --store FILE

Every stream has one change, at a row of its own, or none. A change is found if the event comes in
the chunk in which it begins or in one of the two after it; one that comes before is a false alarm.
Chunks of 200 rows. Real sets are drawn from row by row, with replacement.
"""

import argparse
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from keep import Results
from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from paper import Place, table
from paper.sets import at_hand, load

CHUNK, WITHIN = 200, 3
FIRST, LAST, AFTER = 2_200, 4_200, 1_600
STATIONARY = 200 * CHUNK
# The law by which the test was tried out has other seeds.
SEED = 10_000
FAINT = {
    "n_features": (20_000, 5_000),
    "n_informative": (1_000, 500),
    "n_classes": 10,
    "row_length": (100, 50),
}
CHANGES = {
    "words": ({}, None),
    "words, faint": (FAINT, None),
    "words, a third of rows lack a view": ({"lacking": 1 / 3}, None),
    "shares, two classes of 80 %": ({}, 0.8),
    "shares, two classes of 60 %": ({}, 0.6),
    "shares, two classes of 80 %, faint": (FAINT, 0.8),
}
NONE = {
    "planted": {},
    "planted, faint": FAINT,
    "planted, one class of 50 %": {"class_weights": (4, 1, 1, 1, 1)},
    "planted, tf-idf": {"prepare": ["tfidf", "l2"]},
    "planted, a third of rows lack a view": {"lacking": 1 / 3},
}
SETS = "fox", "mdn_en_fr", "debian_en_fr", "wordnet"


def by_share(labels, at, n, share, rng):
    """Return rows of which two classes make up a share from some row on."""
    K = labels.max() + 1
    weights = np.full(K, (1 - share) / (K - 2))
    weights[rng.choice(K, 2, replace=False)] = share / 2
    rest = {c: iter(at + np.flatnonzero(labels[at:] == c)) for c in range(K)}
    later = [next(rest[c]) for c in rng.choice(K, n - at, p=weights)]
    return np.r_[np.arange(at), later].astype(np.intp)


def chunks_of(views, rows, lacking, rng):
    """Yield rows in chunks, some of which lack one of the views by chance."""
    for start in range(0, len(rows), CHUNK):
        some = rows[start : start + CHUNK]
        chunk = {view: X[some] for view, X in views.items()}
        if not lacking:
            yield chunk
            continue
        present = np.ones((len(some), len(views)), bool)
        without = np.flatnonzero(rng.random(len(some)) < lacking)
        present[without, rng.integers(0, len(views), len(without))] = False
        yield Views(chunk, present={view: present[:, v] for v, view in enumerate(views)})


def changing(case, seed):
    """Return after how many chunks a change was found, of which kind, and whether too early."""
    law, share = CHANGES[case]
    law = dict(law)
    lacking, rng = law.pop("lacking", 0), np.random.default_rng(seed)
    at = int(rng.integers(FIRST, LAST))
    n = at + AFTER
    if share is None:
        planted = make_planted(n, drift_at=(at,), random_state=seed, **law)
        rows = np.arange(n)
    else:
        K = law.get("n_classes", 5)
        planted = make_planted(at + 2 * K * AFTER // 3, random_state=seed, **law)
        rows = by_share(planted.labels, at, n, share, rng)
    model = OMVFS(planted.labels.max() + 1, detect_drift=True, random_state=0)
    for chunk in chunks_of(planted.views, rows, lacking, rng):
        if model.partial_fit(chunk).drift_:
            break
    if not model.drift_:
        return {"kind": None, "chunks": None, "false": False}
    event = model.drift_[0]
    chunks = (event.row - 1) // CHUNK - at // CHUNK + 1
    return {"kind": event.kind, "chunks": chunks, "false": event.row <= at}


def unchanging(case, seed, place):
    """Return how many events there were in a stream that does not change."""
    rng = np.random.default_rng(seed)
    if case in NONE:
        law = dict(NONE[case])
        lacking, prepare = law.pop("lacking", 0), law.pop("prepare", None)
        planted = make_planted(STATIONARY, random_state=seed, **law)
        views, K, rows = planted.views, planted.labels.max() + 1, np.arange(STATIONARY)
    else:
        own = load(case, place)
        views, K, lacking, prepare = own.views, own.n_classes, 0, None
        rows = rng.integers(0, len(own.labels), STATIONARY)
    model = OMVFS(K, prepare=prepare, detect_drift=True, random_state=0)
    for chunk in chunks_of(views, rows, lacking, rng):
        model.partial_fit(chunk)
    return {"events": len(model.drift_)}


def show(results, streams, seeds, sets):
    """Print what was found."""
    lines = []
    for case in CHANGES:
        done = [results.get(f"{case}/{seed}") for seed in range(SEED, SEED + streams)]
        done = [each for each in done if each is not None]
        if not done:
            continue
        sound = [each for each in done if each["chunks"] is not None and not each["false"]]
        delays = [each["chunks"] for each in sound]
        kind = "fit" if case.startswith("words") else "shares"
        lines.append(
            [
                case,
                f"{sum(d <= WITHIN for d in delays)} of {len(done)}",
                len(sound),
                f"{np.mean(delays):.2f}, {max(delays)}" if delays else "–",
                sum(each["kind"] == kind for each in sound),
                sum(each["false"] for each in done),
            ]
        )
    heads = ["change", f"within {WITHIN} chunks", "found", "chunks, mean and most"]
    print(table(lines, [*heads, "of the right kind", "false alarms"]), "\n")
    lines = []
    for case in (*NONE, *sets):
        done = [results.get(f"none, {case}/{seed}") for seed in range(SEED, SEED + seeds)]
        done = [each["events"] for each in done if each is not None]
        if done:
            lines.append([case, len(done), len(done) * STATIONARY // CHUNK, sum(done)])
    print(table(lines, ["no change", "streams", "chunks", "false alarms"]))


def main():
    """Measure what is not in the store yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", type=Path)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    place = Place(data=args.data)
    sets = at_hand(place, SETS)
    results = Results(args.store, only=args.only)
    with threadpool_limits(1):
        for case in CHANGES:
            for seed in range(SEED, SEED + args.streams):
                if results.wanted(key := f"{case}/{seed}"):
                    results.put(key, changing(case, seed))
        for case in (*NONE, *sets):
            for seed in range(SEED, SEED + args.seeds):
                if results.wanted(key := f"none, {case}/{seed}"):
                    results.put(key, unchanging(case, seed, place))
    show(results, args.streams, args.seeds, sets)


if __name__ == "__main__":
    main()
