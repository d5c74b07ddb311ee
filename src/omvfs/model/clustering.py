"""Clusters of a sample of rows: embed, link neighbours, filter, k-means; and how good they are.

Everything here happens on a few thousand rows. Each view is embedded in its leading singular
directions and linked to a graph of nearest neighbours. The joint embedding is filtered over the
graphs, which is the paper's tr(UᵀLU) as a low-pass filter, and clustered by k-means.

What has to be decided without labels is decided by one criterion, the `holdout_agreement`: how
much each view weighs, and how many clusters there are.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.cluster import expected_mutual_information
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches
from sklearn.utils.extmath import randomized_svd

from omvfs.model.arrays import Array, Block, dense, in_faster_kind, significant

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.intp]

# Leading singular directions of a view, and the power of the singular values.
N_DIMS, POWER = 50, 0.5
# Power iterations that find them.
N_POWERS = 2
# Neighbours of a row, and how often the embedding is filtered over their graphs.
N_NEIGHBORS, N_FILTERS = 20, 2
# Starts of k-means, all of which features are judged by; and how often rows are halved to judge
# the clusters.
N_STARTS, N_HALVES = 8, 2
# Numbers of clusters that are tried, as far as each has this many rows on average.
NUMBERS, ROWS_PER_CLUSTER = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35), 4
# Agreements that differ by so little are equal.
TIED = 0.005
# Cosines in single precision that differ by so little are equal, and rows whose cosines with all
# others are held at a time.
ROUNDING, AT_ONCE = 1e-5, 1000
# Rows of which the cosines of all pairs are held at a time, at most.
MOST_HELD = 4096


@dataclass(frozen=True)
class EmbeddedView:
    """A sample of rows as one view has them; a row that lacks the view is zero in all of it.

    Attributes
    ----------
    rows : array of shape (n, d)
        Rows in the leading singular directions of the view, all of unit norm before.
    graph : CSR array of shape (n, n)
        Nearest neighbours by the cosine of the rows: D^-½ W D^-½.
    has : bool array of shape (n,)
        Which rows have the view.
    """

    rows: Float32Array
    graph: sp.csr_array
    has: NDArray[np.bool_]

    def on(self, rows: IntArray) -> "EmbeddedView":
        """Return the same of some rows alone, linked as they were."""
        return EmbeddedView(self.rows[rows], self.graph[rows][:, rows], self.has[rows])


@dataclass(frozen=True)
class Clustering:
    """Clusters of a sample of rows.

    Attributes
    ----------
    labels : int array of shape (n,)
        Cluster of every row.
    n_clusters : int
    view_weights : array of shape (n_views,)
        How much every view weighs: as it is given, or its holdout agreement over that of the best.
    agreement : array of shape (n_views,)
        Holdout agreement of the clusters by each view alone, from 0 to 1.
    starts : list of int array of shape (n,)
        Cluster of every row from each start of k-means.
    """

    labels: IntArray
    n_clusters: int
    view_weights: FloatArray
    agreement: FloatArray
    starts: list[IntArray]

    @property
    def quality(self) -> float:
        """Holdout agreement, mean of the views: what numbers of clusters are compared by."""
        return float(self.agreement.mean())


def embedded(
    X: Block, has: NDArray[np.bool_] | None = None, n_neighbors: int = N_NEIGHBORS
) -> EmbeddedView:
    """Embed the rows of one view, and link each to its nearest neighbours.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
    has : bool array of shape (n,), optional
        Which rows have the view; by default all. The others are not looked at.
    n_neighbors : int

    Examples
    --------
    >>> view = embedded(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [0.1, 3.0]]), n_neighbors=1)
    >>> view.graph.toarray().round().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])
    """
    n = X.shape[0]
    has = np.ones(n, bool) if has is None else has
    own = np.flatnonzero(has)
    rows = X[own].astype(np.float64)
    filled = np.flatnonzero(abs(rows).sum(axis=0))
    if not len(filled):
        return EmbeddedView(np.zeros((n, 1), np.float32), sp.csr_array((n, n)), has)
    # `normalize` takes very small rows for empty ones.
    unit = normalize(rows[:, filled] / abs(rows).max())
    fast = in_faster_kind(unit)
    cosines = dense(fast @ fast.T) if len(own) <= MOST_HELD else None
    embedding = _leading_directions(unit, cosines)
    graph = _neighbor_graph(fast, n_neighbors, cosines)
    spread = sp.csr_array(sp.eye_array(n, format="csr", dtype=np.float32)[:, own])
    return EmbeddedView(spread @ embedding, sp.csr_array(spread @ graph @ spread.T), has)


def _leading_directions(unit: Block, cosines: Array | None) -> Float32Array:
    """Return rows of unit norm in their leading singular directions.

    These are the leading eigenvectors of their cosines, where these are given.
    """
    n_dims = min(N_DIMS, *unit.shape)
    if cosines is None:
        # Transposed, so that the random start has a row for every row of X: columns have no order.
        how = {"n_iter": N_POWERS, "transpose": True, "random_state": 0}
        vectors, values, _ = randomized_svd(unit, n_dims, **how)
    else:
        # Cosines have the squares of the singular values, so that half the iterations do.
        how = {"n_iter": N_POWERS // 2, "random_state": 0}
        vectors, squares, _ = randomized_svd(cosines, n_dims, **how)
        values = np.sqrt(squares)
    # What is rounding has no directions.
    values[values < np.sqrt(np.finfo(unit.dtype).eps) * values[0]] = 0
    return np.asarray(vectors * values**POWER, np.float32)


def _neighbor_graph(unit: Block, n_neighbors: int, cosines: Array | None = None) -> sp.csr_array:
    """Return the symmetric graph of nearest neighbours by cosine, D^-½ W D^-½.

    Rows as near as the farthest of the neighbours are neighbours too, so that the order of the
    rows decides nothing.
    """
    n, k = unit.shape[0], min(n_neighbors, unit.shape[0] - 1)
    if k < 1:
        return sp.csr_array((n, n), dtype=np.float32)
    parts, turned = [], unit.T
    if cosines is None and sp.issparse(unit):
        turned = turned.tocsr()
    for some in gen_batches(n, AT_ONCE):
        S = dense(unit[some] @ turned) if cosines is None else cosines[some]
        S = S.astype(np.float32)
        np.fill_diagonal(S[:, some], -np.inf)
        farthest = np.partition(S, n - k, axis=1)[:, [n - k]]
        near = np.maximum(farthest - ROUNDING, ROUNDING) <= S
        parts.append(sp.csr_array((S[near], near.nonzero()), shape=S.shape))
    W = sp.csr_array(sp.vstack(parts))
    W = W.maximum(W.T)
    degree = np.asarray(W.sum(axis=1)).ravel()
    scale = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    return sp.csr_array(sp.diags_array(scale) @ W @ sp.diags_array(scale))


def cluster(
    views: Sequence[EmbeddedView],
    n_clusters: int | str,
    seed: int,
    weights: Sequence[float | str] = (),
    n_starts: int = N_STARTS,
    noise: NDArray[np.bool_] | None = None,
) -> Clustering:
    """Return consensus clusters of the rows of all views.

    Views are weighed by their `holdout_agreement`, and the rows clustered once more. With "auto",
    there are the most clusters whose agreement is as good as the best.

    Parameters
    ----------
    views : sequence of EmbeddedView
    n_clusters : int or "auto"
    seed : int
    weights : sequence of float or "auto"
        How much every view weighs, where it is given.
    n_starts : int
        Starts of k-means.
    noise : bool array of shape (n_views,), optional
        Views that weigh nothing unless it is given: the clusters of one predict themselves well,
        and would be those of the rows. Where all are noise, they count alike.
    """
    if noise is not None and not noise.all():
        given = zip(weights or ("auto",) * len(views), noise, strict=True)
        weights = [0.0 if own and weight == "auto" else weight for weight, own in given]
    K, n = n_clusters, len(views[0].rows)
    if K == "auto":
        numbers = [K for K in NUMBERS if n >= K * ROWS_PER_CLUSTER] or [NUMBERS[0]]
        tried = [_clustered(views, min(K, n), seed, weights, 1) for K in numbers]
        best = max(tried, key=lambda found: found.quality)
        # Where classes are clear, unions of them are predicted as well: the most that is no worse.
        K = max(found.n_clusters for found in tried if found.quality >= best.quality - TIED)
    return _clustered(views, min(int(K), n), seed, weights, n_starts)


def _clustered(
    views: Sequence[EmbeddedView], K: int, seed: int, given: Sequence[float | str], n_starts: int
) -> Clustering:
    """Return K clusters, the best of some starts."""
    rows, agreement = [view.rows for view in views], np.ones(len(views))
    for n in (1, n_starts):
        weights = _weights(agreement, given)
        starts = k_means(_filtered(views, weights), K, seed, n)
        agreement = holdout_agreement(rows, starts[0], K, views)
    return Clustering(starts[0], K, _weights(agreement, given), agreement, starts)


def _weights(agreement: FloatArray, given: Sequence[float | str]) -> FloatArray:
    """Return how much views weigh: as it is given, or by their agreement over the best."""
    best = agreement.max()
    found = agreement / best if best > 0 else np.ones_like(agreement)
    pairs = zip(given or ("auto",) * len(found), found, strict=True)
    return np.array([own if weight == "auto" else weight for weight, own in pairs], float)


def _filtered(views: Sequence[EmbeddedView], weights: FloatArray) -> Float32Array:
    """Return the joint embedding, each row half itself and half its neighbours, N_FILTERS times."""
    pairs = [(np.float32(w), view) for w, view in zip(weights, views, strict=True)]
    F = normalize(np.hstack([np.sqrt(w) * view.rows for w, view in pairs]))
    heard = np.sum([w * view.has for w, view in pairs], axis=0)
    share = np.divide(1, heard, out=np.zeros_like(heard), where=heard > 0)[:, np.newaxis]
    for _ in range(N_FILTERS):
        around = np.sum([w * (view.graph @ F) for w, view in pairs], axis=0)
        F = (F + share * around) / 2
    found: Float32Array = normalize(F)
    return found


def k_means(F: NDArray[Any], n_clusters: int, seed: int, n_starts: int) -> list[IntArray]:
    """Return the clusters of k-means from some starts, the best first."""
    found = []
    for start in range(n_starts):
        model = KMeans(n_clusters, n_init=1, random_state=seed + start)
        with warnings.catch_warnings():
            # Rows may be fewer, or less different, than clusters: some are empty then.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append(model.fit(F.astype(np.float64)))
    # Starts that find the same clusters differ by rounding: the first of them is the best.
    found.sort(key=lambda model: float(significant(np.array(model.inertia_, np.float32))))
    return [model.labels_.astype(np.intp) for model in found]


def holdout_agreement(
    rows: Sequence[Block], labels: IntArray, n_clusters: int, views: Sequence[EmbeddedView]
) -> FloatArray:
    """Return how well the clusters of half of the rows are predicted by the others, by each view.

    A row is put where it lies along the mean of the other half's rows of a cluster most, by one
    view alone. The agreement with its cluster is the adjusted mutual information: 0 is chance,
    whatever the number of clusters, and 1 is perfect. This is the one criterion by which all is
    decided that has to be decided without labels.

    Parameters
    ----------
    rows : sequence of array or CSR matrix of shape (n, D_v)
        What predicts: embeddings of views, or selected features.
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
            predicted = dense(X[b] @ means.T).argmax(axis=1)
            found[half, v] = adjusted_mutual_information(labels[b], predicted)
    agreement: FloatArray = np.maximum(found.mean(axis=0), 0)
    return agreement


