"""Merge estimators that have learned from parts of a stream."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from omvfs.constraints import plain
from omvfs.data.schema import Schema, Vocabulary, listed
from omvfs.disk import PathLike
from omvfs.fitted import EVENTS, FittedState
from omvfs.model.arrays import IntArray
from omvfs.model.constrained.directions import completed_matrices
from omvfs.model.constrained.merging import CommonClusters, KeyedPart, Sample, in_pairs
from omvfs.model.state import ChunkInfo, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.event import DriftEvent
from omvfs.model.stream.window import Window
from omvfs.prepare import Preparation
from omvfs.selector import HISTORY
from omvfs.threads import on_one_thread


class Terms(NamedTuple):
    """What must be the same of all parts, beside their features."""

    params: Mapping[str, Any]
    reading: str
    columns: bytes | None
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Part:
    """What an estimator has learned from a part of a stream.

    Attributes
    ----------
    known : FittedState
        What was learned; nobody writes into it any more.
    history : tuple of ChunkInfo
        What happened in its chunks.
    params : mapping of str to object
        Parameters that decide what is learned; `prepare` in few words.
    reading : str
        The form in which rows come.
    columns : bytes or None
        Which column of one X is which feature, as 8-byte numbers; None where rows come as views.
    later : int
        Rows of other parts that came after it.
    """

    known: FittedState
    history: tuple[ChunkInfo, ...]
    params: Mapping[str, Any]
    reading: str
    columns: bytes | None
    later: int = 0

    def __deepcopy__(self, memo: Any) -> "Part":
        return self

    @property
    def terms(self) -> Terms:
        """What must be the same of all parts."""
        return Terms(self.params, self.reading, self.columns, self.known.state.statistics.dtype)


def _check_terms(ours: Terms, first: str, theirs: Terms, other: str) -> None:
    """Refuse two parts that cannot be merged; `first` and `other` are what errors call them."""
    for name, value in ours.params.items():
        if theirs.params[name] != value:
            raise ValueError(
                f"{other} was learned with {name}={plain(theirs.params[name])!r}, {first} with "
                f"{name}={plain(value)!r}. Learn from all parts with the same parameters; only the "
                "seed and those that rank may differ."
            )
    if (theirs.reading, theirs.columns) != (ours.reading, ours.columns):
        raise ValueError(
            f"{other} was learned from {theirs.reading}, {first} from {ours.reading}. Give the "
            "rows of all parts in the same form."
        )
    if theirs.dtype != ours.dtype:
        raise ValueError(
            f"{other} was learned in {theirs.dtype}, {first} in {ours.dtype}. Give the rows of all "
            "parts in the same precision."
        )


def _check_views(ours: Schema, first: str, theirs: Schema, other: str, grows: bool) -> None:
    if theirs.names != ours.names:
        raise ValueError(
            f"{other} has views {listed(theirs.names)}; {first} has {listed(ours.names)}. Merge "
            "parts of the same views in the same order."
        )
    for v, view in enumerate(ours.names):
        got, expected = theirs.feature_names[v], ours.feature_names[v]
        if grows and (got is None) != (expected is None):
            raise ValueError(
                f"View {view!r} has names of features in one of {first} and {other}, and none in "
                "the other. Give the rows of all parts in the same form."
            )
        if grows and got is not None:
            continue
        if theirs.widths[v] != ours.widths[v]:
            raise ValueError(
                f"View {view!r} has {theirs.widths[v]:,} features in {other} and "
                f"{ours.widths[v]:,} in {first}. Merge parts of the same features."
            )
        if got is not None and expected is not None and got != expected:
            column = next(j for j, name in enumerate(got) if name != expected[j])
            raise ValueError(
                f"View {view!r} has other features in {other} than in {first}: column {column} is "
                f"{got[column]!r}, expected {expected[column]!r}. Merge parts of the same features "
                "in the same order."
            )


@dataclass(frozen=True)
class Sums:
    """What a part adds to others once its clusters are theirs."""

    statistics: Statistics
    # Its last chunks, if nothing came after them.
    window: Window
    preparation: Preparation
    history: tuple[ChunkInfo, ...]
    n_chunks: int
    # At rows of all that were added so far.
    drift: tuple[DriftEvent, ...] = ()

    def __add__(self, later: "Sums") -> "Sums":
        before = self.statistics.n_rows, self.n_chunks
        moved = tuple(
            info if info.drift is None else replace(info, drift=info.drift.later(*before))
            for info in later.history
        )
        return Sums(
            self.statistics + later.statistics,
            self.window + later.window,
            self.preparation + later.preparation,
            (*self.history, *moved)[-HISTORY:],
            self.n_chunks + later.n_chunks,
            (*self.drift, *(event.later(*before) for event in later.drift))[-EVENTS:],
        )


class Merger:
    """Merges parts, which come one by one: first for what they have in common, then for all else.

    For a given set of parts the result is the same, to the bit, in whatever order they come: they
    are added by age, then by their keys. Where features come later, each part has features of its
    own: then the columns of all are put together by their names, those of the smallest key first.

    Parameters
    ----------
    load : callable
        Returns a part by its number, from 0; it is let go before the next is asked for.
    names : sequence of str
        What errors call the parts, at least one.
    in_order : bool, default=False
        Whether they follow each other in time, as they are numbered.
    """

    schema: Schema
    raised: tuple[NDArray[np.float64], ...] | None = None

    def __init__(
        self, load: Callable[[int], Part], names: Sequence[str], in_order: bool = False
    ) -> None:
        self._load, self._names = load, names
        self._keys: dict[bytes, int] = {}
        self._sparse: dict[int, str] = {}
        # Of views that grow: of each name the first place that it has in any part, parts by key.
        self._ranks: list[dict[str, tuple[bytes, int]]] = []
        # By how much columns are raised, by name if they come later.
        self._raises: dict[int, dict[Any, float]] = {}
        # Of each part its key, rows of others after it, its own rows, and those not forgotten.
        keys, later, n_rows, weights = [], [], [], []
        for i in range(len(names)):
            part = load(i)
            self._add(i, part)
            keys.append(part.known.key)
            later.append(part.later)
            n_rows.append(part.known.n_rows)
            weights.append(part.known.state.statistics.decayed_n_rows)
            del part
        self._put_together()
        if in_order:
            later = [own + sum(n_rows[i:]) for i, own in enumerate(later, start=1)]
        self._order = sorted(range(len(keys)), key=lambda i: (-later[i], keys[i]))
        # By what the rows of each part are drawn, and what those of later ones have left of it.
        self._seeds = [int.from_bytes(key[:8], "little") for key in keys]
        self._left = [self._settings.decay(n) for n in later]
        self._recent = _recent(later)
        # The part of most rows: its clusters are worth a start.
        self._lead = max(self._order, key=lambda i: self._left[i] * weights[i])

    def _add(self, i: int, part: Part) -> None:
        """Take in another part, or say why it cannot be merged with those before."""
        name, known, schema = self._names[i], part.known, part.known.schema
        if i == 0:
            if known.settings.solver != "constrained":
                raise ValueError(
                    f"{name} is an OMVFSPaper, which keeps no rows by which the clusters of one "
                    "part could be found again in another. Merge what OMVFS has learned."
                )
            self._terms, self._settings = part.terms, known.settings
            self.schema, self._grows = schema, known.grows
            self._ranks = [{} for _ in schema.names]
        else:
            first = self._names[0]
            _check_views(self.schema, first, schema, name, self._grows and known.grows)
            _check_terms(self._terms, first, part.terms, name)
            if not self._grows:
                pairs = zip(self.schema.feature_names, schema.feature_names, strict=True)
                # With all the names that any of them knows.
                names = tuple(own or other for own, other in pairs)
                self.schema = replace(self.schema, feature_names=names)
        for key in (known.key, *known.of_parts):
            if (twin := self._keys.setdefault(key, i)) != i:
                raise ValueError(
                    f"{name} has learned from rows that {self._names[twin]} has learned from too: "
                    "they would count twice. Give every part once."
                )
        if self._grows:
            for ranks, own in zip(self._ranks, schema.feature_names, strict=True):
                for j, word in enumerate(own or ()):
                    ranks[word] = min(ranks.get(word, (known.key, j)), (known.key, j))
        for v, raised in enumerate(known.raised or ()):
            own = schema.feature_names[v] if self._grows else None
            by = self._raises.setdefault(v, {})
            for j in np.flatnonzero(raised).tolist():
                column = j if own is None else own[j]
                by[column] = max(by.get(column, 0.0), float(raised[j]))
            if known.holds_sparse(v):
                self._sparse.setdefault(v, name)
            if v in self._sparse and by:
                raise ValueError(
                    f"View {schema.names[v]!r} is sparse in {self._sparse[v]}, and has negative "
                    "values in others; raising its columns would fill it. Learn from all parts "
                    "with that view dense, or with negative='clip' (--negative clip)."
                )

    def _put_together(self) -> None:
        """Put all together that only all parts could tell."""
        schema = self.schema
        if self._grows:
            names = tuple(
                None if own is None else Vocabulary(sorted(ranks, key=ranks.__getitem__))
                for ranks, own in zip(self._ranks, schema.feature_names, strict=True)
            )
            pairs = zip(names, schema.widths, strict=True)
            widths = tuple(D if own is None else len(own) for own, D in pairs)
            self.schema = schema = Schema(schema.names, widths, names)
        if self._raises:
            self.raised = tuple(np.zeros(D) for D in schema.widths)
        for v, by in self._raises.items():
            own = schema.feature_names[v] if self._grows else None
            for column, height in by.items():
                assert self.raised is not None
                self.raised[v][column if own is None else own.index(column)] = height

    @on_one_thread
    def merged(self) -> tuple[FittedState, tuple[ChunkInfo, ...]]:
        """Return what the parts have learned together, and what happened in their chunks."""
        if len(self._order) == 1:
            part = self._load(0)
            return part.known, part.history
        with np.errstate(over="ignore", invalid="ignore"):
            sample = in_pairs(Sample.of(self._keyed(i, self._load(i))) for i in self._order)
            lead = completed_matrices(self._state(self._load(self._lead)), self._settings)
            common = CommonClusters(sample, [lead], self._generator(0), self._settings)
            total = in_pairs(self._sums(i, self._load(i), common) for i in self._order)
            state = common.state(total.statistics, total.window, total.n_chunks, self._generator(1))
        known = FittedState(
            self.schema,
            self._settings,
            state,
            self.raised,
            total.preparation,
            tuple(sorted(self._keys)),
            self._grows,
            total.drift,
        )
        known.check_finite()
        return known, total.history

    def _sums(self, i: int, part: Part, common: CommonClusters) -> Sums:
        """Return what part number i has in the common clusters."""
        keyed, places = self._keyed(i, part), self._places(part)
        preparation = part.known.preparation
        if places is not None:
            preparation = preparation.place(places, self.schema.widths)
        return Sums(
            common.moved(keyed),
            common.window(keyed) if i in self._recent else keyed.state.window.emptied(),
            preparation,
            part.history[-HISTORY:],
            part.known.state.n_chunks,
            part.known.drift,
        )

    def _keyed(self, i: int, part: Part) -> KeyedPart:
        return KeyedPart(self._state(part), self._seeds[i], self._left[i])

    def _state(self, part: Part) -> State:
        """Return what a part has learned, with the columns of all, raised as those of all."""
        state, raised = part.known.state, part.known.raised
        places = self._places(part)
        if places is not None:
            state = state.place(places, self.schema.widths)
        if self.raised is None or raised is None:
            return state
        delta = [each.copy() for each in self.raised]
        for v, own in enumerate(raised):
            delta[v][slice(None) if places is None else places[v]] -= own
        return state.shift(delta, self._settings)

    def _places(self, part: Part) -> list[IntArray] | None:
        """Return where the columns of a part are among those of all; None if they are the same."""
        own, every = part.known.schema, self.schema
        if not self._grows or own.feature_names == every.feature_names:
            return None
        return [
            all_v.known_places(own_v) if isinstance(all_v, Vocabulary) and own_v else np.arange(D)
            for own_v, all_v, D in zip(
                own.feature_names, every.feature_names, own.widths, strict=True
            )
        ]

    def _generator(self, use: int) -> np.random.Generator:
        return np.random.default_rng([use, *(self._seeds[i] for i in self._order)])


def _recent(later: Sequence[int]) -> frozenset[int]:
    """Return which parts are last, none beside them, by the rows of others that came after each.

    Examples
    --------
    >>> sorted(_recent([700, 400, 0])), sorted(_recent([400, 400, 0])), sorted(_recent([0, 0]))
    ([0, 1, 2], [2], [])
    """
    beside, found = Counter(later), []
    for i in sorted(range(len(later)), key=later.__getitem__):
        if beside[later[i]] > 1:
            break
        found.append(i)
    return frozenset(found)


def _in_time(groups: Sequence[Sequence[Part]]) -> list[Part]:
    """Return the parts of groups that follow each other in time, the oldest first.

    The parts of one group are side by side, or know their order.
    """
    found: list[Part] = []
    after = 0
    for group in reversed(groups):
        found += [replace(part, later=part.later + after) for part in reversed(group)]
        after += sum(part.known.n_rows for part in group)
    return found[::-1]


def merge_models(models: Sequence[Any], order: bool = False) -> Any:
    """Return an estimator of the rows of all of some, at least one; see `OMVFS.merge`."""
    from omvfs import OMVFS

    for i, model in enumerate(models):
        if not isinstance(model, OMVFS) or type(model) is not type(models[0]):
            expected = type(models[0]).__name__ if i else "OMVFS"
            raise TypeError(f"Got {type(model).__name__} as part {i + 1}; expected {expected}.")
    groups = [model.as_parts() for model in models]
    parts = _in_time(groups) if order else [part for group in groups for part in group]
    if not parts:
        return clone(models[0])
    names = [f"part {i}" for i, group in enumerate(groups, start=1) for _ in group]
    known, history = Merger(parts.__getitem__, names).merged()
    fitted = [model for model, group in zip(models, groups, strict=True) if group]
    merged = fitted[0].with_learned(known, history)
    merged._parts = tuple(parts)
    # Names of columns are those of whoever knows them.
    for model in fitted:
        if hasattr(model, "feature_names_in_"):
            merged.feature_names_in_ = model.feature_names_in_
    return merged


def merge(models: Iterable[Any], *, order: bool = False) -> Any:
    """Return an estimator of the rows of all of some, each of which has learned by itself.

    For data that many machines hold, or many processes read: fit parts, merge, done.

    Parameters
    ----------
    models : iterable of OMVFS, or of path
        Estimators, or files that `OMVFS.save` or ``omvfs select`` have written. Files are read one
        after another, each three times, so that memory does not grow with their number. What is
        said of parts at `OMVFS.merge` holds here too; only what comes of files is one part from
        the start.
    order : bool, default=False
        Whether the parts follow each other in time, as they are given.

    Returns
    -------
    OMVFS

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import omvfs
    >>> from omvfs import OMVFS
    >>> X = np.random.default_rng(0).random((90, 6))
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(3):
    ...     OMVFS(2, random_state=0).fit(X[30 * i : 30 * i + 30]).save(f"{folder}/{i}.omvfs")
    >>> omvfs.merge(f"{folder}/{i}.omvfs" for i in range(3)).n_samples_seen_
    90
    """
    given = list(models)
    if not given:
        raise ValueError("Got no estimators to merge; expected at least one, or its file.")
    files = [isinstance(each, str | os.PathLike) for each in given]
    if not any(files):
        return merge_models(given, order)
    if not all(files):
        raise TypeError("Got estimators and files; expected one kind. Save them, or load them.")
    return merge_files(given, order)


def merge_files(
    paths: Sequence[PathLike], order: bool = False, called: Sequence[str] | None = None
) -> Any:
    """Return the same of what files hold, which errors call by their names, or as is told."""
    from omvfs import OMVFS

    names = [os.fspath(path) for path in paths]

    def load(i: int) -> Part:
        return OMVFS.load(names[i]).as_parts()[0]

    known, history = Merger(load, called or names, order).merged()
    return OMVFS.load(names[0]).with_learned(known, history)
