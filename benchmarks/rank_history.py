"""What the ranks and shares along the stream cost: time of a pass, and bytes of a checkpoint.

    python benchmarks/rank_history.py

The same chunks are learned with and without snapshots of the best features, chunk by chunk in
turn, and the one that goes first changes; processor time of all chunks, with over without. As on a
busy machine that tells more of the machine, also the time inside of what takes snapshots and counts
rows: all over all but that. Bytes are what the snapshots add to a checkpoint when there are as many
as there may be, of as many views and clusters as make them largest. Ends with exit code 1 if a
median of the second ratio is over 1.02, or the bytes over 1 MB.
"""

import argparse
import statistics
import sys
import time

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from omvfs import OMVFS, fitted
from omvfs.datasets import planted_stream
from omvfs.model.stream import snapshots
from omvfs.persistence.ranks import pack_snapshots
from paper.timing import shown

MOST_TIME, MOST_BYTES = 1.02, 10**6
TAKEN = fitted.with_snapshot


def planted(n_rows, chunk):
    return list(planted_stream(n_rows, batch_size=chunk, random_state=0).batches())


def dense(n_rows, chunk, widths):
    rng = np.random.default_rng(0)
    return [
        {str(v): rng.gamma(0.5, size=(chunk, D)) for v, D in enumerate(widths)}
        for _ in range(n_rows // chunk)
    ]


def wide(n_rows, chunk, width, words=50):
    """Return rows of two views whose features are as frequent as words are."""
    rng, chunks = np.random.default_rng(0), []
    for _ in range(n_rows // chunk):
        views = {}
        for view in ("0", "1"):
            law = np.exp(rng.random((chunk, words)) * np.log(width)).astype(int) - 1
            rows = np.repeat(np.arange(chunk), words)
            X = sp.coo_array((np.ones(law.size), (rows, law.ravel())), shape=(chunk, width))
            views[view] = X.tocsr()
        chunks.append(views)
    return chunks


STREAMS = {
    "planted, 4,000 + 1,000 features, 5 clusters": (lambda: planted(30_000, 1000), 5, {}),
    "the same, chunks of 200": (lambda: planted(20_000, 200), 5, {}),
    "dense, 20 + 10 features, 3 clusters": (lambda: dense(20_000, 200, (20, 10)), 3, {}),
    "the same, chunks of 1,000, no graph": (
        lambda: dense(40_000, 1000, (20, 10)),
        3,
        {"graph": "none"},
    ),
    "dense, 500 features, 20 clusters": (lambda: dense(10_000, 200, (500,)), 20, {}),
    "words, 2 × 20,000, 20 clusters": (lambda: wide(30_000, 1000, 20_000), 20, {}),
    "words, 2 × 500,000, 20 clusters": (lambda: wide(20_000, 1000, 500_000), 20, {}),
}


def ratios(chunks, n_clusters, options):
    """Return time with over without snapshots, all over all but taking them, and their number."""
    spent, inside = [0.0, 0.0], 0.0

    def timed(before, update, settings):
        nonlocal inside
        started = time.process_time()
        after = TAKEN(before, update, settings)
        inside += time.process_time() - started
        return after

    for turn in range(2):  # few chunks are dear, and who is first there pays for fresh memory
        models = [OMVFS(n_clusters, random_state=0, **options) for _ in range(2)]
        for i, chunk in enumerate(chunks):
            for which in ((0, 1), (1, 0))[(i + turn) % 2]:
                fitted.with_snapshot = timed if which else lambda before, update, settings: update
                started = time.process_time()
                models[which].partial_fit(chunk)
                spent[which] += time.process_time() - started
    fitted.with_snapshot = TAKEN
    taken = len(models[1]._fitted.state.snapshots.taken)
    return spent[1] / spent[0], spent[1] / (spent[1] - inside), taken


def most_bytes():
    """Return the bytes of as many snapshots as there may be, with the most that they may have."""
    shares, placed = np.zeros(snapshots.CLUSTERS, np.float32), np.ones(snapshots.CLUSTERS, np.int64)

    def size(n_views):
        top = np.zeros((n_views, snapshots.n_top(n_views)), np.int32)
        held = tuple(snapshots.Snapshot(n, top, shares) for n in range(snapshots.MOST - 1))
        arrays = {}
        pack_snapshots(arrays, snapshots.Snapshots(held, placed=placed))
        return sum(array.nbytes for array in arrays.values())

    return max(size(n_views) for n_views in range(1, 200))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", help="streams whose name has this in it")
    args = parser.parse_args()
    over = []
    with threadpool_limits(1):
        for name, (make, n_clusters, options) in STREAMS.items():
            if args.only and args.only not in name:
                continue
            chunks = make()
            found = [ratios(chunks, n_clusters, options) for _ in range(args.repeats)]
            apart, inside, taken = zip(*found, strict=True)
            print(f"{name}: {shown(apart)}, inside {shown(inside)}, {taken[0]} taken", flush=True)
            if statistics.median(inside) > MOST_TIME:
                over.append(name)
    size = most_bytes()
    print(f"snapshots in a checkpoint, at most: {size:,} bytes")
    if over or size > MOST_BYTES:
        sys.exit(f"Over {MOST_TIME}, or {MOST_BYTES:,} bytes: {', '.join(over) or 'bytes'}.")


if __name__ == "__main__":
    main()
