"""What the model is told."""

from dataclasses import dataclass
from typing import Literal

Graph = Literal["neighbors", "gaussian", "none"]
# Fewer recent rows would tell of themselves more than of a change.
_FEWEST_RECENT = 40


@dataclass(frozen=True)
class Settings:
    """What the model is told; per-view values in the order of the views.

    The letters are the paper's: K clusters, α graph weight, β sparsity, γ orthogonality, s window.
    """

    n_clusters: int
    solver: Literal["constrained", "paper"]
    graph: Graph
    graph_weight: tuple[float, ...]
    sparsity: tuple[float, ...]
    orthogonality: float
    n_neighbors: int
    window: int | None
    sample_size: int
    forgetting: float
    scale_columns: bool
    n_init: int
    max_iter: int
    tol: float

    @property
    def recent_rows(self) -> int:
        """How many of the most recent rows are held beside the reservoir, enough to compare."""
        half = self.sample_size // 2
        return half if self.solver == "constrained" and half >= _FEWEST_RECENT else 0
