"""Merge estimators that have learned from parts of a stream."""

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from omvfs.constraints import plain
from omvfs.data.schema import Schema, Vocabulary, listed
from omvfs.data.table import Table
from omvfs.disk import PathLike
from omvfs.fitted import EVENTS, FittedState
from omvfs.model.arrays import IntArray
from omvfs.model.drift import Change, Watch
from omvfs.model.learning import Answers, ChunkInfo, State
from omvfs.model.sums import ViewSums, fit_to_clusters
from omvfs.prepare import Preparation
from omvfs.selector import HISTORY
from omvfs.threads import on_one_thread

if TYPE_CHECKING:
    from omvfs.omvfs import OMVFS

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """What an estimator has learned from a part of a stream."""

    # What was learned; nobody writes into it any more.
    known: FittedState
    # What happened in its chunks.
    history: tuple[ChunkInfo, ...]
    # Parameters that decide what is learned, but for `prepare`: its steps are in what was learned.
    params: Mapping[str, Any]
    # The form in which rows come.
    reading: str
    # Which column of one X is which feature, as 8-byte numbers; None where rows come as views.
    columns: bytes | None
    # Rows of other parts that came after it.
    later: int = 0

    def __deepcopy__(self, memo: Any) -> "Part":
        return self


def _check_terms(ours: Part, first: str, theirs: Part, other: str, grows: bool) -> None:
    """Refuse two parts that cannot be merged; `first` and `other` are what errors call them.

    If they grow, each may have views and columns that the other has not.
    """
    params = dict(ours.params), dict(theirs.params)
    if grows:
        # Only of views that both have.
        for own, part in zip(params, (ours, theirs), strict=True):
            known = part.known
            by_view = dict(zip(known.schema.names, known.settings.view_weights, strict=True))
            both = [v for v in ours.known.schema.names if v in theirs.known.schema.names]
            own["view_weights"] = {view: by_view[view] for view in both}
    for own, part in zip(params, (ours, theirs), strict=True):
        names, steps = part.known.schema.names, part.known.preparation.steps
        told = {*ours.known.told} & {*theirs.known.told}
        own["prepare"] = {v: [*s] for v, s in zip(names, steps, strict=True) if v in told}
    for name, value in params[0].items():
        if params[1][name] != value:
            remedy = (
                "Learn from all parts with the same parameters; only the seed and those that rank "
                "may differ."
            )
            if name == "prepare":
                remedy = "Pass it to all parts, as the first of them has it."
            raise ValueError(
                f"{other} was learned with {name}={plain(params[1][name])!r}, {first} with "
                f"{name}={plain(value)!r}. {remedy}"
            )
    if (theirs.reading, theirs.columns) != (ours.reading, ours.columns):
        raise ValueError(
            f"{other} was learned from {theirs.reading}, {first} from {ours.reading}. Give the "
            "rows of all parts in the same form."
        )
    tables = [part.known.table for part in (ours, theirs) if part.known.table is not None]
    kinds = [{(own.source, own.name): own.kind for own in table.columns} for table in tables]
    either: Any = kinds[0].items() ^ kinds[1].items() if len(kinds) > 1 else set()
    may_differ = either and ours.params["new_features"] == "grow"
    shared = kinds[0].keys() & kinds[1].keys() if may_differ else {key for key, _ in either}
    if odd := sorted({(key[1], kind) for key, kind in either if key in shared}):
        raise ValueError(
            f"{other} and {first} differ in columns and their kinds: {listed(odd)}. Say what kinds "
            "they are for all parts: columns={'zip': 'category'} (--column zip=category)."
        )
    got, expected = theirs.known.dtype, ours.known.dtype
    if got != expected:
        raise ValueError(
            f"{other} was learned in {got}, {first} in {expected}. Give the rows of all parts in "
            "the same precision."
        )


def _check_views(ours: Schema, first: str, theirs: Schema, other: str, grows: bool) -> None:
    if theirs.names != ours.names and not grows:
        raise ValueError(
            f"{other} has views {listed(theirs.names)}; {first} has {listed(ours.names)}. Merge "
            "parts of the same views in the same order."
        )
    for view in (view for view in ours.names if view in theirs.names):
        v, w = ours.names.index(view), theirs.names.index(view)
        got, expected = theirs.feature_names[w], ours.feature_names[v]
        if grows and (got is None) != (expected is None):
            raise ValueError(
                f"View {view!r} has names of features in one of {first} and {other}, and none in "
                "the other. Give the rows of all parts in the same form."
            )
        if grows and got is not None:
            continue
        if theirs.widths[w] != ours.widths[v]:
            raise ValueError(
                f"View {view!r} has {theirs.widths[w]:,} features in {other} and "
                f"{ours.widths[v]:,} in {first}. Merge parts of the same features."
            )
        if got is not None and expected is not None and got != expected:
            column = next(j for j, name in enumerate(got) if name != expected[j])
            raise ValueError(
                f"View {view!r} has other features in {other} than in {first}: column {column} is "
                f"{got[column]!r}, expected {expected[column]!r}. Merge parts of the same features "
                "in the same order."
            )


