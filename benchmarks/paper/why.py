"""Why the printed method behaves as it does: what γ does to U."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from omvfs import OMVFSPaper
from omvfs.baselines import ColumnSum
from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy, normalized_mutual_information
from omvfs.model.printed import Graph
from paper.base import Claim, Experiment, Place, Row, Task
from paper.figures import band, pyplot
from paper.page import table
from paper.rows import judged, names, those
from paper.sets import LabelledSet, at_hand, load, planted_set

GAMMAS, GRAPHS, PUBLISHED = (0.0, 1.0, 1e3, 1e7), ("gaussian", "none"), 1e7
BATCH = 200
# Agreement of U with the classes below this is chance, or close to it.
CHANCE = 0.05
# Nearly all rows.
MOST = 0.9


class Why(Experiment):
    """What γ does to U."""

    name = "why"
    title = "Why the printed method behaves as it does"

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return a task for every fit."""
        sets = [*(at_hand(place, ["fox"]) or ["fox-twin"]), "planted"]
        n_rows = 400 if place.quick else 1523
        return [
            Task(frozen_u, {"data": data, "gamma": gamma, "graph": graph, "n_rows": n_rows})
            for data in sets
            for gamma in GAMMAS
            for graph in (GRAPHS[:1] if place.quick else GRAPHS)
        ]

    def section(self, rows: Sequence[Row]) -> str:
        """Return what U agrees with."""
        keys = ["with start", "with classes", "NMI with classes", "largest"]
        keys += ["with column sums", "top 100"]
        about = [
            [row["data"], f"{row['gamma']:g}", row["graph"], *(f"{row[key]:.3f}" for key in keys)]
            for row in rows
        ]
        return f"{_FROZEN}\n\n{table(about, ['set', 'γ', 'graph', *_AGREEMENT])}"

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return what U agrees with by γ."""
        return {"frozen": _frozen_figure(rows)}

    def claims(self, rows: Sequence[Row]) -> Sequence[Claim]:
        """Return what the paper says of U, beside what was seen."""
        return [learns_clusters(rows), smaller_gamma(rows)]


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


def frozen_u(place: Place, data: str, gamma: float, graph: Graph, n_rows: int) -> list[Row]:
    """Run the printed method with a γ, and tell what U and the ranking agree with."""
    rows = _rows(data, place, n_rows)
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


def _rows(data: str, place: Place, n_rows: int) -> LabelledSet:
    if data != "planted":
        return load(data, place, n_rows)
    return planted_set(make_planted(n_rows, dtype=np.float64, random_state=0))


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
