"""Learn from a chunk, and answer: the state of a stream, its steps, and what follows from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Block
from omvfs.model.clustering import (
    N_STARTS,
    Clustering,
    EmbeddedView,
    cluster,
    embedded,
)
from omvfs.model.concordance import structured
from omvfs.model.sample import Sample
from omvfs.model.separation import coverage, discounted, mean_separation, norm, repetition
from omvfs.model.sums import Columns, ViewSums, fit_to_clusters, on_filled

Known = TypeVar("Known")
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Presence = NDArray[np.bool_] | None
Criterion = Literal["separation", "coverage", "norm"] | Callable[[Any, Any, Any], Any]
# The sample is clustered when it is full, and anew when the stream is so many times as long.
GROWTH = 8


@dataclass(frozen=True)
class Settings:
    """What decides what is learned.

    Attributes
    ----------
    n_clusters : int or "auto"
    sample_size : int
    half_life : float or None
    view_weights : tuple of float or "auto"
        By view; "auto" for the holdout agreement of the clusters by that view.
    detect_drift : bool
    seed : int
    """

    n_clusters: int | str
    sample_size: int = 2000
    half_life: float | None = None
    view_weights: tuple[float | str, ...] = ()
    detect_drift: bool = False
    seed: int = 0

    def decay(self, n_rows: Any) -> Any:
        """Return what is left of a row after so many others."""
        return 0.5 ** (n_rows / (self.half_life or np.inf))

    @property
    def n_kept(self) -> int:
        """Rows of the sample: with a half-life, no more than what all rows count together."""
        if self.half_life is None:
            return self.sample_size
        return int(min(self.sample_size, max(-1 / np.expm1(-np.log(2) / self.half_life), 1)))

    def cluster_at(self, n_rows: int) -> int:
        """Return when the sample is clustered next, after it was with so many rows."""
        return self.n_kept if n_rows < self.n_kept else GROWTH * n_rows


@dataclass(frozen=True)
class State:
    """What is known of a stream: sums by view, and a sample of its rows.

    Attributes
    ----------
    views : tuple of ViewSums
    sample : Sample
    weights : array of shape (n_views,)
        How much every view weighs when a row is put into a cluster.
    n_rows, cluster_at : int
        Rows so far, and at which number of them the sample is clustered anew.
    """

    views: tuple[ViewSums, ...]
    sample: Sample
    weights: FloatArray
    n_rows: int = 0
    cluster_at: int = 0

    def with_views(self, order: Sequence[int | None]) -> "State":
        """Return the state with its views in an order; None is for one that rows lack."""
        none, mean = ViewSums.zeros(0, self.views[0].n_clusters), self.weights.mean()
        views = tuple(none if v is None else self.views[v] for v in order)
        weights = np.array([mean if v is None else self.weights[v] for v in order])
        return replace(self, views=views, sample=self.sample.with_views(order), weights=weights)

    def grow(self, widths: Sequence[int]) -> "State":
        """Return the state with columns that no row had so far."""
        pairs = zip(self.views, widths, strict=True)
        return replace(self, views=tuple(view.grow(width) for view, width in pairs))

    def place(self, places: Sequence[IntArray], widths: Sequence[int]) -> "State":
        """Return the state with the columns of every view in certain places among others."""
        given = list(zip(places, widths, strict=True))
        views = tuple(view.place(*own) for view, own in zip(self.views, given, strict=True))
        return replace(self, views=views, sample=self.sample.place(given))

    @classmethod
    def empty(cls, widths: Sequence[int], settings: Settings) -> "State":
        """Return what is known of no rows: one cluster, until there are rows to find more in."""
        views = tuple(ViewSums.zeros(width, 1) for width in widths)
        sample = Sample.empty(settings.n_kept, len(widths))
        return cls(views, sample, np.ones(len(widths)), cluster_at=settings.n_kept)


@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """What happened in one chunk.

    Attributes
    ----------
    n_rows : int
    fit : float
        Weighted sum over the views of the cosines of its rows with the clusters they were put
        into, mean of the rows.
    reclustered : bool
        Whether the sample was clustered anew after it.
    seconds : float
    drift : Change or None
        The change of the stream that was noticed in it, if any.
    """

    n_rows: int
    fit: float
    reclustered: bool = False
    seconds: float = 0.0
    drift: Any = None


@dataclass(frozen=True)
class Patch:
    """Columns of sums that a chunk changes, and what is in them before and after."""

    views: tuple[ViewSums, ...]
    columns: tuple[Columns, ...]
    before: tuple[ViewSums, ...]
    after: tuple[ViewSums, ...]

    def write(self, values: Sequence[ViewSums]) -> None:
        """Put what was before, or is after, into the sums."""
        for view, columns, own in zip(self.views, self.columns, values, strict=True):
            view.S[columns], view.Q[columns] = own.S, own.Q


@dataclass(frozen=True)
class Update(Generic[Known]):
    """What a chunk changes: nothing, until it is committed.

    What is known after a chunk shares S and Q with what is known before it, so that a chunk costs
    what its own columns cost. `commit` writes these columns, `rollback` writes back what was there;
    both may be done again after an interruption.

    Attributes
    ----------
    known : object
        What is known after the chunk.
    info : object
        What happened in it; None if nothing is told.
    patch : Patch or None
        None if nothing is shared.
    """

    known: Known
    info: Any = None
    patch: Patch | None = None

    @property
    def infos(self) -> tuple[Any, ...]:
        """What happened in the chunk, as entries of a history."""
        return () if self.info is None else (self.info,)

    def commit(self) -> Known:
        """Make what is known true, and return it."""
        if self.patch is not None:
            self.patch.write(self.patch.after)
        return self.known

    def rollback(self) -> None:
        """Make what was known before true again."""
        if self.patch is not None:
            self.patch.write(self.patch.before)


def step(
    state: State, X: Sequence[Block], settings: Settings, present: Presence = None
) -> Update[State]:
    """Learn from a chunk: put its rows into clusters, add them to the sums, offer them the sample.

    When the sample is full, and now and then later, it is clustered and the sums move along.

    Parameters
    ----------
    state : State
    X : sequence of array or CSR matrix of shape (m, D_v)
        Rows by view, zero where they lack it.
    settings : Settings
    present : bool array of shape (m, n_views), optional
        Which rows have which views; by default all.
    """
    m, room = X[0].shape[0], settings.n_kept - state.n_rows
    if 0 < room < m:
        # Rows beyond the first sample are put into its clusters.
        first, rest = (
            ([X_v[rows] for X_v in X], settings, None if present is None else present[rows])
            for rows in (slice(room), slice(room, None))
        )
        filling = step(state, *first)
        update = step(filling.commit(), *rest)
        fit = (room * filling.info.fit + (m - room) * update.info.fit) / m
        return replace(update, info=ChunkInfo(m, fit, reclustered=True))
    rho = settings.decay(m)
    views = [view.decay(rho) for view in state.views]
    found = [on_filled(view, X_v) for view, X_v in zip(views, X, strict=True)]
    columns, rows, before = zip(*found, strict=True)
    fit = fit_to_clusters(rows, before, state.weights)
    labels, K = fit.argmax(axis=1), fit.shape[1]
    weights, keys = settings.decay(np.arange(m)[::-1]), _keys(state.n_rows, m, settings)
    changed, after = [], []
    for v, view in enumerate(views):
        has = slice(None) if present is None else present[:, v]
        after.append(before[v] + ViewSums.from_rows(rows[v][has], labels[has], K, weights[has]))
        changed.append(replace(view, n=after[v].n, norms=after[v].norms))
    known = State(
        tuple(changed),
        state.sample.offered(X, keys, labels, present, state.n_rows),
        state.weights,
        state.n_rows + m,
        state.cluster_at,
    )
    info = ChunkInfo(m, float(fit.max(axis=1).mean()))
    patch = Patch(known.views, columns, before, tuple(after))
    if known.n_rows < known.cluster_at:
        return Update(known, info, patch)
    whole = tuple(replace(view, S=view.S.copy(), Q=view.Q.copy()) for view in known.views)
    replace(patch, views=whole).write(after)
    sample = known.sample.compact().grow([len(view.Q) for view in whole])
    # Clusters on the way need no averages of several starts.
    clustered = Answers(replace(known, views=whole, sample=sample), settings, n_starts=1)
    return Update(clustered.reclustered, replace(info, reclustered=True))


def _keys(n_before: int, m: int, settings: Settings) -> FloatArray:
    """Return the keys of rows that follow so many: they depend on the seed and the place alone.

    With a half-life, of two rows the later is kept as much more likely as it counts more.
    """
    generator = np.random.PCG64(settings.seed).advance(n_before)
    keys: FloatArray = -np.log(-np.log1p(-np.random.Generator(generator).random(m)))
    if settings.half_life is not None:
        keys += (n_before + np.arange(m)) * (np.log(2) / settings.half_life)
    return keys


@dataclass(frozen=True)
class Answers:
    """What follows from a state, worked out when it is first asked for.

    Attributes
    ----------
    state : State
        Its sample is in one piece.
    settings : Settings
    n_starts : int
        Starts of k-means.
    """

    state: State
    settings: Settings
    n_starts: int = N_STARTS

    @cached_property
    def reclustered(self) -> State:
        """The state with its sample clustered anew, and its sums moved along."""
        state, labels = self.state, self.clustering.labels
        return State(
            self.moved(labels, self.clustering.n_clusters),
            state.sample.relabel(labels),
            self.weights,
            state.n_rows,
            self.settings.cluster_at(state.n_rows),
        )

    def place(self, X: Sequence[Block]) -> IntArray:
        """Return the cluster of every row."""
        known = self.reclustered
        labels: IntArray = fit_to_clusters(X, known.views, known.weights).argmax(axis=1)
        return labels

    @property
    def rows(self) -> tuple[Block, ...]:
        """The rows of the sample by view, in as many columns as are known."""
        return self.state.sample.pieces[0]

    @cached_property
    def embedded(self) -> list[EmbeddedView]:
        """The sample as each view has it."""
        present = self.state.sample.present
        return [embedded(X, present[:, v]) for v, X in enumerate(self.rows)]

    @cached_property
    def noise(self) -> NDArray[np.bool_]:
        """Which views hold noise, see `structured`."""
        return ~structured(self.rows, self.state.sample.present)

    @cached_property
    def clustering(self) -> Clustering:
        """Clusters of the sample."""
        own, noise = self.settings, self.noise if len(self.rows) > 1 else None
        asked = own.n_clusters, own.seed, own.view_weights, self.n_starts, noise
        return cluster(self.embedded, *asked)

    @property
    def weights(self) -> FloatArray:
        """How much every view weighs."""
        return self.clustering.view_weights

    @cached_property
    def row_weights(self) -> FloatArray:
        """What is left of every row of the sample in every view; nothing where it lacks one."""
        sample = self.state.sample
        left = self.settings.decay((self.state.n_rows - sample.arrived).astype(np.float64))
        weights: FloatArray = left[:, np.newaxis] * sample.present
        return weights

    def sums(self, labels: IntArray) -> tuple[ViewSums, ...]:
        """Return the sums of the rows of the sample alone, in some clusters."""
        present, K = self.state.sample.present, self.clustering.n_clusters
        found = []
        for v, X in enumerate(self.rows):
            has = np.flatnonzero(present[:, v])
            found.append(ViewSums.from_rows(X[has], labels[has], K))
        return tuple(found)

    def moved(self, labels: IntArray, K: int) -> tuple[ViewSums, ...]:
        """Return the sums of all rows, with the sample in K other clusters."""
        before, views = self.state.sample.labels, zip(self.state.views, self.rows, strict=True)
        found = [
            view.relabel(X, self.row_weights[:, v], before, labels, K)
            for v, (view, X) in enumerate(views)
        ]
        return tuple(found)

    @cached_property
    def separations(self) -> list[FloatArray]:
        """Separation of every feature by view, averaged over clusterings of the sample."""
        before, found = self.state.sample.labels, self.clustering
        views = zip(self.state.views, self.rows, strict=True)
        return [
            mean_separation(view, X, self.row_weights[:, v], before, found.starts, found.n_clusters)
            for v, (view, X) in enumerate(views)
        ]

    @cached_property
    def repetitions(self) -> list[tuple[FloatArray, IntArray]]:
        """Correlation of every feature with a better one that it repeats, and which, by view."""
        return self._repetitions(self.separations)

    @cached_property
    def coverages(self) -> list[FloatArray]:
        """By `coverage`, discounted for repetition, by view."""
        found = [coverage(view) for view in self.reclustered.views]
        pairs = zip(found, self._repetitions(found), strict=True)
        return [discounted(own, r) for own, (r, _) in pairs]

    def _repetitions(self, scores: Sequence[FloatArray]) -> list[tuple[FloatArray, IntArray]]:
        views = zip(self.rows, self.state.sample.present.T, scores, strict=True)
        return [repetition(X[np.flatnonzero(has)], own) for X, has, own in views]

    def scores(self, criterion: Criterion = "separation") -> list[FloatArray]:
        """Return the scores of all features by view; larger is better.

        Parameters
        ----------
        criterion : {"separation", "coverage", "norm"} or callable
            Separation or coverage, discounted for repetition; the paper's ‖B_j‖; or what
            ``f(S, Q, n)`` makes of the sums of a view.
        """
        if criterion == "separation":
            pairs = zip(self.separations, self.repetitions, strict=True)
            return [discounted(s, r) for s, (r, _) in pairs]
        if criterion == "coverage":
            return self.coverages
        views = self.reclustered.views
        if criterion == "norm":
            return [norm(view) for view in views]
        return [np.asarray(criterion(view.S, view.Q, view.n), float) for view in views]
