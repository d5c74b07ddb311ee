"""How good the selected features are: 21 real sets, every method, every judge.

    python benchmarks/quality.py --data DIR                     # all, resumed from docs/quality.csv
    python benchmarks/quality.py --data DIR --quick             # a first look, in two minutes
    python benchmarks/quality.py                                # the page from the file

Rows of a set are shuffled. Dense views are scaled to 0..1 by column, rows of every view to unit
norm, for every method alike. Methods rank the features of each view without labels, with as many
clusters as there are classes; the best 2, 5, 10 and 20 % of each view (at least 5) are judged on at
most 3,000 rows by the classes:

stacked     NMI of spherical k-means, two seeds
multi-view  NMI of multi-view spherical k-means
5-NN        accuracy of the 5 nearest rows by cosine, leaving one out
balanced    the same, every class counted alike

A method has so many minutes for a set; what takes longer is not shown there. What an interrupted
run has done is kept.
"""

import argparse
import csv
import multiprocessing
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy import stats
from sklearn.preprocessing import MinMaxScaler, normalize
from threadpoolctl import threadpool_limits

import fastcan_peer
from omvfs import OMVFS, Views
from omvfs.evaluation import (
    MultiViewSphericalKMeans,
    normalized_mutual_information,
    spherical_k_means,
)
from omvfs.selector import rank
from paper.methods import METHODS

HELD_BACK = (
    "mdn_en_fr", "cora", "tcga_brca", "spoken_digits", "chess_openings", "libreoffice_help",
)  # fmt: skip
DEVELOPMENT = (
    "fox", "reuters600", "reuters1200", "citeseer", "bdgp", "mfeat", "debian_en_fr",
    "blogcatalog", "openclipart", "citeseq_pbmc", "a549_scicar", "gas_drift", "msrc_v1",
    "acm_papers", "infant_gut",
)  # fmt: skip
LARGE = "debian_large", "wordnet"
SHARES, MOST_ROWS, N_SEEDS, N_NEAR = (0.02, 0.05, 0.1, 0.2), 3000, 2, 5
OURS, COMPARED = "OMVFS", ("column sum", "variance", "random", "FSDS")
N_RANDOM = 5
# As few as one can take in one pass, in time linear in the rows.
ONLINE = "OMVFS", "OMVFS, K=8", "OMVFS, norm", "as published", "FSDS", "column sum", "variance"
RULES = "mean of ranks", "random", "all features"
OFFLINE = (
    "LapScore", "MCFS", "SPEC", "NDFS", "MVUFS", "EUFS", "JMVFG", "ACSL", "TIME-FS", "fastcan",
)  # fmt: skip
JUDGES = "stacked", "multi-view", "5-NN", "balanced"


def shuffled(name, data):
    """Return the views of a set, without names of features, and its classes; rows are shuffled."""
    blocks = {}
    labels = np.load(data / name / "labels.npy")
    rows = np.random.default_rng(0).permutation(len(labels))
    for file in sorted((data / name).glob("view_*")):
        X = np.load(file) if file.suffix == ".npy" else sp.csr_array(sp.load_npz(file))
        blocks[file.stem.split("_", 2)[2]] = X[rows]
    return blocks, np.unique(labels[rows], return_inverse=True)[1]


def read(name, data):
    """Return the views of a set and its classes, as every method gets them."""
    blocks, y = shuffled(name, data)
    for view, X in blocks.items():
        X = X.astype(np.float64)
        blocks[view] = normalize(X if sp.issparse(X) else MinMaxScaler().fit_transform(X))
    return blocks, y


def ranks_of(method, views, K, seed=0):
    """Return the rank of every feature by view."""
    if method == "mean of ranks":
        both = [ranks_of(each, views, K) for each in ("column sum", "variance", "FSDS")]
        means = {v: np.mean([np.log(each[v]) for each in both], axis=0) for v in views}
        return {v: rank(-mean) for v, mean in means.items()}
    if method == "fastcan":
        found = fastcan_peer.scores(views, K, max(size(X.shape[1], 0.2) for X in views.values()), 0)
        return {v: rank(each) for v, each in found.items()}
    if method == "random":
        rng = np.random.default_rng(seed)
        return {v: 1 + rng.permutation(X.shape[1]) for v, X in views.items()}
    made = {
        "OMVFS, K=8": lambda: OMVFS(8),
        "OMVFS, norm": lambda: OMVFS(K, criterion="norm"),
    }.get(method, lambda: METHODS[method](K))()
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return made.fit(Views(views)).view_ranking_


