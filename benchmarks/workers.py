"""Workers beside one process: how much sooner they are done, what they cost, what they hold.

    python benchmarks/workers.py reading
    python benchmarks/workers.py debian --data DIR
    python benchmarks/workers.py merging
    python benchmarks/workers.py memory

Ratios are of runs that take turns, in another order every time; the workers are started before.
Beside them the machine itself is asked: two processes that know nothing of each other, each with
half of the parts and nothing to merge, against one with all of them. No engine can do better here.
With --quick little is done, to see that it works.
"""

import argparse
import json
import multiprocessing
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import omvfs
from measure import held
from omvfs import OMVFS
from omvfs.datasets import make_planted
from omvfs.distributed import steps
from omvfs.distributed.dask import fit, local_workers
from omvfs.distributed.shards import fit_file, part_of, schema_of
from omvfs.formats.combined import together

DEBIAN = ("english", "italian", "depends")
PLAIN = "plain loop"
ALONE, APART = "one process, nothing merged", "two processes, nothing merged"


def in_one_process(selector, paths):
    """Learn from parts one after another, and merge them: the same without Dask."""
    parts = [part_of(path) for path in paths]
    schema = together([schema_of(part) for part in parts])
    states = [fit_file(part, steps.worker_copy(selector), schema) for part in parts]
    merged = omvfs.merge([OMVFS.from_bytes(state) for state in states])
    assert merged.n_samples_seen_  # worked out when it is asked for
    return merged


def learn_only(selector, paths):
    """Learn from parts one after another, and merge nothing."""
    for path in paths:
        part = part_of(path)
        fit_file(part, steps.worker_copy(selector), schema_of(part))


def apart(pool, selector, paths, n):
    """Learn from parts in so many processes that have nothing to do with each other."""
    pool.starmap(learn_only, [(selector, paths[i::n]) for i in range(n)], chunksize=1)


def race(name, selector, paths, repeats):
    """Tell the times of one process, of one worker and of two, and their ratios run by run."""
    pools = multiprocessing.get_context("spawn").Pool(2)
    with local_workers(1) as one, local_workers(2) as two, pools as pool:
        apart(pool, selector, paths[:1] * 2, 2)  # started, and everything imported
        ways = {
            ALONE: lambda: apart(pool, selector, paths, 1),
            APART: lambda: apart(pool, selector, paths, 2),
            PLAIN: lambda: in_one_process(selector, paths),
            "1 worker": lambda: fit(selector, paths, one),
            "2 workers": lambda: fit(selector, paths, two),
        }
        times, bits = {way: [] for way in ways}, set()
        for i in range(repeats):
            # Each goes first once in a while.
            order = list(ways)[i % len(ways) :] + list(ways)[: i % len(ways)]
            for way in order:
                began = time.perf_counter()
                model = ways[way]()
                times[way].append(time.perf_counter() - began)
                if model is not None:
                    bits.add(model._known.state.views[0].S.tobytes())
                print(f"{name}, {way}: {times[way][-1]:.1f} s", flush=True)
    assert len(bits) == 1, "the ways do not come to the same bits"
    pairs = ("1 worker", "2 workers"), ("1 worker", PLAIN), (PLAIN, "2 workers"), (ALONE, APART)
    for above, below in pairs:
        found = [a / b for a, b in zip(times[above], times[below], strict=True)]
        told = ", ".join(f"{each:.2f}" for each in found)
        print(f"{name}: {above} takes {np.median(found):.2f} × as long as {below} ({told})")


def words(folder, n_parts, rows):
    """Write JSON Lines of words: most of the work is to read and to prepare them."""
    law = {"n_features": (3_000, 500), "n_informative": (300, 50), "row_length": (60, 10)}
    planted = make_planted(n_parts * rows, n_classes=5, random_state=0, **law)
    views = {view: sp.csr_array(X) for view, X in planted.views.items()}
    paths = []
    for i in range(n_parts):
        path = folder / f"part-{i}.jsonl"
        with path.open("w") as file:
            for row in range(i * rows, (i + 1) * rows):
                entries = {}
                for view, X in views.items():
                    a, b = X.indptr[row], X.indptr[row + 1]
                    pairs = zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)
                    entries[view] = {f"w{j}": value for j, value in pairs}
                file.write(json.dumps(entries) + "\n")
        paths.append(str(path))
    return paths


