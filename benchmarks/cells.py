"""Genes selected by OMVFS, by scanpy and by simple rules, on real and planted cells.

    .venv-scverse/bin/python benchmarks/cells.py worth --data DIR
    .venv-scverse/bin/python benchmarks/cells.py speed
    .venv-scverse/bin/python benchmarks/cells.py memory
    .venv-scverse/bin/python benchmarks/cells.py batches

"worth": the best 200, 500 and 2,000 genes, judged on their first 30 principal components
(a) without labels, by the *other* modality (proteins, open chromatin): the share of the 15 nearest
cells in common, and the variance of the other modality that the 15 nearest cells predict;
(b) by cell types: balanced NMI of k-means (every type counts alike), and the macro F1 of 15 nearest
neighbours; (c) on planted cells, the share of the markers of rare types that are found.
"omvfs" sees genes alone, as all others do; "omvfs, both" sees the judging modality too, and "omvfs,
rare" looks for rare groups. Real counts are recovered from the logarithms that are shipped.

"speed": 20,000 cells of 5,000 genes, a quarter not zero, processor time of one thread, interleaved.
"memory": cells on a disk, a process for each: the peaks of reading one chunk of 2,000 cells and
of `select`. "batches": 110,000 cells of 2,000 genes in 100 batches.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

warnings.simplefilter("ignore")

N_GENES, K_NEAR, N_DIMS = (200, 500, 2000), 15, 30
RARE = 0.05, 0.02, 0.01, 0.005
WANTED = {"n_clusters": 40, "criterion": "coverage", "sample_size": 4000}


def planted(rng, n=6000, n_genes=4000, n_proteins=60, n_batches=1):
    """Return counts of genes, proteins, types, the markers of rare types, and batches."""
    n_rare = len(RARE) if n_batches == 1 else 0
    rare = np.array(RARE[:n_rare])
    kinds = rng.choice(
        n_rare + 8, n, p=[*rare, *(rng.dirichlet(np.full(8, 4.0)) * (1 - rare.sum()))]
    )
    batches, markers, blocks = rng.integers(n_batches, size=n), [], []
    for width, own, level in ((n_genes, 30, -2.0), (n_proteins, 4, 2.0)):
        rates = np.tile(rng.lognormal(level, 1.2, width), (n_rare + 8, 1))
        for kind, genes in enumerate(
            np.split(rng.permutation(width)[: own * (n_rare + 8)], n_rare + 8)
        ):
            genes = genes[: 8 if kind < n_rare else own]
            if kind < n_rare and width == n_genes:
                rates[:, genes] = rng.uniform(0.02, 0.2, len(genes))
                markers.append(genes)
            fold = (8, 25) if kind < n_rare else (2, 6)
            rates[kind, genes] *= rng.uniform(*fold, len(genes))
        shifts = rng.lognormal(0, 0.5, (n_batches, width))
        depths = rng.lognormal(0, 0.4, n)[:, None]
        means = rates[kinds] * shifts[batches] * depths * rng.gamma(4, 0.25, (n, width))
        blocks.append(rng.poisson(means).astype(np.float32))
    return sp.csr_matrix(blocks[0]), np.log1p(blocks[1]), kinds, markers, batches


def real(data, name):
    """Return counts of genes, the other modality and types of a real set."""
    folder = data / name
    X = sp.csr_matrix(sp.load_npz(folder / "view_1_rna.npz")).astype(np.float64)
    X.data = np.expm1(X.data)
    for row in range(X.shape[0]):
        own = slice(X.indptr[row], X.indptr[row + 1])
        X.data[own] = np.round(X.data[own] / X.data[own].min())
    (file,) = folder.glob("view_2_*")
    other = np.load(file) if file.suffix == ".npy" else sp.csr_matrix(sp.load_npz(file))
    return X.astype(np.float32), other, np.load(folder / "labels.npy")


def normalised(X):
    scale = np.asarray(1e4 / np.maximum(X.sum(axis=1), 1)).ravel()
    return (sp.diags(scale) @ X).log1p().tocsr().astype(np.float32)


def components(X, n_dims=N_DIMS):
    from sklearn.decomposition import TruncatedSVD

    X = X - X.mean(axis=0) if not sp.issparse(X) else X
    n_dims = min(n_dims, X.shape[1] - 1)
    found = TruncatedSVD(n_dims, random_state=0).fit_transform(X)
    return found - found.mean(axis=0)


def nearest(E):
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K_NEAR + 1).fit(E).kneighbors(E)[1][:, 1:]


def judged(genes, other, near_other, kinds, seeds=2):
    """Return what some genes are worth, by the other modality and by types."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import f1_score

    E = components(np.asarray(genes.todense()))
    near = nearest(E)
    overlap = np.mean(
        [len(np.intersect1d(a, b)) / K_NEAR for a, b in zip(near, near_other, strict=True)]
    )
    predicted = other[near].mean(axis=1)
    regression = 1 - ((other - predicted) ** 2).sum() / (other**2).sum()
    K = kinds.max() + 1
    votes = np.array([np.bincount(row, minlength=K).argmax() for row in kinds[near]])
    f1 = f1_score(kinds, votes, average="macro")
    nmi = [
        balanced_nmi(kinds, KMeans(K, n_init=3, random_state=seed).fit_predict(E))
        for seed in range(seeds)
    ]
    return overlap, regression, np.mean(nmi), f1


