"""Cells on a disk: memory and time of `omvfs.scverse.select`, and what its features are worth.

    .venv-scverse/bin/python benchmarks/scverse.py

Writes a MuData of planted cell types to a temporary folder (TMPDIR): 5,000 genes, sparse, and 200
proteins, dense, which a fifth of the cells lack. Genes and proteins that tell of types differ in
their means; with "bursts", 300 genes and 20 proteins more vary as much, by chance.

Memory: each line is a process of its own. "Opened" has imported all and opened the file; "one
chunk" has also read its first 200 cells; "select" has done all. Peaks are those of the kernel
(VmHWM), the medians of three runs. "Above" is what a peak has more than that of "opened".

Worth: cells that have proteins are clustered by k-means on the first 20 principal components of the
selected features, as many clusters as types; NMI with the types, mean and range over seeds. Times
are of the processor, two each in turns, in this process; that of scanpy is with reading what it
needs to be in memory.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from measure import held

TYPES, GENES, PROTEINS = 12, 5_000, 200
TELLING = {"rna": 400, "protein": 40}
BURSTS = {"rna": 300, "protein": 20}
SELECTED = {"rna": 500, "protein": 50}
CHUNK = 200
# Rows of the reservoir: OMVFS's default, and a quarter of it.
SAMPLES = 2_000, 500


def counts(rng, kinds, depths, view, width, bursts):
    """Yield counts of cells, some thousands at a time."""
    means = rng.lognormal(-1.5 if view == "rna" else 2.0, 1.0, width)
    columns = rng.permutation(width)
    telling = columns[: TELLING[view]]
    by_type = np.tile(means, (TYPES, 1))
    own = rng.integers(TYPES, size=len(telling))
    by_type[own, telling] *= rng.uniform(3, 8, len(telling))
    noisy = columns[TELLING[view] : TELLING[view] + BURSTS[view]] if bursts else []
    for start in range(0, len(kinds), 2_000):
        rows = slice(start, start + 2_000)
        rates = by_type[kinds[rows]] * depths[rows, None]
        rates *= rng.gamma(4.0, 0.25, rates.shape)
        if bursts:
            loud = rng.random((len(rates), len(noisy))) < 1 / TYPES
            rates[:, noisy] *= np.where(loud, rng.uniform(3, 8, len(noisy)), 1)
        yield rng.poisson(rates).astype(np.float32)


def normalised(X):
    """Return log(1 + counts a cell of 10,000)."""
    return np.log1p(X * (1e4 / np.maximum(X.sum(axis=1, keepdims=True), 1)))


def write(path, n_cells, bursts, seed=0):
    """Write the cells to a file."""
    import anndata
    import mudata

    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(TYPES, 3.0))
    kinds, depths = rng.choice(TYPES, n_cells, p=shares), rng.lognormal(0, 0.4, n_cells)
    names = np.array([f"cell{i}" for i in range(n_cells)])
    parts = counts(rng, kinds, depths, "rna", GENES, bursts)
    genes = sp.vstack([sp.csr_matrix(normalised(part)) for part in parts], format="csr")
    has = rng.random(n_cells) >= 0.2
    parts = counts(rng, kinds[has], np.ones(has.sum()), "protein", PROTEINS, bursts)
    proteins = np.vstack([normalised(part) for part in parts])

    def annotated(X, rows, letter):
        var = pd.DataFrame(index=[f"{letter}{j}" for j in range(X.shape[1])])
        return anndata.AnnData(X, pd.DataFrame(index=rows), var)

    made = {"rna": annotated(genes, names, "g"), "protein": annotated(proteins, names[has], "p")}
    mdata = mudata.MuData(made)
    mdata.obs["type"] = kinds[mdata.obs_names.map(dict(zip(names, range(n_cells), strict=True)))]
    mdata.write_h5mu(path)


def selected(mdata, sample_size):
    from omvfs import scverse

    params = {"batch_size": CHUNK, "sample_size": sample_size, "random_state": 0}
    return scverse.select(mdata, TYPES, SELECTED, **params)


def child(task, path, sample_size):
    """Do one task on the file, and print the most that this process has held."""
    import mudata

    from omvfs import OMVFS
    from omvfs.integrations.scverse import Cells

    mdata = mudata.read_h5mu(path, backed="r")
    cells, _ = Cells(mdata), OMVFS
    if task == "one chunk":
        cells.read(np.arange(CHUNK))
    elif task == "select":
        selected(mdata, int(sample_size))
    print(held()[1])


def memory(folder, sizes, repeats=3):
    heads = ["cells", "file, MB", "sample_size", "opened, MB", "one chunk", "select", "times"]
    heads += ["above: one chunk, MB", "select"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for n_cells in sizes:
        path = folder / f"{n_cells}.h5mu"
        write(path, n_cells, bursts=False)
        for sample_size in SAMPLES:
            runs = []
            for _ in range(repeats):
                peaks = []
                for task in ("opened", "one chunk", "select"):
                    told = [task, str(path), str(sample_size)]
                    command = [sys.executable, __file__, "--child", *told]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    peaks.append(int(done.stdout) / 2**20)
                runs.append(peaks)
            opened, chunk, all_of_it = np.median(runs, axis=0)
            times = [run[2] / run[1] for run in runs]
            print(
                f"| {n_cells:,} | {path.stat().st_size / 2**20:.0f} | {sample_size:,} "
                f"| {opened:.0f} | {chunk:.0f} | {all_of_it:.0f} | {min(times):.2f} to "
                f"{max(times):.2f} | {chunk - opened:.1f} | {all_of_it - opened:.0f} |",
                flush=True,
            )


def nmi_of(mdata, chosen, seeds):
    """Return the NMI of clusters on some features of cells that have all views, a seed each."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD

    from omvfs.evaluation import normalized_mutual_information

    whole = mdata["protein"].obs_names
    types = mdata.obs.loc[whole, "type"].to_numpy()
    blocks = [mdata[view][whole].X[:, columns] for view, columns in chosen.items()]
    found = []
    for seed in range(seeds):
        parts = []
        for block in blocks:
            centred = np.asarray(block.todense() if sp.issparse(block) else block)
            centred = centred - centred.mean(axis=0)
            n = min(20, block.shape[1] - 1)
            reduced = TruncatedSVD(n, random_state=seed).fit_transform(centred)
            parts.append(reduced / np.sqrt((reduced**2).sum(axis=1).mean()))
        labels = KMeans(TYPES, n_init=3, random_state=seed).fit_predict(np.hstack(parts))
        found.append(normalized_mutual_information(types, labels))
    return found


