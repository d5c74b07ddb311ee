"""Alternate the half-steps of the constrained solver over some rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    column_sq_norms,
    near_largest,
    project,
    sums_by_label,
)
from omvfs.model.constrained.half_steps import update_u, update_v
from omvfs.model.constrained.reach import Reach
from omvfs.model.graph.term import GraphMatrix, GraphTerm
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.presence import Presence, who_has

# An alternation has settled when fewer than one row in so many changes its cluster.
_SETTLED = 1000
# How often rows that join clusters are placed, each time by where all rows have come to point.
_JOINED = 3


@dataclass(frozen=True)
class Solution:
    """What `solve` found.

    Attributes
    ----------
    U : Indicator
        Of the rows, with weights in the units of A and B.
    V : list of array of shape (D_v, K)
        Feature matrices, of unit U over all rows so far.
    graph : float
        tr(UᵀMU), for U of unit columns over the rows.
    n_iter : int
        Iterations done.
    fit : Indicator
        The same clusters, with the projections of the rows on them as weights; U itself if no row
        lacks a view.
    """

    U: Indicator
    V: list[Array]
    graph: float
    n_iter: int
    fit: Indicator


@dataclass(frozen=True)
class PriorStatistics:
    """What rows before the present ones left, for the features that these have.

    Attributes
    ----------
    A : array of shape (K,)
        Masses of the clusters.
    B : list of array of shape (D_v, K)
        Σ XᵀU, per view.
    off_chunk_sq_norms : array of shape (K,)
        Σ_j B_jk² over the features that they do not have.
    off_chunk_by_view : array of shape (n_views, K), or None
        The same for each view, where it matters: if rows lack views.
    """

    A: NDArray[np.float64]
    B: list[Array]
    off_chunk_sq_norms: NDArray[np.float64]
    off_chunk_by_view: NDArray[np.float64] | None = None

    def V_sq_norms(self, V: Sequence[Array], A: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ‖V_k‖² over all features, V being on those of the rows, for masses A."""
        return column_sq_norms(V) + self.off_chunk_sq_norms / np.where(A > 0, A, 1)

    @classmethod
    def none(cls, X: Sequence[Block], n_clusters: int) -> "PriorStatistics":
        """Return what no rows left."""
        B = [np.zeros((X_v.shape[1], n_clusters), X_v.dtype) for X_v in X]
        return cls(np.zeros(n_clusters), B, np.zeros(n_clusters))


def unit_directions(V: Sequence[Array], sq_norms: NDArray[np.float64] | None = None) -> list[Array]:
    """Return V with every column scaled to norm 1 over all views; empty columns stay empty.

    Parameters
    ----------
    V : sequence of array of shape (D_v, K)
    sq_norms : array of shape (K,), optional
        Squared norms of the columns, where V is only a part of them.

    Examples
    --------
    >>> unit_directions([np.array([[3.0]]), np.array([[4.0]])])
    [array([[0.6]]), array([[0.8]])]
    """
    norms = np.sqrt(column_sq_norms(V) if sq_norms is None else sq_norms)
    norms[norms == 0] = 1
    return [(V_v / norms).astype(V_v.dtype, copy=False) for V_v in V]


def unmoved(labels: IntArray, before: IntArray) -> bool:
    """Tell whether so few rows changed their cluster that an alternation has settled.

    Examples
    --------
    >>> unmoved(np.array([0, 1]), np.array([0, 0]))
    False
    """
    return int(np.count_nonzero(labels != before)) * _SETTLED < len(labels)


def best_cluster(P: Array) -> Indicator:
    """Return every row's best cluster, with its projection as weight.

    Examples
    --------
    >>> best_cluster(np.array([[0.2, 0.9]])).labels
    array([1])
    """
    labels = near_largest(P, noise=10).argmax(axis=1)
    return Indicator(labels, P[np.arange(len(P)), labels], P.shape[1])


def in_clusters(P: Array, labels: IntArray) -> Indicator:
    """Return rows in given clusters, with their projections, as far as positive, as weights.

    Examples
    --------
    >>> in_clusters(np.array([[0.2, 0.9], [-0.1, 0.3]]), np.array([0, 0])).weights
    array([0.2, 0. ])
    """
    weights = np.maximum(P[np.arange(len(P)), labels], 0)
    return Indicator(labels, weights, P.shape[1])


