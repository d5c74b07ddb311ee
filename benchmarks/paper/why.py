"""Why the printed method behaves as it does, and what each change to it is worth."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import ColumnSum
from omvfs.datasets import make_planted
from omvfs.evaluation import (
    MultiViewSphericalKMeans,
    clustering_accuracy,
    normalized_mutual_information,
)
from omvfs.model.printed import Graph
from omvfs.plots import COLOURS
from paper.base import Claim, Experiment, Place, Row, Task
from paper.figures import band, pyplot
from paper.page import table
from paper.rows import NMI, cell, judged, mean, names, those
from paper.sets import LabelledSet, at_hand, load, planted_set

GAMMAS, GRAPHS, PUBLISHED = (0.0, 1.0, 1e3, 1e7), ("gaussian", "none"), 1e7
BATCH, SIZES, ORDERS = 200, (100, 300, 600), 3
# Agreement of U with the classes below this is chance, or close to it.
CHANCE = 0.05
# Nearly all rows.
MOST = 0.9

# From the printed method to ours, a change at a time; each rung keeps those before it.
_BARE: Row = {"graph": "none", "sample_size": 0, "criterion": "norm", "diversity": 0.0}
LADDER: Mapping[str, Row] = {
    "as published": {"paper": True},
    "start of U from the clusters so far": {"paper": True, "warm": True},
    "orthogonality as a constraint, its own start": _BARE,
    "graph of neighbours": {**_BARE, "graph": "neighbors"},
    "reservoir, re-clustered as it grows": {"criterion": "norm", "diversity": 0.0},
    "balanced score": {"diversity": 0.0},
    "repetition discounted: OMVFS": {},
}
# And OMVFS without one of them.
WITHOUT: Mapping[str, Row] = {
    "OMVFS without graph": {"graph": "none"},
    "OMVFS without memory": {"sample_size": 0},
    "OMVFS with the norm as score": {"criterion": "norm"},
    "OMVFS with repetition": {"diversity": 0.0},
}
_FIRST, _LAST = next(iter(LADDER)), list(LADDER)[-1]


class Why(Experiment):
    """What γ does to U, and what each change to the printed method is worth."""

    name = "why"
    title = "Why the printed method behaves as it does"

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return a task for every fit."""
        sets = [*(at_hand(place, ["fox"]) or ["fox-twin"]), "planted"]
        n_rows = 400 if place.quick else 1523
        orders, graphs = (1, GRAPHS[:1]) if place.quick else (ORDERS, GRAPHS)
        frozen = [
            {"part": "frozen", "data": data, "gamma": gamma, "graph": graph, "n_rows": n_rows}
            for data in sets
            for gamma in GAMMAS
            for graph in graphs
        ]
        rungs = [
            {"part": "ladder", "data": data, "rung": rung, "order": order, "n_rows": n_rows}
            for data in sets
            for rung in (*LADDER, *WITHOUT)
            for order in range(orders)
        ]
        return [*(Task(frozen_u, what) for what in frozen), *(Task(climb, what) for what in rungs)]

    def section(self, rows: Sequence[Row]) -> str:
        """Return what U agrees with, and what each change is worth."""
        frozen, ladder = those(rows, part="frozen"), those(rows, part="ladder")
        keys = ["with start", "with classes", "NMI with classes", "largest"]
        keys += ["with column sums", "top 100"]
        about = [
            [row["data"], f"{row['gamma']:g}", row["graph"], *(f"{row[key]:.3f}" for key in keys)]
            for row in frozen
        ]
        head = ["set", "γ", "graph", *_AGREEMENT]
        cells = []
        for data in names(ladder, "data"):
            for rung in names(ladder, "rung"):
                mine = those(ladder, data=data, rung=rung)
                found = [cell(mine, NMI, p=p) for p in sorted(names(mine, "p"))]
                recovered = cell(mine, "recovered") if mine[0].get("recovered") is not None else ""
                cells.append([data, rung, cell(mine, NMI), *found, recovered])
        sizes = [f"{p} features" for p in sorted(names(ladder, "p"))]
        rungs = table(cells, ["set", "", "NMI", *sizes, "planted features found"])
        return f"{_FROZEN}\n\n{table(about, head)}\n\n{_LADDER}\n\n{rungs}"

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return what U agrees with by γ, and the ladder."""
        return {
            "frozen": _frozen_figure(those(rows, part="frozen")),
            "ladder": _ladder_figure(those(rows, part="ladder")),
        }

    def claims(self, rows: Sequence[Row]) -> Sequence[Claim]:
        """Return what the paper says of U, beside what was seen, and what changes are worth."""
        frozen, ladder = those(rows, part="frozen"), those(rows, part="ladder")
        return [learns_clusters(frozen), smaller_gamma(frozen), worth_of_changes(ladder)]


_AGREEMENT = [
    "U like its random start",
    "U like the classes",
    "NMI of U and classes",
    "rows in the largest cluster",
    "rank correlation with column sums",
    "best 100 also by column sums",
]
_FROZEN = """\
The method as published, with other γ. U of each chunk starts at random; after the chunk its rows
are put into the cluster of their largest entry. *Like its start*: share of rows whose largest entry
is where it was at the start. *Like the classes*: accuracy under the best naming of clusters.
Column sums: the ranking of the features by the sum of their column, mean of the views."""
_LADDER = """\
From the printed method to ours, one change at a time; each line keeps the changes before it. NMI
of the selected features, mean over the sizes, ± over orders of the rows. The second line starts U
of the first chunk at clusters of it by multi-view spherical k-means, and of later ones at the
product of their rows with V. The constraint comes with its own weights (α = 3, β = 0.1)."""


def frozen_u(
    place: Place, part: str, data: str, gamma: float, graph: Graph, n_rows: int
) -> list[Row]:
    """Run the printed method with a γ, and tell what U and the ranking agree with."""
    rows, _ = _rows(data, place, n_rows)
    rng = np.random.default_rng(0)
    rows = rows.take(rng.permutation(len(rows.labels)))
    K = rows.n_classes
    model = OMVFSPaper(K, orthogonality=gamma, graph=graph, random_state=0)
    starts, found = [], []
    for start in range(0, len(rows.labels), BATCH):
        chunk = rows.take(slice(start, start + BATCH))
        U = rng.random((len(chunk.labels), K))
        model.partial_fit(chunk.views, start_U=U)
        starts.append(U.argmax(axis=1))
        found.append(model.window_labels_[-len(U) :])
    began, ended = np.concatenate(starts), np.concatenate(found)
    sums = ColumnSum().fit(rows.views).view_scores_
    pairs = [(scores, sums[view]) for view, scores in model.view_scores_.items()]
    return [
        {
            "with start": float(np.mean(began == ended)),
            "with classes": clustering_accuracy(rows.labels, ended),
            "NMI with classes": normalized_mutual_information(rows.labels, ended),
            "largest": float(np.bincount(ended).max() / len(ended)),
            "with column sums": float(np.mean([_rank_correlation(*pair) for pair in pairs])),
            "top 100": float(np.mean([_overlap(*pair, 100) for pair in pairs])),
        }
    ]


def climb(place: Place, part: str, data: str, rung: str, order: int, n_rows: int) -> list[Row]:
    """Fit the method of one rung, and judge what it selects."""
    rows, informative = _rows(data, place, n_rows)
    shuffled = rows.take(np.random.default_rng(order).permutation(len(rows.labels)))
    params = dict({**LADDER, **WITHOUT}[rung])
    warm = params.pop("warm", False)
    make: Callable[..., OMVFS] = OMVFSPaper if params.pop("paper", False) else OMVFS
    model = make(rows.n_classes, n_features_per_view=max(SIZES), random_state=order, **params)
    for start in range(0, len(rows.labels), BATCH):
        chunk = shuffled.take(slice(start, start + BATCH))
        first = start == 0
        U = _warm_start(model, chunk, rows.n_classes, order, first) if warm else None
        model.partial_fit(chunk.views, **({"start_U": U} if warm else {}))
    scores = model.view_scores_
    about = {}
    if informative:
        precision = [
            _overlap(scores[view], known.astype(float), int(known.sum()))
            for view, known in informative.items()
        ]
        about["recovered"] = float(np.mean(precision))
    return [{**about, **each} for each in rows.judge(scores, SIZES, seeds=2)]


def _rows(data: str, place: Place, n_rows: int) -> tuple[LabelledSet, dict[str, NDArray[np.bool_]]]:
    """Return rows, and which features are planted if that is known."""
    if data != "planted":
        return load(data, place, n_rows), {}
    planted = make_planted(n_rows, dtype=np.float64, random_state=0)
    return planted_set(planted), planted.informative


def _warm_start(
    model: OMVFS, chunk: LabelledSet, n_clusters: int, order: int, first: bool
) -> NDArray[np.float64]:
    """Return U of a chunk by clusters of its rows or, later, by V; columns of unit norm."""
    if first:
        k_means = MultiViewSphericalKMeans(n_clusters, random_state=order)
        U = np.eye(n_clusters)[k_means.fit_predict(dict(chunk.views))]
    else:
        V = model.V_
        U = np.asarray(sum(X @ V[view] for view, X in chunk.views.items()))
    # Multiplicative updates leave a zero as it is.
    U = U + 0.01 * max(float(U.mean()), 1e-12)
    unit: NDArray[np.float64] = U / np.linalg.norm(U, axis=0)
    return unit


def _rank_correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(spearmanr(a, b).statistic)


def _overlap(a: NDArray[Any], b: NDArray[Any], n: int) -> float:
    """Return the share of the best n by one score that are among the best n by another."""
    best = [set(np.argsort(-scores, kind="stable")[:n].tolist()) for scores in (a, b)]
    return len(best[0] & best[1]) / n


def learns_clusters(rows: Sequence[Row]) -> Claim:
    """Tell whether U as published has anything to do with the classes."""
    published = those(rows, gamma=PUBLISHED, graph="gaussian")
    seen, holds = [], {}
    for row in published:
        holds[row["data"]] = row["NMI with classes"] > CHANCE
        seen.append(
            f"{row['data']}: {row['with start']:.0%} of the rows where they started at random, "
            f"NMI with the classes {row['NMI with classes']:.3f}; of the best 100 features "
            f"{row['top 100']:.0%} are so by column sums"
        )
    still = min(row["with start"] for row in published) > MOST
    why = "γ outweighs the data, and U stays at its random start." if still else ""
    paper = "U indicates the clusters of the rows, and γ = 10⁷ keeps it orthogonal."
    return Claim(paper, f"{'; '.join(seen)}.", judged(holds), why)


def smaller_gamma(rows: Sequence[Row]) -> Claim:
    """Tell whether a smaller γ, or no graph, makes U find the classes."""
    seen = []
    for data in names(rows, "data"):
        for graph in names(rows, "graph"):
            mine = those(rows, data=data, graph=graph)
            shown = ", ".join(f"{row['gamma']:g}: {row['NMI with classes']:.3f}" for row in mine)
            seen.append(f"{data}, graph {graph}: {shown}")
    best = max(rows, key=lambda row: float(row["NMI with classes"]))
    why = f"Best with γ = {best['gamma']:g} and graph {best['graph']}, on {best['data']}."
    if best["NMI with classes"] <= CHANCE:
        why = "No γ helps."
    least = those(rows, gamma=min(GAMMAS), graph="gaussian")
    if min(row["largest"] for row in least) > MOST:
        why += " With γ = 0 and the graph as published, nearly all rows are in one cluster."
    text = f"NMI of U and the classes by γ. {'; '.join(seen)}."
    return Claim("(γ is not varied.)", text, "not in the paper", why)


def worth_of_changes(rows: Sequence[Row]) -> Claim:
    """Tell what all changes are worth, and which is worth most."""
    seen, largest = [], []
    for data in names(rows, "data"):
        means = {rung: mean(rows, NMI, data=data, rung=rung) for rung in LADDER}
        scores = list(means.values())
        gains = dict(zip(list(LADDER)[1:], np.diff(scores), strict=True))
        most = max(gains, key=gains.__getitem__)
        ends = [cell(rows, NMI, data=data, rung=rung) for rung in (_FIRST, _LAST)]
        seen.append(f"{data}: from {ends[0]} to {ends[1]}")
        largest.append(f"{data}: {most} ({gains[most]:+.3f})")
    text = f"NMI as published and ours. {'; '.join(seen)}."
    why = f"Largest single gain: {'; '.join(largest)}."
    return Claim("(No such comparison.)", text, "not in the paper", why)


def _frozen_figure(rows: Sequence[Row]) -> Any:
    sets = names(rows, "data")
    shape = (4.5 * len(sets), 3.5)
    figure, axes = pyplot().subplots(1, len(sets), figsize=shape, squeeze=False, sharey=True)
    keys = ("with start", "NMI with classes", "top 100")
    labels = (_AGREEMENT[0], _AGREEMENT[2], _AGREEMENT[5])
    for each, data in zip(axes[0], sets, strict=True):
        mine = those(rows, data=data, graph="gaussian")
        for place, (key, label) in enumerate(zip(keys, labels, strict=True)):
            shares = [row[key] for row in mine]
            band(each, range(len(mine)), shares, shares, shares, label, place)
        each.set_xticks(range(len(mine)), [f"{row['gamma']:g}" for row in mine])
        each.set_xlabel("γ")
        each.set_title(data)
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def _ladder_figure(rows: Sequence[Row]) -> Any:
    sets, rungs = names(rows, "data"), names(rows, "rung")
    shape = (4 * len(sets) + 2, 4)
    figure, axes = pyplot().subplots(1, len(sets), figsize=shape, squeeze=False, sharey=True)
    for each, data in zip(axes[0], sets, strict=True):
        runs = [
            [mean(rows, NMI, data=data, rung=rung, order=order) for order in names(rows, "order")]
            for rung in rungs
        ]
        colours = [COLOURS[0] if rung in LADDER else COLOURS[4] for rung in rungs]
        at = np.arange(len(rungs))
        each.barh(
            at,
            [np.mean(run) for run in runs],
            xerr=[np.std(run) for run in runs],
            color=colours,
            height=0.6,
        )
        each.set_yticks(at, rungs)
        each.set_xlabel(NMI)
        each.set_title(data)
    axes[0, 0].invert_yaxis()
    figure.tight_layout()
    return figure
