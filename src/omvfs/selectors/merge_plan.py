"""How parts of a stream that were learned from apart are merged, wherever they are.

A `Plan` is made of a `Brief` of each part. Then the parts are asked twice, one by one, wherever
they are, in memory, in files or on other machines: for `Plan.sample` and, when the common clusters
are known, for `Plan.sums`. What they give is no larger than a part, and is added by `in_pairs` in
the order of `Plan.order`: so do all who merge, as `merge_parts` does, and come to the same bits.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from omvfs.data.schema import Schema
from omvfs.model.arrays import Array
from omvfs.model.constrained.directions import completed_matrices
from omvfs.model.constrained.merging import CommonClusters, KeyedPart, Sample, in_pairs
from omvfs.model.settings import Settings
from omvfs.model.state import ChunkInfo, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.window import Window
from omvfs.selectors.fitted import FittedState
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
    """

    statistics: Statistics
    window: Window
    preparation: Preparation
    history: tuple[ChunkInfo, ...]
    n_chunks: int

    def __add__(self, later: "Sums") -> "Sums":
        return Sums(
            self.statistics + later.statistics,
            self.window + later.window,
            self.preparation + later.preparation,
            (*self.history, *later.history)[-HISTORY:],
            self.n_chunks + later.n_chunks,
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
            part.known.preparation,
            part.history[-HISTORY:],
            part.known.state.n_chunks,
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
            self.schema, self.settings, state, self.raised, total.preparation, self.keys
        )
        merged.check_finite()
        return merged

    def _keyed(self, i: int, part: Part) -> KeyedPart:
        return KeyedPart(self._state(part), self.seeds[i], self.left[i])

    def _state(self, part: Part) -> State:
        """Return what a part has learned, with its columns raised as those of all."""
        if self.raised is None or part.known.raised is None:
            return part.known.state
        pairs = zip(self.raised, part.known.raised, strict=True)
        return part.known.state.shift([all_v - own for all_v, own in pairs], self.settings)

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

    def add(self, brief: Brief) -> None:
        """Take in another part, or say why it cannot be merged with those before."""
        name, form = self._names[self._n], brief.form
        if self._n == 0:
            check_mergeable(form, name)
            self.form, self.schema = form, form.schema
        else:
            # With all the names that any of them knows.
            check_alike(replace(self.form, schema=self.schema), self._names[0], form, name)
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
        if brief.raised is None:
            return
        # Zeros without a sign, whichever part they are of.
        before = self.raised or brief.raised
        pairs = zip(before, brief.raised, strict=True)
        self.raised = tuple(np.maximum(a, b) + 0.0 for a, b in pairs)
        for v, view in enumerate(form.schema.names):
            if brief.sparse[v]:
                self._sparse.setdefault(v, name)
            if v in self._sparse and self.raised[v].any():
                raise ValueError(
                    Sentence(
                        f"View {view!r} is sparse in {self._sparse[v]}, and has negative values in "
                        "others; raising its columns would fill it. Learn from all parts with that "
                        "view dense, or with ",
                        Setting("negative", "clip"),
                        ".",
                    )
                )


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