def debian(folder, data, n_rows, n_parts):
    """Write rows of debian_large, repeated in random orders, as tables in long form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    blocks = [
        sp.load_npz(data / "debian_large" / f"view_{i}_{v}.npz") for i, v in enumerate(DEBIAN)
    ]
    own, paths = blocks[0].shape[0], []
    rng, waiting = np.random.default_rng(0), np.empty(0, np.intp)
    for i, n in enumerate(np.diff(np.linspace(0, n_rows, n_parts + 1).astype(int))):
        while len(waiting) < n:
            waiting = np.concatenate([waiting, rng.permutation(own)])
        rows, waiting = waiting[:n], waiting[n:]
        tables = []
        for view, X in zip(DEBIAN, blocks, strict=True):
            entries = X[rows].tocoo()
            tables.append((entries.row, entries.col, entries.data, np.full(entries.nnz, view)))
        row, feature, value, view = map(np.concatenate, zip(*tables, strict=True))
        order = np.argsort(row, kind="stable")
        columns = {"row": row, "feature": feature, "value": value}
        table = pa.table({name: pa.array(each[order]) for name, each in columns.items()})
        names = pa.array(view[order]).dictionary_encode().cast(pa.string())
        paths.append(str(folder / f"part-{i}.parquet"))
        pq.write_table(table.append_column("view", names), paths[-1])
    return paths


def wide(folder, n_parts, rows, width):
    """Write parts of many features, and return the paths."""
    law = {"n_features": (width * 3 // 5, width * 2 // 5), "n_classes": 20}
    law |= {"n_informative": (width // 100, width // 150), "row_length": (60, 40)}
    paths = []
    for i in range(n_parts):
        planted = make_planted(rows, random_state=i, **law)
        path = folder / f"part-{i}"
        path.mkdir()
        for v, (view, X) in enumerate(planted.views.items()):
            sp.save_npz(path / f"view_{v}_{view}.npz", sp.csr_array(X), compressed=False)
        paths.append(str(path))
    return paths


def merging(folder, n_parts, rows, width, repeats):
    """Tell how long it takes to merge parts that are there: in memory, in files, and on workers."""
    selector = OMVFS(20, random_state=0)
    paths = wide(folder, n_parts, rows, width)
    states = [fit_file(part_of(p), selector, schema_of(part_of(p))) for p in paths]
    print(f"a state has {len(states[0]):,} bytes")
    files = [folder / f"{i}.omvfs" for i in range(n_parts)]
    for file, state in zip(files, states, strict=True):
        file.write_bytes(state)
    for _ in range(repeats):
        models = [OMVFS.from_bytes(state) for state in states]
        for name, given in (("estimators", models), ("files", files)):
            began = time.perf_counter()
            assert omvfs.merge(given).n_samples_seen_ == n_parts * rows
            print(
                f"merging {n_parts} {name} of {width:,} features, 20 clusters: "
                f"{time.perf_counter() - began:.2f} s",
                flush=True,
            )


def memory(folder, numbers, rows, width):
    """Tell the most that a worker has held, by the number of its parts."""
    paths = wide(folder, max(numbers), rows, width)
    for n in numbers:
        with local_workers(1) as client:
            (before,) = client.run(held).values()
            fit(OMVFS(20, random_state=0), paths[:n], client)
            (after,) = client.run(held).values()
        print(
            f"{n} parts of {width:,} features: a worker held {after[1] / 1e6:,.0f} MB at most, "
            f"{before[0] / 1e6:,.0f} MB before",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["reading", "debian", "merging", "memory"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of debian")
    parser.add_argument("--parts", type=int, default=20, help="of debian")
    parser.add_argument("--temp", type=Path, help="where to write parts")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    repeats = 1 if args.quick else args.repeats
    folder = Path(tempfile.mkdtemp(prefix="omvfs-", dir=args.temp))
    try:
        if args.what == "reading":
            paths = words(folder, 8, 200 if args.quick else 10_000)
            selector = OMVFS(5, prepare=["tfidf", "l2"], random_state=0)
            race("reading", selector, paths, repeats)
        elif args.what == "debian":
            rows, parts = (4_000, 4) if args.quick else (args.rows, args.parts)
            paths = debian(folder, args.data, rows, parts)
            race("debian_large", OMVFS(20, prepare="l2", random_state=0), paths, repeats)
        elif args.what == "merging":
            n_parts, width = (8, 5_000) if args.quick else (64, 100_000)
            merging(folder, n_parts, 300 if args.quick else 2_500, width, repeats)
        else:
            numbers, width = ([2, 4], 5_000) if args.quick else ([4, 16, 64], 100_000)
            memory(folder, numbers, 300 if args.quick else 2_500, width)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