def adjusted_mutual_information(a: IntArray, b: IntArray) -> float:
    """Return how far two labelings agree: 0 is chance, whatever they are like, and 1 is perfect.

    As scikit-learn's, without its checks, which take most of the time on a thousand rows.
    """
    width, n = b.max() + 1, len(a)
    table = np.bincount(a * width + b, minlength=(a.max() + 1) * width).reshape(-1, width)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    rows, columns, both = table.sum(axis=1) / n, table.sum(axis=0) / n, table / n
    if len(rows) == len(columns) == 1:
        return 1.0
    entropies = -float(xlogy(rows, rows).sum()), -float(xlogy(columns, columns).sum())
    information = float(xlogy(both, both).sum()) + sum(entropies)
    chance = expected_mutual_information(table, n)
    most = sum(entropies) / 2 - chance
    return (information - chance) / most if abs(most) > ROUNDING else 0.0


def view_agreement(views: Sequence[EmbeddedView]) -> FloatArray:
    """Return how far views agree on which rows are neighbours, each with each, of shape (V, V).

    The share of a row's neighbours by one view that are its neighbours by the other, mean of the
    rows that have both.
    """
    near = [view.graph > 0 for view in views]
    found = np.ones((len(views), len(views)))
    for a in range(len(views)):
        for b in range(a):
            both = views[a].has & views[b].has
            common = np.asarray(near[a].multiply(near[b]).sum(axis=1)).ravel()[both]
            fewer = np.minimum(near[a].sum(axis=1), near[b].sum(axis=1))[both]
            shares = common[fewer > 0] / fewer[fewer > 0]
            found[a, b] = found[b, a] = shares.mean() if len(shares) else 0.0
    return found
