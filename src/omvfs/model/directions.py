"""Where the clusters of the stream so far point, for the features of a chunk or for all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, project
from omvfs.model.constrained import inverse_roots, kept_of_rows, update_v
from omvfs.model.solve import History, cluster_squares
from omvfs.model.state import Scales, Settings, State


@dataclass(frozen=True)
class Directions:
    """Unit directions of the clusters on the features of a chunk, not written out.

    They are the columns of V = diag(kept) B diag(1 / √A), divided by their norms over all features.
    As the factors of clusters can be applied to projections instead, of which there are fewer, only
    the features are multiplied by theirs, and by the largest of clusters, lest products overflow.

    Attributes
    ----------
    B : list of array of shape (D_v, K)
        Σ XᵀU of rows so far, multiplied by what sparsity leaves of each feature.
    factors : array of shape (K,)
        By which to multiply the columns.
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

    B: list[Array]
    factors: Array
    lengths: NDArray[np.float64]
    sparsity: float

    @classmethod
    def of(cls, history: History, beta: Sequence[float]) -> "Directions":
        """Return the directions after what chunks before have left."""
        scale = inverse_roots(history.A)
        lengths = history.elsewhere / np.where(history.A > 0, history.A, 1)
        kept, sparsity = [], 0.0
        for B_v, beta_v in zip(history.B, beta, strict=True):
            squares = np.square(B_v, dtype=np.float64)
            norms = np.sqrt(squares @ np.square(scale))
            kept.append(kept_of_rows(norms, beta_v))
            lengths = lengths + np.square(scale) * (np.square(kept[-1]) @ squares)
            sparsity += beta_v * float(kept[-1] @ norms)
        factors = scale / np.sqrt(np.where(lengths > 0, lengths, 1))
        largest = factors.max() or 1.0
        B = [
            B_v * (largest * kept_v).astype(B_v.dtype, copy=False)[:, np.newaxis]
            for B_v, kept_v in zip(history.B, kept, strict=True)
        ]
        return cls(B, (factors / largest).astype(B[0].dtype, copy=False), lengths, sparsity)

    def project(self, X: Sequence[Block]) -> Array:
        """Return the projections of rows, rows by clusters."""
        P: Array = project(X, self.B) * self.factors
        return P

    def written_out(self) -> list[Array]:
        """Return the directions themselves, per view."""
        return [B_v * self.factors for B_v in self.B]


def feature_matrices(state: State, settings: Settings) -> list[Array]:
    """Return V: as the paper's solver left it, or the best one for what A and B hold."""
    if settings.solver == "paper":
        return state.V
    B = Scales.of(state, settings).features(state.B)
    return [update_v(state.A, B_v, beta) for B_v, beta in zip(B, settings.sparsity, strict=True)]


def lengths_of(state: State, settings: Settings) -> NDArray[np.float64]:
    """Return Σ_j B_jk² of scaled columns over all views, worked out anew."""
    return cluster_squares(Scales.of(state, settings).features(state.B))
