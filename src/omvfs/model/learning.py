"""Learn from a chunk, and answer: the state of a stream, its steps, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Block
from omvfs.model.clustering import Clustering, EmbeddedView, cluster, embedded, reclustered
from omvfs.model.sample import Sample
from omvfs.model.separation import discounted, mean_separation, repetition
from omvfs.model.sums import Columns, ViewSums, added, fit_to_clusters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Presence = NDArray[np.bool_] | None
# The sample is clustered anew when the stream is so many times as long as at the last time.
_GROWTH = 4
# Clusterings of the sample over which separation is averaged.
N_CLUSTERINGS = 16


@dataclass(frozen=True)
class Settings:
    """What decides what is learned.

    Attributes
    ----------
    n_clusters : int or "auto"
    sample_size, n_neighbors : int
    half_life : float or None
    view_weights : tuple of float, or None
        None to weigh views by the holdout agreement of the clusters.
    seed : int
    """

    n_clusters: int | str
    sample_size: int = 2000
    n_neighbors: int = 20
    half_life: float | None = None
    view_weights: tuple[float, ...] | None = None
    seed: int = 0

    def decay(self, n_rows: int) -> float:
        """Return what is left of a row after so many others."""
        return 1.0 if self.half_life is None else 0.5 ** (n_rows / self.half_life)


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

    @classmethod
    def empty(cls, widths: Sequence[int], settings: Settings) -> "State":
        """Return what is known of no rows: one cluster, until there are rows to find more in."""
        views = tuple(ViewSums.zeros(width, 1) for width in widths)
        return cls(views, Sample.empty(settings.sample_size, len(widths)), np.ones(len(widths)))


@dataclass(frozen=True)
class Update:
    """What a chunk changes: nothing, until it is committed.

    The state after the chunk shares S and Q with the state before it, so that a chunk costs what
    its own columns cost. `commit` writes these columns, `rollback` writes back what was there.
    """

    state: State
    columns: tuple[Columns, ...]
    before: tuple[ViewSums, ...]
    after: tuple[ViewSums, ...]

    def commit(self) -> State:
        """Make the state true, and return it."""
        self._write(self.after)
        return self.state

    def rollback(self) -> None:
        """Make the state before true again."""
        self._write(self.before)

    def _write(self, values: Sequence[ViewSums]) -> None:
        for view, columns, own in zip(self.state.views, self.columns, values, strict=True):
            view.S[columns], view.Q[columns] = own.S, own.Q


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    rng: np.random.Generator,
    present: Presence = None,
) -> Update:
    """Learn from a chunk: put its rows into clusters, add them to the sums, offer them the sample.

    Parameters
    ----------
    state : State
    X : sequence of array or CSR matrix of shape (m, D_v)
        Rows by view, zero where they lack it.
    settings : Settings
    rng : Generator
        Draws the keys of the rows.
    present : bool array of shape (m, n_views), optional
        Which rows have which views; by default all.
    """
    m = X[0].shape[0]
    rho = settings.decay(m)
    views = tuple(view.decay(rho) for view in state.views)
    labels = fit_to_clusters(X, views, state.weights).argmax(axis=1)
    found = [
        added(view, *_having(X_v, labels, present, v))
        for v, (view, X_v) in enumerate(zip(views, X, strict=True))
    ]
    after = tuple(own for _, own in found)
    columns = tuple(where for where, _ in found)
    before = tuple(view.on(own) for view, own in zip(views, columns, strict=True))
    shared = tuple(
        replace(view, n=own.n, norms=own.norms) for view, own in zip(views, after, strict=True)
    )
    # Of exponential waiting times, so that a row of twice the weight is kept twice as likely.
    keys = -np.log(rng.exponential(size=m))
    if settings.half_life is not None:
        keys += (state.n_rows + np.arange(m)) * np.log(2) / settings.half_life
    known = replace(
        state,
        views=shared,
        sample=state.sample.offered(X, keys, labels, present),
        n_rows=state.n_rows + m,
    )
    return Update(known, columns, before, after)


def _having(X: Block, labels: IntArray, present: Presence, v: int) -> tuple[Block, IntArray]:
    """Return the rows that have a view, and their clusters."""
    if present is None or present[:, v].all():
        return X, labels
    has = np.flatnonzero(present[:, v])
    return X[has], labels[has]


def due(state: State) -> bool:
    """Tell whether the sample is to be clustered anew."""
    return state.n_rows >= state.cluster_at


def clustered(state: State, settings: Settings) -> tuple[State, "Answers"]:
    """Return the state with its sample clustered anew and its sums moved along, and the answers."""
    answers = Answers(replace(state, sample=state.sample.compact()), settings)
    found = answers.clustering
    moved = replace(
        state,
        views=answers.moved(found.labels),
        sample=state.sample.relabel(found.labels),
        weights=answers.weights,
        cluster_at=_GROWTH * state.n_rows,
    )
    return moved, answers


@dataclass(frozen=True)
class Answers:
    """What follows from a state, worked out when it is first asked for.

    Attributes
    ----------
    state : State
        Its sample is in one piece.
    settings : Settings
    """

    state: State
    settings: Settings

    @property
    def rows(self) -> tuple[Block, ...]:
        """The rows of the sample by view, in as many columns as are known."""
        return self.state.sample.pieces[0]

    @cached_property
    def embedded(self) -> list[EmbeddedView]:
        """The sample as each view has it."""
        present, k = self.state.sample.present, self.settings.n_neighbors
        return [embedded(X, k, present[:, v]) for v, X in enumerate(self.rows)]

    @cached_property
    def clustering(self) -> Clustering:
        """Clusters of the sample."""
        return cluster(self.embedded, self.settings.n_clusters, self.settings.seed)

    @property
    def weights(self) -> FloatArray:
        """How much every view weighs."""
        given = self.settings.view_weights
        return self.clustering.view_weights if given is None else np.array(given)

    def moved(self, labels: IntArray) -> tuple[ViewSums, ...]:
        """Return the sums of all rows, with the sample in other clusters."""
        sample, K = self.state.sample, self.clustering.n_clusters
        found = []
        for v, (view, X) in enumerate(zip(self.state.views, self.rows, strict=True)):
            has = np.flatnonzero(sample.present[:, v])
            found.append(view.relabel(X[has], sample.labels[has], labels[has], K))
        return tuple(found)

    @cached_property
    def separations(self) -> list[FloatArray]:
        """Separation of every feature by view, averaged over clusterings of the sample."""
        seeds = [self.settings.seed + i for i in range(1, N_CLUSTERINGS + 1)]
        each = [self.moved(labels) for labels in reclustered(self.clustering, seeds)]
        return [mean_separation(views) for views in zip(*each, strict=True)]

    @cached_property
    def repetitions(self) -> list[tuple[FloatArray, IntArray]]:
        """By how much every feature repeats a better one, and which, by view."""
        return [repetition(X, s) for X, s in zip(self.rows, self.separations, strict=True)]

    @cached_property
    def scores(self) -> list[FloatArray]:
        """Scores of all features by view: separation, discounted for repetition."""
        pairs = zip(self.separations, self.repetitions, strict=True)
        return [discounted(s, r_squared) for s, (r_squared, _) in pairs]


def predict(state: State, X: Sequence[Block]) -> Any:
    """Return the cluster of every row."""
    return fit_to_clusters(X, state.views, state.weights).argmax(axis=1)
