"""The race: ours, its peers and the floor on the same rows, in turn, several times over."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA, MiniBatchNMF, TruncatedSVD

from made import load
from measure import ratios
from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import FSDS
from paper.mvufs import MVUFS
from paper.spec import LaplacianScore
from paper.timing import shown, spread, timed

CHUNK = 1000
# Columns that a method on dense chunks is given.
DENSE = 10_000
SPARSE = ("reuters-twin", "youtube-twin", "debian_large")
SETS = (*SPARSE, "cells-twin", "pixels", "mfeat")
WHOLE = ", whole stream"


@dataclass(frozen=True)
class Method:
    """How a method runs.

    Attributes
    ----------
    make : callable
        Returns a new model for a number of clusters.
    form : str
        What it reads: views, stacked, or dense.
    rows : int, optional
        Rows that it reads at the most, unless the whole stream is asked for.
    quick_rows : int
        The same of a quick run; with 0 it takes no part.
    whole : bool
        Whether it is worth waiting for the whole stream.
    slow : bool
        Runs once, ours before and after it.
    offline : bool
        Reads all rows at once.
    sets : tuple of str
        Where it runs.
    note : str
        What is to be said of it.
    """

    make: Callable[[int], Any]
    form: str = "views"
    rows: int | None = None
    quick_rows: int = 4 * CHUNK
    whole: bool = False
    slow: bool = False
    offline: bool = False
    sets: tuple[str, ...] = SETS
    note: str = ""


class Ranked(OMVFS):
    """Ours, asked for the ranking at the end of the pass."""


class HighlyVariable:
    """Scanpy's highly variable genes, where it is installed."""

    def fit(self, X):
        import scanpy
        from anndata import AnnData

        scanpy.pp.highly_variable_genes(AnnData(X), n_top_genes=min(500, X.shape[1]))
        return self


METHODS = {
    "omvfs, ranked": Method(
        lambda K: Ranked(K, random_state=0), note="the pass and `view_scores_` at its end"
    ),
    "MiniBatchKMeans": Method(
        lambda K: MiniBatchKMeans(K, n_init=1, random_state=0), "stacked", note="views side by side"
    ),
    "MiniBatchNMF": Method(
        lambda K: MiniBatchNMF(K, random_state=0), "stacked", note="views side by side"
    ),
    "TruncatedSVD": Method(
        lambda K: TruncatedSVD(K, random_state=0),
        "stacked",
        offline=True,
        note="offline, views side by side",
    ),
    "IncrementalPCA": Method(
        lambda K: IncrementalPCA(K),
        "dense",
        rows=2 * CHUNK,
        quick_rows=CHUNK,
        slow=True,
        note=f"dense chunks only: the first {DENSE // 2:,} columns of a view; ours reads all",
    ),
    "FSDS": Method(lambda K: FSDS(K), rows=10 * CHUNK, quick_rows=2 * CHUNK, whole=True),
    "paper": Method(
        lambda K: OMVFSPaper(K, random_state=0),
        rows=3 * CHUNK,
        quick_rows=CHUNK,
        whole=True,
        slow=True,
        note="`OMVFSPaper`",
    ),
    "LaplacianScore": Method(
        lambda K: LaplacianScore(),
        rows=10 * CHUNK,
        offline=True,
        sets=SETS[:1],
        note="offline",
    ),
    "MVUFS": Method(
        lambda K: MVUFS(K),
        rows=10 * CHUNK,
        quick_rows=0,
        offline=True,
        slow=True,
        sets=SETS[:1],
        note="offline",
    ),
}
if find_spec("scanpy"):
    METHODS["highly variable genes"] = Method(
        lambda K: HighlyVariable(), "stacked", offline=True, sets=("cells-twin",), note="scanpy"
    )


class Floor:
    """One product XV and one XᵀU a chunk, with V and U dense."""

    def __init__(self, chunk, n_clusters):
        rng = np.random.default_rng(0)
        self.V = {v: rng.random((X.shape[1], n_clusters)) for v, X in chunk.items()}
        self.U = rng.random((CHUNK, n_clusters))

    def partial_fit(self, chunk):
        for view, X in chunk.items():
            X @ self.V[view]
            X.T @ self.U[: X.shape[0]]


def chunks_of(views, n_rows=None):
    """Return the first rows as chunks."""
    n = next(iter(views.values())).shape[0]
    stop = n if n_rows is None else min(n, n_rows)
    cuts = [(i, min(i + CHUNK, stop)) for i in range(0, stop, CHUNK)]
    return [{v: X[a:b] for v, X in views.items()} for a, b in cuts]


