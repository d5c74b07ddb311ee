"""The kNN vote: the cluster of a row by its fit and by its neighbours in a sample of rows."""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Array, Block, IntArray, dense, near_largest, rows_divided, unit_rows
from omvfs.model.columns import Columns, on_columns, on_own_columns
from omvfs.model.graph.neighbours import NEAR
from omvfs.model.graph.products import product_strips
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence, can_judge, of_those

# Numbers whose products, and sums of them, are far from the limits of single precision.
_LEAST, _MOST = 1e-15, 1e15
# Of so many rows or fewer, similarities are worked out at once.
_FEW = 256


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


class Electorate:
    """Rows of known clusters, whom others ask.

    Parameters
    ----------
    rows : sequence of array or CSR matrix of shape (m, D_v)
    U : Indicator
        Their clusters, and how much of a say each has.
    n_neighbors : int
        How many of them a row asks in each view; where several are equally near, all of these.
    present : array of shape (m, n_views), optional
        Which of them have which views; by default all. Nobody is near a row that lacks the view.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> electorate = Electorate([rows], Indicator(np.array([0, 0, 1, 1]), np.ones(4), 2), 2)
    >>> electorate.shares([np.array([[2.0, 0.0]])])
    [array([[1., 0.]], dtype=float32)]
    """

    def __init__(
        self,
        rows: Sequence[Block],
        U: Indicator,
        n_neighbors: int,
        present: Presence = None,
    ) -> None:
        # Single precision is enough to tell who is near.
        self._unit = [unit_rows(X_v).astype(np.float32, copy=False) for X_v in rows]
        self._U, self._k, self._present = U, n_neighbors, present

    def shares(self, X: Sequence[Block], columns: Sequence[Columns] | None = None) -> list[Array]:
        """Return the share of each cluster in the votes of the nearest rows by cosine, per view.

        Parameters
        ----------
        X : sequence of array or CSR matrix of shape (n, C_v)
            Rows that ask.
        columns : sequence of int array of shape (C_v,), or slice
            Which columns they are on; by default all.

        Returns
        -------
        list of array of shape (n, K)
            Rows sum to 1, or to 0 where no row is near.
        """
        columns = [slice(None)] * len(self._unit) if columns is None else columns
        asked = zip(X, self._unit, columns, strict=True)
        # All columns count for the length of a row, those that X has for the products.
        return [self._cast(X_v, on_columns(unit, c)) for X_v, unit, c in asked]

    def own_shares(self, near: Sequence[sp.csr_array | None] = ()) -> list[Array]:
        """Return the share of each cluster in the votes of the others, if the rows ask one another.

        Parameters
        ----------
        near : sequence of (csr_array of shape (m, m), or None)
            What `nearest` has found of each view, if it was asked.
        """
        return [
            self._cast(unit, unit, others=True) if near_v is None else self._cast_near(near_v)
            for unit, near_v in zip(self._unit, near or [None] * len(self._unit), strict=True)
        ]

    def _cast_near(self, near: sp.csr_array) -> Array:
        """Return the same as `_cast`, of similarities that are found."""
        counts = np.diff(near.indptr)
        rows = np.repeat(np.arange(len(counts)), counts)
        largest = near.data[np.lexsort((-near.data, rows))]
        enough, least = counts >= self._k, np.zeros(len(counts), near.dtype)
        least[enough] = largest[near.indptr[:-1][enough] + self._k - 1]
        data = np.where(near.data >= least[rows] * (1 - NEAR), near.data, 0)
        kept = sp.csr_array((data, near.indices, near.indptr), shape=near.shape)
        return _in_shares(kept @ self._U.dense())

    def _cast(self, X: Block, rows: Block, others: bool = False) -> Array:
        say = self._U.dense()
        found = []
        for start, S in _similarities(X, rows):
            if others:
                S[np.arange(len(S)), np.arange(start, start + len(S))] = 0
            if self._k < S.shape[1]:
                least = np.partition(S, -self._k, axis=1)[:, [-self._k]]
                # Equal but for rounding error is equal.
                S[least * (1 - NEAR) > S] = 0
            cast = np.maximum(S, 0, out=S) @ say.astype(S.dtype, copy=False)
            found.append(_in_shares(cast))
        return np.concatenate(found) if found else np.zeros((0, say.shape[1]), X.dtype)


