"""How good one ranking over all views is: k-means on a share of all features, scaled to [0, 1]."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from omvfs.data.blocks import hstack
from omvfs.data.read import as_views
from omvfs.evaluation.protocol import Row, as_seeds, figures, labelled
from omvfs.model.arrays import Block
from omvfs.selector import rank

# Per cent of all features, and starts of k-means.
PERCENTS = (5, 10, 15, 20, 25, 30, 35, 40)
STARTS = 5
# A selection that is as full as this is faster dense.
_FULL = 0.05


def in_unit_range(views: Any) -> dict[str, Block]:
    """Return views with every feature from 0 to 1; one that is constant is 0.

    Each view is dense on the way, so that rows × features must fit into memory.

    Parameters
    ----------
    views : anything `as_views` accepts
        Negative values are welcome.

    Returns
    -------
    dict of str to block
        In single precision; sparse where the view was.

    Examples
    --------
    >>> in_unit_range({"a": np.array([[-1.0, 5.0], [3.0, 5.0], [1.0, 5.0]])})["a"]
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ]], dtype=float32)
    """
    blocks = as_views(views, negative="allow").blocks
    return {view: _scaled(X) for view, X in blocks.items()}


def evaluate_joint_ranking(
    views: Any,
    labels: Any,
    scores: Any,
    percents: Sequence[int | None] = PERCENTS,
    *,
    seeds: int | Sequence[int] = 20,
) -> list[Row]:
    """Cluster the rows on the best features of all views together, and compare with the classes.

    The views stand side by side, and k-means has as many clusters as there are classes, 5 starts,
    and the features as they are given: see `in_unit_range`.

    Parameters
    ----------
    views : anything `as_views` accepts
        The rows, with all their features.
    labels : array-like of shape (n_rows,)
        Class of every row.
    scores : array-like of shape (n_features,)
        Scores of the features, view after view, larger is better; comparable over views.
    percents : sequence of int or None
        Per cent of all features to keep, at least one feature; None for all.
    seeds : int or sequence of int, default=20
        Seeds of k-means, or how many.

    Returns
    -------
    list of dict
        A row for every percentage and seed, with ``percent``, ``p`` features, ``seed``, ``ACC``,
        ``NMI max`` and ``NMI geometric``.

    Examples
    --------
    >>> X = np.array([[0.0, 0.3], [0.1, 0.9], [0.9, 0.2], [1.0, 0.8]])
    >>> rows = evaluate_joint_ranking({"a": X}, [0, 0, 1, 1], [2.0, 1.0], [50], seeds=2)
    >>> [(row["percent"], row["p"], row["NMI max"]) for row in rows]
    [(50, 1, 1.0), (50, 1, 1.0)]
    """
    batch, classes = labelled(views, labels)
    X = hstack(list(batch.blocks.values()))
    given = np.asarray(scores, np.float64)
    if given.shape != (X.shape[1],) or np.isnan(given).any():
        raise ValueError(
            f"Got scores of shape {given.shape}, {np.isnan(given).sum()} of them NaN; expected "
            f"({X.shape[1]},) numbers, one for each feature of all views."
        )
    ranks, rows = rank(given), []
    n_clusters = int(classes.max()) + 1
    # Products over several threads round differently.
    with threadpool_limits(1):
        for percent in percents:
            p = len(ranks) if percent is None else max(1, round(percent * len(ranks) / 100))
            chosen = _in_faster_kind(X[:, np.flatnonzero(ranks <= p)])
            for seed in as_seeds("seeds", seeds):
                k_means = KMeans(n_clusters, n_init=STARTS, random_state=seed)
                found = k_means.fit_predict(chosen)
                about = {"percent": percent, "p": p, "seed": seed}
                rows.append(about | figures(classes, found))
    return rows


def _scaled(X: Block) -> Block:
    dense = X.toarray() if sp.issparse(X) else X
    scaled = MinMaxScaler(clip=True).fit_transform(dense.astype(np.float64)).astype(np.float32)
    return sp.csr_array(scaled) if sp.issparse(X) else scaled


def _in_faster_kind(X: Any) -> Block:
    if not sp.issparse(X):
        return X
    if X.nnz >= _FULL * X.shape[0] * X.shape[1]:
        return X.toarray()
    # The only kind of index that KMeans takes.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
