"""What the model knows, what a chunk changes of it, and what happened in a chunk."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    column_sq_norms,
    rounding,
    scale_columns,
    times,
)
from omvfs.model.columns import Columns
from omvfs.model.settings import AUTO, Settings, Weight
from omvfs.model.statistics import Statistics
from omvfs.model.stream.event import DriftEvent
from omvfs.model.stream.reservoir import Reservoir
from omvfs.model.stream.watch import Watch
from omvfs.model.stream.window import Window
from omvfs.model.view_statistics import ViewStatistics

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
    B_sq_norms : array of shape (n_views, K)
        Σ_j B_jk² of every view, of scaled columns, whatever the view weighs. They do not add up, so
        they are kept beside the statistics.
    V : tuple of array of shape (D_v, K)
        Feature matrices of the paper's solver; empty for the constrained one, where they follow
        from the statistics.
    n_chunks : int
        Chunks seen.
    reclustered_at : int
        Rows seen when the reservoir was last clustered anew.
    watch : Watch or None
        By what changes of the stream are noticed; None if nobody asks for them.
    view_weights : tuple of float
        What views weigh, as the rows then at hand decided; empty if that is not for them to decide,
        and before it is.
    """

    statistics: Statistics
    reservoir: Reservoir
    window: Window
    rng: np.random.Generator
    B_sq_norms: NDArray[np.float64]
    V: tuple[Array, ...] = ()
    n_chunks: int = 0
    reclustered_at: int = 0
    watch: Watch | None = None
    view_weights: tuple[float, ...] = ()

    @classmethod
    def empty(
        cls,
        widths: Sequence[int],
        dtype: np.dtype[Any],
        settings: Settings,
        rng: np.random.Generator,
        raises: bool = False,
    ) -> "State":
        """Return what is known before the first chunk: nothing.

        Where rows are to tell the number of clusters, it has one until they do.
        """
        K = 1 if settings.n_clusters == AUTO else settings.K
        paper = settings.solver == "paper"
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
            B_sq_norms=np.zeros((len(widths), K)),
            V=tuple(np.zeros((D, K), dtype) for D in widths) if paper else (),
            watch=new_watch(len(widths), settings),
        )

    def grow(self, widths: Sequence[int]) -> "State":
        """Return the state with columns that no row had so far behind those that are there.

        It shares arrays with this one, see `Statistics.grow`. New rows of the paper's V begin as
        all of them did, at random.

        Parameters
        ----------
        widths : sequence of int
            D_v of each view then.
        """
        rng, V = self.rng, self.V
        if V and any(len(V_v) < D for V_v, D in zip(V, widths, strict=True)):
            rng = copy.deepcopy(rng)
            shapes = [(D - len(V_v), V_v.shape[1]) for V_v, D in zip(V, widths, strict=True)]
            # Before the first chunk nobody has asked for a start.
            new = [rng.random(each) if self.n_chunks else np.zeros(each) for each in shapes]
            V = tuple(
                np.concatenate([V_v, own.astype(V_v.dtype)])
                for V_v, own in zip(V, new, strict=True)
            )
        return replace(
            self,
            statistics=self.statistics.grow(widths),
            reservoir=self.reservoir.grow(widths),
            window=self.window.grow(widths),
            rng=rng,
            V=V,
        )

    def place(self, places: Sequence[IntArray], widths: Sequence[int]) -> "State":
        """Return the state with its columns in certain places among others, which no row had.

        Parameters
        ----------
        places : sequence of int array of shape (D_v,)
        widths : sequence of int
            Columns of each view then.
        """
        return replace(
            self,
            statistics=self.statistics.place(places, widths),
            reservoir=self.reservoir.place(places, widths),
            window=self.window.place(places, widths),
        )

    @property
    def n_clusters(self) -> int:
        """K, the number of clusters in force."""
        return len(self.statistics.views[0].weight_sums)

    def begun(self, n_clusters: int) -> "State":
        """Return what is known of rows that are in no cluster yet, with another number of them."""
        if n_clusters == self.n_clusters:
            return self
        none = np.zeros((self.n_clusters, n_clusters))
        return replace(
            self,
            statistics=self.statistics.relabel(none),
            reservoir=self.reservoir.relabel(n_clusters),
            window=self.window.relabel(none),
            B_sq_norms=self.B_sq_norms @ none,
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
            watch=None if self.watch is None else self.watch.shift(delta),
        )


def new_watch(n_views: int, settings: Settings) -> Watch | None:
    """Return the watch of a stream that begins; None if it is not to be watched."""
    if not settings.detect_drift:
        return None
    return Watch(settings.K, n_views, until=settings.recent_rows)


