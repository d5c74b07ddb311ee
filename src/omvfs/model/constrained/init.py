"""Clusters of a set of rows from several starts, for the first chunk and for the reservoir."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    column_sums,
    project,
    tie_width,
)
from omvfs.model.constrained.alternate import unit_directions
from omvfs.model.constrained.race import raced
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.presence import Presence, who_has

# Dimensions of the singular space, per cluster: some directions matter that no cluster owns.
_DIMENSIONS = 3
_OVERSAMPLING = 5
# With 2 a faint signal is lost: of the planted words of the demo 58 % are found instead of 96 %.
_SUBSPACE_ITERATIONS = 5
# Fewer in that of the graph, which has fewer that matter. Its eigenvalues are close to each other:
# so many products before the first look at them, then so many filters of so many products each.
_GRAPH_DIMENSIONS, _GRAPH_BEFORE, _GRAPH_FILTERS, _GRAPH_DEGREE = 2, 4, 3, 8
# A row this much shorter than the longest is rounding error.
_NOTHING = 1e-7


def spectral_start(
    X: Sequence[Block],
    n_clusters: int,
    rng: np.random.Generator,
    n_init: int,
    present: Presence = None,
) -> list[Array]:
    """Return directions to start from: those of clusters found in the leading singular space.

    Random starts are many and end in poor local optima, the more so the less a row says by itself.
    In the span of a few singular vectors a row is joined by all that co-occurs with it, and starts
    cost next to nothing.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
    n_clusters : int
    rng : Generator
    n_init : int
        Number of random starts in the singular space; the one that explains most is kept.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all.

    Returns
    -------
    list of array of shape (D_v, K)

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> directions = spectral_start([X], 2, np.random.default_rng(0), n_init=3)
    >>> np.sort(directions[0].argmax(axis=0))
    array([0, 1])
    """
    E = embedding(X, _DIMENSIONS * n_clusters, rng, present)
    return mean_directions(X, raced(E, n_clusters, rng, n_init), n_clusters, present)


def graph_start(
    graphs: Sequence[sp.csr_array],
    weights: Sequence[float],
    n_clusters: int,
    rng: np.random.Generator,
    n_init: int,
) -> IntArray:
    """Return clusters to start from that neighbours make, whatever the rows have in common.

    Spectral clustering of all views' graphs together. Where rows are known by whom they are near
    rather than by what they have, as links are, it finds what no direction explains.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        Ŵ_v of each view.
    weights : sequence of float
        α_v of each view, not all 0.
    n_clusters : int
    rng : Generator
    n_init : int
        Number of random starts.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> clique = (np.ones((9, 9)) - np.eye(9)) / 8
    >>> W = sp.csr_array(sp.block_diag([clique, clique]))
    >>> labels = graph_start([W], [1.0], 2, np.random.default_rng(0), n_init=8)
    >>> np.unique(labels[:9]).size, np.unique(labels[9:]).size, np.unique(labels).size
    (1, 1, 2)
    """
    E = graph_embedding(graphs, weights, _GRAPH_DIMENSIONS * n_clusters, rng)
    return raced(E, n_clusters, rng, n_init)


def mean_directions(
    X: Sequence[Block], labels: IntArray, n_clusters: int, present: Presence = None
) -> list[Array]:
    """Return the directions of the sums of the rows of each cluster.

    Where rows lack views, of the means of those that have them.

    Examples
    --------
    >>> mean_directions([np.array([[3.0, 0.0], [0.0, 4.0]])], np.array([0, 0]), 1)
    [array([[0.6],
           [0.8]])]
    """
    U = Indicator(labels, np.ones(len(labels), X[0].dtype), n_clusters)
    sums = [transposed_product(X_v, U) for X_v in X]
    if present is not None:
        counts = [np.bincount(labels[has], minlength=n_clusters) for has in present.T]
        pairs = zip(sums, counts, strict=True)
        sums = [S / np.maximum(n, 1).astype(S.dtype) for S, n in pairs]
    return unit_directions(sums)


def embedding(
    X: Sequence[Block],
    n_dimensions: int,
    rng: np.random.Generator,
    present: Presence = None,
) -> Array:
    """Return the rows in their leading singular directions, of unit norm; zero rows stay zero.

    See `singular_space`.
    """
    return unit(singular_space(X, n_dimensions, rng, present)).astype(X[0].dtype, copy=False)


def singular_space(
    X: Sequence[Block],
    n_dimensions: int,
    rng: np.random.Generator,
    present: Presence = None,
) -> Array:
    """Return the rows in their leading singular directions, the leading first.

    Subspace iteration on Σ_v X_v X_vᵀ. It starts from random numbers per row, none per feature, so
    that the order of the features changes nothing. Rows that lack a view have the mean of the
    others there: with nothing, the leading directions would tell who lacks what.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
    n_dimensions : int
    rng : Generator
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all.

    Returns
    -------
    array of shape (n, min(n, n_dimensions))
    """
    n = X[0].shape[0]
    r = min(n, n_dimensions)
    Q = rng.standard_normal((n, min(n, r + _OVERSAMPLING)))
    filled = _filled(X, present)
    for _ in range(_SUBSPACE_ITERATIONS):
        Q = np.linalg.qr(_gram_product(X, Q, filled))[0]
    T = Q.T @ _gram_product(X, Q, filled)
    values, vectors = np.linalg.eigh((T + T.T) / 2)
    values[values < tie_width(values)] = 0
    E: Array = (Q @ vectors[:, ::-1][:, :r]) * np.sqrt(values[::-1][:r])
    return E


def graph_embedding(
    graphs: Sequence[sp.csr_array],
    weights: Sequence[float],
    n_dimensions: int,
    rng: np.random.Generator,
) -> Array:
    """Return the rows in the leading eigenvectors of Σ_v α_v Ŵ_v, of unit norm.

    Subspace iteration with Chebyshev polynomials, which are small between −1 and the least of the
    eigenvalues found so far, and grow fast above it. Rows without neighbours are zero, and so are
    vectors whose eigenvalue is not positive: rows that repel each other are no cluster.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
    weights : sequence of float
    n_dimensions : int
    rng : Generator

    Returns
    -------
    array of shape (n, min(n, n_dimensions))
    """
    total = sum(weights)
    W = sp.csr_array(sum((alpha / total) * W_v for alpha, W_v in zip(weights, graphs, strict=True)))
    n = W.shape[0]
    r = min(n, n_dimensions)
    # Single precision is enough to start from.
    W = W.astype(np.float32)
    Q = rng.standard_normal((n, min(n, r + _OVERSAMPLING)), np.float32)
    for _ in range(_GRAPH_BEFORE):
        Q = (Q + W @ Q) / 2
    Q, values, vectors = _rayleigh_ritz(W, Q)
    for _ in range(_GRAPH_FILTERS):
        Q, values, vectors = _rayleigh_ritz(W, _filtered(W, Q, float(values[0])))
    E = Q @ (vectors * (values > tie_width(values)))[:, ::-1][:, :r]
    E[W.sum(axis=1) == 0] = 0
    return unit(E)


def _rayleigh_ritz(W: sp.csr_array, Q: Array) -> tuple[Array, Array, Array]:
    """Return an orthonormal basis of the span of Q, and the eigenpairs of W in it, rising."""
    Q = np.linalg.qr(Q)[0]
    T = Q.T @ (W @ Q)
    values, vectors = np.linalg.eigh((T + T.T) / 2)
    return Q, values, vectors


def _filtered(W: sp.csr_array, Q: Array, low: float) -> Array:
    """Return T(W) Q, T the Chebyshev polynomial that is at most 1 between −1 and `low`."""
    low = max(low, 0.0)  # below which no eigenvalue matters
    centre, reach = (low - 1) / 2, (low + 1) / 2
    before: Array = Q
    now: Array = (W @ Q - centre * Q) / reach
    for _ in range(_GRAPH_DEGREE - 1):
        before, now = now, (W @ now - centre * now) * (2 / reach) - before
    return now


def unit(E: Array) -> Array:
    """Return rows of an embedding with unit norm; those that are rounding error are zero."""
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    scaled: Array = np.divide(
        E, norms, out=np.zeros_like(E), where=norms > _NOTHING * norms.max(initial=0)
    )
    return scaled


def _filled(X: Sequence[Block], present: Presence) -> dict[int, tuple[Array, Array]]:
    """Return by view that rows lack: which rows, as 0 and 1, and the mean of all others."""
    found: dict[int, tuple[Array, Array]] = {}
    for v, X_v in enumerate(X):
        rows = who_has(present, v)
        if rows is not None and present is not None:
            lacking = (~present[:, v]).astype(np.float64)
            found[v] = lacking, column_sums(X_v) / max(1, len(rows))
    return found


def _gram_product(X: Sequence[Block], Q: Array, filled: dict[int, tuple[Array, Array]]) -> Array:
    """Return Σ_v X_v X_vᵀ Q, rows that lack a view being filled with a mean."""
    Z = [X_v.T @ Q for X_v in X]
    for v, (lacking, mean) in filled.items():
        Z[v] = Z[v] + np.outer(mean, lacking @ Q)
    product = project(X, Z)
    for v, (lacking, mean) in filled.items():
        product = product + np.outer(lacking, mean @ Z[v])
    return product