def size(width, share):
    return min(width, max(5, round(share * width)))


def judged(views, ranks, y, share):
    """Return what the best share of the features is worth, by judge."""
    some = {
        v: np.flatnonzero(ranks[v] <= size(X.shape[1], share))
        if share < 1
        else np.arange(X.shape[1])
        for v, X in views.items()
    }
    y, K = y[:MOST_ROWS], y.max() + 1
    blocks = [normalize(X[:MOST_ROWS][:, some[v]]).astype(np.float32) for v, X in views.items()]
    dense = all(isinstance(X, np.ndarray) for X in blocks)
    X = normalize(np.hstack(blocks) if dense else sp.csr_array(sp.hstack(blocks, format="csr")))
    nmi = [
        normalized_mutual_information(
            y, spherical_k_means(X, K, np.random.default_rng(seed)).labels
        )
        for seed in range(N_SEEDS)
    ]
    model = MultiViewSphericalKMeans(K, random_state=0)
    both = model.fit(Views(dict(zip(views, blocks, strict=True)))).labels_
    cosines = X @ X.T
    cosines = cosines if dense else cosines.toarray()
    np.fill_diagonal(cosines, -1)
    near = np.argpartition(-cosines, N_NEAR, axis=1)[:, :N_NEAR]
    votes = np.zeros((len(y), K))
    weights = np.take_along_axis(cosines, near, axis=1)
    np.add.at(
        votes, (np.repeat(np.arange(len(y)), N_NEAR), y[near].ravel()), 1 + 1e-3 * weights.ravel()
    )
    right = votes.argmax(axis=1) == y
    balanced = np.mean([right[y == k].mean() for k in np.unique(y)])
    told = np.mean(nmi), normalized_mutual_information(y, both), right.mean(), balanced
    return dict(zip(JUDGES, told, strict=True))


def work(name, method, data, path):
    """Rank and judge; write the rows to a file."""
    with threadpool_limits(1):
        views, y = read(name, data)
        shares = (1.0,) if method == "all features" else SHARES
        rows = []
        for seed in range(N_RANDOM if method == "random" else 1):
            began = time.process_time()
            ranks = None if method == "all features" else ranks_of(method, views, y.max() + 1, seed)
            seconds = time.process_time() - began
            for share in shares:
                about = {"set": name, "method": method, "seed": seed, "share": share}
                rows.append(about | judged(views, ranks, y, share) | {"seconds": seconds})
        write(rows, path)


