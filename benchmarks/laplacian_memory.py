"""Memory and time of the Laplacian score on many sparse rows.

    python benchmarks/laplacian_memory.py

By default 100,000 rows of 50,000 features with 50 words each, the words once all as frequent, once
by Zipf's law. Each runs in a process of its own, which reports its peak resident memory: the data
and the libraries are part of it.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp

from omvfs.baselines.laplacian_score import LaplacianScore

LAWS = {"uniform": 0.0, "zipf": 1.0}  # exponents of the frequency by rank


def words(n_rows, n_features, row_length, law):
    """Return counts of words drawn independently, with weights that make rows differ."""
    rng = np.random.default_rng(0)
    cumulative = np.cumsum(np.arange(1.0, n_features + 1) ** -LAWS[law])
    drawn = rng.random(n_rows * row_length) * cumulative[-1]
    columns = np.minimum(np.searchsorted(cumulative, drawn, side="right"), n_features - 1)
    rows = np.repeat(np.arange(n_rows), row_length)
    shape = n_rows, n_features
    return sp.csr_array((rng.uniform(0.5, 1.5, len(columns)), (rows, columns)), shape=shape)


def peak():
    """Return the peak resident memory of this process in MB."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def measure(law, args):
    X = words(args.rows, args.features, args.words, law)
    before, started, worked = peak(), time.perf_counter(), time.process_time()
    scores = LaplacianScore().fit(X).scores_
    seconds, work = time.perf_counter() - started, time.process_time() - worked
    assert np.isfinite(scores).all()
    print(
        f"{law}: {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} nonzeros: {seconds:.0f} s "
        f"({work:.0f} s of processor), peak {peak():.0f} MB ({before:.0f} MB before the fit)",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50_000)
    parser.add_argument("--words", type=int, default=50, help="words of a row")
    parser.add_argument("--law", choices=LAWS, help="only this law, in this process")
    args = parser.parse_args()
    if args.law:
        measure(args.law, args)
    else:
        for law in LAWS:
            command = [sys.executable, __file__, *sys.argv[1:], "--law", law]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
