"""Clusters of a sample of rows: embed, link neighbours, filter, k-means; and how good they are.

Everything here happens on a few thousand rows. Each view is embedded in its leading singular
directions and linked to a graph of nearest neighbours. The joint embedding is filtered over the
graphs, which is the paper's tr(UᵀLU) as a low-pass filter, and clustered by k-means.

What has to be decided without labels is decided by one criterion, the `holdout_agreement`: which of
two graphs is used, how much each view weighs, and how many clusters there are.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from omvfs.model.arrays import Block, dense

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Leading singular directions of a view, and the power of the singular values.
N_DIMS, POWER = 50, 0.5
# Power iterations that find them.
N_POWERS = 4
# Decimals of cosines.
DECIMALS = 9
# How often the embedding is filtered, and how often views are weighed and rows clustered anew.
N_FILTERS, N_ROUNDS = 2, 2
# Starts of k-means, and how often rows are halved to judge the clusters.
N_STARTS, N_HALVES = 3, 2
# Numbers of clusters that are tried, as far as each has this many rows on average.
NUMBERS, ROWS_PER_CLUSTER = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35), 4


@dataclass(frozen=True)
class EmbeddedView:
    """A sample of rows as one view has them; a row that lacks the view is zero in all of it.

    Attributes
    ----------
    rows : array of shape (n, d)
        Rows in the leading singular directions of the view, all of unit norm before.
    graphs : mapping of str to CSR array of shape (n, n)
        Neighbours by the cosine of the rows, and by that of the embedding: D^-½ W D^-½.
    has : bool array of shape (n,)
        Which rows have the view.
    """

    rows: FloatArray
    graphs: dict[str, sp.csr_array]
    has: NDArray[np.bool_]


@dataclass(frozen=True)
class Clustering:
    """Clusters of a sample of rows.

    Attributes
    ----------
    labels : int array of shape (n,)
        Cluster of every row.
    n_clusters : int
    view_weights : array of shape (n_views,)
        Holdout agreement of every view over that of the best: how much it weighs.
    agreement : array of shape (n_views,)
        Holdout agreement of the clusters by each view alone, from 0 to 1.
    filtered : array of shape (n, d)
        The joint embedding after the filter, in which k-means was run.
    """

    labels: IntArray
    n_clusters: int
    view_weights: FloatArray
    agreement: FloatArray
    filtered: FloatArray

    @property
    def quality(self) -> float:
        """Holdout agreement, mean of the views: what candidates are compared by."""
        return float(self.agreement.mean())


def embedded(X: Block, n_neighbors: int, has: NDArray[np.bool_] | None = None) -> EmbeddedView:
    """Embed the rows of one view, and link each to its nearest neighbours.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
    n_neighbors : int
    has : bool array of shape (n,), optional
        Which rows have the view; by default all. The others are not looked at.

    Examples
    --------
    >>> view = embedded(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [0.1, 3.0]]), 1)
    >>> view.graphs["rows"].toarray().round()
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    n = X.shape[0]
    has = np.ones(n, bool) if has is None else has
    unit = normalize(X[np.flatnonzero(has)].astype(np.float64))
    # Rounded, so that the order of the columns, or how a processor adds, decides nothing.
    gram: FloatArray = np.round(dense(unit @ unit.T), DECIMALS)
    rows = _leading_directions(gram)
    near = normalize(rows)
    graphs = {"rows": gram, "embedding": np.round(near @ near.T, DECIMALS)}
    linked = {name: _neighbor_graph(S, n_neighbors) for name, S in graphs.items()}
    if has.all():
        return EmbeddedView(rows, linked, has)
    spread = sp.csr_array(sp.eye_array(n, format="csr")[:, np.flatnonzero(has)])
    wide = {name: sp.csr_array(spread @ W @ spread.T) for name, W in linked.items()}
    return EmbeddedView(spread @ rows, wide, has)


def _leading_directions(gram: FloatArray) -> FloatArray:
    """Return rows in their leading singular directions, from their products with each other."""
    n = len(gram)
    n_dims = min(N_DIMS, n)
    if not gram.any():
        # No row has the view, or all are empty in it.
        return np.zeros((n, n_dims))
    vectors, values, _ = randomized_svd(gram, n_dims, n_iter=N_POWERS, random_state=0)
    # These are squares of the singular values of the rows.
    found: FloatArray = vectors * values ** (POWER / 2)
    return found


def _neighbor_graph(S: FloatArray, n_neighbors: int) -> sp.csr_array:
    """Return the symmetric graph of nearest neighbours, D^-½ W D^-½, from similarities."""
    n = len(S)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return sp.csr_array((n, n))
    S = S.copy()
    np.fill_diagonal(S, -np.inf)
    nearest = np.argpartition(-S, k - 1, axis=1)[:, :k].ravel()
    rows = np.repeat(np.arange(n), k)
    W = sp.csr_array((np.maximum(S[rows, nearest], 0), (rows, nearest)), shape=(n, n))
    W = W.maximum(W.T)
    degree = np.asarray(W.sum(axis=1)).ravel()
    scale = sp.diags_array(np.divide(1, np.sqrt(degree), out=np.zeros(n), where=degree > 0))
    return sp.csr_array(scale @ W @ scale)


