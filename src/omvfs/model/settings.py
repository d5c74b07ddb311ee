"""What the model is told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Graph = Literal["neighbors", "gaussian", "none"]
# What the data decide: a weight, or how many clusters there are.
AUTO: Literal["auto"] = "auto"
Weight = float | Literal["auto"] | None
# What a chunk leaves of all before it at least, so that nothing is divided by 0.
_LEAST_LEFT = 1e-300
# Fewer recent rows would tell of themselves more than of a change.
_FEWEST_RECENT = 40
# Rows of a reservoir beside which that many are held.
FEWEST_SAMPLED = 2 * _FEWEST_RECENT


@dataclass(frozen=True)
class Settings:
    """What the model is told; per-view values in the order of the views.

    The letters are the paper's: K clusters, α graph weight, β sparsity, γ orthogonality, s window.
    A view of a weight is balanced, and its squares count by it; "auto" is 1 until the data decide
    it, see `weighing`; a view of None is as it comes. What is asked for as "auto" clusters is a
    number once rows have told it, see `with_clusters`.
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
    view_weight: tuple[Weight, ...]
    n_init: int
    max_iter: int
    tol: float
    detect_drift: bool = False

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
    def decides_weights(self) -> bool:
        """Whether the data decide the weight of any view."""
        return AUTO in self.view_weight

    def weighing(self, decided: Sequence[float]) -> "Settings":
        """Return the same, with weights as the data have decided them, of fit and neighbours.

        Parameters
        ----------
        decided : sequence of float
            The weight of every view, 1 at most; those that were given stay. Empty if nothing is
            decided.
        """
        if not decided or not self.decides_weights:
            return self
        left = [b if a == AUTO else None for a, b in zip(self.view_weight, decided, strict=True)]
        alpha = zip(self.graph_weight, left, strict=True)
        return replace(
            self,
            view_weight=tuple(
                a if b is None else b for a, b in zip(self.view_weight, left, strict=True)
            ),
            graph_weight=tuple(a if b is None else a * b for a, b in alpha),
        )

    @property
    def unscaled(self) -> "Settings":
        """The same, for some rows alone, whose columns and views are scaled already."""
        return replace(
            self,
            scale_columns=False,
            view_weight=(None,) * len(self.view_weight),
            detect_drift=False,
        )

    @property
    def recent_rows(self) -> int:
        """How many of the most recent rows are held beside the reservoir, enough to compare."""
        half = self.sample_size // 2
        return half if self.solver == "constrained" and half >= _FEWEST_RECENT else 0