def balanced_nmi(kinds, labels):
    """Return the NMI of two labelings in which every kind weighs the same."""
    table = np.zeros((kinds.max() + 1, labels.max() + 1))
    np.add.at(table, (kinds, labels), 1)
    p = table / table.sum(axis=1, keepdims=True) / len(table)
    a, b = p.sum(axis=1), p.sum(axis=0)
    entropy = lambda q: -(q[q > 0] * np.log(q[q > 0])).sum()  # noqa: E731
    return 2 * (entropy(a) + entropy(b) - entropy(p.ravel())) / (entropy(a) + entropy(b))


def methods(X, other, batches):
    """Return the rank of every gene by method."""
    import anndata as ad
    import pandas as pd
    import scanpy as sc

    from omvfs import scverse

    counts, L = ad.AnnData(X), ad.AnnData(normalised(X))
    key = "batch" if len(set(batches)) > 1 else None
    for each in (counts, L):
        each.obs["batch"] = pd.Categorical(batches.astype(str))

    def ours(data=counts, **params):
        params = {"random_state": 0, "batch_key": key, **params}
        found = scverse.select(data, n_top_genes=500, inplace=False, **params)
        return (found["rna"] if isinstance(found, dict) else found)["omvfs_rank"].to_numpy()

    def hvg(flavor, data):
        if flavor == "pearson":
            function, options = (
                sc.experimental.pp.highly_variable_genes,
                {"n_top_genes": X.shape[1]},
            )
            flavor = "pearson_residuals"
        else:
            function, options = sc.pp.highly_variable_genes, {"n_top_genes": min(2000, X.shape[1])}
        own = data.copy()
        function(own, flavor=flavor, batch_key=key, **options)
        var = own.var
        if "highly_variable_rank" in var:
            order = var["highly_variable_rank"].fillna(np.inf)
            rest = var.get("variances_norm", var.get("residual_variances"))
            return np.lexsort((-rest, order)).argsort() + 1
        first = [-var["highly_variable_nbatches"]] if key else []
        return np.lexsort((-var["dispersions_norm"].fillna(-np.inf), *first)).argsort() + 1

    def by(score):
        return (-np.asarray(score).ravel()).argsort(kind="stable").argsort() + 1

    def deviance():
        n, total = np.asarray(X.sum(axis=1)).ravel(), np.asarray(X.sum(axis=0)).ravel()
        share, C = total / total.sum(), X.tocoo()
        terms = C.data * np.log(C.data / (n[C.row] * share[C.col]))
        return np.bincount(C.col, terms, X.shape[1])  # Poisson, as in Townes et al. (2019)

    both = {
        "rna": counts,
        "other": ad.AnnData(sp.csr_matrix(other) if sp.issparse(other) else other),
    }
    both["other"].obs_names = counts.obs_names
    means, squares = (np.asarray(M.mean(axis=0)).ravel() for M in (L.X, L.X.power(2)))
    found = {
        "omvfs": ours(),
        "omvfs, rare": ours(**WANTED),
        "scanpy seurat": hvg("seurat", L),
        "scanpy seurat_v3": hvg("seurat_v3", counts),
        "scanpy seurat_v3_paper": hvg("seurat_v3_paper", counts),
        "scanpy cell_ranger": hvg("cell_ranger", L),
        "scanpy Pearson residuals": hvg("pearson", counts),
        "mean": by(means),
        "variance": by(squares - means**2),
        "deviance": by(deviance()),
    }
    if key is None:
        found["omvfs, both"] = ours(both)
    simple = ("scanpy seurat_v3", "variance", "deviance", "mean")
    found["mean of four ranks"] = by(-np.mean([np.log(found[each]) for each in simple], axis=0))
    for seed in range(5):
        found[f"random {seed}"] = np.random.default_rng(seed).permutation(X.shape[1]) + 1
    return found


