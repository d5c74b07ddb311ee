"""The graph term of the objective; neighbours are as loud as they agree with the clusters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block
from omvfs.model.graph.neighbours import normalised_neighbours
from omvfs.model.graph.similarity import gaussian, laplacian
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.objective import inner
from omvfs.model.settings import Settings


class GraphMatrix(Protocol):
    """M = Σ_v α_v L_v of some rows."""

    def times(self, U: Indicator) -> Array:
        """Return M U."""

    def smoothness(self, U: Indicator) -> float:
        """Return tr(UᵀMU)."""


# From U to M and a step bound, see `update_u`; M is None without a graph.
GraphTerm: TypeAlias = Callable[[Indicator], tuple[GraphMatrix | None, float]]


def asks_neighbours(settings: Settings) -> bool:
    """Tell whether the neighbours of a row have a say."""
    return settings.graph == "neighbors" and any(settings.graph_weight)


def neighbour_graphs(
    X: Sequence[Block], settings: Settings, near: Sequence[sp.csr_array | None] = ()
) -> list[sp.csr_array]:
    """Return Ŵ of each view, see `normalised_neighbours`; none where neighbours have no say."""
    if not asks_neighbours(settings):
        return []
    return normalised_neighbours(X, settings.n_neighbors, near)


def graph_term(
    X: Sequence[Block], settings: Settings, graphs: Sequence[sp.csr_array] | None = None
) -> GraphTerm:
    """Return the graph term of rows, as `solve` asks for it.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
    settings : Settings
    graphs : sequence of csr_array, optional
        The `neighbour_graphs` of the rows, if they are at hand.
    """
    if settings.graph == "none" or not any(settings.graph_weight):
        return no_graph
    if settings.graph == "gaussian":
        weighted = zip(settings.graph_weight, X, strict=True)
        M = sum(alpha * laplacian(gaussian(X_v)) for alpha, X_v in weighted)
        # W has no negative eigenvalue, so those of D − W are at most the largest degree, and W has
        # ones on its diagonal.
        bound = float(np.max(np.diagonal(M))) + sum(settings.graph_weight)
        return lambda U: (DenseLaplacian(M), bound)
    found = neighbour_graphs(X, settings) if graphs is None else graphs
    return lambda U: graph_laplacian(found, U, settings.graph_weight, float(U.masses.sum()))


def no_graph(U: Indicator) -> tuple[None, float]:
    """Return the graph term of rows without a graph."""
    return None, 0.0


def agreement(W: sp.csr_array, U: Indicator) -> float:
    """Return how far neighbours share a cluster: 1 if all do, 0 if no more than by chance.

    tr(UᵀŴU) / K is 1 when no edge leaves a cluster and about 1/K under random labels.

    Examples
    --------
    >>> W = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> agreement(W, Indicator(np.array([0, 1]), np.ones(2), 2))
    0.0
    """
    unit = U.unit()
    filled = int(np.count_nonzero(unit.masses))
    if filled < 2:
        return 0.0
    return max(0.0, (within(W, unit) - 1) / (filled - 1))


def within(W: sp.csr_array, U: Indicator) -> float:
    """Return tr(UᵀWU), what joins rows of one cluster, at the cost of the edges.

    Examples
    --------
    >>> W = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> within(W, Indicator(np.array([0, 0]), np.array([1.0, 3.0]), 2))
    12.0
    """
    counts = np.diff(W.indptr)
    joined = np.flatnonzero(np.repeat(U.labels, counts) == U.labels[W.indices])
    own = np.repeat(U.weights, counts)[joined] * W.data[joined]
    return float(np.sum(np.multiply(own, U.weights[W.indices[joined]], dtype=np.float64)))


def shares_of_views(graphs: Sequence[sp.csr_array], U: Indicator) -> Array:
    """Return the share of each view in the agreement of all; zeros if none agrees.

    Examples
    --------
    >>> W = sp.csr_array(np.eye(4)[[1, 0, 3, 2]])
    >>> U = Indicator(np.array([0, 0, 1, 1]), np.full(4, np.sqrt(0.5)), 2)
    >>> shares_of_views([W, W[::-1, ::-1], sp.csr_array(np.eye(4)[::-1])], U).round(2)
    array([0.5, 0.5, 0. ])
    """
    agreements = np.array([agreement(W, U) for W in graphs])
    return agreements / (agreements.sum() or 1)


@dataclass(frozen=True)
class Laplacian:
    """M = Σ_v c_v (I − Ŵ_v), as something that multiplies; rows without neighbours are zero.

    Examples
    --------
    >>> W = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> M, U = Laplacian([W], [2.0]), Indicator(np.array([0, 0]), np.array([1.0, 0.0]), 1)
    >>> M.times(U)
    array([[ 2.],
           [-2.]])
    >>> M.smoothness(U)
    2.0
    """

    graphs: Sequence[sp.csr_array]
    scales: Sequence[float]

    def times(self, U: Indicator) -> Array:
        """Return M U."""
        rows = np.arange(len(U.labels))
        product = np.zeros((len(rows), U.n_clusters), U.weights.dtype)
        for scale, W in zip(self.scales, self.graphs, strict=True):
            # Ŵ is its own transpose.
            product -= scale * transposed_product(W, U)
            product[rows, U.labels] += scale * U.weights * (np.diff(W.indptr) > 0)
        return product

    def smoothness(self, U: Indicator) -> float:
        """Return tr(UᵀMU)."""
        squares = np.square(U.weights, dtype=np.float64)
        return sum(
            scale * (float(squares @ (np.diff(W.indptr) > 0)) - within(W, U))
            for scale, W in zip(self.scales, self.graphs, strict=True)
        )


@dataclass(frozen=True)
class DenseLaplacian:
    """M as an array, for graphs that join all rows.

    Examples
    --------
    >>> M = DenseLaplacian(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> M.smoothness(Indicator(np.array([0, 0]), np.array([1.0, 3.0]), 1))
    4.0
    """

    M: Array

    def times(self, U: Indicator) -> Array:
        """Return M U."""
        return self.M @ U.dense()

    def smoothness(self, U: Indicator) -> float:
        """Return tr(UᵀMU)."""
        return inner(U.dense(), self.times(U))


def graph_laplacian(
    graphs: Sequence[sp.csr_array], U: Indicator, weights: Sequence[float], energy: float
) -> tuple[Laplacian | None, float]:
    """Return M = Σ_v α_v c_v (I − Ŵ_v) and a step bound: its diagonal.

    c_v is the energy that the clusters explain, per cluster, times the share of view v in the
    agreement of all views. The energy makes α dimensionless: at α = 1 the neighbours of a row weigh
    as much as its fit, whatever the number of rows. The share keeps a view whose neighbours have
    nothing to do with the clusters (images beside text, say) from dragging them along.

    Parameters
    ----------
    graphs : sequence of csr_array
        Ŵ_v of each view.
    U : Indicator
        Clusters to agree with.
    weights : sequence of float
        α_v of each view.
    energy : float
        Σ_i (x_i · c_{k(i)})², what the clusters explain of the rows.

    Returns
    -------
    M : Laplacian or None
        None if no view has a say.
    bound : float
        Σ_v α_v c_v.
    """
    scales: Array = np.asarray(weights) * shares_of_views(graphs, U) * (energy / U.n_clusters)
    if not scales.any():
        return None, 0.0
    heard = [(W, float(scale)) for W, scale in zip(graphs, scales, strict=True) if scale]
    return Laplacian(*zip(*heard, strict=True)), float(scales.sum())
