"""What is remembered of every chunk."""

from dataclasses import dataclass, fields
from typing import Any

# Entries kept in history_: a stream may never end.
HISTORY = 10_000


@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """What happened in one chunk.

    Attributes
    ----------
    n_rows : int
        Rows of the chunk.
    objective : float
        Sum of the three terms below, over the window.
    reconstruction, graph, sparsity : float
        Σ‖X − UVᵀ‖² with U's columns of unit norm over all rows so far, tr(UᵀMU) with them of unit
        norm over the window and before any settling, and Σβ‖V‖_{2,1}.
    orthogonality_error : float
        ‖UᵀU − I‖_F over the window, for the clusters that have rows in it.
    n_iter : int
        Iterations.
    settled : bool
        Whether the clusters were settled anew on the memory.
    seconds : float
        Time taken.
    """

    n_rows: int
    objective: float
    reconstruction: float
    graph: float
    sparsity: float
    orthogonality_error: float
    n_iter: int
    settled: bool
    seconds: float

    @classmethod
    def of(cls, row: list[float]) -> "ChunkInfo":
        """Return the entry that a row of numbers stands for, in the order of the attributes."""
        kinds: list[Any] = [field.type for field in fields(cls)]
        return cls(*(kind(value) for kind, value in zip(kinds, row, strict=True)))
