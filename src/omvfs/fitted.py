"""What an OMVFS has learned, in the terms of its views."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.read import Suspect, find_suspects, in_precision
from omvfs.data.schema import Schema, Vocabulary
from omvfs.data.table import Table
from omvfs.data.views import Views
from omvfs.model.columns import place_columns
from omvfs.model.drift import FIRST, Change, Watch, watched
from omvfs.model.explanation import notes
from omvfs.model.learning import Answers, Settings, State, Update, step
from omvfs.model.resampling import Draw
from omvfs.prepare import Preparation, auto_steps, is_auto, units
from omvfs.results import FeatureNotes

# Bytes of a digest.
KEY_SIZE = 16
# Events that are kept: a stream may never end.
EVENTS = 1000
# Rows of the first chunk whose columns are looked at for what is hardly a feature.
_LOOKED_AT = 1000


def digest(arrays: Iterable[Any]) -> bytes:
    """Return a digest of numbers, in whatever precision and byte order.

    Examples
    --------
    >>> digest([np.array([1, 2])]) == digest([np.array([1, 2], np.int32)])
    True
    """
    found = hashlib.blake2b(digest_size=KEY_SIZE)
    for array in arrays:
        values = np.asarray(array)
        kind = "<f8" if values.dtype.kind == "f" else "<i8"
        found.update(np.ascontiguousarray(values, kind).data)
    return found.digest()


@dataclass(frozen=True)
class FittedState:
    """What is known after some chunks."""

    # What every chunk must match.
    schema: Schema
    # Under which it was learned.
    settings: Settings
    # Of the model.
    state: State
    # What rows go through first.
    preparation: Preparation
    # Precision of the first rows, in which all are kept: one of 'float32', 'float64'.
    dtype: str
    # Keys of the parts that were merged to it, in order; empty if none were.
    of_parts: tuple[bytes, ...] = ()
    # Whether features may come later; then names are held as a `Vocabulary`.
    grows: bool = False
    # By what changes of the stream are noticed; None if nobody asks for them.
    watch: Watch | None = None
    # The last changes of the stream, in order.
    drift: tuple[Change, ...] = ()
    # The columns of the table that rows are of; None if they are of none.
    table: Table | None = None
    # Whether features come later without being asked for: words and categories.
    words: bool = False
    # Views that no row has had so far: the first that do tell their steps.
    waiting: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        # What was asked for once can be worked out again.
        asked = "answers", "draws", "notes"
        return {name: value for name, value in vars(self).items() if name not in asked}

    @classmethod
    def empty(cls, first: Views, settings: Settings, prepare: Any, grows: bool) -> "FittedState":
        """Return what is known before the first chunk; of features that come later, none."""
        schema = first.schema
        if grows:
            named = [names is not None for names in schema.feature_names]
            widths = (0 if own else D for own, D in zip(named, schema.widths, strict=True))
            words = (Vocabulary() if own else None for own in named)
            schema = Schema(schema.names, tuple(widths), tuple(words))
        state = State.empty(schema.widths, settings)
        preparation = Preparation.of(prepare, first.names)
        watch = Watch.empty(len(schema.names)) if settings.detect_drift else None
        dtype = first.dtype.name
        own = {"grows": grows, "watch": watch, "table": first.table, "words": bool(first.grows)}
        return cls(schema, settings, state, preparation, dtype, **own, waiting=schema.names)

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.state.n_rows

    @property
    def told(self) -> tuple[str, ...]:
        """Views whose steps have been decided."""
        return tuple(view for view in self.schema.names if view not in self.waiting)

    @cached_property
    def answers(self) -> Answers:
        """What follows from it."""
        state = self.state
        sample = state.sample.compact().grow(self.schema.widths)
        return Answers(replace(state, sample=sample), self.settings)

    @cached_property
    def notes(self) -> list[FeatureNotes]:
        """What is known of the features of every view."""
        found = []
        for v, steps in enumerate(self.preparation.steps):
            own = notes(self.answers, v)
            for name in ("mean_in", "mean_out"):
                own[name] = self.in_units(v, slice(None), own[name])
            undone = steps[:-1] if steps[-1:] in (("scale",), ("standardize",)) else steps
            found.append(FeatureNotes(**own, steps=undone))
        return found

    @cached_property
    def draws(self) -> dict[Any, list[Draw]]:
        """What random halves of the sample give, by criterion, number and features asked for."""
        return {}

    @cached_property
    def key(self) -> bytes:
        """Digest of its rows, which identifies it as a part: of their number and the sample."""
        rows: list[Any] = [self.n_rows]
        for X in self.answers.rows:
            rows += [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
        return digest([*rows, self.state.sample.compact().present])

    def told_by(self, first: Views, prepare: Any) -> "FittedState":
        """Return the same with the steps of views that wait for rows, told by those in a chunk."""
        chunk, names = first.with_views_of(self.schema)[:_LOOKED_AT], self.schema.names
        there = [v for v in self.waiting if not is_auto(prepare) or chunk.has(v).any()]
        if not there:
            return self
        steps = Preparation.of(auto_steps(chunk, prepare), names).steps
        order = [None if view in there else v for v, view in enumerate(names)]
        waiting = tuple(v for v in self.waiting if v not in there)
        return replace(self, preparation=self.preparation.with_views(order, steps), waiting=waiting)

    def with_views_of(self, chunk: Views, settings: Settings) -> "FittedState":
        """Return what is known with the views of a chunk that no row had so far."""
        names, chunk = self.schema.names, chunk.with_views_of(self.schema)
        new = chunk.names[len(names) :]
        features = [None if chunk.feature_names[view] is None else Vocabulary() for view in new]
        widths = [
            chunk.widths[v] if own is None else 0 for v, own in zip(new, features, strict=True)
        ]
        schema = Schema(
            chunk.names,
            (*self.schema.widths, *widths),
            (*self.schema.feature_names, *features),
        )
        order = [*range(len(names)), *[None] * len(new)]
        return replace(
            self,
            schema=schema,
            settings=settings,
            state=self.state.with_views(order).grow(schema.widths),
            preparation=self.preparation.with_views(order, [()] * len(order)),
            waiting=(*self.waiting, *new),
            watch=None if self.watch is None else self.watch.with_views(order),
        )

    def after(self, chunk: Views) -> Update["FittedState"]:
        """Return what a chunk changes."""
        known, chunk = (
            self._grown_for(chunk.with_views_of(self.schema)) if self.grows else (self, chunk)
        )
        known = replace(known, table=chunk.table) if chunk.table is not None else known
        prepared, preparation = known.preparation.learn(in_precision(chunk, known.dtype))
        blocks = list(prepared.blocks.values())
        with np.errstate(over="ignore", invalid="ignore"):
            update = step(known.state, blocks, known.settings, chunk.presence)
        after = replace(known, state=update.known, preparation=preparation)
        after._check_finite(update)
        info = update.info
        if after.watch is not None:
            watch, changes = watched(after.watch, blocks, chunk.presence, after.settings.seed)
            after = replace(after, watch=watch, drift=(*after.drift, *changes)[-EVENTS:])
            if changes:
                # By then the sample has rows of what has come.
                soon = min(after.state.cluster_at, after.n_rows + FIRST)
                after = replace(after, state=replace(after.state, cluster_at=soon))
            info = replace(info, drift=changes[-1] if changes else None)
        return Update(after, info, update.patch)

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
            known = replace(
                self,
                schema=Schema(self.schema.names, widths, tuple(held)),
                state=self.state.grow(widths),
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

    def suspects(self, first: Views) -> list[Suspect]:
        """Return the columns of the first chunk that outweigh all others, as the model sees it."""
        # Unit rows show no more what one column hides.
        rows = in_precision(first[:_LOOKED_AT], self.dtype)
        steps = dict(zip(first.names, self.preparation.steps, strict=True))
        return find_suspects(self.preparation.without("l2").apply(rows), steps)

    def in_units(self, v: int, columns: Any, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return means of some columns, along the last axis, in units before they were scaled."""
        step = self.preparation.steps[v][-1:]
        if step not in (("scale",), ("standardize",)):
            return means
        counted, sparse = self.preparation.counted[v][-1], sp.issparse(self.answers.rows[v])
        away, sizes = units(*step, counted, sparse)
        return np.asarray(means * sizes[columns] + np.broadcast_to(away, sizes.shape)[columns])

    def predict(self, batch: Views) -> NDArray[np.intp]:
        """Return the cluster of every row."""
        return self.answers.place(list(self.prepared(batch).blocks.values()))

    def prepared(self, batch: Views) -> Views:
        """Return new rows prepared, by what rows before have left."""
        return self.preparation.apply(in_precision(batch, self.dtype))

    def _check_finite(self, update: Update[State]) -> None:
        """Refuse a chunk with which sums over the stream overflow."""
        changed = self.state.views if update.patch is None else update.patch.after
        for name, view in zip(self.schema.names, changed, strict=True):
            if not (np.isfinite(view.Q).all() and np.isfinite(view.norms).all()):
                raise ValueError(
                    f"View {name!r} has values so large that their sums over the stream overflow. "
                    "Scale the view down."
                )