@dataclass(frozen=True)
class Scales:
    """What columns and views are multiplied by, as all rows so far have it.

    B is kept for unscaled columns, so that scaled by what is known today it is what an offline run
    over the same U would have.

    Attributes
    ----------
    columns : tuple of array of shape (D_v,), or None
        1 / ‖X_j‖ of every column; None where columns are not scaled.
    views : tuple of float
        The factor of every view, which gives rows that are not empty a mean square norm of its
        weight; 1 for a view as it comes.

    Examples
    --------
    >>> Scales((np.array([0.5, 2.0]),), (10.0,)).rows([np.array([[4.0, 1.0]])])
    [array([[20., 20.]])]
    """

    columns: tuple[Array, ...] | None
    views: tuple[float, ...]

    @classmethod
    def of(cls, statistics: Statistics, settings: Settings) -> "Scales":
        """Return the scales that columns and views have come to; empty columns get 0."""
        dtype = statistics.dtype
        columns = None
        if settings.scale_columns:
            columns = tuple(_inverse_norms(view.squares, dtype) for view in statistics.views)
        pairs = zip(statistics.views, settings.view_weight, strict=True)
        return cls(columns, tuple(_factor(*pair, settings, dtype) for pair in pairs))

    def rows(self, X: Sequence[Block]) -> list[Block]:
        """Return rows, scaled."""
        if self.columns is None:
            return [times(X_v, f) for X_v, f in zip(X, self.views, strict=True)]
        parts = zip(X, self.columns, self.views, strict=True)
        return [scale_columns(X_v, f * s if f != 1 else s) for X_v, s, f in parts]

    def features(self, B: Sequence[Array]) -> list[Array]:
        """Return B as it would be for scaled rows."""
        return [times(B_v, f) for B_v, f in zip(self._by_column(B), self.views, strict=True)]

    def sq_norms(self, B: Sequence[Array]) -> NDArray[np.float64]:
        """Return Σ_j B_jk² of every view, for scaled columns, whatever the views weigh."""
        return np.stack([column_sq_norms([B_v]) for B_v in self._by_column(B)])

    def weighed(self, sq_norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of such norms over all views, as these weigh."""
        weights: NDArray[np.float64] = np.square(self.views)
        total: NDArray[np.float64] = weights @ sq_norms
        return total

    def _by_column(self, B: Sequence[Array]) -> list[Array]:
        if self.columns is None:
            return list(B)
        return [B_v * s[:, np.newaxis] for B_v, s in zip(B, self.columns, strict=True)]


def B_sq_norms(statistics: Statistics, settings: Settings) -> NDArray[np.float64]:
    """Return Σ_j B_jk² of every view, for scaled columns, whatever the views weigh."""
    return Scales.of(statistics, settings).sq_norms(statistics.B)


def _inverse_norms(squares: Any, dtype: np.dtype[Any]) -> Array:
    factors = np.zeros_like(squares)
    np.divide(1, np.sqrt(squares), out=factors, where=squares > 0)
    scales: Array = factors.astype(dtype)
    return scales


def _factor(
    view: ViewStatistics, weight: Weight, settings: Settings, dtype: np.dtype[Any]
) -> float:
    """Return what a view is multiplied by; it is balanced while its weight is not decided."""
    # Of columns scaled to unit norm, the energy is how many there are that are not empty.
    energy = float(view.filled_columns) if settings.scale_columns else view.energy
    if weight is None or not energy or not view.filled_rows:
        return 1.0
    factor = math.sqrt(1.0 if weight == AUTO else weight) * math.sqrt(view.filled_rows / energy)
    if abs(factor - 1) < rounding(dtype):
        return 1.0  # rows of unit norm stay as they are, to the bit
    limits = np.finfo(dtype)
    return min(max(factor, float(limits.tiny)), float(limits.max))


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
    drift : DriftEvent or None
        The change of the stream that was noticed in it, if any.
    """

    n_rows: int
    reconstruction: float
    graph: float
    sparsity: float
    orthogonality_error: float
    n_iter: int
    reclustered: bool = False
    seconds: float = 0.0
    drift: DriftEvent | None = None

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

    @property
    def infos(self) -> tuple[ChunkInfo, ...]:
        """What happened in the chunk, as entries of a history."""
        return () if self.info is None else (self.info,)

    def commit(self) -> Known:
        """Make what is known true, and return it."""
        if self.patch is not None:
            self.patch.into.put(self.patch.columns, self.patch.after)
        return self.known

    def rollback(self) -> None:
        """Make what was known before true again."""
        if self.patch is not None:
            self.patch.into.put(self.patch.columns, self.patch.before)