def worth(given):
    sets = {}
    for name in ("citeseq_pbmc", "a549_scicar"):
        if given.data is not None:
            X, other, kinds = real(given.data, name)
            keep = np.asarray((X > 0).sum(axis=0)).ravel() >= 5
            sets[name] = X[:, keep], other, kinds, [], np.zeros(len(kinds), int)
    for draw in range(given.draws):
        sets[f"planted, rare types {draw}"] = planted(np.random.default_rng(draw))
        sets[f"planted, batches {draw}"] = planted(np.random.default_rng(100 + draw), n_batches=3)
    found = {}
    for name, (X, other, kinds, markers, batches) in sets.items():
        group = name.rstrip(" 0123456789")
        E = components(other)
        E = E / E.std() if not sp.issparse(other) else E
        near_other, L = nearest(E), normalised(X)
        ranks = methods(X, other, batches)
        for n in N_GENES:
            if n > X.shape[1]:
                continue
            for method, rank in ranks.items():
                told = judged(L[:, rank <= n], E, near_other, kinds)
                share = [np.mean(rank[own] <= n) for own in markers] or [np.nan]
                key = group, n, method.rstrip(" 01234") if method.startswith("random") else method
                found.setdefault(key, []).append([*told, np.mean(share)])
        print(f"done: {name}", file=sys.stderr, flush=True)
    print("| cells | genes | method | kNN overlap | kNN regression | NMI | F1 | markers |")
    print("|---|---|---|---|---|---|---|---|")
    for (group, n, method), each in sorted(found.items(), key=lambda x: (x[0][0], x[0][1])):
        mean, spread = np.mean(each, axis=0), np.std(each, axis=0)
        cells = [
            "" if np.isnan(m) else f"{m:.3f}" + (f" ± {s:.3f}" if len(each) > 1 else "")
            for m, s in zip(mean, spread, strict=True)
        ]
        print(f"| {group} | {n:,} | {method} | {' | '.join(cells)} |")
    print("\nMean over the groups and numbers of genes:\n")
    print(
        "| method | kNN overlap | kNN regression | NMI | F1 | markers |\n|---|---|---|---|---|---|"
    )
    total = {}
    for (_, _, method), each in found.items():
        total.setdefault(method, []).append(np.mean(each, axis=0))
    for method, each in sorted(total.items(), key=lambda x: -np.mean(x[1], axis=0)[0]):
        print(f"| {method} | {' | '.join(f'{m:.3f}' for m in np.nanmean(each, axis=0))} |")


