"""Merge estimators that have learned from parts of a stream, wherever these are."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from omvfs.constraints import plain
from omvfs.data.schema import Schema, Vocabulary, listed
from omvfs.fitted import EVENTS, FittedState
from omvfs.model.arrays import Array, IntArray
from omvfs.model.constrained.directions import completed_matrices
from omvfs.model.constrained.merging import CommonClusters, KeyedPart, Sample, in_pairs
from omvfs.model.settings import Settings
from omvfs.model.state import ChunkInfo, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.event import DriftEvent
from omvfs.model.stream.window import Window
from omvfs.prepare import Preparation
from omvfs.selector import HISTORY
from omvfs.threads import on_one_thread


@dataclass(frozen=True)
class Reading:
    """How an estimator reads its rows, beside their schema.

    Attributes
    ----------
    plain : bool
        Whether rows come as one X that is not split.
    n_features : int
        Columns of X, or features of all views.
    columns : bytes or None
        Which column of X is which feature, as 8-byte numbers; None where rows come as views.
    """

    plain: bool
    n_features: int
    columns: bytes | None

    def __str__(self) -> str:
        if self.columns is not None:
            return f"one X of {self.n_features:,} columns, split into views"
        return "one X that is not split" if self.plain else "views"


@dataclass(frozen=True)
class Form:
    """What parts must have in common, but for names that one knows and the other does not.

    Attributes
    ----------
    schema : Schema
    reading : Reading
    settings : Settings
    params : mapping of str to object
        Parameters that decide what is learned beside `settings`; `prepare` in few words.
    dtype : dtype
        Of what was learned.
    """

    schema: Schema
    reading: Reading
    settings: Settings
    params: Mapping[str, Any]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Card:
    """What a part is known by among others.

    Attributes
    ----------
    key : bytes
        Of its rows.
    n_rows : int
        Rows that it was learned from.
    weight : float
        Rows, as far as they are not forgotten.
    later : int
        Rows of other parts that came after it.
    of_parts : tuple of bytes
        Keys of the parts that were merged to it before.
    """

    key: bytes
    n_rows: int
    weight: float
    later: int = 0
    of_parts: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Brief:
    """What must be known of every part before one of them is merged.

    Attributes
    ----------
    form : Form
    card : Card
    raised : tuple of array of shape (D_v,), or None
        By how much columns are raised.
    sparse : tuple of bool
        Which views it holds sparse rows of.
    grows : bool
        Whether its features come later.
    """

    form: Form
    card: Card
    raised: tuple[NDArray[np.float64], ...] | None
    sparse: tuple[bool, ...]
    grows: bool = False


@dataclass(frozen=True)
class Part:
    """What an estimator has learned from a part of a stream.

    Attributes
    ----------
    known : FittedState
        What was learned; nobody writes into it any more.
    history : tuple of ChunkInfo
        What happened in its chunks.
    reading : Reading
    params : mapping of str to object
        Parameters that decide what is learned, beside the settings.
    later : int
        Rows of other parts that came after it.
    """

    known: FittedState
    history: tuple[ChunkInfo, ...]
    reading: Reading
    params: Mapping[str, Any]
    later: int = 0

    def __deepcopy__(self, memo: Any) -> "Part":
        return self

    @property
    def n_rows(self) -> int:
        """Rows that it was learned from."""
        return self.known.n_rows

    @property
    def brief(self) -> Brief:
        """What must be known of it before it is merged."""
        known, statistics = self.known, self.known.state.statistics
        form = Form(known.schema, self.reading, known.settings, self.params, statistics.dtype)
        card = Card(known.key, self.n_rows, statistics.decayed_n_rows, self.later, known.of_parts)
        sparse = tuple(map(known.holds_sparse, range(len(known.schema.names))))
        return Brief(form, card, known.raised, sparse, known.grows)


def check_mergeable(form: Form, name: str) -> None:
    """Refuse a part that can be merged with no other.

    Parameters
    ----------
    form : Form
    name : str
        What errors call the part.
    """
    if form.settings.solver != "constrained":
        raise ValueError(
            f"{name} is an OMVFSPaper, which keeps no rows by which the clusters of one part could "
            "be found again in another. Merge what OMVFS has learned."
        )


def check_alike(ours: Form, first: str, theirs: Form, other: str) -> None:
    """Refuse two parts that cannot be merged.

    Parameters
    ----------
    ours, theirs : Form
    first, other : str
        What errors call them.
    """
    grows = ours.params.get("new_features") == theirs.params.get("new_features") == "grow"
    _check_views(ours.schema, first, theirs.schema, other, grows)
    expected, got = ({**each.params, **asdict(each.settings)} for each in (ours, theirs))
    for name, value in expected.items():
        if got[name] != value:
            raise ValueError(
                f"{other} was learned with {name}={plain(got[name])!r}, {first} with "
                f"{name}={plain(value)!r}. Learn from all parts with the same parameters; only the "
                "seed and those that rank may differ."
            )
    # Where features come later, how many there are says nothing.
    alike = replace(theirs.reading, n_features=ours.reading.n_features)
    if (alike if grows else theirs.reading) != ours.reading:
        raise ValueError(
            f"{other} was learned from {theirs.reading}, {first} from {ours.reading}. Give the "
            "rows of all parts in the same form."
        )
    if theirs.dtype != ours.dtype:
        raise ValueError(
            f"{other} was learned in {theirs.dtype}, {first} in {ours.dtype}. Give the rows of all "
            "parts in the same precision."
        )


def _check_views(ours: Schema, first: str, theirs: Schema, other: str, grows: bool = False) -> None:
    if theirs.names != ours.names:
        raise ValueError(
            f"{other} has views {listed(theirs.names)}; {first} has {listed(ours.names)}. Merge "
            "parts of the same views in the same order."
        )
    for v, view in enumerate(ours.names):
        if grows and None not in (theirs.feature_names[v], ours.feature_names[v]):
            continue
        if grows and (theirs.feature_names[v] is None) != (ours.feature_names[v] is None):
            raise ValueError(
                f"View {view!r} has names of features in one of {first} and {other}, and none in "
                "the other. Give the rows of all parts in the same form."
            )
        if theirs.widths[v] != ours.widths[v]:
            raise ValueError(
                f"View {view!r} has {theirs.widths[v]:,} features in {other} and "
                f"{ours.widths[v]:,} in {first}. Merge parts of the same features."
            )
        got, expected = theirs.feature_names[v], ours.feature_names[v]
        if got is not None and expected is not None and got != expected:
            column = next(j for j, name in enumerate(got) if name != expected[j])
            raise ValueError(
                f"View {view!r} has other features in {other} than in {first}: column {column} is "
                f"{got[column]!r}, expected {expected[column]!r}. Merge parts of the same features "
                "in the same order."
            )


P = TypeVar("P", Part, Card)


@dataclass(frozen=True)
class Sums:
    """What a part adds to others once its clusters are theirs.

    Attributes
    ----------
    statistics : Statistics
    window : Window
        Its last chunks, if nothing came after them.
    preparation : Preparation
        What its rows were counted to by the steps that they went through.
    history : tuple of ChunkInfo
    n_chunks : int
    drift : tuple of DriftEvent
        Changes of the stream, at rows of all that were added so far.
    """

    statistics: Statistics
    window: Window
    preparation: Preparation
    history: tuple[ChunkInfo, ...]
    n_chunks: int
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


@dataclass(frozen=True)
class Plan:
    """How to merge some parts.

    Attributes
    ----------
    schema : Schema
    settings : Settings
    raised : tuple of array of shape (D_v,), or None
        By how much columns must be raised for no row of any part to be negative.
    order : tuple of int
        Which part is added first, and so on: by age, then by their keys.
    seeds : tuple of int
        Of each part, by which its rows are drawn.
    left : tuple of float
        Of each part, what the rows of later ones have left of it.
    recent : frozenset of int
        Parts whose last chunks nothing came after but those of others of them.
    lead : int
        The part of most rows: its clusters are worth a start.
    keys : tuple of bytes
        Of all parts, and of those that were merged to one of them before.
    grows : bool
        Whether features come later; the schema has those of all parts.
    """

    schema: Schema
    settings: Settings
    raised: tuple[NDArray[np.float64], ...] | None
    order: tuple[int, ...]
    seeds: tuple[int, ...]
    left: tuple[float, ...]
    recent: frozenset[int]
    lead: int
    keys: tuple[bytes, ...]
    grows: bool = False

    @classmethod
    def of(
        cls,
        briefs: Iterable[Brief],
        names: Sequence[str],
        in_order: bool = False,
    ) -> "Plan":
        """Return how to merge some parts, or say why they cannot be merged.

        Parameters
        ----------
        briefs : iterable of Brief
            Of each part, at least one. They are not held: with all their names they are large.
        names : sequence of str
            What errors call the parts.
        in_order : bool, default=False
            Whether they follow each other in time, as they come.
        """
        common, cards = _Common(names), []
        for brief in briefs:
            common.add(brief)
            cards.append(brief.card)
        common.finish()
        if in_order:
            cards = in_time([[card] for card in cards])
        settings = common.form.settings
        order = tuple(sorted(range(len(cards)), key=lambda i: (-cards[i].later, cards[i].key)))
        left = tuple(settings.decay(card.later) for card in cards)
        return cls(
            schema=common.schema,
            settings=settings,
            raised=common.raised,
            order=order,
            seeds=tuple(int.from_bytes(card.key[:8], "little") for card in cards),
            left=left,
            recent=_recent(cards),
            lead=max(order, key=lambda i: left[i] * cards[i].weight),
            keys=tuple(sorted(common.keys)),
            grows=common.grows,
        )

    def sample(self, i: int, part: Part) -> Sample:
        """Return what part number i gives to the common sample, to be added `in_pairs`."""
        return Sample.of(self._keyed(i, part))

    def known(self, part: Part) -> list[Array]:
        """Return the feature matrices of a part, for the leading one."""
        return completed_matrices(self._state(part), self.settings)

    def common(self, sample: Sample, known: list[Array]) -> CommonClusters:
        """Return the common clusters, from the sample of all parts and what the leading one knows.

        Parameters
        ----------
        sample : Sample
        known : list of array of shape (D_v, K)
        """
        return CommonClusters(sample, [known], self._generator(0), self.settings)

    def sums(self, i: int, part: Part, common: CommonClusters) -> Sums:
        """Return what part number i has in the common clusters, to be added `in_pairs`."""
        keyed = self._keyed(i, part)
        return Sums(
            common.moved(keyed),
            common.window(keyed) if i in self.recent else keyed.state.window.emptied(),
            self._preparation(part),
            part.history[-HISTORY:],
            part.known.state.n_chunks,
            part.known.drift,
        )

    def merged(self, common: CommonClusters, total: Sums) -> FittedState:
        """Return what all parts have learned together.

        Parameters
        ----------
        common : CommonClusters
        total : Sums
            Of all parts.
        """
        rng = self._generator(1)
        state = common.state(total.statistics, total.window, total.n_chunks, rng)
        merged = FittedState(
            self.schema,
            self.settings,
            state,
            self.raised,
            total.preparation,
            self.keys,
            self.grows,
            total.drift,
        )
        merged.check_finite()
        return merged

    def _keyed(self, i: int, part: Part) -> KeyedPart:
        return KeyedPart(self._state(part), self.seeds[i], self.left[i])

    def _state(self, part: Part) -> State:
        """Return what a part has learned, with the columns of all, raised as those of all."""
        state, raised = part.known.state, part.known.raised
        places = self._places(part)
        if places is not None:
            state = state.place(places, self.schema.widths)
        if self.raised is None or raised is None:
            return state
        if places is not None:
            raised = tuple(
                _among(own, c, D)
                for own, c, D in zip(raised, places, self.schema.widths, strict=True)
            )
        pairs = zip(self.raised, raised, strict=True)
        return state.shift([all_v - own for all_v, own in pairs], self.settings)

    def _preparation(self, part: Part) -> Preparation:
        """Return what the rows of a part were counted to, by the columns of all."""
        places, counted = self._places(part), part.known.preparation
        return counted if places is None else counted.place(places, self.schema.widths)

    def _places(self, part: Part) -> list[IntArray] | None:
        """Return where the columns of a part are among those of all; None if they are the same."""
        own, every = part.known.schema, self.schema
        if not self.grows or own.feature_names == every.feature_names:
            return None
        return [
            all_v.known_places(own_v) if isinstance(all_v, Vocabulary) and own_v else np.arange(D)
            for own_v, all_v, D in zip(
                own.feature_names, every.feature_names, own.widths, strict=True
            )
        ]

    def _generator(self, use: int) -> np.random.Generator:
        return np.random.default_rng([use, *(self.seeds[i] for i in self.order)])


@on_one_thread
def merge_parts(
    plan: Plan, load: Callable[[int], Part]
) -> tuple[FittedState, tuple[ChunkInfo, ...]]:
    """Return what parts have learned together, and what happened in their chunks.

    Parameters
    ----------
    plan : Plan
        Of the parts.
    load : callable
        Returns a part by its number; it is let go before the next is asked for.
    """
    if len(plan.order) == 1:
        part = load(0)
        return part.known, part.history
    with np.errstate(over="ignore", invalid="ignore"):
        sample = in_pairs(plan.sample(i, load(i)) for i in plan.order)
        common = plan.common(sample, plan.known(load(plan.lead)))
        total = in_pairs(plan.sums(i, load(i), common) for i in plan.order)
        return plan.merged(common, total), total.history


class _Common:
    """What parts have in common, which come one by one.

    Where features come later, each part has features of its own: there the columns of all are put
    together by their names, those of the part of the smallest key first.
    """

    form: Form
    schema: Schema

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._n = names, 0
        self.keys: dict[bytes, int] = {}
        self.grows = False
        self.raised: tuple[NDArray[np.float64], ...] | None = None
        self._sparse: dict[int, str] = {}
        # Of views that grow: of each name the first place that it has in any part, parts by key;
        # and by how much its column is raised.
        self._ranks: list[dict[str, tuple[bytes, int]]] = []
        self._raises: dict[int, dict[Any, float]] = {}

    def add(self, brief: Brief) -> None:
        """Take in another part, or say why it cannot be merged with those before."""
        name, form = self._names[self._n], brief.form
        if self._n == 0:
            check_mergeable(form, name)
            self.form, self.schema, self.grows = form, form.schema, brief.grows
            self._ranks = [{} for _ in form.schema.names]
        else:
            # With all the names that any of them knows.
            check_alike(replace(self.form, schema=self.schema), self._names[0], form, name)
            if not self.grows:
                known = zip(self.schema.feature_names, form.schema.feature_names, strict=True)
                names = tuple(own or other for own, other in known)
                self.schema = replace(self.schema, feature_names=names)
        for key in (brief.card.key, *brief.card.of_parts):
            if (twin := self.keys.setdefault(key, self._n)) != self._n:
                raise ValueError(
                    f"{name} has learned from rows that {self._names[twin]} has learned from too: "
                    "they would count twice. Give every part once."
                )
        self._n += 1
        if self.grows:
            self._take_names(brief)
        for v, own in enumerate(brief.raised or ()):
            self._raise(v, own, form.schema.feature_names[v])
            self._check_sparse(v, brief, name)

    def _take_names(self, brief: Brief) -> None:
        for ranks, names in zip(self._ranks, brief.form.schema.feature_names, strict=True):
            for j, word in enumerate(names or ()):
                rank = brief.card.key, j
                if (held := ranks.get(word)) is None or rank < held:
                    ranks[word] = rank

    def _raise(self, v: int, raised: NDArray[np.float64], names: Sequence[str] | None) -> None:
        """Note by how much the columns of a view are raised, by name if they come later."""
        by = self._raises.setdefault(v, {})
        for j in np.flatnonzero(raised).tolist():
            column = names[j] if self.grows and names is not None else j
            by[column] = max(by.get(column, 0.0), float(raised[j]))

    def _check_sparse(self, v: int, brief: Brief, name: str) -> None:
        if brief.sparse[v]:
            self._sparse.setdefault(v, name)
        if v in self._sparse and self._raises[v]:
            raise ValueError(
                f"View {brief.form.schema.names[v]!r} is sparse in {self._sparse[v]}, and has "
                "negative values in others; raising its columns would fill it. Learn from all "
                "parts with that view dense, or with negative='clip' (--negative clip)."
            )

    def finish(self) -> None:
        """Put all together that only all parts could tell."""
        schema = self.schema
        if self.grows:
            names = tuple(
                None if own is None else Vocabulary(sorted(ranks, key=ranks.__getitem__))
                for ranks, own in zip(self._ranks, schema.feature_names, strict=True)
            )
            widths = tuple(
                D if own is None else len(own) for own, D in zip(names, schema.widths, strict=True)
            )
            self.schema = schema = Schema(schema.names, widths, names)
        if not self._raises:
            return
        self.raised = tuple(np.zeros(D) for D in schema.widths)
        for v, by in self._raises.items():
            words = schema.feature_names[v] if self.grows else None
            for column, height in by.items():
                self.raised[v][column if words is None else words.index(column)] = height


def _among(a: NDArray[np.float64], places: IntArray, width: int) -> NDArray[np.float64]:
    """Return numbers in certain places among zeros."""
    wide = np.zeros(width)
    wide[places] = a
    return wide


def in_time(groups: Sequence[Sequence[P]]) -> list[P]:
    """Return parts, or cards of parts, of groups that follow each other in time.

    Parameters
    ----------
    groups : sequence of (sequence of Part or Card)
        The oldest first; the parts of one group are side by side, or know their order.
    """
    found: list[P] = []
    after = 0
    for group in reversed(groups):
        found += [replace(part, later=part.later + after) for part in reversed(group)]
        after += sum(part.n_rows for part in group)
    return found[::-1]


def _recent(cards: Sequence[Card]) -> frozenset[int]:
    """Return which parts are one after the other at the end, with none beside them."""
    beside = Counter(card.later for card in cards)
    alone = []
    for i in sorted(range(len(cards)), key=lambda i: cards[i].later):
        if beside[cards[i].later] > 1:
            break
        alone.append(i)
    return frozenset(alone)


def merge_models(models: Sequence[Any], order: bool = False) -> Any:
    """Return an estimator of the rows of all of some; see `OMVFS.merge`.

    Parameters
    ----------
    models : sequence of OMVFS
        At least one.
    order : bool, default=False
    """
    from omvfs import OMVFS

    for i, model in enumerate(models):
        if not isinstance(model, OMVFS) or type(model) is not type(models[0]):
            expected = type(models[0]).__name__ if i else "OMVFS"
            raise TypeError(f"Got {type(model).__name__} as part {i + 1}; expected {expected}.")
    groups = [model.as_parts() for model in models]
    parts = in_time(groups) if order else [part for group in groups for part in group]
    if not parts:
        return clone(models[0])
    names = [f"part {i}" for i, group in enumerate(groups, start=1) for _ in group]
    plan = Plan.of((part.brief for part in parts), names)
    known, history = merge_parts(plan, parts.__getitem__)
    fitted = [model for model, group in zip(models, groups, strict=True) if group]
    merged = fitted[0].with_learned(known, history)
    merged._parts = tuple(parts)
    # Names of columns are those of whoever knows them.
    for model in fitted:
        if hasattr(model, "feature_names_in_"):
            merged.feature_names_in_ = model.feature_names_in_
    return merged


PathLike = str | os.PathLike[str]


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
    """Return an estimator of the rows of all that files hold.

    Parameters
    ----------
    paths : sequence of path
        At least one.
    order : bool, default=False
        Whether the parts follow each other in time, as they are given.
    called : sequence of str, default=None
        What errors call the parts, if not by their files.
    """
    from omvfs import OMVFS

    names = [os.fspath(path) for path in paths]

    def load(i: int) -> Part:
        return OMVFS.load(names[i]).as_parts()[0]

    plan = Plan.of((load(i).brief for i in range(len(names))), called or names, order)
    known, history = merge_parts(plan, load)
    return OMVFS.load(names[0]).with_learned(known, history)