def write(rows, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        heads = ["set", "method", "seed", "share", *JUDGES, "seconds", "limit"]
        table = csv.DictWriter(file, heads, lineterminator="\n")
        table.writeheader()
        for row in rows:
            shown = {k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()}
            table.writerow(shown)


def load(path):
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numbers = "share", "seconds", *JUDGES
    return [{k: float(v) if k in numbers and v else v for k, v in row.items()} for row in rows]


def run(given):
    """Do what the file lacks: each method on each set in a process of its own, for so long."""
    rows = load(given.csv)
    done = {(row["set"], row["method"]) for row in rows}
    # What was cut off by a shorter limit is tried again.
    cut = {(r["set"], r["method"]): float(r["limit"]) for r in rows if r["limit"]}
    done -= {each for each, minutes in cut.items() if minutes < given.minutes}
    todo = [(n, m) for m in given.methods for n in given.sets if (n, m) not in done]
    for i, (name, method) in enumerate(todo, start=1):
        part = given.csv.with_suffix(f".{name}.{method.replace(' ', '-')}.part")
        process = multiprocessing.Process(target=work, args=(name, method, given.data, part))
        began = time.monotonic()
        process.start()
        process.join(60 * given.minutes)
        found = [{"set": name, "method": method, "limit": given.minutes}]
        if process.is_alive():
            process.kill()
            process.join()
        elif part.exists():
            found = load(part)
        part.unlink(missing_ok=True)
        rows = [r for r in load(given.csv) if (r["set"], r["method"]) != (name, method)] + found
        order = [*ONLINE, *RULES, *OFFLINE]
        rows.sort(
            key=lambda r: (
                r["set"],
                order.index(r["method"]),
                r.get("seed") or 0,
                r.get("share") or 0,
            )
        )
        write(rows, given.csv)
        took = time.monotonic() - began
        print(f"{i} of {len(todo)}: {name}, {method}: {took:.0f} s", flush=True)
    return load(given.csv)


def means(rows, judge):
    """Return the mean over shares and seeds, by set and method."""
    found = {}
    for row in rows:
        if row.get(judge) not in ("", None):
            found.setdefault((row["set"], row["method"]), []).append(row[judge])
    return {key: float(np.mean(values)) for key, values in found.items()}


def friedman(value, sets, methods):
    """Return the p of Friedman's test, mean ranks, and p of each against ours (Wilcoxon, Holm)."""
    table = np.array([[value[name, m] for m in methods] for name in sets])
    ranked = np.array([stats.rankdata(-row) for row in table]).mean(axis=0)
    whole = stats.friedmanchisquare(*table.T).pvalue
    ours = methods.index(OURS)
    p = np.array([
        stats.wilcoxon(table[:, ours], table[:, j]).pvalue if j != ours else np.nan
        for j in range(len(methods))
    ])  # fmt: skip
    order, holm, largest = np.argsort(np.where(np.isnan(p), 2, p)), np.full(len(p), np.nan), 0.0
    for place, j in enumerate(order[:-1]):
        largest = max(largest, min(1.0, p[j] * (len(p) - 1 - place)))
        holm[j] = largest
    return whole, dict(zip(methods, zip(ranked, holm, strict=True), strict=True))


def lines(heads, body):
    table = [heads, ["---"] * len(heads), *body]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in table)


def page(rows, commit):
    """Return the page of all that a file has."""
    there = {row["method"] for row in rows}
    methods = [m for m in (*ONLINE, *RULES, *OFFLINE) if m in there]
    groups = {"15 sets of development": DEVELOPMENT, "6 held back": HELD_BACK}
    groups["all 21"] = (*DEVELOPMENT, *HELD_BACK)
    parts = ["# How good the selected features are\n", HEAD, f"Measured at commit {commit}.\n"]
    for group, sets in groups.items():
        body = []
        for method in methods:
            told, lacks = [], 0
            for judge in JUDGES:
                value = means(rows, judge)
                own = [value[n, method] for n in sets if (n, method) in value]
                lacks = len(sets) - len(own)
                told.append("–" if lacks else f"{np.mean(own):.3f}")
            body.append([f"**{method}**" if method == OURS else method, *told, lacks or ""])
        parts += [f"## Mean of {group}\n", lines(["method", *JUDGES, "sets not run"], body), ""]
    parts += ["## Gain of OMVFS over each method\n", PAIRS]
    body = []
    for method in methods:
        told = []
        for judge in JUDGES:
            value = means(rows, judge)
            both = [n for n in groups["all 21"] if (n, method) in value and (n, OURS) in value]
            gain = [value[n, OURS] - value[n, method] for n in both]
            told.append(
                f"{np.mean(gain):+.3f} ({sum(g > 0 for g in gain)} of {len(both)})" if both else "–"
            )
        if method != OURS:
            body.append([method, *told])
    parts += [lines(["method", *JUDGES], body), ""]
    every = [m for m in methods if all((n, m) in means(rows, "5-NN") for n in groups["all 21"])]
    every = [m for m in every if m not in ("OMVFS, K=8", "OMVFS, norm")]
    parts += ["## Friedman's test, and each method against OMVFS\n", TESTED]
    body = []
    tested = {judge: friedman(means(rows, judge), groups["all 21"], every) for judge in JUDGES}
    for method in every:
        cells = []
        for judge in JUDGES:
            mean_rank, p = tested[judge][1][method]
            cells.append(f"{mean_rank:.1f}" + ("" if np.isnan(p) else f" (p = {p:.2g})"))
        body.append([method, *cells])
    body.append(["Friedman, p", *(f"{tested[judge][0]:.1g}" for judge in JUDGES)])
    parts += [lines(["mean rank", *JUDGES], body), "", "## Set by set\n"]
    for judge in ("stacked", "5-NN"):
        value = means(rows, judge)
        body = [
            [n + (" (held back)" if n in HELD_BACK else ""),
             *(f"{value[n, m]:.3f}" if (n, m) in value else "–" for m in every)]
            for n in (*groups["all 21"], *LARGE) if (n, OURS) in value
        ]  # fmt: skip
        parts += [f"### {judge}\n", lines(["set", *every], body), ""]
    return "\n".join(parts)


