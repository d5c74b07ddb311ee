"""What `recency` gives: where words or classes change, come one after another, or do neither.

    python benchmarks/recency.py --data DIR

NMI of the selected features by their number a view, and at how many of the points where a ranking
was asked for the recent rows were found to have changed.
"""

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from omvfs import OMVFS
from omvfs.datasets import make_planted
from paper import Place, table
from paper.drifting import SEGMENT, SEGMENTS, stream
from paper.rows import NMI, mean_and_spread
from paper.sets import at_hand, load, planted_set

SIZES, WEIGHTS, ORDERS = (20, 40, 100, 200, 400), (0.0, 0.5, 1.0), 4
ROWS, JUDGED, CHUNK = 4 * SEGMENT, 1500, 200
REAL = ("debian_en_fr", "debian_large")
FAINT = {
    "n_features": (20_000, 5_000),
    "n_informative": (1_000, 500),
    "n_classes": 10,
    "row_length": (100, 50),
}


def once(order):
    """Return rows of which the second half has other words, that half, and rows of a chunk."""
    planted = make_planted(20_000, drift_at=(10_000,), dtype=np.float64, random_state=order)
    return planted_set(planted), np.arange(10_000, 20_000), 1000


def drifting(name, place, order):
    """Return the rows of a stream of four segments, their last segment, and rows of a chunk."""
    found = stream(name, place, order)
    rows = np.arange(len(found.rows.labels))
    return found.rows, rows[-found.segment :], found.segment // 3


def unchanging(name, place, order, by_class=False):
    """Return rows in random order, or class by class, all of which are to be told apart."""
    if name.startswith("planted"):
        shape = FAINT if name == "planted, faint" else {}
        planted = make_planted(ROWS, dtype=np.float64, random_state=order, **shape)
        rows = planted_set(planted, name)
    else:
        rows = load(name, place)
    rng = np.random.default_rng(order)
    chosen = rng.permutation(len(rows.labels))[:ROWS]
    if by_class:
        place_of = rng.permutation(rows.labels.max() + 1)
        chosen = chosen[np.argsort(place_of[rows.labels[chosen]], kind="stable")]
    return rows.take(chosen), np.arange(len(chosen)), CHUNK


def measured(kind, name, place, order):
    """Return NMI by weight and size, and how often a change was noticed, of how many times."""
    if kind == "words change":
        rows, judged, chunk = once(order)
    elif kind == "drift":
        rows, judged, chunk = drifting(name, place, order)
    else:
        rows, judged, chunk = unchanging(name, place, order, by_class=kind == "class by class")
    model = OMVFS(rows.n_classes, n_features_per_view=max(SIZES), random_state=0)
    starts = range(0, len(rows.labels), chunk)
    # A change can be noticed once a segment has passed.
    ends = {len(starts) * i // SEGMENTS - 1 for i in range(2, SEGMENTS + 1)}
    if kind == "words change":
        ends = {len(starts) - 1}
    noticed = asked = 0
    for i, start in enumerate(starts):
        model.partial_fit(rows.take(slice(start, start + chunk)).views)
        if i in ends:
            queries = model._fitted.queries
            recent = bool(queries.recent_rows)
            noticed += recent and queries.drifted
            asked += recent
    chosen = np.random.default_rng(order).permutation(judged)[:JUDGED]
    subset, scores = rows.take(np.sort(chosen)), {}
    # In random order nothing is noticed, and the ranking is the same to the bit.
    for weight in WEIGHTS if kind != "random order" else ():
        given = model.set_params(recency=weight).view_scores_
        scores[weight] = [row[NMI] for row in subset.judge(given, SIZES, seeds=1)]
    return kind, name, scores, noticed, asked


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    place = Place(data=options.data)
    real = at_hand(place, REAL)
    cases = [
        ("words change", "planted"),
        *(("drift", name) for name in ["planted", *real]),
        *(("class by class", name) for name in ["planted", *real]),
        *(("random order", name) for name in ["planted", "planted, faint", *real]),
    ]
    tasks = [(*case, place, order) for case in cases for order in range(ORDERS)]
    found = Parallel(options.jobs)(delayed(measured)(*task) for task in tasks)
    lines = []
    for kind, name in cases:
        mine = [each for each in found if each[:2] == (kind, name)]
        often = " of ".join(str(sum(each[i] for each in mine)) for i in (3, 4))
        for weight in mine[0][2]:
            by_size = zip(*(each[2][weight] for each in mine), strict=True)
            lines.append([kind, name, weight, *map(mean_and_spread, by_size), often])
        if not mine[0][2]:
            lines.append([kind, name, "any", *("–" for _ in SIZES), often])
    print(table(lines, ["", "", "recency", *map(str, SIZES), "noticed"]))


if __name__ == "__main__":
    main()