def in_pairs(items: Iterable[T]) -> T:
    """Return the sum of some things: of neighbours, of such sums that are neighbours, and so on.

    Which are added first depends on their number alone. Of n things no more than log2 n sums are
    held at a time, if they come one by one.

    Examples
    --------
    >>> class Text(str):
    ...     def __add__(self, other):
    ...         return Text(f"({self}{other})")
    >>> in_pairs(map(Text, "abcdefg"))
    '(((ab)(cd))((ef)g))'
    """
    held: list[tuple[int, Any]] = []
    for item in items:
        n, total = 1, item
        while held and held[-1][0] == n:
            total = held.pop()[1] + total
            n *= 2
        held.append((n, total))
    found: Any = held.pop()[1]
    while held:
        found = held.pop()[1] + found
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Total:
    """What parts add up to, once their clusters are common."""

    views: tuple[ViewSums, ...]
    preparation: Preparation
    history: tuple[ChunkInfo, ...]
    n_rows: int
    # At rows of all that were added so far.
    drift: tuple[Change, ...]

    def __add__(self, later: "_Total") -> "_Total":
        return _Total(
            tuple(a + b for a, b in zip(self.views, later.views, strict=True)),
            self.preparation + later.preparation,
            (*self.history, *later.history)[-HISTORY:],
            self.n_rows + later.n_rows,
            (*self.drift, *(each.later(self.n_rows) for each in later.drift))[-EVENTS:],
        )


