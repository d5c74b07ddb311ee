"""What asking costs beside a pass: for a ranking, for another, and for what it is made of.

    python benchmarks/asking.py --data DIR

Reads rows of debian_large, or of its twin, in one order, and asks; again and again in one process,
in turn, in processor time. Every figure is a ratio to the pass of the same turn: median, lowest and
highest.
"""

import argparse
from pathlib import Path

from made import load
from measure import ratios
from omvfs import OMVFS
from paper.timing import shown, timed
from race import chunks_of

CLUSTERS = 20
# What is asked, one after another.
ASKED = {
    "a ranking": {},
    "again, 77 features a view": {"n_features_per_view": 77},
    "again, by norm": {"criterion": "norm"},
    "again, 1,500 features a view": {"criterion": "separation", "n_features_per_view": 1500},
}


def turn(chunks, seed):
    """Return the times of a pass, and of everything that is asked after it."""
    model = OMVFS(CLUSTERS, batch_size=1000, random_state=seed)

    def learn():
        for chunk in chunks:
            model.partial_fit(chunk)

    times = {"pass": timed(learn)[0]}
    times["the clusters it is by"], _ = timed(lambda: model.cluster_shares_)
    for name, params in ASKED.items():
        model.set_params(**params)
        times[name], _ = timed(lambda: model.view_scores_)
    # The first is asked with the clusters.
    both = zip(times["a ranking"], times["the clusters it is by"], strict=True)
    times["a ranking"] = tuple(map(sum, both))
    return times


def turns(data, n_rows, n_turns):
    """Return the times of several turns by what was done, and whether a twin stood in."""
    views, _, twin = load("debian_large", data, n_rows)
    chunks = chunks_of(views)
    found = [turn(chunks, seed) for seed in range(n_turns)]
    return {name: [each[name] for each in found] for name in found[0]}, twin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    times, twin = turns(args.data, args.rows, args.turns)
    learned = times.pop("pass")
    print(f"pass: {shown([run[0] for run in learned])} s{', of a twin' if twin else ''}")
    for name, each in times.items():
        print(f"{name}: {shown(ratios(each, learned))}")


if __name__ == "__main__":
    main()
