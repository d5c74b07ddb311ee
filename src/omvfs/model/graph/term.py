"""The graph term of the objective as the settings ask for it."""

from collections.abc import Sequence

import numpy as np

from omvfs.model.arrays import Block
from omvfs.model.constrained.alternate import GraphTerm
from omvfs.model.graph.agreement import graph_laplacian, normalised_neighbours
from omvfs.model.graph.similarity import gaussian, laplacian
from omvfs.model.indicator import Indicator
from omvfs.model.state import Settings


def graph_term(X: Sequence[Block], settings: Settings) -> GraphTerm:
    """Return the graph term of rows, as `solve` asks for it."""
    if settings.graph == "none" or not any(settings.graph_weight):
        return no_graph
    if settings.graph == "gaussian":
        weighted = zip(settings.graph_weight, X, strict=True)
        M = sum(alpha * laplacian(gaussian(X_v)) for alpha, X_v in weighted)
        # W has no negative eigenvalue, so those of D − W are at most the largest degree, and W has
        # ones on its diagonal.
        bound = float(np.max(np.diagonal(M))) + sum(settings.graph_weight)
        return lambda U: (M, bound)
    graphs = normalised_neighbours(X, settings.n_neighbors)
    return lambda U: graph_laplacian(graphs, U, settings.graph_weight, float(U.masses.sum()))


def no_graph(U: Indicator) -> tuple[None, float]:
    """Return the graph term of rows without a graph."""
    return None, 0.0
