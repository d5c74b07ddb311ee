"""The cluster of a row by its fit and by its neighbours in the memory, as while learning."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray, near_largest, unit_rows
from omvfs.model.columns import Columns, on_columns, on_own_columns
from omvfs.model.graph.neighbours import neighbours, normalised_neighbours
from omvfs.model.graph.term import shares_of_views
from omvfs.model.indicator import Indicator

# Relative difference up to which similarities in single precision are taken for equal.
_NEAR = 1e-5


def assign(P: Array, votes: Sequence[Array] = ()) -> IntArray:
    """Return the cluster of every row: the one of the best fit and most votes.

    The fit is relative to the best one, as votes are, so that at α = 1 all neighbours together
    weigh as much as the fit. Among equals the first cluster is taken.

    Parameters
    ----------
    P : array of shape (n, K)
        Projections of the rows on the unit directions of the clusters.
    votes : sequence of array of shape (n, K)
        What neighbours add; none without a graph.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> P = np.array([[1.0, 0.0], [1.0, 0.9]])
    >>> assign(P)
    array([0, 0])
    >>> assign(P, [np.array([[0.0, 0.5], [0.0, 0.5]])])
    array([0, 1])
    """
    best = P.max(axis=1, keepdims=True)
    total = np.divide(P, best, out=np.zeros_like(P), where=best > 0)
    for vote in votes:
        total = total + vote
    labels: IntArray = near_largest(total).argmax(axis=1)
    return labels


def cast_votes(X: Block, rows: Block, columns: Columns, say: Array, n_neighbors: int) -> Array:
    """Return the share of each cluster in the votes of the nearest rows by cosine.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, C)
        Rows that ask, on some columns.
    rows : array or CSR matrix of shape (m, D)
        Rows that are asked, on all columns.
    columns : int array of shape (C,), or slice
        Which columns X is on.
    say : array of shape (m, K)
        Cluster and say of the rows that are asked.
    n_neighbors : int
        How many are asked; where several are equally near, all of these.

    Returns
    -------
    array of shape (n, K)
        Rows sum to 1, or to 0 where no row is near.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> cast_votes(np.array([[2.0, 0.0]]), rows, slice(None), np.eye(2)[[0, 0, 1]], 2)
    array([[1., 0.]], dtype=float32)
    """
    # All columns count for the length of a row, those that X has for the products.
    S = _products(X, on_columns(unit_rows(rows), columns))
    if n_neighbors < S.shape[1]:
        least = np.partition(S, -n_neighbors, axis=1)[:, [-n_neighbors]]
        # Equal but for rounding error is equal.
        S[least * (1 - _NEAR) > S] = 0
    cast = np.maximum(S, 0, out=S) @ say.astype(S.dtype, copy=False)
    total = cast.sum(axis=1, keepdims=True)
    shares: Array = np.divide(cast, total, out=np.zeros_like(cast), where=total > 0)
    return shares


def _products(X: Block, few: Block) -> Array:
    """Return X times few rows transposed, in single precision: enough to tell who is near.

    Few rows have entries in few columns. Made dense on these, they are quicker to multiply by than
    a sparse matrix; all other entries of X meet a row of zeros.
    """
    if not sp.issparse(few):
        return np.asarray(X.astype(np.float32, copy=False) @ few.T.astype(np.float32))
    columns, own = on_own_columns(few)
    across = np.zeros((1 + own.shape[1], own.shape[0]), np.float32)
    across[1 + own.indices, np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))] = own.data
    if not sp.issparse(X):
        return np.asarray(X[:, columns].astype(np.float32, copy=False) @ across[1:])
    place = np.zeros(X.shape[1], np.int32)
    place[columns] = np.arange(1, len(across), dtype=np.int32)
    parts = X.data.astype(np.float32, copy=False), place.take(X.indices), X.indptr
    return np.asarray(sp.csr_array(parts, shape=(X.shape[0], len(across))) @ across)


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
