"""Whether one can trust what OMVFS says of its own result: noise, stability, and the time it takes.

    python benchmarks/trust.py noise
    python benchmarks/trust.py views
    python benchmarks/trust.py real --data DIR
    python benchmarks/trust.py stability --data DIR
    python benchmarks/trust.py rare
    python benchmarks/trust.py time

"noise": rows of noise alone, of five kinds; how often a structure is said to be found. "views": one
view of noise beside two that tell the classes; how often the verdict is right about all three.
"real": the evidence of structure in real views. "stability": the share of the selection that the
verdict expects to stay, against what disjoint parts of the rows have in common. "rare": the share
of the genes of small groups of planted cells that are among the best 200, by settings. "time": of
verdict, sentences and stability, after the ranking.
"""

import argparse
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import quality
from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.model.concordance import EVIDENCE, own_evidence, shared_evidence

# Too few rows for three parts.
SMALL = ("infant_gut", "msrc_v1", "tcga_brca")
N_PARTS = 3
# Of planted rows, how sure their classes are.
CONCENTRATIONS = 0.6, 0.9
# Of planted cells, the shares of the rare types.
RARE = 0.05, 0.02, 0.01, 0.005


def normal(rng, n, width):
    return rng.standard_normal((n, width))


def heavy(rng, n, width):
    return rng.lognormal(0, 2, (n, width))


def binary(rng, n, width):
    return (rng.random((n, width)) < rng.uniform(0.02, 0.5, width)).astype(float)


def words(rng, n, width):
    """Return counts of words of a long-tailed law, in texts of very different lengths."""
    law = rng.pareto(1.0, width) + 0.1
    lengths = 1 + rng.lognormal(3, 1, n).astype(int)
    columns = rng.choice(width, lengths.sum(), p=law / law.sum())
    rows = np.repeat(np.arange(n), lengths)
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, width))


def shuffled(rng, n, width):
    """Return columns of planted rows, each in an order of its own."""
    X = planted(rng, n, (width, width))[0].toarray()
    return rng.permuted(X, axis=0)


KINDS = {each.__name__: each for each in (normal, heavy, binary, words, shuffled)}