class Merger:
    """Merges parts, which are loaded one by one, several times.

    The samples of all parts are united and clustered once; the rows of every part's sample are put
    into the common clusters, the sums of the part are moved as its sample moved, and all is added.
    For a given set of parts the result is the same, to the bit, in whatever order they come: they
    are added by age, then by their keys. Where features come later, the columns of all parts are
    put together by their names, those of the smallest key first.

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

    def __init__(
        self, load: Callable[[int], Part], names: Sequence[str], in_order: bool = False
    ) -> None:
        self._load, self._names = load, names
        self._keys: dict[bytes, int] = {}
        # If they grow: of each view, and of each of its names, the first place that it has in any
        # part, parts by key; its width, its steps and its weight; and the tables.
        self._ranks: dict[str, dict[str, tuple[bytes, int]]] = {}
        self._firsts: dict[str, tuple[bytes, int]] = {}
        self._about: dict[str, tuple[int, tuple[str, ...], Any]] = {}
        self._tables: list[tuple[bytes, Any]] = []
        self._told: set[str] = set()
        keys, later, n_rows = [], [], []
        for i in range(len(names)):
            part = load(i)
            self._add(i, part)
            keys.append(part.known.key)
            later.append(part.later)
            n_rows.append(part.known.n_rows)
            del part
        self._put_together()
        if in_order:
            later = [own + sum(n_rows[i:]) for i, own in enumerate(later, start=1)]
        self._order = sorted(range(len(keys)), key=lambda i: (-later[i], keys[i]))
        self._later, self._n_rows = later, sum(n_rows)
        seed = int.from_bytes(keys[self._order[0]][:4], "little")
        weights = tuple(self._about[view][2] for view in self.schema.names)
        self._settings = replace(self._first.known.settings, seed=seed, view_weights=weights)

    def _add(self, i: int, part: Part) -> None:
        """Take in another part, or say why it cannot be merged with those before."""
        name, known, schema = self._names[i], part.known, part.known.schema
        if i == 0:
            self._first = part
            self.schema, self._grows = schema, known.grows
        else:
            first = self._names[0]
            _check_views(self.schema, first, schema, name, self._grows and known.grows)
            _check_terms(self._first, first, part, name, self._grows)
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
        self._told.update(known.told)
        if known.table is not None:
            self._tables.append((known.key, known.table))
        steps, weights = known.preparation.steps, known.settings.view_weights
        for v, view in enumerate(schema.names):
            if view not in known.waiting or view not in self._about:
                self._about[view] = schema.widths[v], steps[v], weights[v]
            self._firsts[view] = min(self._firsts.get(view, (known.key, v)), (known.key, v))
            if not self._grows or (own := schema.feature_names[v]) is None:
                continue
            ranks = self._ranks.setdefault(view, {})
            for j, word in enumerate(own):
                ranks[word] = min(ranks.get(word, (known.key, j)), (known.key, j))

    def _put_together(self) -> None:
        """Put the views and the columns of all parts together."""
        if not self._grows:
            return
        views = sorted(self._firsts, key=self._firsts.__getitem__)
        ranks = [self._ranks.get(view) for view in views]
        names = [
            None if own is None else Vocabulary(sorted(own, key=own.__getitem__)) for own in ranks
        ]
        pairs = zip(views, names, strict=True)
        widths = [self._about[view][0] if own is None else len(own) for view, own in pairs]
        self.schema = Schema(tuple(views), tuple(widths), tuple(names))

    @on_one_thread
    def merged(self) -> tuple[FittedState, tuple[ChunkInfo, ...]]:
        """Return what the parts have learned together, and what happened in their chunks."""
        if len(self._order) == 1:
            part = self._load(0)
            return copy.deepcopy(part.known), part.history
        settings = self._settings
        sample = in_pairs(self._state(i, self._load(i).known).sample for i in self._order)
        widths = self.schema.widths
        none = State.empty(widths, settings)
        united = Answers(replace(none, sample=sample.compact(), n_rows=self._n_rows), settings)
        common = replace(none, views=united.sums(united.clustering.labels), weights=united.weights)
        total = in_pairs(self._total(i, common) for i in self._order)
        placed = fit_to_clusters(united.rows, common.views, common.weights).argmax(axis=1)
        state = State(
            total.views,
            sample.relabel(placed),
            united.weights,
            self._n_rows,
            settings.cluster_at(self._n_rows),
        )
        known = FittedState(
            self.schema,
            settings,
            state,
            total.preparation,
            self._first.known.dtype,
            tuple(sorted(self._keys)),
            self._grows,
            Watch.empty(len(widths), self._n_rows) if settings.detect_drift else None,
            total.drift,
            table=Table.of_parts(own for _, own in sorted(self._tables)) if self._tables else None,
            words=self._first.known.words,
            waiting=tuple(view for view in self.schema.names if view not in self._told),
        )
        return known, total.history

    def _state(self, i: int, known: FittedState) -> State:
        """Return what part number i has learned, with the columns of all, faded by later rows."""
        settings = self._settings
        state, places = known.state.with_views(self._order_of(known)), self._places(known)
        if places is not None:
            state = state.place(places, self.schema.widths)
        sample = state.sample.compact()
        if settings.half_life is not None:
            # Keys count time from the beginning of a part; now from the end of all.
            back = self._n_rows - known.n_rows - self._later[i]
            keys = sample.keys + back * np.log(2) / settings.half_life
            sample = replace(sample, keys=keys, arrived=sample.arrived + back)
        rho = settings.decay(self._later[i])
        views = tuple(view.decay(rho) for view in state.views)
        return replace(state, sample=sample, views=views, n_rows=self._n_rows)

    def _total(self, i: int, common: State) -> _Total:
        """Return what part number i has in the common clusters."""
        part = self._load(i)
        answers = Answers(self._state(i, part.known), self._settings)
        labels = fit_to_clusters(answers.rows, common.views, common.weights).argmax(axis=1)
        K, steps = common.views[0].n_clusters, [self._about[v][1] for v in self.schema.names]
        told = part.known.told
        order = [
            v if view in told else None
            for v, view in zip(self._order_of(part.known), self.schema.names, strict=True)
        ]
        preparation = part.known.preparation.with_views(order, steps)
        if (places := self._places(part.known)) is not None:
            preparation = preparation.place(places, self.schema.widths)
        history, known = part.history[-HISTORY:], part.known
        return _Total(answers.moved(labels, K), preparation, history, known.n_rows, known.drift)

    def _places(self, known: FittedState) -> list[IntArray] | None:
        """Return where the columns of a part are among those of all; None if they are the same."""
        own, every = known.schema, self.schema
        if not self._grows or own == every:
            return None
        return [
            np.arange(0 if v is None else own.widths[v])
            if v is None or not isinstance(all_v, Vocabulary)
            else all_v.known_places(own.feature_names[v] or ())
            for v, all_v in zip(self._order_of(known), every.feature_names, strict=True)
        ]

    def _order_of(self, known: FittedState) -> list[int | None]:
        """Return which view of a part each of all is; None for those that it lacks."""
        own = known.schema.names
        return [own.index(view) if view in own else None for view in self.schema.names]


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


def merge(models: Iterable[Any], *, order: bool = False) -> "OMVFS":
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
    if isinstance(models, str | bytes | Mapping | os.PathLike) or not isinstance(models, Iterable):
        raise TypeError(
            f"Got {type(models).__name__} to merge; expected several estimators, or their files. "
            "Pass them as a list."
        )
    given = list(models)
    if not given:
        raise ValueError("Got no estimators to merge; expected at least one, or its file.")
    files = [isinstance(each, str | os.PathLike) for each in given]
    if not any(files):
        merged: OMVFS = merge_models(given, order)
        if not hasattr(merged, "schema_"):
            raise ValueError(
                f"Got {len(given):,} to merge, none of which has learned from any rows; expected "
                "at least one estimator that has. Fit them first."
            )
        return merged
    if not all(files):
        raise TypeError("Got estimators and files; expected one kind. Save them, or load them.")
    of_files: OMVFS = merge_files(given, order)
    return of_files


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
