"""Memory of long runs: it must not grow with the rows.

    python benchmarks/stream_memory.py

Four runs with checkpoints, each in a process of its own: 2,000,000 sparse rows drawn on the fly,
1,000,000 rows of a Parquet file, and 50,000 sparse rows of 100,000 features in chunks of 200 and of
1,000. "Resident" is the largest of what the process holds after each chunk, "peak" the most it ever
held; the libraries are part of both. The Parquet file is written to a temporary folder (TMPDIR),
and takes 4 bytes a value. Ends with exit code 1 if a run grows by over 2 % after its first chunks,
or takes over 600 MB.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from measure import held
from omvfs import OMVFS
from omvfs.datasets import planted_stream
from omvfs.formats import IteratorSource, open_source
from omvfs.pipeline.loop import run

FIRST = 20  # chunks after which memory must not grow
MOST_GROWTH, MOST_MB = 0.02, 600
PARQUET_VIEWS = ("text", "image")


def megabytes():
    """Return the memory that this process holds now, and the most that it ever held, in MB."""
    return tuple(each / 2**20 for each in held())


class Watch:
    """Listens to a run, and keeps the largest figures of its first chunks and of all."""

    def __init__(self):
        self.before = megabytes()
        self.first = self.most = (0.0, 0.0)
        self.n_chunks = 0
        self.status = None

    def __call__(self, status):
        self.most = tuple(map(max, self.most, megabytes()))
        self.n_chunks += 1
        if self.n_chunks <= FIRST:
            self.first = self.most
        self.status = status


def planted(args):
    """Return two sparse views of planted words, drawn on the fly."""
    stream = planted_stream(
        args.rows,
        batch_size=args.batch_size,
        n_features=args.features,
        n_informative=[width // 10 for width in args.features],
        n_classes=args.clusters,
        row_length=args.words,
        random_state=0,
    )
    return IteratorSource(lambda: (chunk.views for chunk in stream))


def write_parquet(path, args):
    """Write rows of clusters, a column a feature, row group by row group."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, (width, *_) = np.random.default_rng(0), args.features
    names = [f"{view}__{j}" for view in PARQUET_VIEWS for j in range(width)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    own = np.arange(len(names)) % args.clusters
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, args.rows, args.group_rows):
            n = min(args.group_rows, args.rows - start)
            labels = rng.integers(args.clusters, size=n)
            columns = [
                rng.random(n, np.float32) * np.where(labels == c, np.float32(1), np.float32(0.1))
                for c in own
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), args.group_rows)


def measure(source, args):
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, source:
        started = time.perf_counter()
        run(
            source,
            OMVFS(args.clusters, batch_size=args.batch_size, random_state=0),
            save_to=Path(folder) / "model.omvfs",
            save_every=FIRST // 2,
            listeners=(watch,),
        )
        seconds = time.perf_counter() - started
    assert watch.status.n_rows == args.rows, watch.status
    (resident, peak), (resident_end, peak_end) = watch.first, watch.most
    views = " + ".join(f"{width:,}" for width in args.features)
    print(
        f"| {args.case} | {args.rows:,} | {views} | {args.clusters} | {args.batch_size:,} "
        f"| {args.rows / seconds:,.0f} | {watch.before[0]:.0f} "
        f"| {resident:.1f} | {resident_end:.1f} | {resident_end / resident - 1:+.2%} "
        f"| {peak:.1f} | {peak_end:.1f} | {peak_end / peak - 1:+.2%} |",
        flush=True,
    )
    if missed := missed_bars(watch.first, watch.most):
        sys.exit(f"{args.case}, chunks of {args.batch_size:,}: {' '.join(missed)}")


def missed_bars(first, most):
    """Return a sentence for every bar that a run has missed, given what it held in MB.

    >>> missed_bars((300.0, 400.0), (305.0, 405.0))
    []
    >>> missed_bars((300.0, 400.0), (300.0, 601.0))
    ['Peak memory grew by 50.2%, over 2%.', 'Peak memory was 601 MB, over 600 MB.']
    """
    growth = {
        name: after / before - 1
        for name, before, after in zip(("Resident", "Peak"), first, most, strict=True)
    }
    missed = [
        f"{name} memory grew by {share:.1%}, over {MOST_GROWTH:.0%}."
        for name, share in growth.items()
        if share > MOST_GROWTH
    ]
    if most[1] > MOST_MB:
        missed.append(f"Peak memory was {most[1]:.0f} MB, over {MOST_MB} MB.")
    return missed


CASES = {
    "stream": {"rows": 2_000_000, "features": [2000, 2000], "words": 30, "clusters": 5},
    "parquet": {"rows": 1_000_000, "features": [50, 50], "clusters": 5},
    "wide": {"rows": 50_000, "features": [60_000, 40_000], "words": 50, "clusters": 20},
}
PLAN = [("stream", 1000), ("parquet", 1000), ("wide", 200), ("wide", 1000)]
HEADER = f"""\
| run | rows | features | clusters | chunk | rows/s | MB before | resident, {FIRST} chunks \
| resident, all | growth | peak, {FIRST} chunks | peak, all | growth |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, help="only this one")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--features", type=int, nargs=2, help="of the two views")
    parser.add_argument("--words", type=int, help="words of a row of a view")
    parser.add_argument("--clusters", type=int)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--group-rows", type=int, default=20_000, help="of a Parquet row group")
    parser.add_argument("--parquet", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        for name, value in CASES[args.case].items():
            if getattr(args, name) is None:
                setattr(args, name, value)
        if args.case != "parquet":
            measure(planted(args), args)
        elif not args.parquet.exists():
            write_parquet(args.parquet, args)
        else:
            measure(open_source(args.parquet), args)
        return
    print(HEADER, flush=True)
    code = 0
    for case, batch_size in PLAN:
        if args.case in (None, case):
            command = [sys.executable, __file__, "--batch-size", str(batch_size), *sys.argv[1:]]
            command += ["--case", case, "--here"]
            with tempfile.TemporaryDirectory() as folder:
                command += ["--parquet", f"{folder}/rows.parquet"]
                if case == "parquet":
                    subprocess.run(command, check=True)
                code = max(code, abs(subprocess.run(command).returncode))
    sys.exit(min(code, 1))


if __name__ == "__main__":
    main()
