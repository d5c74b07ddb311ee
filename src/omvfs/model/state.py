"""What the model knows, what a chunk changes of it, and what happened in a chunk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, column_sq_norms, scale_columns
from omvfs.model.columns import Columns
from omvfs.model.settings import Settings
from omvfs.model.statistics import Statistics
from omvfs.model.stream.reservoir import Reservoir
from omvfs.model.stream.window import Window

Known = TypeVar("Known")


@dataclass(frozen=True)
class State:
    """What the model knows after some chunks.

    Attributes
    ----------
    statistics : Statistics
        Sums over all rows.
    reservoir : Reservoir
        A uniform sample of all rows.
    window : Window
        The last chunks.
    rng : Generator
        Source of every random choice; copied before it is drawn from.
    B_sq_norms : array of shape (K,)
        Σ_j B_jk² over all views, of scaled columns. They do not add up, so they are kept beside the
        statistics.
    V : tuple of array of shape (D_v, K)
        Feature matrices of the paper's solver; empty for the constrained one, where they follow
        from the statistics.
    n_chunks : int
        Chunks seen.
    reclustered_at : int
        Rows seen when the reservoir was last clustered anew.
    """

    statistics: Statistics
    reservoir: Reservoir
    window: Window
    rng: np.random.Generator
    B_sq_norms: NDArray[np.float64]
    V: tuple[Array, ...] = ()
    n_chunks: int = 0
    reclustered_at: int = 0

    @classmethod
    def empty(
        cls,
        widths: Sequence[int],
        dtype: np.dtype[Any],
        settings: Settings,
        rng: np.random.Generator,
        raises: bool = False,
    ) -> "State":
        """Return what is known before the first chunk: nothing."""
        K, paper = settings.n_clusters, settings.solver == "paper"
        return cls(
            statistics=Statistics.empty(
                widths,
                K,
                dtype,
                counts_columns=raises or settings.scale_columns,
                diagonal=not paper,
            ),
            reservoir=Reservoir.empty(settings.sample_size, K, dtype),
            window=Window(settings.window, at_hand=settings.recent_rows),
            rng=rng,
            B_sq_norms=np.zeros(K),
            V=tuple(np.zeros((D, K), dtype) for D in widths) if paper else (),
        )

    def shift(self, delta: Sequence[NDArray[np.float64]], settings: Settings) -> "State":
        """Return what would be known, under the same U, had every row come with columns raised.

        V is left as it was, as the next chunk works it out anew.

        Parameters
        ----------
        delta : sequence of array of shape (D_v,)
            Not zero for dense views only.
        settings : Settings
        """
        if not any(d.any() for d in delta):
            return self
        statistics = self.statistics.shift(delta)
        return replace(
            self,
            statistics=statistics,
            B_sq_norms=B_sq_norms(statistics, settings),
            reservoir=self.reservoir.shift(delta),
            window=self.window.shift(delta),
        )


@dataclass(frozen=True)
class Scales:
    """The factor of every column, 1 / ‖X_j‖ over all rows so far, or none at all.

    B is kept for unscaled columns, so that scaled with today's norms it is what an offline run over
    the same U would have.

    Examples
    --------
    >>> Scales((np.array([0.5, 2.0]),)).rows([np.array([[4.0, 1.0]])])
    [array([[2., 2.]])]
    """

    factors: tuple[Array, ...] | None

    @classmethod
    def of(cls, statistics: Statistics, settings: Settings) -> "Scales":
        """Return the scales that the columns have come to; empty columns get 0."""
        if not settings.scale_columns:
            return cls(None)
        dtype = statistics.dtype
        return cls(tuple(_inverse_norms(view.squares, dtype) for view in statistics.views))

    def rows(self, X: Sequence[Block]) -> list[Block]:
        """Return rows with their columns scaled."""
        if self.factors is None:
            return list(X)
        return [scale_columns(X_v, s) for X_v, s in zip(X, self.factors, strict=True)]

    def features(self, B: Sequence[Array]) -> list[Array]:
        """Return B as it would be for scaled columns."""
        if self.factors is None:
            return list(B)
        return [B_v * s[:, np.newaxis] for B_v, s in zip(B, self.factors, strict=True)]


def B_sq_norms(statistics: Statistics, settings: Settings) -> NDArray[np.float64]:
    """Return Σ_j B_jk² of scaled columns over all views."""
    return column_sq_norms(Scales.of(statistics, settings).features(statistics.B))


def _inverse_norms(squares: Any, dtype: np.dtype[Any]) -> Array:
    factors = np.zeros_like(squares)
    np.divide(1, np.sqrt(squares), out=factors, where=squares > 0)
    scales: Array = factors.astype(dtype)
    return scales


@dataclass(frozen=True, slots=True)
class ChunkInfo:
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
    reclustered : bool
        Whether the reservoir was clustered anew.
    seconds : float
        Time taken.
    """

    n_rows: int
    reconstruction: float
    graph: float
    sparsity: float
    orthogonality_error: float
    n_iter: int
    reclustered: bool = False
    seconds: float = 0.0

    @property
    def objective(self) -> float:
        """The sum of the terms."""
        return self.reconstruction + self.graph + self.sparsity


@dataclass(frozen=True)
class Patch:
    """What to put into arrays by column, and what was there before.

    Attributes
    ----------
    into : Statistics
        Whose arrays.
    columns : sequence of int array or slice
        Where, per view.
    before, after : Statistics
        On these columns.
    """

    into: Statistics
    columns: Sequence[Columns]
    before: Statistics
    after: Statistics


@dataclass(frozen=True)
class Update(Generic[Known]):
    """What a chunk changes: to be committed, or not.

    A chunk has few of the columns there are. So that its cost does not depend on their number, what
    is known after it shares the arrays by column with what was known before: until `commit` they
    hold what was, and after `rollback` again. Both may be done again after an interruption.

    Attributes
    ----------
    known : object
        What is known after the chunk.
    info : ChunkInfo or None
        What happened in it.
    patch : Patch or None
        What to put into the shared arrays; None if none are shared.
    """

    known: Known
    info: ChunkInfo | None = None
    patch: Patch | None = None

    def commit(self) -> Known:
        """Make what is known true, and return it."""
        if self.patch is not None:
            self.patch.into.put(self.patch.columns, self.patch.after)
        return self.known

    def rollback(self) -> None:
        """Make what was known before true again."""
        if self.patch is not None:
            self.patch.into.put(self.patch.columns, self.patch.before)
