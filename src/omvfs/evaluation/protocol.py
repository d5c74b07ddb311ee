"""How good selected features are: the clusters they give, against known classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from omvfs.data.blocks import hstack
from omvfs.data.read import as_views, select_columns
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.evaluation.kmeans import MultiViewSphericalKMeans, spherical_k_means
from omvfs.evaluation.metrics import clustering_accuracy, normalized_mutual_information, numbered
from omvfs.model.arrays import Block, IntArray, in_faster_kind, unit_rows
from omvfs.parameters import one_of, whole
from omvfs.selector import rank

Row: TypeAlias = dict[str, Any]
Clustering: TypeAlias = Literal["multiview", "stacked"]

METRICS = ("ACC", "NMI max", "NMI geometric")
# Features per view in the paper.
PAPER_SIZES = (100, 200, 300, 400, 500, 600)


def evaluate_selection(
    views: Any,
    labels: Any,
    selector_scores: Mapping[str, Any],
    n_features: int | Sequence[int | None] | None = PAPER_SIZES,
    *,
    seeds: int | Sequence[int] = 10,
    clustering: Clustering = "multiview",
    n_jobs: int | None = None,
) -> list[Row]:
    """Cluster the rows on the best features of each method, and compare with the classes.

    There are as many clusters as classes. The labels serve for that and for the comparison only.

    Parameters
    ----------
    views : anything `as_views` accepts
        The rows, with all their features.
    labels : array-like of shape (n_rows,)
        Class of every row.
    selector_scores : mapping of str to (mapping of str to array, or fitted selector)
        By the name of a method, its scores by view name, larger is better, or a selector that has
        them as ``view_scores_``.
    n_features : int, None, or sequence of either, default=(100, 200, 300, 400, 500, 600)
        Features to keep of every view: as many, or all of a view that has no more, or None for all.
    seeds : int or sequence of int, default=10
        Seeds of the clustering, or how many. Every method and number of features has the same.
    clustering : {"multiview", "stacked"}, default="multiview"
        `MultiViewSphericalKMeans`, or `spherical_k_means` on the views side by side, each with rows
        of unit norm.
    n_jobs : int, default=None
        Processes, as for scikit-learn. The result does not depend on it.

    Returns
    -------
    list of dict
        A row for every method, number of features p and seed, with ``method``, ``p``, ``seed``,
        ``ACC``, ``NMI max`` and ``NMI geometric``. ``pandas.DataFrame`` and ``polars.DataFrame``
        take it as it is.

    Examples
    --------
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(300, n_features=(300, 200), n_informative=(40, 20), random_state=0)
    >>> methods = {
    ...     "truth": planted.informative,
    ...     "chance": {view: np.arange(X.shape[1]) for view, X in planted.views.items()},
    ... }
    >>> rows = evaluate_selection(planted.views, planted.labels, methods, 20, seeds=3)
    >>> len(rows), list(rows[0])
    (6, ['method', 'p', 'seed', 'ACC', 'NMI max', 'NMI geometric'])
    >>> truth, chance = summarise(rows)
    >>> truth["NMI max"] > chance["NMI max"] + 0.3
    True
    """
    batch, classes = labelled(views, labels)
    cluster = _CLUSTERINGS[one_of("clustering", clustering, get_args(Clustering))]
    given = list(n_features) if isinstance(n_features, Iterable) else [n_features]
    sizes = [None if p is None else whole("n_features", p, least=1) for p in given]
    seeds = as_seeds("seeds", seeds)
    rankings = {
        method: {view: rank(each) for view, each in _scores(method, own, batch).items()}
        for method, own in selector_scores.items()
    }
    tasks = (
        delayed(_judge)(_selected(batch, ranking, p), classes, cluster, seeds, method, p)
        for method, ranking in rankings.items()
        for p in sizes
    )
    return [row for rows in Parallel(n_jobs)(tasks) for row in rows]


def summarise(rows: Iterable[Row], by: Sequence[str] = ("method", "p")) -> list[Row]:
    """Return mean and spread of the figures of rows that have something in common.

    Parameters
    ----------
    rows : iterable of dict
        From `evaluate_selection` or `grid_search`.
    by : sequence of str, default=("method", "p")
        Columns in which the rows of a group are equal.

    Returns
    -------
    list of dict
        A row for every group, in the order of their first rows: the columns `by`, the number of
        rows ``n``, and of ``ACC``, ``NMI max``, ``NMI geometric`` and, if there, ``seconds`` the
        mean under the same name and the standard deviation as ``ACC std`` and so on.

    Examples
    --------
    >>> figures = {"ACC": 0.5, "NMI max": 0.25, "NMI geometric": 0.25}
    >>> rows = [{"method": "a", "p": 10, **figures}, {"method": "a", "p": 10, **figures, "ACC": 1}]
    >>> [(row["p"], row["n"], row["ACC"], row["ACC std"]) for row in summarise(rows)]
    [(10, 2, 0.75, 0.25)]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in by), []).append(row)
    table = []
    for key, group in groups.items():
        summary = {**dict(zip(by, key, strict=True)), "n": len(group)}
        for name in (*METRICS, "seconds"):
            if name in group[0]:
                values = [row[name] for row in group]
                summary |= {name: float(np.mean(values)), f"{name} std": float(np.std(values))}
        table.append(summary)
    return table


