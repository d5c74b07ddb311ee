"""The cluster of a row by its fit and by its neighbours in the memory, as while learning."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray, near_largest, project
from omvfs.model.constrained import Indicator
from omvfs.model.graph import neighbours
from omvfs.model.neighbourhood import normalised_neighbours, shares_of_views


def assign(
    X: Sequence[Block], directions: Sequence[Array], votes: Sequence[Array] = ()
) -> IntArray:
    """Return the cluster of every row: the one of the best fit and most votes.

    The fit is relative to the best one, as votes are, so that at α = 1 all neighbours together
    weigh as much as the fit. Among equals the first cluster is taken.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
    directions : sequence of array of shape (D_v, K)
        Unit directions of the clusters.
    votes : sequence of array of shape (n, K)
        What neighbours add, from `Electorate.votes`; none without a graph.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.9]])
    >>> assign([X], [np.eye(2)])
    array([0, 0])
    >>> assign([X], [np.eye(2)], [np.array([[0.0, 0.5], [0.0, 0.5]])])
    array([0, 1])
    """
    P = project(X, directions)
    best = P.max(axis=1, keepdims=True)
    total = np.divide(P, best, out=np.zeros_like(P), where=best > 0)
    for vote in votes:
        total = total + vote
    labels: IntArray = near_largest(total).argmax(axis=1)
    return labels


class Electorate:
    """Rows of known clusters, whom new rows ask.

    Parameters
    ----------
    rows : sequence of array or CSR matrix of shape (m, D_v)
    U : Indicator
        Their clusters.
    keep : array of shape (m,)
        The say of each.
    weights : sequence of float
        α_v of each view.
    n_neighbors : int
        How many of them a new row asks in each view.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> U = Indicator(np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> Electorate([rows], U, np.ones(4), [1.0], 2).votes([np.array([[2.0, 0.0]])])[0]
    array([[1., 0.]])
    """

    def __init__(
        self,
        rows: Sequence[Block],
        U: Indicator,
        keep: Array,
        weights: Sequence[float],
        n_neighbors: int,
    ) -> None:
        self._rows, self._n_neighbors = list(rows), n_neighbors
        self._weights = np.asarray(weights) * shares_of_views(
            normalised_neighbours(rows, n_neighbors), U
        )
        n = len(U.labels)
        cells = np.arange(n), U.labels
        self._say = sp.csr_array((keep, cells), shape=(n, U.n_clusters))

    def votes(self, X: Sequence[Block]) -> list[Array]:
        """Return per view α_v times the view's say times the share of each cluster in the votes.

        Views without a say are left out.
        """
        result = []
        for weight, X_v, rows in zip(self._weights, X, self._rows, strict=True):
            if weight:
                cast = (neighbours(X_v, self._n_neighbors, rows) @ self._say).toarray()
                total = cast.sum(axis=1, keepdims=True)
                result.append(
                    weight * np.divide(cast, total, out=np.zeros_like(cast), where=total > 0)
                )
        return result
