"""What an OMVFS has learned: replaced as a whole after each chunk, so that no call leaves half."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views, as_views
from omvfs.model.arrays import Array, Block, project, squared_row_norms, stack
from omvfs.model.constrained import step as constrained_step
from omvfs.model.constrained.alternate import nearest, unit_directions
from omvfs.model.constrained.directions import feature_matrices, lengths_of
from omvfs.model.constrained.recluster import live_rows, settled
from omvfs.model.drift import fit_differs, lift, recent_rows, relevances, shares_differ
from omvfs.model.graph.vote import Electorate, assign
from omvfs.model.paper import step as paper_step
from omvfs.model.ranking import Score, discount_repetition
from omvfs.model.state import Scales, Settings, State, StepInfo
from omvfs.model.statistics import Change, Totals
from omvfs.model.stream.offset import raise_columns, raise_rows


@dataclass(frozen=True)
class Learned:
    """What is known after some chunks.

    Attributes
    ----------
    schema : Schema
        What every chunk must match.
    settings : Settings
        Under which it was learned.
    state : State
        Of the model.
    raised : tuple of array of shape (D_v,), or None
        By how much the columns of each view are raised; None where negative values are not.
    """

    schema: Schema
    settings: Settings
    state: State
    raised: tuple[NDArray[np.float64], ...] | None
    # Worked out when first asked for.
    _scores: dict[Any, dict[str, NDArray[Any]]] = field(default_factory=dict, compare=False)
    _electorate: list[Electorate] = field(default_factory=list, compare=False)
    _settled: list[tuple[State, list[Array]]] = field(default_factory=list, compare=False)

    @classmethod
    def nothing(
        cls, first: Views, settings: Settings, rng: np.random.Generator, shift: bool
    ) -> "Learned":
        """Return what is known before the first chunk."""
        widths = list(first.widths.values())
        state = State.start(widths, first.dtype, settings, rng, raises=shift)
        raised = tuple(np.zeros(width) for width in widths) if shift else None
        return cls(first.schema, settings, state, raised)

    def after(
        self, chunk: Views, start_U: Any = None, start_V: Any = None
    ) -> tuple["Learned", StepInfo, Change | None]:
        """Return what is known after a chunk, what happened in it, and what to put into place.

        The arrays of totals are those of before until the change is put into them.
        """
        blocks = list(self._in_precision(chunk).blocks.values())
        state, raised = self.state, self.raised
        if raised is not None:
            raised = self._raised_for(blocks)
            state = raise_columns(
                state, [now - was for now, was in zip(raised, self.raised or (), strict=True)]
            )
            blocks = raise_rows(blocks, raised)
            if state is not self.state:
                state.lengths = lengths_of(state, self.settings)
        U = None if start_U is None else self._start_u(start_U, len(chunk))
        V = None if start_V is None else self._start_v(start_V)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.settings.solver == "paper":
                state, info = paper_step.step(state, blocks, self.settings, U, V)
                change = None
            else:
                state, info, change = constrained_step.advance(state, blocks, self.settings, U, V)
        self._check_finite(state if change is None else change.after)
        if not (np.isfinite(state.A).all() and np.isfinite(state.lengths).all()):
            raise ValueError(
                "The views have values so large that squares of their sums over the stream "
                "overflow. Scale them down."
            )
        return Learned(self.schema, self.settings, state, raised), info, change

    @property
    def asked(self) -> State:
        """What is known, with the clusters settled on the memory; worked out once."""
        return self._worked_out()[0]

    @property
    def V(self) -> list[Array]:
        """The feature matrices of `asked`."""
        return self._worked_out()[1]

    def _worked_out(self) -> tuple[State, list[Array]]:
        if not self._settled:
            state = self.state
            if self.settings.solver != "paper":
                state = settled(state, self.settings)
            self._settled.append((state, feature_matrices(state, self.settings)))
        return self._settled[0]

    def predict(self, batch: Views) -> NDArray[np.intp]:
        """Return the cluster of every row."""
        return self._placed(self._rows(batch))

    def _placed(self, X: list[Block]) -> NDArray[np.intp]:
        P = project(X, unit_directions(self.V))
        if self.settings.graph != "neighbors" or not len(self.asked.memory):
            return nearest(P).labels
        if not self._electorate:
            self._electorate.append(constrained_step.electorate(self.asked, self.settings))
        return assign(P, self._electorate[0].votes(X))

    def explained(self, batch: Views) -> float:
        """Return the share of the rows' squared norm that their nearest clusters explain."""
        X = self._rows(batch)
        total = float(sum(squared_row_norms(X_v).sum() for X_v in X))
        explained = nearest(project(X, unit_directions(self.V))).masses.sum()
        return min(1.0, float(explained) / total) if total > 0 else 0.0

    def _rows(self, batch: Views) -> list[Block]:
        """Return new rows as the model sees them."""
        X = list(self._in_precision(batch).blocks.values())
        if self.raised is not None:
            X = [
                X_v.maximum(0) if sp.issparse(X_v) else np.maximum(X_v, 0)
                for X_v in raise_rows(X, self.raised)
            ]
        return Scales.of(self.state, self.settings).rows(X)

    def feature_matrices(self) -> dict[str, Array]:
        """Return V by view name."""
        return {name: V.copy() for name, V in zip(self.schema.names, self.V, strict=True)}

    def window_labels(self) -> NDArray[np.intp]:
        """Return the cluster of every row in the window."""
        if self.settings.solver == "paper":
            labels: NDArray[np.intp] = self.state.window.indicator().argmax(axis=1)
            return labels
        return self._placed(Scales.of(self.state, self.settings).rows(self.state.window.rows()))

    def scores(
        self, score: Score, recency: float, diversity: float, n_steps: int
    ) -> dict[str, NDArray[Any]]:
        """Return the scores of the features by view name, worked out once."""
        key = score, recency, diversity, n_steps
        if key not in self._scores:
            state, settings = self.asked, self.settings
            own = relevances(state, self.V, score)
            rows: Sequence[Block] = state.memory.blocks
            recent = recent_rows(state, settings) if recency > 0 else []
            scaled = Scales.of(state, settings).rows(recent) if recent else []
            if scaled and self._have_changed(scaled):
                own = lift(own, scaled, state, settings, score, recency)
                rows = [stack(parts) for parts in zip(rows, recent, strict=True)]
            if rows and diversity > 0:
                own = [
                    discount_repetition(scores, X_v, diversity, n_steps)
                    for scores, X_v in zip(own, rows, strict=True)
                ]
            self._scores[key] = dict(zip(self.schema.names, own, strict=True))
        return {name: scores.copy() for name, scores in self._scores[key].items()}

    def _have_changed(self, recent: list[Block]) -> bool:
        """Tell whether the most recent rows, their columns scaled, are not what came before."""
        state, settings = self.asked, self.settings
        memory = Scales.of(state, settings).rows(state.memory.take(live_rows(state)).blocks)
        directions = unit_directions(self.V)
        # Placed alike: how the memory was settled is another way.
        now, ever = (nearest(project(X, directions)).labels for X in (recent, memory))
        return shares_differ(now, ever, settings.n_clusters) or fit_differs(
            recent, memory, state.rng, settings
        )

    def _in_precision(self, batch: Views) -> Views:
        """Return a batch in the precision of the first one; it must not overflow there."""
        dtype = self.state.B[0].dtype
        if batch.dtype == dtype:
            return batch
        with np.errstate(over="ignore"):
            blocks = {name: block.astype(dtype) for name, block in batch.blocks.items()}
        return as_views(blocks, negative="allow")

    def _check_finite(self, known: State | Totals) -> None:
        """Refuse a state in which sums over the stream have overflowed."""
        for v, (name, B_v) in enumerate(zip(self.schema.names, known.B, strict=True)):
            counted = known.squares[v : v + 1]
            if not all(np.isfinite(each).all() for each in (B_v, *counted)):
                raise ValueError(
                    f"View {name!r} has values so large that their sums over the stream overflow "
                    f"{B_v.dtype}. Scale the view down, or pass float64."
                )

    def _raised_for(self, blocks: Sequence[Block]) -> tuple[NDArray[np.float64], ...]:
        """Return by how much the columns must be raised for no value to be negative."""
        raised: list[NDArray[np.float64]] = []
        for name, block, known in zip(self.schema.names, blocks, self.raised or (), strict=True):
            if isinstance(block, np.ndarray):
                lowest = block.min(axis=0).astype(np.float64)
            else:
                lowest = np.minimum(np.zeros(len(known)), block.min())
            raise_to = np.maximum(known, -lowest)
            if not raise_to.any() or not (sp.issparse(block) or self._holds_sparse(len(raised))):
                raised.append(raise_to)
            else:
                raise ValueError(
                    f"View {name!r} is sparse, or was, and has negative values; raising its "
                    "columns would fill it. Pass it dense from the start, or negative='clip'."
                )
        return tuple(raised)

    def _holds_sparse(self, v: int) -> bool:
        """Tell whether the window or the memory holds rows of a view as a sparse matrix."""
        memory = self.state.memory.rows
        if memory and memory[v].columns is not None:
            return True
        return any(sp.issparse(blocks[v]) for blocks in self.state.window.chunks)

    def _start_u(self, U: Any, n: int) -> Array:
        K = self.settings.n_clusters
        U = _numbers("start_U", U, self.state.B[0].dtype)
        if U.shape != (n, K) or not np.isfinite(U).all() or (U < 0).any():
            raise ValueError(
                f"Got start_U of shape {U.shape}; expected nonnegative values of shape {(n, K)}: "
                "rows of the chunk by clusters."
            )
        start: Array = U
        return start

    def _start_v(self, V: Any) -> list[Array]:
        K, dtype = self.settings.n_clusters, self.state.B[0].dtype
        names, widths = self.schema.names, self.schema.widths
        if not isinstance(V, Mapping) or set(V) != set(names):
            got = f"views {listed(V)}" if isinstance(V, Mapping) else type(V).__name__
            raise ValueError(f"Got start_V for {got}; expected arrays by view, {listed(names)}.")
        arrays = [_numbers("start_V", V[name], dtype) for name in names]
        for name, width, V_v in zip(names, widths, arrays, strict=True):
            if V_v.shape != (width, K) or not np.isfinite(V_v).all() or (V_v < 0).any():
                raise ValueError(
                    f"Got start_V of shape {V_v.shape} for view {name!r}; expected nonnegative "
                    f"values of shape {(width, K)}: features by clusters."
                )
        return arrays


def _numbers(name: str, values: Any, dtype: Any) -> Array:
    try:
        return np.array(values, dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Got {name}={values!r}; expected an array of numbers.") from error