def _in_shares(cast: Array) -> Array:
    """Return votes as shares of those of a row; zeros where there are none."""
    total = cast.sum(axis=1, keepdims=True)
    shares: Array = np.divide(cast, total, out=np.zeros_like(cast), where=total > 0)
    return shares


def agreement_of_views(
    shares: Sequence[Array], labels: IntArray, present: Presence = None
) -> Array:
    """Return the say of each view: the more, the more its votes agree with the clusters of rows.

    Beyond what chance would give, as a share of the agreement of all views; zeros if none agrees.
    Of a view that rows lack, those that have it and another are asked.

    Examples
    --------
    >>> shares = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.full((2, 2), 0.5)]
    >>> agreement_of_views(shares, np.array([0, 1]))
    array([1., 0.])
    """
    rows, chance = np.arange(len(labels)), 1 / shares[0].shape[1]
    own = [of_those(each[rows, labels], can_judge(present, v)) for v, each in enumerate(shares)]
    agree = [max(0.0, float(each.mean()) - chance) if len(each) else 0.0 for each in own]
    return np.array(agree) / (sum(agree) or 1.0)


def useful_say(
    shares: Sequence[Array],
    P: Array,
    labels: IntArray,
    alpha: Sequence[float],
    present: Presence = None,
) -> Array:
    """Return the say of each view; none if rows would leave their own clusters by votes.

    Where all rows are much alike, as log counts of cells are, the same few are next to all others,
    and votes go to their clusters. So rows of known clusters are placed by their fit alone and with
    votes: these are heard if no fewer rows come to their own cluster with them.

    Parameters
    ----------
    shares : sequence of array of shape (n, K)
        What rows of known clusters say of each other, by view.
    P : array of shape (n, K)
        Projections of the rows on the unit directions of the clusters.
    labels : int array of shape (n,)
        Their clusters.
    alpha : sequence of float
        α_v of each view.
    present : array of shape (n, n_views), optional
        Which of them have which views; by default all.

    Examples
    --------
    >>> P, labels = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([0, 1])
    >>> useful_say([np.array([[1.0, 0.0], [0.0, 1.0]])], P, labels, [1.0])
    array([1.])
    >>> useful_say([np.array([[0.9, 0.1], [0.8, 0.2]])], P, labels, [1.0])
    array([0.])
    """
    say = agreement_of_views(shares, labels, present)
    voted = assign(P, weighed(shares, alpha, say))
    better = np.count_nonzero(voted == labels) >= np.count_nonzero(assign(P) == labels)
    return say if better else np.zeros_like(say)


def weighed(shares: Sequence[Array], alpha: Sequence[float], say: Array) -> list[Array]:
    """Return votes: shares times α_v and the say of each view; views without a say are left out.

    Examples
    --------
    >>> weighed([np.ones((1, 2)), np.ones((1, 2))], [3.0, 3.0], np.array([0.5, 0.0]))
    [array([[1.5, 1.5]])]
    """
    views = zip(shares, alpha, say.tolist(), strict=True)
    return [(alpha_v * share) * say_v for share, alpha_v, say_v in views if alpha_v * say_v > 0]


def _similarities(X: Block, rows: Block) -> Iterator[tuple[int, Array]]:
    """Yield the products of X and rows in strips, each with its first row."""
    X = _in_range(X).astype(np.float32, copy=False)
    if rows.shape[0] > _FEW:
        yield from product_strips(X, rows)
    elif X.shape[0]:
        yield 0, _products(X, rows)


def _in_range(X: Block) -> Block:
    """Return rows whose products single precision can hold, and which have the same neighbours.

    Row by row, so that none depends on its company.
    """
    if sp.issparse(X):
        largest = np.zeros(X.shape[0], X.dtype)
        filled = np.flatnonzero(np.diff(X.indptr))
        if len(filled):
            largest[filled] = np.maximum.reduceat(X.data, X.indptr[filled])
    else:
        largest = X.max(axis=1, initial=0)
    odd = (largest > 0) & ((largest < _LEAST) | (largest > _MOST))
    return rows_divided(X, np.where(odd, largest, 1)) if odd.any() else X


def _products(X: Block, few: Block) -> Array:
    """Return X times few rows transposed.

    Few rows have entries in few columns. Made dense on these, they are quicker to multiply by than
    a sparse matrix; all other entries of X would add zeros, and are left out.
    """
    columns, own = on_own_columns(few)
    return np.asarray(on_columns(X, columns) @ np.ascontiguousarray(dense(own).T))
