"""How much of the directions of clusters the views that a row has can see."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omvfs.model.arrays import Array, column_sq_norms
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence

# A row does not stand for more than so many times what one would that is seen as well as usual.
_MOST = 2.0


@dataclass(frozen=True)
class Reach:
    """How much of each unit direction lies in the views that each row has.

    A row x that lacks views is compared with a cluster over those that it has: its projection is
    that on the direction c there, x·c / ‖c_S‖, and what explains most of it is its cluster. To
    stand for itself among rows that have all views it counts by u = x·c / ‖c_S‖², the length at
    which u c is nearest to it.

    Attributes
    ----------
    norms : array of shape (n, K), or None
        ‖c_S‖ of the views S that each row has; None if all rows have all views.

    Examples
    --------
    >>> directions = [np.array([[0.6]]), np.array([[0.8]])]
    >>> reach = Reach.of(directions, np.array([[True, True], [True, False]]))
    >>> X = np.array([[3.0], [3.0]]), np.array([[4.0], [0.0]])
    >>> P = reach.fit(X[0] @ directions[0] + X[1] @ directions[1])
    >>> P.ravel()
    array([5., 3.])
    >>> reach.in_units(Indicator(np.array([0, 0]), P[:, 0], 1)).weights
    array([5., 5.])
    """

    norms: Array | None = None

    @classmethod
    def of(
        cls,
        directions: Sequence[Array],
        present: Presence,
        sq_norms: Array | None = None,
    ) -> "Reach":
        """Return what rows see of directions.

        Parameters
        ----------
        directions : sequence of array of shape (D_v, K)
            Of unit norm over all views.
        present : array of shape (n, n_views), or None
            Which rows have which views.
        sq_norms : array of shape (n_views, K), optional
            Squared norms of the directions in each view, where they are not given whole.
        """
        if present is None:
            return cls()
        if sq_norms is None:
            sq_norms = np.stack([column_sq_norms([V_v]) for V_v in directions])
        total = sq_norms.sum(axis=0)
        shares = np.divide(sq_norms, total, out=np.zeros_like(sq_norms), where=total > 0)
        return cls(np.sqrt(present @ shares))

    def fit(self, P: Array) -> Array:
        """Return projections on what rows see of the directions, of those on the whole."""
        if self.norms is None:
            return P
        fit = np.divide(P, self.norms, out=np.zeros(P.shape), where=self.norms > 0)
        return fit.astype(P.dtype, copy=False)

    def in_units(self, U: Indicator) -> Indicator:
        """Return what rows count by in their clusters, of projections on what they see."""
        if self.norms is None:
            return U
        seen = self.norms[np.arange(len(U.labels)), U.labels]
        usual = np.sqrt(np.mean(np.square(self.norms), axis=1))
        seen = np.maximum(seen, usual / _MOST)
        weights = np.divide(U.weights, seen, out=np.zeros(len(seen)), where=seen > 0)
        return Indicator(U.labels, weights.astype(U.weights.dtype, copy=False), U.n_clusters)
