"""What an OMVFS has learned, in the terms of its views."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import check_unmasked
from omvfs.data.read import Suspect, as_views, find_suspects
from omvfs.data.schema import Schema, Vocabulary, listed
from omvfs.data.views import Views
from omvfs.model.arrays import Array, Block
from omvfs.model.columns import place_columns
from omvfs.model.constrained.recluster import ROWS_PER_CLUSTER
from omvfs.model.presence import Presence
from omvfs.model.queries import SharingQueries
from omvfs.model.ranking.request import Ranking
from omvfs.model.settings import Settings
from omvfs.model.solvers import SOLVERS
from omvfs.model.state import State, Update
from omvfs.model.statistics import Statistics
from omvfs.model.stream.event import DriftEvent
from omvfs.model.stream.offset import raise_rows, raise_to
from omvfs.prepare import Preparation
from omvfs.results import SelectionQuality, TooFewRowsError

# Bytes of a digest.
KEY_SIZE = 16


def digest(arrays: Iterable[Any]) -> bytes:
    """Return a digest of numbers, in whatever precision and byte order; None is passed over.

    Examples
    --------
    >>> digest([np.array([1, 2])]) == digest([np.array([1, 2], np.int32), None])
    True
    """
    found = hashlib.blake2b(digest_size=KEY_SIZE)
    for array in arrays:
        if array is not None:
            values = np.asarray(array)
            kind = "<f8" if values.dtype.kind == "f" else "<i8"
            found.update(np.ascontiguousarray(values, kind).data)
    return found.digest()


def key_of_rows(state: State) -> bytes:
    """Return a digest of the rows that a state was learned from: of their number and a sample.

    Rows are kept as they came, or as they were prepared, and drawn by whole numbers: they are the
    same on every machine that prepares them alike, where sums round otherwise.
    """
    held: Sequence[Sequence[Block]] = [state.reservoir.blocks]
    present: Sequence[Presence] = [state.reservoir.present]
    if not len(state.reservoir):
        held, present = state.window.chunks, state.window.presences
    blocks = [X_v for X in held for X_v in X]
    arrays = ([X.data, X.indices, X.indptr] if sp.issparse(X) else [X] for X in blocks)
    rows = [a for each in arrays for a in each]
    return digest([state.statistics.n_rows, *rows, *present])


# Events that are kept: a stream may never end.
EVENTS = 1000


# Rows of the first chunk whose columns are looked at for what is hardly a feature.
_LOOKED_AT = 1000
# Rows whose clusters are told at once.
_PLACED_AT_ONCE = 4096


@dataclass(frozen=True)
class FittedState:
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
    preparation : Preparation
        What rows go through first.
    of_parts : tuple of bytes
        Keys of the parts that were merged to it, in order; empty if none were.
    grows : bool
        Whether features may come later; then names are held as a `Vocabulary`.
    drift : tuple of DriftEvent
        The last changes of the stream, in order.
    """

    schema: Schema
    settings: Settings
    state: State
    raised: tuple[NDArray[np.float64], ...] | None
    preparation: Preparation
    of_parts: tuple[bytes, ...] = ()
    grows: bool = False
    drift: tuple[DriftEvent, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        # What was asked for once, perhaps by a callable that does not pickle, can be worked out.
        return {name: value for name, value in vars(self).items() if name != "queries"}

    @classmethod
    def empty(
        cls,
        first: Views,
        settings: Settings,
        rng: np.random.Generator,
        shift: bool,
        prepare: Any = None,
        grows: bool = False,
    ) -> "FittedState":
        """Return what is known before the first chunk; of features that come later, none."""
        schema = first.schema
        if grows:
            named = [names is not None for names in schema.feature_names]
            widths = (0 if own else D for own, D in zip(named, schema.widths, strict=True))
            words = (Vocabulary() if own else None for own in named)
            schema = Schema(schema.names, tuple(widths), tuple(words))
        state = State.empty(schema.widths, first.dtype, settings, rng, raises=shift)
        raised = tuple(np.zeros(width) for width in schema.widths) if shift else None
        preparation = Preparation.of(prepare, first.names)
        return cls(schema, settings, state, raised, preparation, grows=grows)

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.state.statistics.n_rows

    @cached_property
    def queries(self) -> SharingQueries:
        """What can be asked of it."""
        return SharingQueries(self.state, self.settings)

    @cached_property
    def key(self) -> bytes:
        """Digest of its rows, which identifies it as a part."""
        return key_of_rows(self.state)

    def after(
        self, chunk: Views, start_U: Any = None, start_V: Any = None
    ) -> Update["FittedState"]:
        """Return what a chunk changes, with `start_U` and `start_V` as the start, if given."""
        if not self.grows:
            return self._after(chunk, start_U, start_V)
        known, matched = self._grown_for(chunk)
        return known._after(matched, start_U, start_V)

    def _grown_for(self, chunk: Views) -> tuple["FittedState", Views]:
        """Return what is known with the features that a chunk brings, and the chunk on these."""
        held, places = list(self.schema.feature_names), {}
        names_of = chunk.feature_names
        for v, (view, words) in enumerate(zip(self.schema.names, held, strict=True)):
            names = names_of[view]
            if not isinstance(words, Vocabulary) or names is None:
                continue
            places[view], new = words.places(names.tolist())
            held[v] = grown = words.grown(new)
            if not len(grown):
                raise ValueError(
                    f"View {view!r} has no features in the first chunk; expected at least one. "
                    "Begin with rows that have some, or leave the view out."
                )
        widths = tuple(
            len(words) if isinstance(words, Vocabulary) else D
            for words, D in zip(held, self.schema.widths, strict=True)
        )
        known = self
        if widths != self.schema.widths:
            raised = self.raised
            if raised is not None:
                pairs = zip(raised, widths, strict=True)
                raised = tuple(np.pad(each, (0, D - len(each))) for each, D in pairs)
            known = replace(
                self,
                schema=Schema(self.schema.names, widths, tuple(held)),
                state=self.state.grow(widths),
                raised=raised,
                preparation=self.preparation.grow(widths),
            )
        blocks = dict(chunk.blocks)
        for view, own in places.items():
            blocks[view] = place_columns(blocks[view], own, widths[self.schema.names.index(view)])
        return known, chunk.with_blocks(blocks, list(places))

    def matched(self, batch: Views) -> Views:
        """Return new rows with the features that are known, where these have come one by one.

        Features that are not known are passed over, and those that rows lack are zero.
        """
        names = zip(self.schema.names, self.schema.feature_names, strict=True)
        return batch.with_features({v: own for v, own in names if isinstance(own, Vocabulary)})

    def _after(self, chunk: Views, start_U: Any, start_V: Any) -> Update["FittedState"]:
        prepared, preparation = self.preparation.learn(self._in_precision(chunk))
        blocks, present = list(prepared.blocks.values()), chunk.presence
        if present is not None and not (start_U is None and start_V is None):
            raise ValueError(
                "Got start_U or start_V with rows that lack views; expected rows that have every "
                "view. Leave the start out."
            )
        state, raised = self.state, self.raised
        if raised is not None:
            raised = self._raised_for(blocks)
            delta = [now - was for now, was in zip(raised, self.raised or (), strict=True)]
            state = state.shift(delta, self.settings)
            blocks = raise_rows(blocks, raised, present)
        starts: dict[str, Any] = {}
        if start_U is not None:
            starts["start_U"] = self._start("start_U", start_U, (len(chunk), self.settings.K))
        if start_V is not None:
            starts["start_V"] = self._start_v(start_V)
        with np.errstate(over="ignore", invalid="ignore"):
            step = SOLVERS[self.settings.solver].step
            update = step(state, blocks, self.settings, present=present, **starts)
        after = replace(self, state=update.known, raised=raised, preparation=preparation)
        after.check_finite(None if update.patch is None else update.patch.after)
        info = update.info
        if info is not None and info.drift is not None:
            event = info.drift.named(self.schema.names, self.schema.feature_names)
            info = replace(info, drift=event)
            after = replace(after, drift=(*self.drift, event)[-EVENTS:])
        return Update(after, info, update.patch)

    def suspects(self, first: Views) -> list[Suspect]:
        """Return the columns of the first chunk that count its rows, or outweigh all others.

        The first as they came; the others as the model has seen them, if it asks for their scale.
        """
        rows = first[:_LOOKED_AT]
        if self.settings.scale_columns:
            return find_suspects(rows, ["row number"])
        seen = zip(first.names, self.state.window.rows(), strict=True)
        scaled = rows.replaced({name: X_v[:_LOOKED_AT] for name, X_v in seen})
        return find_suspects(rows, ["row number", "dominant"], scaled)

    def predict(self, batch: Views) -> NDArray[np.intp]:
        """Return the cluster of every row."""
        # Part by part: what it takes to prepare and compare rows does not grow with their number.
        starts = range(0, max(1, batch.n_rows), _PLACED_AT_ONCE)
        parts = (batch[start : start + _PLACED_AT_ONCE] for start in starts)
        return np.concatenate([self.queries.place(self._rows(p), p.presence) for p in parts])

    def explained(self, batch: Views) -> float:
        """Return the share of the rows' squared norm that their nearest clusters explain."""
        return self.queries.explained(self._rows(batch), batch.presence)

    def prepared(self, batch: Views) -> Views:
        """Return new rows prepared, by what rows before have left."""
        return self.preparation.apply(self._in_precision(batch))

    def _rows(self, batch: Views) -> list[Block]:
        """Return new rows as the model sees them."""
        X = list(self.prepared(batch).blocks.values())
        if self.raised is not None:
            X = [
                X_v.maximum(0) if sp.issparse(X_v) else np.maximum(X_v, 0)
                for X_v in raise_rows(X, self.raised, batch.presence)
            ]
        return self.queries.scaled(X)

    def budget(self, ranking: Ranking, total: int) -> tuple[int, ...]:
        """Return how many features of each view are among so many of all."""
        if not self.queries.has_rows:
            raise TooFewRowsError(
                f"Got n_features_to_select={total}, but no rows by which features of several views "
                "compare: the reservoir is empty, or all of it forgotten. Learn with a larger "
                "sample or half-life; or give a number for each view, as in "
                "n_features_per_view=100 (--features 100)."
            )
        return self.queries.budget(ranking, total)

    def quality(
        self, ranking: Ranking, sizes: Sequence[int], in_all: bool = False, alone: bool = True
    ) -> SelectionQuality:
        """Return how much of the clusters the best features reproduce, by their number.

        The sizes are of each view, or `in_all`; views are judged `alone` too, or not.
        """
        by_view = [self.budget(ranking, n) for n in sizes] if in_all else None
        found = self.queries.agreements(ranking, tuple(by_view or sizes), alone)
        if found is None:
            K, n = self.queries.K, len(self.queries.sample)
            raise TooFewRowsError(
                f"Got {n:,} rows to judge a selection by, those of the reservoir that are not "
                f"forgotten; expected at least {ROWS_PER_CLUSTER * K:,}, {ROWS_PER_CLUSTER} for "
                f"each of {K} clusters, and more than one cluster that has any. Learn from more "
                "rows, with a larger sample or half-life; or give a number of features, as in "
                "n_features_per_view=100 (--features 100)."
            )
        widths = dict(zip(self.schema.names, self.schema.widths, strict=True)) if alone else {}
        return SelectionQuality.of(sizes, found, widths, by_view)

    def zeros(self, v: int) -> NDArray[np.float64] | None:
        """Return what a 0 has become in the columns of a view; None where they are not raised."""
        return None if self.raised is None else self.raised[v]

    def _in_precision(self, batch: Views) -> Views:
        """Return a batch in the precision of the first one; it must not overflow there."""
        dtype = self.state.statistics.dtype
        if batch.dtype == dtype:
            return batch
        with np.errstate(over="ignore"):
            blocks = {name: block.astype(dtype) for name, block in batch.blocks.items()}
        return as_views(batch.replaced(blocks), negative="allow", missing="allow")

    def check_finite(self, changed: Statistics | None = None) -> None:
        """Refuse what is known, or what of it has changed, if sums over the stream overflowed."""
        state = self.state
        known = state.statistics if changed is None else changed
        for name, view in zip(self.schema.names, known.views, strict=True):
            sums = [view.B] if view.squares is None else [view.B, view.squares]
            if not (math.isfinite(view.energy) and all(np.isfinite(each).all() for each in sums)):
                raise ValueError(
                    f"View {name!r} has values so large that their sums over the stream overflow "
                    f"{view.B.dtype}. Scale the view down, or give it as float64."
                )
        if not (np.isfinite(state.statistics.masses).all() and np.isfinite(state.B_sq_norms).all()):
            raise ValueError(
                "The views have values so large that squares of their sums over the stream "
                "overflow. Scale them down."
            )

    def _raised_for(self, blocks: Sequence[Block]) -> tuple[NDArray[np.float64], ...]:
        """Return by how much the columns must be raised for no value to be negative."""
        raised: list[NDArray[np.float64]] = []
        for name, block, known in zip(self.schema.names, blocks, self.raised or (), strict=True):
            by = raise_to(block, known)
            if by.any() and (sp.issparse(block) or self.holds_sparse(len(raised))):
                raise ValueError(
                    f"View {name!r} is sparse, or was, and has negative values; raising its "
                    "columns would fill it. Give it dense from the start, or pass negative='clip' "
                    "(--negative clip)."
                )
            raised.append(by)
        return tuple(raised)

    def holds_sparse(self, v: int) -> bool:
        """Tell whether the window or the reservoir holds rows of a view as a sparse matrix."""
        held = self.state.reservoir.rows
        if held and held[v].is_sparse:
            return True
        return any(sp.issparse(blocks[v]) for blocks in self.state.window.chunks)

    def _start_v(self, V: Any) -> list[Array]:
        names, K = self.schema.names, self.settings.K
        if not isinstance(V, Mapping) or set(V) != set(names):
            got = f"views {listed(V)}" if isinstance(V, Mapping) else type(V).__name__
            raise ValueError(f"Got start_V for {got}; expected arrays by view, {listed(names)}.")
        return [
            self._start("start_V", V[name], (width, K), f" for view {name!r}")
            for name, width in zip(names, self.schema.widths, strict=True)
        ]

    def _start(self, name: str, values: Any, shape: tuple[int, int], where: str = "") -> Array:
        check_unmasked(values, name)
        try:
            found: Array = np.array(values, self.state.statistics.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Got {name}={values!r}; expected an array of numbers.") from error
        if found.shape != shape or not np.isfinite(found).all() or (found < 0).any():
            raise ValueError(
                f"Got {name} of shape {found.shape}{where}; expected nonnegative values of shape "
                f"{shape}, a column for each cluster."
            )
        return found
