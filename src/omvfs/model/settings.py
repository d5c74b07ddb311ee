"""What the model is told."""

import math
from dataclasses import dataclass, replace
from typing import Literal

Graph = Literal["neighbors", "gaussian", "none"]
# How many clusters there are is for the rows to tell.
AUTO: Literal["auto"] = "auto"
# What a chunk leaves of all before it at least, so that nothing is divided by 0.
_LEAST_LEFT = 1e-300
# Fewer recent rows would tell of themselves more than of a change.
_FEWEST_RECENT = 40


@dataclass(frozen=True)
class Settings:
    """What the model is told; per-view values in the order of the views.

    The letters are the paper's: K clusters, α graph weight, β sparsity, γ orthogonality, s window.
    A view of a weight is balanced, and its squares count by it; of None, it is as it comes. What
    is asked for as "auto" clusters is a number once rows have told it, see `with_clusters`.
    """

    n_clusters: int | Literal["auto"]
    solver: Literal["constrained", "paper"]
    graph: Graph
    graph_weight: tuple[float, ...]
    sparsity: tuple[float, ...]
    orthogonality: float
    n_neighbors: int
    window: int | None
    sample_size: int
    half_life: float | None
    scale_columns: bool
    view_weight: tuple[float | None, ...]
    n_init: int
    max_iter: int
    tol: float

    @property
    def K(self) -> int:
        """The number of clusters, known."""
        assert self.n_clusters != AUTO
        return self.n_clusters

    def with_clusters(self, n_clusters: int) -> "Settings":
        """Return the same for a number of clusters that is in force."""
        return self if self.n_clusters == n_clusters else replace(self, n_clusters=n_clusters)

    def decay(self, n_rows: int) -> float:
        """Return ρ = ½^(rows / half-life), what so many rows leave of all before them."""
        if self.half_life is None:
            return 1.0
        return max(math.pow(0.5, n_rows / self.half_life), _LEAST_LEFT)

    @property
    def unscaled(self) -> "Settings":
        """The same, for rows whose columns and views are scaled already."""
        return replace(self, scale_columns=False, view_weight=(None,) * len(self.view_weight))

    @property
    def recent_rows(self) -> int:
        """How many of the most recent rows are held beside the reservoir, enough to compare."""
        half = self.sample_size // 2
        return half if self.solver == "constrained" and half >= _FEWEST_RECENT else 0
