"""Where the clusters of the stream so far point, for the features of a chunk or for all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, project
from omvfs.model.constrained.alternate import PriorStatistics
from omvfs.model.constrained.half_steps import block_soft_threshold, inverse_roots, update_v
from omvfs.model.settings import Settings
from omvfs.model.state import Scales, State


@dataclass(frozen=True)
class Directions:
    """Unit directions of the clusters on the features of a chunk.

    They are the columns of V, divided by their norms over all features. As there are fewer
    projections than features, it is the projections that are divided.

    Attributes
    ----------
    V : list of array of shape (D_v, K)
        Feature matrices of the rows so far.
    V_sq_norms : array of shape (K,)
        ‖V_k‖² over all features.
    sparsity : float
        Σ_v β_v ‖V_v‖_{2,1} over the features of the chunk.

    Examples
    --------
    >>> prior = PriorStatistics(np.array([4.0]), [np.array([[6.0], [8.0]])], np.zeros(1))
    >>> Directions.of(prior, [0.0]).project([np.eye(2)])
    array([[0.6],
           [0.8]])
    """

    V: list[Array]
    V_sq_norms: NDArray[np.float64]
    sparsity: float

    @classmethod
    def of(cls, prior: PriorStatistics, beta: Sequence[float]) -> "Directions":
        """Return the directions that rows before have left."""
        scale = inverse_roots(prior.A, prior.B[0].dtype)
        sq_norms = prior.off_chunk_sq_norms / np.where(prior.A > 0, prior.A, 1)
        V, sparsity = [], 0.0
        for B_v, beta_v in zip(prior.B, beta, strict=True):
            # Scaled first, and in double precision: squares of B are out of range where V is not.
            V_v = B_v * scale
            squares = np.square(V_v)
            norms = np.sqrt(squares @ np.ones(len(scale)))
            kept = block_soft_threshold(norms, beta_v)
            sq_norms = sq_norms + np.square(kept) @ squares
            sparsity += beta_v * float(kept @ norms)
            V_v *= kept[:, np.newaxis]
            V.append(V_v.astype(B_v.dtype, copy=False))
        return cls(V, sq_norms, sparsity)

    def project(self, X: Sequence[Block]) -> Array:
        """Return the projections of rows, rows by clusters."""
        products = project(X, self.V)
        return (products / self._norms()).astype(products.dtype, copy=False)

    def written_out(self) -> list[Array]:
        """Return the directions themselves, per view."""
        return [(V_v / self._norms()).astype(V_v.dtype, copy=False) for V_v in self.V]

    def _norms(self) -> NDArray[np.float64]:
        return np.sqrt(np.where(self.V_sq_norms > 0, self.V_sq_norms, 1))


def feature_matrices(state: State, settings: Settings) -> list[Array]:
    """Return the V that is best for what the statistics hold."""
    statistics = state.statistics
    B = Scales.of(statistics, settings).features(statistics.B)
    parts = zip(statistics.views, B, settings.sparsity, strict=True)
    return [update_v(view.masses, B_v, beta) for view, B_v, beta in parts]