def cluster(views: Sequence[EmbeddedView], n_clusters: int | str, seed: int) -> Clustering:
    """Return consensus clusters of the rows of all views.

    Of the two graphs, that with the better `holdout_agreement`; of "auto", so many clusters as
    have the best.

    Parameters
    ----------
    views : sequence of EmbeddedView
    n_clusters : int or "auto"
    seed : int
    """
    if n_clusters == "auto":
        most = max(NUMBERS[0], len(views[0].rows) // ROWS_PER_CLUSTER)
        tried = [cluster(views, K, seed) for K in NUMBERS if most >= K]
        return max(tried, key=lambda found: found.quality)
    K = min(int(n_clusters), len(views[0].rows))
    candidates = [_candidate(views, graph, K, seed) for graph in ("rows", "embedding")]
    return max(candidates, key=lambda found: found.quality)


def _candidate(views: Sequence[EmbeddedView], graph: str, K: int, seed: int) -> Clustering:
    """Return the clusters by one of the graphs, views weighed by their holdout agreement."""
    weights = np.ones(len(views))
    for _ in range(N_ROUNDS):
        F = _filtered(views, graph, weights)
        labels = k_means(F, K, seed, N_STARTS)
        agreement = holdout_agreement([view.rows for view in views], labels, K, views)
        best = agreement.max()
        weights = agreement / best if best > 0 else np.ones(len(views))
    return Clustering(labels, K, weights, agreement, F)


def _filtered(views: Sequence[EmbeddedView], graph: str, weights: FloatArray) -> FloatArray:
    """Return the joint embedding, each row half itself and half its neighbours, N_FILTERS times."""
    F = normalize(np.hstack([w**0.5 * view.rows for w, view in zip(weights, views, strict=True)]))
    heard = sum(w * view.has for w, view in zip(weights, views, strict=True))
    share = np.divide(1, heard, out=np.zeros(len(F)), where=heard > 0)[:, np.newaxis]
    for _ in range(N_FILTERS):
        around = sum(w * (view.graphs[graph] @ F) for w, view in zip(weights, views, strict=True))
        F = (F + share * around) / 2
    found: FloatArray = normalize(F)
    return found


def k_means(F: FloatArray, n_clusters: int, seed: int, n_starts: int) -> IntArray:
    """Return the clusters of k-means, the best of some starts."""
    model = KMeans(n_clusters, n_init=n_starts, random_state=seed)
    with warnings.catch_warnings():
        # Rows may be fewer, or less different, than clusters: some are empty then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: IntArray = model.fit_predict(F).astype(np.intp)
    return labels


def other_clusterings(found: Clustering, seeds: Sequence[int]) -> list[IntArray]:
    """Return other clusterings of the same filtered rows: k-means from single starts."""
    return [k_means(found.filtered, found.n_clusters, seed, 1) for seed in seeds]


def holdout_agreement(
    rows: Sequence[Block], labels: IntArray, n_clusters: int, views: Sequence[EmbeddedView]
) -> FloatArray:
    """Return how well the clusters of half of the rows are foretold by the others, by each view.

    A row is put where it lies along the mean of the other half's rows of a cluster most, by one
    view alone. The agreement with its cluster is the adjusted mutual information: 0 is chance,
    whatever the number of clusters, and 1 is perfect. This is the one criterion by which all is
    decided that has to be decided without labels.

    Parameters
    ----------
    rows : sequence of array or CSR matrix of shape (n, D_v)
        What foretells: embeddings of views, or selected features.
    labels : int array of shape (n,)
    n_clusters : int
    views : sequence of EmbeddedView
        Which rows have which views.
    """
    found = np.zeros((N_HALVES, len(rows)))
    rng = np.random.default_rng(0)
    for half in range(N_HALVES):
        first = rng.permutation(len(labels)) < len(labels) // 2
        for v, (X, view) in enumerate(zip(rows, views, strict=True)):
            a, b = np.flatnonzero(first & view.has), np.flatnonzero(~first & view.has)
            if not len(a) or not len(b):
                continue
            of_cluster = sp.csr_array(
                (np.ones(len(a)), (labels[a], np.arange(len(a)))), shape=(n_clusters, len(a))
            )
            means = normalize(dense(of_cluster @ normalize(X[a])))
            foretold = dense(X[b] @ means.T).argmax(axis=1)
            found[half, v] = adjusted_mutual_info_score(labels[b], foretold)
    agreement: FloatArray = np.maximum(found.mean(axis=0), 0)
    return agreement


def view_agreement(views: Sequence[EmbeddedView]) -> FloatArray:
    """Return how far views agree on which rows are neighbours, each with each, of shape (V, V).

    The share of a row's neighbours by one view that are its neighbours by the other, mean of the
    rows that have both.
    """
    near = [view.graphs["rows"] > 0 for view in views]
    found = np.ones((len(views), len(views)))
    for a in range(len(views)):
        for b in range(a):
            both = views[a].has & views[b].has
            common = np.asarray(near[a].multiply(near[b]).sum(axis=1)).ravel()[both]
            fewer = np.minimum(near[a].sum(axis=1), near[b].sum(axis=1))[both]
            shares = common[fewer > 0] / fewer[fewer > 0]
            found[a, b] = found[b, a] = shares.mean() if len(shares) else 0.0
    return found
