"""How parts of a stream that were learned from apart are merged, wherever they are.

A `Plan` is made of a `Brief` of each part. Then the parts are asked twice, one by one, wherever
they are, in memory, in files or on other machines: for `Plan.sample` and, when the common clusters
are known, for `Plan.sums`. What they give is no larger than a part, and is added by `in_pairs` in
the order of `Plan.order`: so do all who merge, as `merge_parts` does, and come to the same bits.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from omvfs.data.schema import Schema
from omvfs.data.vocabulary import Vocabulary
from omvfs.model.arrays import Array, IntArray
from omvfs.model.constrained.directions import completed_matrices
from omvfs.model.constrained.merging import CommonClusters, KeyedPart, Sample, in_pairs
from omvfs.model.settings import Settings
from omvfs.model.state import ChunkInfo, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.event import DriftEvent
from omvfs.model.stream.window import Window
from omvfs.selectors.detecting import EVENTS
from omvfs.selectors.fitted import FittedState
from omvfs.selectors.growing import Growth
from omvfs.selectors.parts import Brief, Card, Form, Part, check_alike, check_mergeable
from omvfs.selectors.preparation import Preparation
from omvfs.selectors.stream import HISTORY
from omvfs.threads import on_one_thread
from omvfs.wording import Sentence, Setting

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
    growth : Growth or None
        Of the features of all parts, if they come later.
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
    growth: Growth | None = None

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
            growth=common.growth,
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
            self.growth,
            total.drift,
        )
        merged.check_finite()
        return merged.bounded()

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
        if self.growth is None or own.feature_names == every.feature_names:
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
    """What parts have in common, which come one by one."""

    form: Form
    schema: Schema

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._n = names, 0
        self.keys: dict[bytes, int] = {}
        self._sparse: dict[int, str] = {}
        self.raised: tuple[NDArray[np.float64], ...] | None = None
        self.growth: Growth | None = None
        # Of views that grow: of each name the first place that it has in any part, parts by key.
        self._ranks: list[dict[str, tuple[bytes, int]]] = []
        self._raises: dict[int, dict[Any, float]] = {}
        self._most: tuple[int | None, ...] = ()
        self._forgotten: tuple[int, ...] = ()

    def add(self, brief: Brief) -> None:
        """Take in another part, or say why it cannot be merged with those before."""
        name, form = self._names[self._n], brief.form
        if self._n == 0:
            check_mergeable(form, name)
            self.form, self.schema = form, form.schema
        else:
            # With all the names that any of them knows.
            check_alike(replace(self.form, schema=self.schema), self._names[0], form, name)
            if brief.growth is None:
                known = zip(self.schema.feature_names, form.schema.feature_names, strict=True)
                names = tuple(own or other for own, other in known)
                self.schema = replace(self.schema, feature_names=names)
        if brief.growth is not None:
            self._grow(brief, brief.growth)
        for key in (brief.card.key, *brief.card.of_parts):
            if (twin := self.keys.setdefault(key, self._n)) != self._n:
                raise ValueError(
                    f"{name} has learned from rows that {self._names[twin]} has learned from too: "
                    "they would count twice. Give every part once."
                )
        self._n += 1
        if brief.growth is not None:
            self._raise_by_name(brief, name)
            return
        if brief.raised is None:
            return
        # Zeros without a sign, whichever part they are of.
        before = self.raised or brief.raised
        pairs = zip(before, brief.raised, strict=True)
        self.raised = tuple(np.maximum(a, b) + 0.0 for a, b in pairs)
        for v in range(len(form.schema.names)):
            self._check_sparse(v, brief, name, bool(self.raised[v].any()))

    def _check_sparse(self, v: int, brief: Brief, name: str, raised: bool) -> None:
        view = brief.form.schema.names[v]
        if brief.sparse[v]:
            self._sparse.setdefault(v, name)
        if v in self._sparse and raised:
            raise ValueError(
                Sentence(
                    f"View {view!r} is sparse in {self._sparse[v]}, and has negative values in "
                    "others; raising its columns would fill it. Learn from all parts with that "
                    "view dense, or with ",
                    Setting("negative", "clip"),
                    ".",
                )
            )

    def _grow(self, brief: Brief, growth: Growth) -> None:
        """Take in the names of a part: all that any part has, in the order of the parts' keys."""
        key, schema = brief.card.key, brief.form.schema
        if not self._ranks:
            self._ranks = [{} for _ in schema.names]
            self._most, self._forgotten = growth.most, (0,) * len(schema.names)
        self._forgotten = tuple(
            a + b for a, b in zip(self._forgotten, growth.forgotten, strict=True)
        )
        for ranks, names in zip(self._ranks, schema.feature_names, strict=True):
            for j, word in enumerate(names or ()):
                rank = key, j
                if (held := ranks.get(word)) is None or rank < held:
                    ranks[word] = rank

    def _raise_by_name(self, brief: Brief, name: str) -> None:
        """Note by how much the columns of a part are raised."""
        if brief.raised is None:
            return
        schema = brief.form.schema
        for v, own in enumerate(brief.raised):
            by: dict[Any, float] = self._raises.setdefault(v, {})
            for j in np.flatnonzero(own).tolist():
                names = schema.feature_names[v]
                word = j if names is None else names[j]
                by[word] = max(by.get(word, 0.0), float(own[j]))
            self._check_sparse(v, brief, name, bool(by))

    def finish(self) -> None:
        """Put all together that only all parts could tell."""
        if not self._ranks:
            return
        pairs = list(zip(self._ranks, self.schema.feature_names, strict=True))
        names = tuple(
            None if own is None else Vocabulary(sorted(ranks, key=ranks.__getitem__))
            for ranks, own in pairs
        )
        widths = tuple(
            D if own is None else len(own) for own, D in zip(names, self.schema.widths, strict=True)
        )
        self.schema = Schema(self.schema.names, widths, names)
        # Of what came when in which part there is no common account: nothing is young.
        born = tuple(
            np.zeros(0 if own is None or most is None else len(own), np.int64)
            for own, most in zip(names, self._most, strict=True)
        )
        self.growth = Growth(self._most, born, self._forgotten)
        if not self._raises:
            return
        raised = [np.zeros(D) for D in widths]
        for v, by in self._raises.items():
            words = names[v]
            for word, height in by.items():
                raised[v][word if words is None else words.index(word)] = height
        self.raised = tuple(raised)


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