def labelled(views: Any, labels: Any) -> tuple[Views, IntArray]:
    """Read rows, and their classes as numbers."""
    batch, classes = as_views(views, negative="allow"), numbered("labels", labels)
    if len(classes) != len(batch):
        raise ValueError(f"Got {len(classes):,} labels for {len(batch):,} rows; expected as many.")
    return batch, classes


def as_seeds(name: str, value: Any) -> list[int]:
    """Return seeds, given as such or as their number."""
    if isinstance(value, Iterable):
        return [whole(name, each, least=0) for each in value]
    return list(range(whole(name, value, least=1)))


def _scores(method: str, given: Any, batch: Views) -> dict[str, NDArray[Any]]:
    """Read the scores of a method, and check them against the views."""
    if not isinstance(given, Mapping):
        try:
            given = given.view_scores_
        except NotFittedError:  # an AttributeError too
            raise
        except AttributeError as error:
            raise TypeError(
                f"Got {type(given).__name__} as the scores of method {method!r}; expected scores "
                "by view name, or a fitted selector with view_scores_."
            ) from error
    if set(given) != set(batch.names):
        raise ValueError(
            f"Got scores of method {method!r} for views {listed(given)}; expected them for "
            f"{listed(batch.names)}."
        )
    scores = {}
    for view, width in batch.widths.items():
        own = np.asarray(given[view])
        if own.shape != (width,) or own.dtype.kind not in "fiub" or np.isnan(own).any():
            raise ValueError(
                f"Got scores of method {method!r} for view {view!r} of shape {own.shape} and dtype "
                f"{own.dtype}; expected ({width},) numbers, one for each feature and none NaN."
            )
        scores[view] = own.astype(np.float64)
    return scores


def _selected(batch: Views, ranking: Mapping[str, IntArray], p: int | None) -> dict[str, Block]:
    """Return the best p features of every view."""
    kept = {view: slice(None) if p is None else ranks <= p for view, ranks in ranking.items()}
    return {view: in_faster_kind(X) for view, X in select_columns(batch, kept).items()}


def _judge(
    blocks: dict[str, Block],
    classes: IntArray,
    cluster: Callable[[dict[str, Block], int, int], IntArray],
    seeds: Sequence[int],
    method: str,
    p: int | None,
) -> list[Row]:
    """Return the rows of one selection."""
    rows = []
    # Products over several threads round differently.
    with threadpool_limits(1):
        for seed in seeds:
            found = cluster(blocks, int(classes.max()) + 1, seed)
            rows.append({"method": method, "p": p, "seed": seed} | figures(classes, found))
    return rows


def figures(classes: IntArray, found: IntArray) -> Row:
    """Return how well clusters agree with classes, by each of `METRICS`."""
    return {
        "ACC": clustering_accuracy(classes, found),
        "NMI max": normalized_mutual_information(classes, found, "max"),
        "NMI geometric": normalized_mutual_information(classes, found, "geometric"),
    }


def _multiview(blocks: dict[str, Block], n_clusters: int, seed: int) -> IntArray:
    return np.asarray(MultiViewSphericalKMeans(n_clusters, random_state=seed).fit_predict(blocks))


def _stacked(blocks: dict[str, Block], n_clusters: int, seed: int) -> IntArray:
    X = in_faster_kind(hstack([unit_rows(block) for block in blocks.values()]))
    return spherical_k_means(X, n_clusters, np.random.default_rng(seed)).labels


_CLUSTERINGS = {"multiview": _multiview, "stacked": _stacked}
