"""Everything that survives a chunk, and the settings under which it was learned."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, column_sums, scale_columns, squared_entries
from omvfs.model.stream.reservoir import Memory
from omvfs.model.stream.window import Window

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
    memory: int
    forgetting: float
    scale_columns: bool
    n_init: int
    max_iter: int
    tol: float

    @property
    def recent_rows(self) -> int:
        """How many of the most recent rows are held, beside the memory; not too few to compare."""
        half = self.memory // 2
        return half if self.solver == "constrained" and half >= _FEWEST_RECENT else 0


@dataclass
class State:
    """What the model knows after some chunks.

    Attributes
    ----------
    A : array of shape (K,) or (K, K)
        Σ_i U_iᵀU_i over all rows: its diagonal for the constrained solver, whole for the paper's.
    B : list of array of shape (D_v, K)
        Σ_i X_iᵀU_i per view, for unscaled columns.
    V : list of array of shape (D_v, K)
        Feature matrices of the paper's solver. Those of the constrained one follow from A and B,
        see `feature_matrices`, so that there the list is empty.
    sums, squares : list of array of shape (D_v,)
        Running Σ x and Σ x² of every column; empty if nothing asks for them, which scaling and
        raising columns do.
    weight_sums : array of shape (K,)
        Σ_i u_i over the rows of each cluster.
    n_rows, n_chunks : int
        What has been seen.
    count : float
        Rows seen, faded by forgetting.
    settled_at : int
        Rows seen when the clusters were last settled on the memory.
    lengths : array of shape (K,)
        Σ_j B_jk² over all views, of scaled columns.
    window : Window
        The last chunks.
    memory : Memory
        A uniform sample of all rows.
    rng : Generator
        Source of every random choice.
    """

    A: NDArray[np.float64]
    B: list[Array]
    V: list[Array]
    sums: list[NDArray[np.float64]]
    squares: list[NDArray[np.float64]]
    weight_sums: NDArray[np.float64]
    window: Window
    memory: Memory
    rng: np.random.Generator
    lengths: NDArray[np.float64]
    n_rows: int = 0
    n_chunks: int = 0
    count: float = 0.0
    settled_at: int = 0

    @classmethod
    def start(
        cls,
        widths: list[int],
        dtype: np.dtype[Any],
        settings: Settings,
        rng: np.random.Generator,
        raises: bool = False,
    ) -> "State":
        """Return what is known before the first chunk: nothing."""
        counted = widths if raises or settings.scale_columns else []
        K = settings.n_clusters
        paper = settings.solver == "paper"
        return cls(
            A=np.zeros((K, K) if paper else K),
            B=[np.zeros((D, K), dtype) for D in widths],
            V=[np.zeros((D, K), dtype) for D in widths] if paper else [],
            sums=[np.zeros(D) for D in counted],
            squares=[np.zeros(D) for D in counted],
            weight_sums=np.zeros(K),
            window=Window(settings.window, at_hand=settings.recent_rows),
            memory=Memory.empty(settings.memory, K, dtype),
            rng=rng,
            lengths=np.zeros(K),
        )


def begun(state: State, n_rows: int, forgetting: float) -> State:
    """Return a copy of the state for a chunk of so many rows, what it knows faded.

    Arrays are shared unless they fade; then they are made anew.
    """
    draft = replace(state)
    draft.n_rows = state.n_rows + n_rows
    draft.n_chunks = state.n_chunks + 1
    draft.count = forgetting * state.count + n_rows
    if forgetting < 1:
        draft.A = forgetting * state.A
        draft.B = [(forgetting * B_v).astype(B_v.dtype, copy=False) for B_v in state.B]
        draft.sums = [forgetting * s for s in state.sums]
        draft.squares = [forgetting * s for s in state.squares]
        draft.weight_sums = forgetting * state.weight_sums
        draft.memory = replace(state.memory, keep=state.memory.keep * forgetting)
    return draft


def count_columns(state: State, X: Sequence[Block], forgetting: float) -> State:
    """Return a copy of the state in which the chunk's columns and rows are counted.

    What was known before fades by `forgetting`. Arrays are shared, never changed in place.
    """
    draft = begun(state, X[0].shape[0], forgetting)
    if state.sums:
        draft.sums = [s + column_sums(X_v) for s, X_v in zip(draft.sums, X, strict=True)]
        draft.squares = [
            s + column_sums(squared_entries(X_v)) for s, X_v in zip(draft.squares, X, strict=True)
        ]
    return draft


def scale_factors(squares: NDArray[np.float64], dtype: np.dtype[Any]) -> Array:
    """Return 1 / ‖X_j‖ of every column; empty columns get 0.

    Examples
    --------
    >>> scale_factors(np.array([4.0, 0.0]), np.dtype(float))
    array([0.5, 0. ])
    """
    factors = np.zeros_like(squares)
    np.divide(1, np.sqrt(squares), out=factors, where=squares > 0)
    return factors.astype(dtype)


@dataclass(frozen=True)
class Scales:
    """The factor of every column, 1 / ‖X_j‖ over all rows so far, or none at all.

    B is kept for unscaled columns, so that scaled with today's norms it is what an offline run over
    the same U would have.
    """

    factors: tuple[Array, ...] | None

    @classmethod
    def of(cls, state: State, settings: Settings) -> "Scales":
        """Return the scales that a state has come to; empty columns get 0."""
        if not settings.scale_columns:
            return cls(None)
        columns = zip(state.squares, state.B, strict=True)
        return cls(tuple(scale_factors(squares, B.dtype) for squares, B in columns))

    def rows(self, X: Sequence[Block]) -> list[Block]:
        """Return rows with their columns scaled."""
        if self.factors is None:
            return list(X)
        return [scale_columns(X_v, s) for X_v, s in zip(X, self.factors, strict=True)]

    def features(self, B: list[Array]) -> list[Array]:
        """Return B as it would be for scaled columns."""
        if self.factors is None:
            return B
        return [B_v * s[:, np.newaxis] for B_v, s in zip(B, self.factors, strict=True)]


@dataclass(frozen=True)
class StepInfo:
    """What happened in one chunk.

    Attributes
    ----------
    n_rows : int
        Rows of the chunk.
    reconstruction, graph, sparsity : float
        Terms of the objective: Σ‖X − UVᵀ‖², tr(UᵀMU), Σ β‖V‖_{2,1}. Of the paper's solver over the
        window; else over the chunk and the features that it has, by the V that it came upon, with
        the say of the neighbours that are in other clusters as graph term.
    orthogonality_error : float
        ‖UᵀU − I‖_F over the same rows, over the clusters that have some.
    n_iter : int
        Iterations done.
    settled : bool
        Whether the clusters were settled anew on the memory.
    """

    n_rows: int
    reconstruction: float
    graph: float
    sparsity: float
    orthogonality_error: float
    n_iter: int
    settled: bool

    @property
    def objective(self) -> float:
        """The sum of the terms."""
        return self.reconstruction + self.graph + self.sparsity