def many(n, n_genes=5000, seed=0):
    """Yield counts of cells, a quarter not zero, 1,000 at a time."""
    rng = np.random.default_rng(seed)
    rates = np.tile(rng.lognormal(-1.6, 1.2, n_genes), (12, 1))
    tell = rng.permutation(n_genes)[:400]
    rates[rng.integers(12, size=400), tell] *= rng.uniform(3, 8, 400)
    for _ in range(n // 1000):
        means = rates[rng.integers(12, size=1000)] * rng.gamma(4, 0.25, (1000, n_genes))
        yield sp.csr_matrix(rng.poisson(means).astype(np.float32))


def timed(work):
    began = time.process_time()
    work()
    return time.process_time() - began


def speed(given):
    import anndata as ad
    import scanpy as sc

    from omvfs import scverse

    counts = ad.AnnData(sp.vstack(list(many(20_000)), format="csr"))
    L = ad.AnnData(normalised(counts.X))
    hvg = sc.pp.highly_variable_genes
    ways = {
        "omvfs, counts": lambda: scverse.select(counts, 12, 2000, random_state=0, inplace=False),
        "omvfs, logarithms": lambda: scverse.select(L, 12, 2000, random_state=0, inplace=False),
        "scanpy seurat": lambda: hvg(L, n_top_genes=2000, inplace=False),
        "scanpy seurat_v3": lambda: hvg(
            counts, n_top_genes=2000, flavor="seurat_v3", inplace=False
        ),
    }
    runs = {name: [] for name in ways}
    for run in range(given.draws + 1):
        for name, way in ways.items():
            seconds = timed(way)
            if run:  # the first compiles and imports
                runs[name].append(seconds)
    print("| 20,000 cells, 5,000 genes | seconds | × seurat | × seurat_v3 |\n|---|---|---|---|")
    for name, each in runs.items():
        ratios = [np.divide(each, runs[f"scanpy {other}"]) for other in ("seurat", "seurat_v3")]
        cells = (f"{np.mean(r):.2f} ({min(r):.2f} to {max(r):.2f})" for r in (each, *ratios))
        print(f"| {name} | {' | '.join(cells)} |")


def child(path, task):
    import anndata as ad
    import h5py  # noqa: F401

    from measure import held
    from omvfs import scverse

    cells = ad.read_h5ad(path, backed="r")
    if task == "chunk":
        rows = cells.X[:2000]
        np.sort(rows.data)
        print(held()[1], 0)
        return
    began = time.perf_counter()
    with threadpool_limits(1):
        key = "batch" if task == "batches" else None
        scverse.select(cells, 12, 2000, batch_key=key, random_state=0, inplace=False)
    print(held()[1], time.perf_counter() - began)


def memory(given):
    import anndata as ad

    print("| cells | file, MB | one chunk, MB | select, MB | cells a second |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for n in (20_000, 200_000):
            path = Path(folder) / f"{n}.h5ad"
            ad.AnnData(sp.vstack(list(many(n)), format="csr")).write_h5ad(path)
            told = []
            for task in ("chunk", "select"):
                command = [sys.executable, __file__, "child", str(path), task]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                told.append([float(each) for each in done.stdout.split()])
            (chunk, _), (peak, seconds) = told
            cells = f"{path.stat().st_size / 2**20:.0f} | {chunk / 2**20:.0f} | {peak / 2**20:.0f}"
            print(f"| {n:,} | {cells} | {n / seconds:,.0f} |", flush=True)


def batches(given):
    import anndata as ad
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.h5ad"
        own = ad.AnnData(sp.vstack(list(many(110_000, 2000)), format="csr"))
        own.obs["batch"] = pd.Categorical([f"b{i // 1100:03d}" for i in range(110_000)])
        own.write_h5ad(path)
        del own
        command = [sys.executable, __file__, "child", str(path), "batches"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    peak, seconds = map(float, done.stdout.split())
    print(f"110,000 cells in 100 batches: {seconds:.0f} s, {peak / 2**20:.0f} MB.")


def main():
    tables = {each.__name__: each for each in (worth, speed, memory, batches)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=[*tables, "child"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    if given.table == "child":
        child(*given.rest)
        return
    with threadpool_limits(1):
        tables[given.table](given)


if __name__ == "__main__":
    main()