def solve(
    X: Sequence[Block],
    directions: Sequence[Array],
    prior: PriorStatistics,
    graph: GraphTerm,
    *,
    beta: Sequence[float],
    max_iter: int,
    U: Indicator | None = None,
    present: Presence = None,
) -> Solution:
    """Alternate the two half-steps until the clusters settle.

    U is fitted to the rows and V to all rows so far, as in the paper. A weight of 1 in U's units
    is a row that lies one unit along its cluster's direction, so that every row of the stream
    counts alike, however many of its cluster happen to come with it.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
        The rows.
    directions : sequence of array of shape (D_v, K)
        Unit directions of the clusters to start from.
    prior : PriorStatistics
        What those before them left.
    graph : callable
        The graph term of the rows.
    beta : sequence of float
        β_v of each view.
    max_iter : int
        Most iterations, at least 1.
    U : Indicator, optional
        Clusters to start from, with projections as weights; by default the nearest directions.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all. Where rows lack some, none may be before them.

    Returns
    -------
    Solution

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 2.0]])
    >>> found = solve(
    ...     [X],
    ...     [np.eye(2)],
    ...     PriorStatistics.none([X], 2),
    ...     lambda U: (None, 0.0),
    ...     beta=[0.0],
    ...     max_iter=10,
    ... )
    >>> found.U.labels
    array([0, 0, 1])
    """
    M: GraphMatrix | None = None
    for n_iter in range(1, max_iter + 1):
        reach = Reach.of(directions, present)
        P = reach.fit(project(X, directions))
        if U is None:
            U = best_cluster(P)
        M, bound = graph(U)
        # Columns of V at the length that suits the present clusters.
        lengths = np.sqrt(U.masses).astype(P.dtype)
        before = U.labels
        U = _in_units(update_u(U.unit(), P * lengths, M, bound), P)
        counted = reach.in_units(U)
        V = _features(X, counted, beta, prior, present)
        directions = unit_directions(V, prior.V_sq_norms(V, prior.A + counted.masses))
        if n_iter > 1 and unmoved(U.labels, before):
            break
    assert U is not None
    smoothness = 0.0 if M is None else M.smoothness(U.unit())
    return Solution(counted, V, smoothness, n_iter, U)


def joined(
    X: Sequence[Block],
    rows: IntArray,
    U: Indicator,
    beta: Sequence[float],
    present: Presence,
) -> Solution:
    """Let rows join the clusters of others: by their fit to these, and then to all.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
        All rows.
    rows : int array
        Which of them are in clusters: they stay.
    U : Indicator
        Of these, with weights in the units of A and B.
    beta : sequence of float
        β_v of each view.
    present : array of shape (n, n_views)
        Which rows have which views.

    Returns
    -------
    Solution
    """
    n, dtype = X[0].shape[0], X[0].dtype
    labels, weights = np.zeros(n, np.intp), np.zeros(n, dtype)
    labels[rows], weights[rows] = U.labels, U.weights
    counted, prior = Indicator(labels, weights, U.n_clusters), PriorStatistics.none(X, U.n_clusters)
    stays = np.zeros(n, bool)
    stays[rows] = True
    for _ in range(_JOINED):
        V = _features(X, counted, beta, prior, present)
        directions = unit_directions(V)
        reach = Reach.of(directions, present)
        P = reach.fit(project(X, directions))
        labels = np.where(stays, labels, best_cluster(P).labels)
        fit = in_clusters(P, labels)
        own = reach.in_units(fit).weights
        counted = Indicator(labels, np.where(stays, weights, own).astype(dtype), U.n_clusters)
    return Solution(counted, V, 0.0, _JOINED, fit)


def _features(
    X: Sequence[Block],
    U: Indicator,
    beta: Sequence[float],
    prior: PriorStatistics,
    present: Presence,
) -> list[Array]:
    """Return the V that is best for rows in clusters, and what came before them."""
    A = prior.A + U.masses
    parts = zip(X, prior.B, beta, _by_view(U, present, len(X)), strict=True)
    return [
        update_v(A, _completed(B_v + transposed_product(X_v, U), A, prior, own), beta_v)
        for X_v, B_v, beta_v, own in parts
    ]


def _by_view(U: Indicator, present: Presence, n_views: int) -> list[Indicator | None]:
    """Return the indicator of the rows that have each view; None where all do."""
    rows = [who_has(present, v) for v in range(n_views)]
    return [None if own is None else U.take(own) for own in rows]


def _completed(
    B: Array, A: NDArray[np.float64], prior: PriorStatistics, rows: Indicator | None
) -> Array:
    """Return B as if rows that lack the view had what their cluster has; see `completion`."""
    if rows is None:
        return B
    A_v = prior.A + rows.masses
    factors = np.divide(A, A_v, out=np.zeros_like(A), where=A_v > 0)
    completed: Array = B * factors.astype(B.dtype)
    return completed


def _in_units(U: Indicator, P: Array) -> Indicator:
    """Return U of unit columns with its weights in units of the directions: u_i ⟨u_k, P_k⟩."""
    rows = np.arange(len(U.labels))
    lengths = sums_by_label(U.labels, U.weights * P[rows, U.labels], U.n_clusters)
    weights = (U.weights * np.maximum(lengths, 0)[U.labels]).astype(P.dtype, copy=False)
    return Indicator(U.labels, weights, U.n_clusters)
