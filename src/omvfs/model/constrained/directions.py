"""Where the clusters of the stream so far point, for the features of a chunk or for all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, project
from omvfs.model.constrained.alternate import History, cluster_squares
from omvfs.model.constrained.half_steps import inverse_roots, kept_of_rows, update_v
from omvfs.model.state import Scales, Settings, State


@dataclass(frozen=True)
class Directions:
    """Unit directions of the clusters on the features of a chunk.

    They are the columns of V, divided by their norms over all features. As there are fewer
    projections than features, it is the projections that are divided.

    Attributes
    ----------
    V : list of array of shape (D_v, K)
        Feature matrices of the rows so far.
    lengths : array of shape (K,)
        ‖V_k‖² over all features.
    sparsity : float
        Σ_v β_v ‖V_v‖_{2,1} over the features of the chunk.

    Examples
    --------
    >>> history = History(np.array([4.0]), [np.array([[6.0], [8.0]])], np.zeros(1))
    >>> Directions.of(history, [0.0]).project([np.eye(2)])
    array([[0.6],
           [0.8]])
    """

    V: list[Array]
    lengths: NDArray[np.float64]
    sparsity: float

    @classmethod
    def of(cls, history: History, beta: Sequence[float]) -> "Directions":
        """Return the directions after what chunks before have left."""
        scale = inverse_roots(history.A)
        lengths = history.elsewhere / np.where(history.A > 0, history.A, 1)
        V, sparsity = [], 0.0
        for B_v, beta_v in zip(history.B, beta, strict=True):
            # Scaled first, and in double precision: squares of B are out of range where V is not.
            V_v = B_v * scale
            squares = np.square(V_v)
            norms = np.sqrt(squares @ np.ones(len(scale)))
            kept = kept_of_rows(norms, beta_v)
            lengths = lengths + np.square(kept) @ squares
            sparsity += beta_v * float(kept @ norms)
            V_v *= kept[:, np.newaxis]
            V.append(V_v.astype(B_v.dtype, copy=False))
        return cls(V, lengths, sparsity)

    def project(self, X: Sequence[Block]) -> Array:
        """Return the projections of rows, rows by clusters."""
        products = project(X, self.V)
        return (products / self._norms()).astype(products.dtype, copy=False)

    def written_out(self) -> list[Array]:
        """Return the directions themselves, per view."""
        return [(V_v / self._norms()).astype(V_v.dtype, copy=False) for V_v in self.V]

    def _norms(self) -> NDArray[np.float64]:
        return np.sqrt(np.where(self.lengths > 0, self.lengths, 1))


def feature_matrices(state: State, settings: Settings) -> list[Array]:
    """Return V: as the paper's solver left it, or the best one for what A and B hold."""
    if settings.solver == "paper":
        return state.V
    B = Scales.of(state, settings).features(state.B)
    return [update_v(state.A, B_v, beta) for B_v, beta in zip(B, settings.sparsity, strict=True)]


def lengths_of(state: State, settings: Settings) -> NDArray[np.float64]:
    """Return Σ_j B_jk² of scaled columns over all views, worked out anew."""
    return cluster_squares(Scales.of(state, settings).features(state.B))