def worth(folder, n_cells, seeds):
    import mudata
    import scanpy as sc

    from omvfs.evaluation import normalized_mutual_information

    def ours(sample_size):
        def run(path):
            mdata = mudata.read_h5mu(path, backed="r")
            selected(mdata, sample_size)
            return mdata, {v: mdata[v].var["omvfs_selected"].to_numpy() for v in SELECTED}

        return run

    def theirs(flavor):
        def run(path):
            mdata = mudata.read_h5mu(path)
            for view, n in SELECTED.items():
                sc.pp.highly_variable_genes(mdata[view], n_top_genes=n, flavor=flavor)
            return mdata, {v: mdata[v].var["highly_variable"].to_numpy() for v in SELECTED}

        return run

    methods = {
        **{f"omvfs, sample_size={n:,}": ours(n) for n in SAMPLES},
        "scanpy, seurat": theirs("seurat"),
        "scanpy, cell_ranger": theirs("cell_ranger"),
    }
    print("| cells | features | genes that tell | NMI genes | proteins | both | s, processor |")
    print("|---|---|---|---|---|---|---|")
    for bursts in (False, True):
        path = folder / f"worth-{bursts}.h5mu"
        write(path, n_cells, bursts)
        found = {}
        seconds = {name: [] for name in methods}
        for _ in range(2):
            for name, method in methods.items():
                started = time.process_time()
                found[name] = method(path)
                seconds[name].append(time.process_time() - started)
        mdata = mudata.read_h5mu(path)
        kind = "bursts" if bursts else "plain"
        for name, (done, chosen) in found.items():
            cases = {"genes": ["rna"], "proteins": ["protein"], "both": ["rna", "protein"]}
            told = []
            for views in cases.values():
                own = nmi_of(mdata, {view: chosen[view] for view in views}, seeds)
                told.append(f"{np.mean(own):.3f} ({min(own):.3f} to {max(own):.3f})")
            took = " to ".join(f"{each:.1f}" for each in sorted(seconds[name]))
            share = telling_share(n_cells, chosen["rna"])
            print(f"| {kind} | {name} | {share:.0%} | {' | '.join(told)} | {took} |", flush=True)
            if name.startswith("omvfs"):
                clusters = done.obs["omvfs_cluster"].astype(int)
                own = normalized_mutual_information(mdata.obs["type"], clusters)
                print(f"| {kind} | its own clusters, all cells | | | | {own:.3f} | |", flush=True)


def telling_share(n_cells, chosen, seed=0):
    """Return which share of the selected genes tell of types, drawn as `write` draws them."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(TYPES, 3.0))
    rng.choice(TYPES, n_cells, p=shares), rng.lognormal(0, 0.4, n_cells)
    rng.lognormal(-1.5, 1.0, GENES)
    return chosen[rng.permutation(GENES)[: TELLING["rna"]]].sum() / chosen.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=3, metavar=("TASK", "FILE", "SIZE"))
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=["memory", "worth"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.child:
        child(*args.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        if args.only != "worth":
            memory(Path(folder), [args.cells, 2 * args.cells])
        if args.only != "memory":
            worth(Path(folder), args.cells, args.seeds)


if __name__ == "__main__":
    main()
