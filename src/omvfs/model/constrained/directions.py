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
from omvfs.model.statistics import Statistics


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
    by_view : array of shape (n_views, K)
        ‖V_k‖² over all features of each view.

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
    by_view: NDArray[np.float64]

    @classmethod
    def of(cls, prior: PriorStatistics, beta: Sequence[float]) -> "Directions":
        """Return the directions that rows before have left."""
        scale = inverse_roots(prior.A, prior.B[0].dtype)
        masses = np.where(prior.A > 0, prior.A, 1)
        sq_norms = prior.off_chunk_sq_norms / masses
        V, sparsity = [], 0.0
        by_view = np.zeros((len(prior.B), len(masses)))
        if prior.off_chunk_by_view is not None:
            by_view += prior.off_chunk_by_view / masses
        for v, (B_v, beta_v) in enumerate(zip(prior.B, beta, strict=True)):
            # Scaled first, and in double precision: squares of B are out of range where V is not.
            V_v = B_v * scale
            squares = np.square(V_v)
            norms = np.sqrt(squares @ np.ones(len(scale)))
            kept = block_soft_threshold(norms, beta_v)
            own = np.square(kept) @ squares
            sq_norms = sq_norms + own
            by_view[v] += own
            sparsity += beta_v * float(kept @ norms)
            V_v *= kept[:, np.newaxis]
            V.append(V_v.astype(B_v.dtype, copy=False))
        return cls(V, sq_norms, sparsity, by_view)

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
    """Return the V that is best for what the statistics hold.

    Views whose weight the data decide are balanced here: their features are ranked, heard or not.
    """
    statistics = state.statistics
    B = Scales.of(statistics, settings).features(statistics.B)
    parts = zip(statistics.views, B, settings.sparsity, strict=True)
    return [update_v(view.masses, B_v, beta) for view, B_v, beta in parts]


def completed(B: Sequence[Array], statistics: Statistics) -> list[Array]:
    """Return B as if rows that lack views had what their cluster has there.

    Parameters
    ----------
    B : sequence of array of shape (D_v, K)
        Of these statistics, scaled or not.
    statistics : Statistics
    """
    if (factors := statistics.completion()) is None:
        return list(B)
    return [B_v * f.astype(B_v.dtype) for B_v, f in zip(B, factors, strict=True)]


def completed_matrices(state: State, settings: Settings) -> list[Array]:
    """Return V as it would be if rows that lack views had what their cluster has there.

    Its columns can be compared between views, so that they tell where clusters point; views count
    by what they weigh.
    """
    statistics = state.statistics
    scales = Scales.of(statistics, settings.weighing(state.view_weights))
    B = completed(scales.features(statistics.B), statistics)
    A, pairs = statistics.masses, zip(B, settings.sparsity, strict=True)
    return [update_v(A, B_v, beta) for B_v, beta in pairs]