HEAD = """\
Made by `python benchmarks/quality.py --data DIR`; each row of `quality.csv` is one selection.
The best 2, 5, 10 and 20 % of the features of each view, chosen without labels, are judged by the
classes; a figure is the mean over the four shares. Dense views are scaled to 0..1, rows to unit
norm, for every method alike. *stacked*: NMI of spherical k-means. *multi-view*: NMI of multi-view
spherical k-means. *5-NN*: accuracy of the 5 nearest rows; *balanced*: every class counted alike.
Rules and constants of OMVFS were chosen on the 15 sets of development; the others were held back.
Online methods, in one pass, come first; the methods from *LapScore* on hold all rows at once. *mean
of ranks* is that of column sum, variance and FSDS; *random* the mean of five draws.
"""
PAIRS = """\
Mean gain of OMVFS over the method on the sets that it was run on, and on how many OMVFS is ahead.
"""
TESTED = """\
Mean ranks over the 21 sets of the methods that were run on all of them (1 is best), and p of
Wilcoxon's test against OMVFS, corrected by Holm.
"""


def picture(rows, path):
    """Draw the mean gain over random features, by judge."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context():
        # The same picture whatever else was drawn before.
        mpl.rcdefaults()
        mpl.rcParams["svg.hashsalt"] = "quality"
        figure = Figure(figsize=(7, 2.6), layout="constrained")
        FigureCanvasSVG(figure)
        draw(rows, figure.subplots())
        figure.savefig(path, metadata={"Date": None})


def draw(rows, ax):
    """Draw a bar for each method and judge."""
    from omvfs.plots import COLOURS

    sets, shown = (
        (*DEVELOPMENT, *HELD_BACK),
        ["OMVFS", "column sum", "variance", "FSDS", "all features"],
    )
    for i, method in enumerate(shown):
        heights = []
        for judge in JUDGES:
            value = means(rows, judge)
            heights.append(np.mean([value[n, method] - value[n, "random"] for n in sets]))
        ax.bar(
            np.arange(len(JUDGES)) + 0.16 * (i - 2), heights, 0.15, color=COLOURS[i], label=method
        )
    ax.set_xticks(np.arange(len(JUDGES)), labels=JUDGES)
    ax.set_ylabel("gain over random features")
    ax.set_title("Selected features judged by the classes, mean of 21 real sets")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        fontsize="small",
        ncols=len(shown),
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.1),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="a folder a set; without it, only the page")
    parser.add_argument("--sets", nargs="+", default=[*DEVELOPMENT, *HELD_BACK])
    parser.add_argument("--methods", nargs="+", default=[*ONLINE, *RULES])
    parser.add_argument("--minutes", type=float, default=2, help="for a method on a set")
    parser.add_argument("--csv", type=Path, default=Path("docs/quality.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/quality.md"))
    parser.add_argument("--quick", action="store_true", help="four sets, five methods, no page")
    given = parser.parse_args()
    if given.quick:
        given.csv = given.csv.with_name("quality-quick.csv")
        given.sets = ["citeseer", "infant_gut", "tcga_brca", "msrc_v1"]
        given.methods = ["OMVFS", "column sum", "variance", "FSDS", "random"]
    rows = run(given) if given.data else load(given.csv)
    if given.quick:
        for judge in JUDGES:
            value = means(rows, judge)
            print(
                judge,
                {m: round(np.mean([value[n, m] for n in given.sets]), 3) for m in given.methods},
            )
        return
    if given.data:
        how = ["git", "log", "-1", "--format=%h", "--", "src/omvfs"]
        commit = subprocess.run(how, capture_output=True, text=True, check=True).stdout.strip()
    else:  # nothing was measured anew
        commit = re.search(r"Measured at commit (\w+)", given.page.read_text("utf-8"))[1]
    given.page.write_text(page(rows, commit), encoding="utf-8")
    picture(rows, given.page.with_suffix(".svg"))


if __name__ == "__main__":
    main()