def planted(rng, n, widths):
    seed = int(rng.integers(2**31))
    found = make_planted(
        n,
        n_features=widths,
        n_informative=tuple(max(4, width // 5) for width in widths),
        n_classes=4,
        row_length=30,
        concentration=rng.uniform(*CONCENTRATIONS),
        random_state=seed,
    )
    return [sp.csr_array(X) for X in found.views.values()]


def width_of(rng, least=10, most=2000):
    return int(np.exp(rng.uniform(np.log(least), np.log(most))))


def counted(given, heads, judge):
    """Show how many draws of each kind of noise something is true of."""
    print(f"| {heads} |\n|---|---|---|")
    for kind, make in KINDS.items():
        rngs = (np.random.default_rng([draw, len(kind)]) for draw in range(given.draws))
        found = sum(judge(rng, make) for rng in rngs)
        print(f"| {kind} | {given.draws} | {found} |", flush=True)


def noise(given):
    """Count how often noise alone is said to have a structure."""

    def holds(rng, make):
        n, n_views = int(rng.integers(100, 3000)), int(rng.integers(1, 4))
        X = {f"v{v}": make(rng, n, width_of(rng)) for v in range(n_views)}
        return OMVFS(int(rng.integers(2, 12)), random_state=0).fit(X).verdict().holds

    counted(given, "kind | draws | said to have a structure", holds)


def views(given):
    """Count how often the verdict is right about every view."""

    def is_right(rng, make):
        n = int(rng.integers(500, 3000))
        X = dict(zip("ab", planted(rng, n, (200, 100)), strict=True))
        X["noise"] = make(rng, n, width_of(rng))
        found = OMVFS(4, random_state=0).fit(X).verdict()
        return [found.views[v].holds for v in X] == [True, True, False]

    counted(given, "noise | draws | right", is_right)


def read(name, given):
    """Return the shuffled rows of a set and the number of classes."""
    blocks, y = quality.shuffled(name, given.data)
    return Views(blocks), y.max() + 1


def sets(given):
    return given.sets or sorted(each.parent.name for each in given.data.glob("*/labels.npy"))


def named(name):
    return f"{name} (held back)" if name in quality.HELD_BACK else name


def real(given):
    """Show the evidence of structure in real views, and whether the verdict says there is some."""
    print(f"| set | evidence by view (bar {EVIDENCE:.0f}) | with the others | said |")
    print("|---|---|---|---|")
    for name in sets(given):
        X, K = read(name, given)
        model = OMVFS(K, random_state=0).fit(X)
        rows, present = model._answers.rows, model._answers.state.sample.present
        own = [own_evidence(X_v, has) for X_v, has in zip(rows, present.T, strict=True)]
        several = range(len(rows)) if len(rows) > 1 else ()
        shared = [shared_evidence(rows, present, v, 2000) for v in several]
        cells = ["; ".join(f"{z:.0f}" for z in each) for each in (own, shared)]
        noisy = [view for view, told in model.verdict().views.items() if not told.holds]
        said = f"noise: {', '.join(noisy)}" if noisy else "structure"
        print(f"| {named(name)} | {cells[0]} | {cells[1]} | {said} |", flush=True)


def stability(given):
    """Compare what the verdict expects to stay with what disjoint parts have in common."""
    print("| set | rows of a part | truth | stated, mean of the parts | difference |")
    print("|---|---|---|---|---|")
    gaps = []
    for name in sets(given):
        if name in SMALL:
            continue
        X, K = read(name, given)
        parts = np.array_split(np.arange(len(X)), N_PARTS)
        models = [
            OMVFS(K, n_features_per_view=given.features, random_state=i).fit(X[rows])
            for i, rows in enumerate(parts)
        ]
        chosen = [
            {
                (v, j)
                for v, mask in model.view_support_.items()
                for j in np.flatnonzero(mask).tolist()
            }
            for model in models
        ]
        truth = np.mean([len(a & b) / len(a) for a, b in combinations(chosen, 2)])
        stated = [model.stability().stays.share for model in models]
        gaps.append(abs(np.mean(stated) - truth))
        print(
            f"| {named(name)} | {len(parts[0]):,} | {truth:.3f} | {np.mean(stated):.3f} ± "
            f"{np.std(stated):.3f} | {np.mean(stated) - truth:+.3f} |",
            flush=True,
        )
    print(f"\n{sum(gap <= 0.05 for gap in gaps)} of {len(gaps)} are within .05.")


def cells(rng, n=20_000, n_genes=3000):
    """Return counts of cells of common and rare types, and the genes of each type, rare first."""
    common = rng.dirichlet(np.full(8, 4.0)) * (1 - sum(RARE))
    kinds = rng.choice(len(RARE) + 8, n, p=[*RARE, *common])
    rates = np.tile(rng.lognormal(-2, 1.2, n_genes), (len(RARE) + 8, 1))
    genes = np.split(rng.permutation(n_genes)[: 8 * len(RARE) + 40 * 8], 8 * np.arange(1, 5))
    genes = [*genes[:-1], *np.split(genes[-1], 8)]
    for kind, own in enumerate(genes):
        rare = kind < len(RARE)
        low = rng.uniform(0.02, 0.2, len(own)) if rare else rates[0, own]
        rates[:, own] = low
        rates[kind, own] = low * rng.uniform(*((8, 25) if rare else (2, 6)), len(own))
    depths, parts = rng.lognormal(0, 0.4, n), []
    for some in np.array_split(np.arange(n), n // 1000):
        means = rates[kinds[some]] * depths[some, None] * rng.gamma(4, 0.25, (len(some), n_genes))
        parts.append(sp.csr_array(rng.poisson(means).astype(np.float32)))
    return sp.vstack(parts, format="csr"), genes


def rare(given):
    """Show which share of the genes of rare types is found, and what looking for them costs."""
    wanted = {"n_clusters": 40, "criterion": "coverage", "sample_size": 4000}
    settings = {"by default": {}, "for rare groups": wanted}
    heads = [*(f"{share:.1%}" for share in RARE), "common"]
    print(f"| settings | {' | '.join(heads)} | seconds |\n|---|{'---|' * (len(heads) + 1)}")
    found, seconds = {name: [] for name in settings}, {name: [] for name in settings}
    for draw in range(given.repeats):
        X, genes = cells(np.random.default_rng(draw))
        for name, params in settings.items():
            began = time.process_time()
            ranks = OMVFS(n_features_per_view=200, random_state=0, **params).fit(X).ranking_
            seconds[name].append(time.process_time() - began)
            shares = [np.mean(ranks[own] <= 200) for own in genes]
            found[name].append([*shares[: len(RARE)], np.mean(shares[len(RARE) :])])
    for name, each in found.items():
        mean, spread = np.mean(each, axis=0), np.std(each, axis=0)
        cells_of = (f"{m:.2f} ± {s:.2f}" for m, s in zip(mean, spread, strict=True))
        took = f"{np.mean(seconds[name]):.1f} ± {np.std(seconds[name]):.1f}"
        print(f"| {name} | {' | '.join(cells_of)} | {took} |")


def wide(kind, n=20_000):
    """Return two views of so many features."""
    if kind == "words":
        found = make_planted(3000, n_features=(n, n), row_length=80, random_state=0).views
        return found, 10
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 10, 3000)
    found = {}
    for view in "ab":
        means = rng.standard_normal((10, n)) * (rng.random(n) < 0.1)
        found[view] = (means[kinds] + rng.standard_normal((3000, n))).astype(np.float32)
    return found, 10


def seconds(given):
    """Time what is said after the ranking."""
    print("| rows | verdict | sentences | stability, after the verdict | together |")
    print("|---|---|---|---|---|")
    for kind in ("words", "numbers"):
        X, K = wide(kind)
        runs = []
        for _ in range(given.repeats):
            model = OMVFS(K, n_features_per_view=100, random_state=0).fit(X)
            assert model.view_ranking_
            marks = [time.perf_counter()]
            for work in (model.verdict, model.ranking_table, model.stability):
                work()
                marks.append(time.perf_counter())
            runs.append([*np.diff(marks), marks[-1] - marks[0]])
        mean, spread = np.mean(runs, axis=0), np.std(runs, axis=0)
        cells = (f"{m:.2f} ± {s:.2f} s" for m, s in zip(mean, spread, strict=True))
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


TABLES = {
    "noise": noise,
    "views": views,
    "real": real,
    "stability": stability,
    "rare": rare,
    "time": seconds,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="*", help="by default, all")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with threadpool_limits(1):
        TABLES[given.table](given)


if __name__ == "__main__":
    main()