def as_read(chunks, form):
    """Return chunks in the form that a method reads."""
    if form == "views":
        return chunks
    if form == "stacked":
        return [side_by_side(chunk.values()) for chunk in chunks]
    share = DENSE // len(chunks[0])
    return [
        np.hstack([X[:, :share].toarray() if sp.issparse(X) else X for X in chunk.values()])
        for chunk in chunks
    ]


def side_by_side(blocks):
    """Return the columns of all blocks, as a CSR matrix if any is one."""
    blocks = list(blocks)
    return sp.hstack(blocks, format="csr") if any(map(sp.issparse, blocks)) else np.hstack(blocks)


def one_below_the_other(blocks):
    """Return the rows of all blocks, as a CSR matrix if they are."""
    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.vstack(blocks)


def one_pass(model, chunks):
    """Return the times of a pass."""

    def work():
        for chunk in chunks:
            model.partial_fit(chunk)
        return model.view_scores_ if isinstance(model, Ranked) else None

    return timed(work)[0]


def fitted(model, chunks):
    """Return the times of an offline fit of all rows."""
    if isinstance(chunks[0], dict):
        rows = {v: one_below_the_other([c[v] for c in chunks]) for v in chunks[0]}
    else:
        rows = one_below_the_other(chunks)
    return timed(lambda: model.fit(rows))[0]


def beside(K, chunks, method=None, repeats=1):
    """Return the times of the floor, ours, and a method on the same rows, run after run.

    A slow method runs once, with ours before and after it.
    """
    ours = {
        "floor": lambda: Floor(chunks[0], K),
        "omvfs": lambda: OMVFS(K, random_state=0),
    }
    once = method is not None and method.slow
    own = [] if method is None else as_read(chunks, method.form)
    run = fitted if method is not None and method.offline else one_pass
    times = {}
    for turn in range(2 if once else repeats):
        for name, make in ours.items():
            times.setdefault(name, []).append(one_pass(make(), chunks))
        if method is not None and not (once and turn):
            times.setdefault("own", []).append(run(method.make(K), own))
    return times


def race(results, data, quick, full):
    """Find what is missing of the race, and keep it."""
    for name in SETS:
        keys = {"omvfs": None, **METHODS}
        if full:
            keys |= {each + WHOLE: METHODS[each] for each in METHODS if METHODS[each].whole}
        missing = {
            each: method
            for each, method in keys.items()
            if results.wanted(f"race/{name}/{each}") and (method is None or name in method.sets)
        }
        loaded = load(name, data, 4 * CHUNK if quick else None) if missing else None
        if loaded is None:
            continue
        views, K, stands_in = loaded
        if results.get(f"set/{name}") is None:
            results.put(f"set/{name}", {**described(views, K), "twin": stands_in})
        for each, method in missing.items():
            most = None
            if method is not None and not each.endswith(WHOLE):
                most = method.quick_rows if quick else method.rows
            if most == 0:
                continue
            chunks = chunks_of(views, most)
            repeats = 2 if quick else 7 if method is None else 3
            times = beside(K, chunks, method, repeats)
            cell = {"rows": sum(next(iter(c.values())).shape[0] for c in chunks), "times": times}
            cell["note"] = "" if method is None else method.note
            results.put(f"race/{name}/{each}", cell)
            print(result_line(name, each, cell), flush=True)


def ratio(results, name, method, above="own", below="omvfs"):
    """Return the median ratio of two times, of the whole stream where it was read, or nothing."""
    for key in (f"race/{name}/{method}{WHOLE}", f"race/{name}/{method}"):
        if key in results:
            times = results[key]["times"]
            return spread(ratios(times[above], times[below]))[0]
    return None


def described(views, K):
    """Return the shape of a set."""
    first = next(iter(views.values()))
    chunk = chunks_of(views, CHUNK)[0].values()
    return {
        "rows": first.shape[0],
        "features": [X.shape[1] for X in views.values()],
        "nonzeros": [entries(X) / X.shape[0] for X in views.values()],
        "clusters": K,
        "chunk_bytes": sum(map(bytes_of, chunk)),
    }


def entries(X):
    """Return how many entries of a block are not zero."""
    return X.nnz if sp.issparse(X) else int(np.count_nonzero(X))


def bytes_of(X):
    """Return the bytes of a block."""
    if not sp.issparse(X):
        return X.nbytes
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def result_line(name, each, cell):
    """Return a line on a result."""
    times = cell["times"]
    own = times.get("own", times["omvfs"])
    found = [f"× {other} {shown(ratios(own, times[other]))}" for other in ("omvfs", "floor")]
    return "  ".join([f"{name:13s} {each:26s} {cell['rows']:8,d} rows", *found])
