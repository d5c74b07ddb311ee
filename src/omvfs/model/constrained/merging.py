"""Merge what was learned from parts of a stream, none of which knew of the others.

Of two parts, cluster 3 of the one has nothing to do with cluster 3 of the other, so that their sums
cannot simply be added. Three steps, the first and the last of which go over all parts:

1. The samples of the parts are united, to a uniform sample of all rows (`Sample`).
2. The union is clustered, once (`CommonClusters`).
3. The rows of each part's own sample are placed in these clusters, and the sums of the part, whose
   rows are gone, move as its rows of the same cluster did (`CommonClusters.moved`).

What a part gives in steps 1 and 3 is a value that depends on the part, its seed and the common
clusters alone, and is no larger than what the part has learned, however many parts there are. The
values are added `in_pairs`, parts in the order of their keys. So it does not matter which were
merged first, nor where: the bits are the same.

Merging two by two instead, with a clustering each time, would cost as many clusterings as there are
parts, move sums again and again by less and less of what their rows were, and depend on the tree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, project
from omvfs.model.columns import on_own_columns
from omvfs.model.constrained.alternate import best_cluster, in_clusters, unit_directions
from omvfs.model.constrained.directions import completed
from omvfs.model.constrained.half_steps import update_v
from omvfs.model.constrained.number import cluster_curve
from omvfs.model.constrained.reach import Reach
from omvfs.model.constrained.recluster import (
    clustered,
    decided_weights,
    moves,
    nearest_moves,
)
from omvfs.model.constrained.step import anchors
from omvfs.model.graph.vote import Electorate, agreement_of_views, assign, weighed
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence, take
from omvfs.model.settings import AUTO, Settings
from omvfs.model.state import B_sq_norms, Scales, State, new_watch
from omvfs.model.statistics import Statistics
from omvfs.model.stream.reservoir import Reservoir
from omvfs.model.stream.window import Window

T = TypeVar("T")


def in_pairs(items: Iterable[T]) -> T:
    """Return the sum of some things: of neighbours, of such sums that are neighbours, and so on.

    Which are added first depends on their number alone. Of n things no more than log2 n sums are
    held at a time, if they come one by one.

    Parameters
    ----------
    items : iterable
        At least one.

    Examples
    --------
    >>> class Text(str):
    ...     def __add__(self, other):
    ...         return Text(f"({self}{other})")
    >>> in_pairs(map(Text, "abcdefg"))
    '(((ab)(cd))((ef)g))'
    """
    held: list[tuple[int, T]] = []
    for item in items:
        n = 1
        while held and held[-1][0] == n:
            item = held.pop()[1] + item  # type: ignore[operator]
            n *= 2
        held.append((n, item))
    total = held.pop()[1]
    while held:
        total = held.pop()[1] + total  # type: ignore[operator]
    return total


@dataclass(frozen=True)
class KeyedPart:
    """What was learned from a part of a stream, ready to be merged with others.

    Attributes
    ----------
    state : State
        What was learned.
    seed : int
        By which the part's rows are drawn into the common sample; another one for every part.
    left : float
        What the rows of later parts have left of it; 1 without forgetting.
    """

    state: State
    seed: int
    left: float = 1.0

    @cached_property
    def reservoir(self) -> Reservoir:
        """Its sample with keys, faded."""
        n_rows = self.left * self.state.statistics.decayed_n_rows
        faded = self.state.reservoir.decay(self.left)
        return faded.keyed(n_rows, np.random.default_rng(self.seed))


@dataclass(frozen=True)
class Sample:
    """What parts have in common without regard to clusters: rows of each, and columns counted.

    Attributes
    ----------
    statistics : Statistics
        Rows and columns counted, no clusters.
    reservoir : Reservoir
        A uniform sample of all rows, with keys.
    """

    statistics: Statistics
    reservoir: Reservoir

    @classmethod
    def of(cls, part: KeyedPart) -> "Sample":
        """Return the sample of a part."""
        counted = part.state.statistics.without_clusters().decay(part.left)
        return cls(counted, part.reservoir)

    def __add__(self, other: "Sample") -> "Sample":
        return Sample(self.statistics + other.statistics, self.reservoir.merge(other.reservoir))


class CommonClusters:
    """Clusters of the rows of all parts, and the way of each part's own clusters into them.

    Parameters
    ----------
    sample : Sample
        Of all parts.
    known : sequence of (sequence of array of shape (D_v, K))
        Feature matrices of some parts, to start from; at least one if the sample has no rows, as
        then its clusters are the common ones.
    rng : Generator
        Drawn from.
    settings : Settings
    """

    def __init__(
        self,
        sample: Sample,
        known: Sequence[Sequence[Array]],
        rng: np.random.Generator,
        settings: Settings,
    ) -> None:
        self._reservoir, live = sample.reservoir, sample.reservoir.live
        held = sample.reservoir.take(live)
        self._weights = decided_weights(held.blocks, settings, held.present) if len(live) else ()
        self._settings = settings = settings.weighing(self._weights)
        self._scales = Scales.of(sample.statistics, settings)
        V = known[0] if known else ()
        if settings.n_clusters == AUTO:
            # Nobody's number is that of all rows.
            n_clusters = known[0][0].shape[1]
            if len(live):
                held = sample.reservoir.take(live)
                X = self._scales.rows(held.blocks)
                n_clusters = cluster_curve(X, rng, settings, present=held.present).best
            settings = settings.with_clusters(n_clusters)
            known = [each for each in known if each[0].shape[1] == n_clusters]
        self._settings = settings
        if len(live):
            X, has = self._scales.rows(held.blocks), held.present
            U = clustered(X, known, rng, settings, present=has, heard=self._weights)
            self._reservoir = sample.reservoir.recount(live, U)
            own = Statistics.of_clusters(X, U, held.shares, has)
            pairs = zip(completed(own.B, own), settings.sparsity, strict=True)
            V = [update_v(own.masses, B_v, beta) for B_v, beta in pairs]
        self._directions = unit_directions(V)
        self._electorate: Electorate | None = None
        if len(live) and settings.graph == "neighbors" and any(settings.graph_weight):
            self._electorate = anchors(self._reservoir, self._scales, settings)
            self._say = agreement_of_views(self._electorate.shares(X), U.labels, has)

    def place(self, X: Sequence[Block], present: Presence = None) -> Indicator:
        """Return rows in the clusters of their best fit and of their neighbours' votes.

        Where a row goes depends on no other row.
        """
        X, alpha = self._scales.rows(X), self._settings.graph_weight
        reach = Reach.of(self._directions, present)
        P = reach.fit(project(X, self._directions))
        if self._electorate is None:
            labels = best_cluster(P).labels
        else:
            labels = assign(P, weighed(self._electorate.shares(X), alpha, self._say))
        return reach.in_units(in_clusters(P, labels))

    def moved(self, part: KeyedPart) -> Statistics:
        """Return the statistics of a part in the common clusters, without the rows of the sample.

        Rows that the part still has move exactly, all others as those of the same cluster did.
        """
        known, own = part.state.statistics, part.state.reservoir
        live = own.live
        if not len(live):
            return known.relabel(self._nearest(known)).decay(part.left)
        sample = own.take(live)
        held, has = sample.blocks, sample.present
        new = self.place(held, has)
        columns, rows = zip(*map(on_own_columns, held), strict=True)
        if known.n_rows > len(sample):
            # Not one by one on all columns: the rows have few.
            gone = known.on(columns)
            gone = gone.without(Statistics.of_clusters(rows, sample.counted, sample.shares, has))
            whole = known.copy()
            whole.put(columns, gone)
            shares = moves(sample, new)
            if (unseen := shares.sum(axis=1) == 0).any():
                shares[unseen] = self._nearest(known)[unseen]
            whole = whole.sharing(gone).relabel(shares)
        else:
            whole = known.copy().cleared()
            if part.state.n_clusters != self._settings.K:
                whole = whole.relabel(np.zeros((part.state.n_clusters, self._settings.K)))
        others = np.flatnonzero(~self._has(part)[live])
        some = [X_v[others] for X_v in rows]
        left, own_views = sample.shares[others], take(has, others)
        placed = whole.on(columns).placed(some, new.take(others), left, own_views)
        whole.put(columns, placed)
        return whole.sharing(placed).decay(part.left)

    def window(self, part: KeyedPart) -> Window:
        """Return the last chunks of a part, with as many clusters as are common."""
        n_clusters, window = part.state.n_clusters, part.state.window
        if n_clusters == self._settings.K:
            return window
        return window.relabel(np.eye(n_clusters, self._settings.K))

    def state(
        self, moved: Statistics, window: Window, n_chunks: int, rng: np.random.Generator
    ) -> State:
        """Return what all parts have learned together.

        Parameters
        ----------
        moved : Statistics
            Of all parts, moved, added up.
        window : Window
            The last chunks, if any are the last.
        n_chunks : int
            Chunks of all parts.
        rng : Generator
            To go on with.
        """
        reservoir = replace(self._reservoir, keys=None)
        held = reservoir.take(reservoir.live)
        statistics = moved
        if len(held):
            statistics = moved.placed(held.blocks, held.counted, held.shares, held.present)
        return State(
            statistics=statistics,
            reservoir=reservoir,
            window=window,
            rng=rng,
            B_sq_norms=B_sq_norms(statistics, self._settings),
            n_chunks=n_chunks,
            reclustered_at=statistics.n_rows,
            watch=new_watch(len(statistics.views), self._settings),
            view_weights=self._weights,
        )

    def _has(self, part: KeyedPart) -> NDArray[np.bool_]:
        """Return which rows of a part's sample are counted among those of the common one."""
        keyed, common = part.reservoir, self._reservoir.keys
        assert keyed.keys is not None
        assert common is not None
        has = np.zeros(len(keyed), bool)
        has[keyed.live] = keyed.keys[keyed.live] <= common.max(initial=0)
        return has

    def _nearest(self, statistics: Statistics) -> Array:
        """Return where clusters go whose rows are gone: to the one that is most like them."""
        return nearest_moves(statistics, self._scales, self._directions)
