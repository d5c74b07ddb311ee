"""What can be asked of a state: clusters of rows, and scores of features."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, project, squared_row_norms, stack
from omvfs.model.columns import Columns, on_columns, on_own_columns
from omvfs.model.constrained.alternate import best_cluster, unit_directions
from omvfs.model.graph.vote import Electorate, assign, weighed
from omvfs.model.indicator import Indicator
from omvfs.model.quality import Rows, agreements
from omvfs.model.ranking.explanation import (
    RULES,
    leading_clusters,
    membership_correlations,
    place_of,
    shares_of_rows,
    strengths,
)
from omvfs.model.ranking.repetition import Repetition
from omvfs.model.ranking.request import Ranking
from omvfs.model.ranking.separation import ClusterMeans, cluster_means, separation
from omvfs.model.ranking.signal import mix_ranks, signal_order
from omvfs.model.settings import Settings
from omvfs.model.solvers import SOLVERS
from omvfs.model.state import Scales, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.drift import (
    boost_recent,
    cluster_shares_drifted,
    explained_energy_drifted,
)
from omvfs.model.stream.reservoir import Reservoir

# Rows of the reservoir that a cluster must have on average for selections to be judged, and how
# often the rows are halved for it.
ROWS_PER_CLUSTER = 10
_SPLITS = 2
# With criterion "auto", so much difference of agreement makes one rule e times as weighty as the
# other, judged at so many features a view, or such a part of all.
_DOUBT = 0.02
_JUDGED_AT = (80, 8), (240, 3)


class Queries:
    """What can be asked of a state; each answer is worked out when it is first asked for.

    Parameters
    ----------
    state : State
    settings : Settings
        Under which it was learned.

    Attributes
    ----------
    state : State
        With its clusters as good as they can be.
    V : list of array of shape (D_v, K)
        Its feature matrices.
    directions : list of array of shape (D_v, K)
        The same, of unit columns.
    """

    def __init__(self, state: State, settings: Settings) -> None:
        self._given, self._settings = state, settings
        self._solver = SOLVERS[settings.solver]
        self._agreements: dict[tuple[Ranking, tuple[int, ...]], NDArray[np.float64]] = {}
        self._found: dict[Ranking, list[Repetition]] = {}

    @cached_property
    def state(self) -> State:
        """The state, with its clusters as good as they can be."""
        return self._solver.reclustered(self._given, self._settings)

    @cached_property
    def V(self) -> list[Array]:
        """Its feature matrices."""
        return self._solver.feature_matrices(self.state, self._settings)

    @cached_property
    def directions(self) -> list[Array]:
        """Its feature matrices with columns of norm 1 over all views."""
        return unit_directions(self.V)

    def scaled(self, X: Sequence[Block]) -> list[Block]:
        """Return rows with their columns scaled as the state has them."""
        return Scales.of(self._given.statistics, self._settings).rows(X)

    def place(self, X: Sequence[Block]) -> IntArray:
        """Return the cluster of every row, its columns scaled, by its fit and its neighbours."""
        P = project(X, self.directions)
        if self._settings.graph != "neighbors" or not len(self.state.reservoir.live):
            return best_cluster(P).labels
        electorate, say = self._electorate
        return assign(P, weighed(electorate.shares(X), self._settings.graph_weight, say))

    def window_labels(self) -> IntArray:
        """Return the cluster of every row in the window."""
        window = self._given.window
        if self._settings.solver == "paper":
            labels: IntArray = window.indicator().argmax(axis=1)
            return labels
        return self.place(self.scaled(window.rows()))

    def explained(self, X: Sequence[Block]) -> float:
        """Return the share of the squared norm of rows that their nearest clusters explain."""
        total = float(sum(squared_row_norms(X_v).sum() for X_v in X))
        explained = best_cluster(project(X, self.directions)).masses.sum()
        return min(1.0, float(explained) / total) if total > 0 else 0.0

    def scores(self, ranking: Ranking) -> list[Array]:
        """Return the score of every feature, per view."""
        return [found.scores for found in self.repetition(ranking)]

    def repetition(self, ranking: Ranking) -> list[Repetition]:
        """Return the score of every feature with what it repeats, per view."""
        if callable(ranking.criterion):
            # It may answer otherwise the next time.
            return self._scored(ranking)
        if ranking not in self._found:
            self._found[ranking] = self._scored(ranking)
        return self._found[ranking]

    def _scored(self, ranking: Ranking) -> list[Repetition]:
        own = _relevances(self.state, self.V, ranking, self._settings)
        rows: Sequence[Block] = self.state.reservoir.blocks
        recent = self.recent_rows if ranking.recency > 0 else []
        if recent and self.drifted:
            own = self._boosted(own, ranking)
            rows = [stack(parts) for parts in zip(rows, recent, strict=True)]
        found = _discounted(own, rows, ranking)
        if not ranking.asks_sets or not len(self.sample) or (recent and self.drifted):
            return found
        mixed = _as_sets(found, own, self.state, ranking, self._settings, self._weight(ranking))
        return _discounted(mixed, rows, ranking, 0.0)

    def _weight(self, ranking: Ranking) -> float:
        """Return the weight of `signal` beside `separation`, the other rule by rows."""
        if ranking.criterion != "auto":
            return 1.0
        widest = max(X_v.shape[1] for X_v in self.sample.blocks)
        sizes = tuple(sorted({max(1, min(n, widest // part)) for n, part in _JUDGED_AT}))
        both = [
            self.agreements(replace(ranking, criterion=rule), sizes)
            for rule in ("separation", "signal")
        ]
        if both[0] is None or both[1] is None:
            return 0.0
        # Of all views together.
        ahead = float(np.mean(both[1][:, 0] - both[0][:, 0]))
        return 1 / (1 + float(np.exp(-ahead / _DOUBT)))

    def agreements(self, ranking: Ranking, sizes: tuple[int, ...]) -> NDArray[np.float64] | None:
        """Return how much of the clusters the best features reproduce; see `quality.agreements`.

        Of the rows of the reservoir, whatever the most recent ones are like. None if there are too
        few, or all are in one cluster.
        """
        few = len(self.sample) < ROWS_PER_CLUSTER * self._settings.n_clusters
        if few or len(np.unique(self.sample.counted.labels)) < 2:
            return None
        # What is judged depends on nothing else.
        ranking = replace(ranking, n_steps=max(sizes), recency=0.0)
        if callable(ranking.criterion):
            return self._judged(ranking, sizes)
        if (ranking, sizes) not in self._agreements:
            self._agreements[ranking, sizes] = self._judged(ranking, sizes)
        return self._agreements[ranking, sizes]

    def _judged(self, ranking: Ranking, sizes: tuple[int, ...]) -> NDArray[np.float64]:
        sample, K = self.sample, self._settings.n_clusters
        X = self.scaled(sample.blocks)
        if not callable(ranking.criterion):  # which may know features by their places
            X = [on_own_columns(X_v)[1] for X_v in X]

        def rank(rows: IntArray) -> list[Array]:
            held = [X_v[rows] for X_v in X]
            return self._scored_by(held, sample.counted.take(rows), sample.shares[rows], ranking)

        rng = copy.deepcopy(self.state.rng)
        return agreements(Rows(X, sample.counted.labels), rank, sizes, K, _SPLITS, rng)

    def _scored_by(
        self, X: Sequence[Block], U: Indicator, shares: Array, ranking: Ranking
    ) -> list[Array]:
        """Return the scores if some rows, in clusters that are known, were all that ever came."""
        settings = self._as_they_come
        part = replace(
            self.state,
            statistics=Statistics.of_clusters(X, U, shares),
            reservoir=Reservoir.of(self.state.reservoir.capacity, U, shares, X),
        )
        V = self._solver.feature_matrices(part, settings)
        own = _relevances(part, V, ranking, settings)
        found = _discounted(own, X, ranking)
        if ranking.asks_sets:
            return _as_sets(found, own, part, ranking, settings, self._weight(ranking))
        return [each.scores for each in found]

    @cached_property
    def sample(self) -> Reservoir:
        """The rows of the reservoir, without those that are forgotten; there may be none."""
        return self.state.reservoir.take(self.state.reservoir.live)

    def cluster_shares(self) -> NDArray[np.float64] | None:
        """Return the share of rows of each cluster; None without a reservoir."""
        counts = self._alike.sums
        return counts / counts.sum() if self.has_rows else None

    @property
    def has_rows(self) -> bool:
        """Whether there is a reservoir with rows."""
        return len(self.sample) > 0

    def leading_clusters(self, v: int, features: Columns = slice(None)) -> IntArray:
        """Return the cluster that features of a view stand for most, −1 if none."""
        view = self.state.statistics.views[v]
        return leading_clusters(view.B[features], view.weight_sums)

    def strengths(self, v: int, features: IntArray) -> NDArray[np.float64]:
        """Return how strongly some features of a view stand for each cluster; 1 is even."""
        view = self.state.statistics.views[v]
        return strengths(view.B[features], view.weight_sums)

    def standing(
        self, v: int, features: IntArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return strengths of some features of a view, and by what they compare with others.

        That is their correlation with being in each cluster. Without rows it is what it would be
        for a feature whose standard deviation is its mean.
        """
        strength = self.strengths(v, features)
        if self.has_rows:
            rows = on_columns(self.sample.rows[v].block(), features)
            return strength, membership_correlations(rows, self._alike)
        sums = self.state.statistics.views[v].weight_sums
        rest = sums.sum() - sums
        odds = np.divide(sums, rest, out=np.zeros_like(sums), where=rest > 0)
        return strength, (strength - 1) * np.sqrt(odds)

    def shares_of_rows(
        self, v: int, zeros: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the share of rows that have each feature of a view; None without a reservoir."""
        if not self.has_rows:
            return None
        return shares_of_rows(self.sample.rows[v].block(), self.sample.shares, zeros)

    def ranks(self, v: int, j: int, ranking: Ranking) -> dict[str, int | None]:
        """Return the rank of a feature by each rule, repetition not discounted.

        None by a rule that asks rows where there are none.
        """
        found: dict[str, int | None] = {}
        for rule in RULES:
            plain = replace(ranking, criterion=rule, diversity=0.0)
            known = self.has_rows or not plain.asks_rows
            found[rule] = place_of(self.scores(plain)[v], j) if known else None
        return found

    def is_boosted(self, v: int, j: int, own: float, ranking: Ranking) -> bool:
        """Tell whether a feature owes its own score to the most recent rows."""
        if ranking.recency == 0 or not self.recent_rows or not self.drifted:
            return False
        of_all = self.repetition(replace(ranking, diversity=0.0, recency=0.0))
        return bool(own > of_all[v].own[j])

    @property
    def _alike(self) -> Indicator:
        """Clusters of the sample, rows by what forgetting has left of them."""
        return Indicator(self.sample.counted.labels, self.sample.shares, self._settings.n_clusters)

    @cached_property
    def recent_rows(self) -> list[Block]:
        """The most recent rows, per view, once there were more than the reservoir holds.

        Empty before, and if forgetting has left the reservoir fewer rows than these: then what is
        known is of recent rows.
        """
        n, state = self._settings.recent_rows, self.state
        few = state.statistics.decayed_n_rows <= self._settings.memory
        if not n or few or len(state.reservoir.live) < n:
            return []
        return state.window.last(n)

    @cached_property
    def drifted(self) -> bool:
        """Whether the most recent rows are not what came before."""
        state, settings = self.state, self._settings
        recent = self.scaled(self.recent_rows)
        sample = self.scaled(self.sample.blocks)
        # Placed alike: how the reservoir was clustered is another way.
        now, ever = (best_cluster(project(X, self.directions)).labels for X in (recent, sample))
        return cluster_shares_drifted(now, ever, settings.n_clusters) or explained_energy_drifted(
            recent, sample, state.rng, self._explained_by
        )

    def _explained_by(self, some: list[Block], others: list[Block]) -> NDArray[np.float64]:
        """Return how much of the squared norm of others clusters of some rows explain."""
        V = self._solver.feature_matrices(self._alone(some), self._as_they_come)
        P = project(others, unit_directions(V))
        return np.square(best_cluster(P).weights, dtype=np.float64)

    def _boosted(self, scores: Sequence[Array], ranking: Ranking) -> list[Array]:
        """Return scores, boosted to what recent rows alone give a feature where that is more."""
        columns, alone, V = self._recent_alone
        recent = _relevances(alone, V, ranking, self._as_they_come)
        parts = zip(scores, columns, recent, strict=True)
        return [boost_recent(all_v, c, recent_v, ranking.recency) for all_v, c, recent_v in parts]

    @cached_property
    def _recent_alone(self) -> tuple[tuple[Columns, ...], State, list[Array]]:
        """What would be known if recent rows were all, with its V, on their own columns."""
        columns, held = zip(*map(on_own_columns, self.scaled(self.recent_rows)), strict=True)
        alone = self._solver.reclustered(self._alone(held), self._as_they_come)
        return columns, alone, self._solver.feature_matrices(alone, self._as_they_come)

    def _alone(self, rows: Sequence[Block]) -> State:
        """Return what would be known if some rows were all that ever came."""
        widths, dtype = [X_v.shape[1] for X_v in rows], rows[0].dtype
        settings, rng = self._as_they_come, copy.deepcopy(self.state.rng)
        empty = State.empty(widths, dtype, settings, rng)
        return self._solver.step(empty, rows, settings).commit()

    @property
    def _as_they_come(self) -> Settings:
        """Settings for rows whose columns are scaled already."""
        return replace(self._settings, scale_columns=False)

    @cached_property
    def _electorate(self) -> tuple[Electorate, Array]:
        """The rows of the reservoir, to be asked where rows near them belong; the say of views."""
        rows = self.scaled(self.sample.blocks)
        electorate = Electorate(rows, self._alike, self._settings.n_neighbors)
        return electorate, electorate.own_agreement()


def _relevances(
    state: State, V: Sequence[Array], ranking: Ranking, settings: Settings
) -> list[Array]:
    """Return the score of every feature by itself, per view."""
    views = state.statistics.views
    if ranking.asks_rows and len(state.reservoir.live):
        return [separation(means) for _, means in _means(state, settings)]
    return [
        ranking.relevance(V_v, view.diagonal_masses, view.weight_sums)
        for view, V_v in zip(views, V, strict=True)
    ]


def _means(state: State, settings: Settings) -> list[tuple[Block, ClusterMeans]]:
    """Return for each view the rows of the reservoir, scaled, and the means of its clusters."""
    sample = state.reservoir.take(state.reservoir.live)
    scales = Scales.of(state.statistics, settings)
    X, B = scales.rows(sample.blocks), scales.features(state.statistics.B)
    return [
        (X_v, cluster_means(X_v, sample.counted, sample.shares, B_v, view.weight_sums))
        for X_v, B_v, view in zip(X, B, state.statistics.views, strict=True)
    ]


def _discounted(
    own: Sequence[Array], rows: Sequence[Block], ranking: Ranking, strength: float | None = None
) -> list[Repetition]:
    """Return scores, repetition discounted as asked for, or by another strength."""
    if not rows or ranking.diversity == 0:
        return [Repetition.none(scores) for scores in own]
    by = ranking if strength is None else replace(ranking, diversity=strength)
    return [by.discount(scores, X_v) for scores, X_v in zip(own, rows, strict=True)]


def _as_sets(
    found: Sequence[Repetition],
    own: Sequence[Array],
    state: State,
    ranking: Ranking,
    settings: Settings,
    weight: float,
) -> list[Array]:
    """Return scores by the ranks so far and those of features taken as a set."""
    shares = state.reservoir.shares[state.reservoir.live]
    mixed: list[Array] = []
    for each, scores, (X_v, means) in zip(found, own, _means(state, settings), strict=True):
        order = signal_order(X_v, shares, means, scores, ranking.n_steps)
        mixed.append(mix_ranks(each.scores, order, weight, scores))
    return mixed
