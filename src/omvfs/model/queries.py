"""What can be asked of a state: clusters of rows, and scores of features."""

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    dense_if_full,
    project,
    squared_row_norms,
    stack,
)
from omvfs.model.columns import Columns, on_columns, on_own_columns, put_rows
from omvfs.model.concordance import between_views
from omvfs.model.constrained.alternate import best_cluster, unit_directions
from omvfs.model.constrained.number import ClusterCurve
from omvfs.model.constrained.reach import Reach
from omvfs.model.constrained.recluster import ROWS_PER_CLUSTER, number_of_clusters
from omvfs.model.graph.neighbours import nearest
from omvfs.model.graph.term import asks_neighbours
from omvfs.model.graph.vote import Electorate, assign, useful_say, weighed
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence, having, of_those, take, who_has
from omvfs.model.quality import Halved, Rows, Size, agreements, halves, reproduced
from omvfs.model.ranking.criteria import Criterion
from omvfs.model.ranking.explanation import (
    RULES,
    heights,
    leading_clusters,
    membership_correlations,
    place_of,
    shares_of_rows,
    strengths,
)
from omvfs.model.ranking.repetition import Repetition
from omvfs.model.ranking.request import Ranking
from omvfs.model.scoring import as_set, discounted, relevances, worths
from omvfs.model.settings import AUTO, Settings
from omvfs.model.solvers import SOLVERS, Solver
from omvfs.model.state import Scales, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.drift import (
    cluster_shares_drifted,
    explained_energy_drifted,
    share_places,
    worst_ranks,
)
from omvfs.model.stream.reservoir import Reservoir


class RecentQueries:
    """Whether the most recent rows are what came before, and what features tell of them."""

    state: Any
    sample: Any
    V: Any
    directions: Any
    scaled: Any
    K: Any
    _decided: Any
    _relevances: Any
    _settings: Settings
    _solver: Solver

    @property
    @abstractmethod
    def _as_they_come(self) -> Settings:
        """Settings for rows that are scaled already."""

    @cached_property
    def recent_present(self) -> Presence:
        """Which of the most recent rows have which views."""
        n = self._settings.recent_rows
        return self.state.window.last_present(n) if self.recent_rows else None

    @cached_property
    def recent_rows(self) -> list[Block]:
        """The most recent rows, per view, once there were more than the reservoir holds.

        Empty before, and if forgetting has left the reservoir fewer rows than these: then what is
        known is of recent rows. Empty too while few have come after parts that were merged.
        """
        n, state = self._settings.recent_rows, self.state
        few = state.statistics.decayed_n_rows <= self._settings.sample_size
        if not n or few or min(len(state.reservoir.live), state.window.n_rows) < n:
            return []
        last: list[Block] = state.window.last(n)
        return last

    @cached_property
    def drifted(self) -> bool:
        """Whether the most recent rows are not what came before."""
        recent = self.scaled(self.recent_rows)
        sample = self.scaled(self.sample.blocks)
        # Placed alike: how the reservoir was clustered is another way.
        has = self.recent_present, self.sample.present
        now, ever = (
            best_cluster(fit_rows(X, self.directions, own)).labels
            for X, own in zip((recent, sample), has, strict=True)
        )
        return cluster_shares_drifted(now, ever, self.K) or explained_energy_drifted(
            recent, sample, self.state.rng, self._explained_by, has
        )

    def _explained_by(
        self, some: list[Block], others: list[Block], present: tuple[Presence, Presence]
    ) -> NDArray[np.float64]:
        """Return how much of the squared norm of others clusters of some rows explain."""
        alone = self._alone(some, present[0])
        V = self._solver.completed_matrices(alone, self._as_they_come)
        P = fit_rows(others, unit_directions(V), present[1])
        return np.square(best_cluster(P).weights, dtype=np.float64)

    def _asks_recent(self, ranking: Ranking) -> bool:
        """Tell whether the most recent rows are to have a share of the places."""
        return ranking.recency > 0 and bool(self.recent_rows) and self.drifted

    def is_recent(self, v: int, j: int, own: float, ranking: Ranking) -> bool:
        """Tell whether a feature owes its own score to the most recent rows."""
        if not self._asks_recent(ranking):
            return False
        return bool(own > self._relevances(self._decided(ranking))[v][j])

    def _correlated_rows(self, ranking: Ranking) -> Sequence[Block]:
        """Return the rows by which features repeat each other: also recent ones that differ."""
        rows = having(self.state.reservoir.blocks, self.state.reservoir.present)
        if not self._asks_recent(ranking):
            return rows
        recent = having(self.recent_rows, self.recent_present)
        return [stack(parts) for parts in zip(rows, recent, strict=True)]

    def _shared(self, own: Sequence[Array], ranking: Ranking) -> list[Array]:
        """Return scores, given out anew so that recent rows have a share of the places."""
        by_half = [self._scored_alone(*half, ranking) for half in self._recent_halves]
        return [
            share_places(own_v, worst_ranks(halves, len(own_v)), ranking.recency)
            for own_v, *halves in zip(own, *by_half, strict=True)
        ]

    def _scored_alone(
        self, columns: Sequence[Columns], alone: State, V: Sequence[Array], ranking: Ranking
    ) -> list[tuple[Columns, Array]]:
        """Return which features some rows have, and their scores if those were all rows."""
        if callable(ranking.criterion):  # which may know features by their places
            of_all = [np.zeros_like(V_v) for V_v in self.V]
            for V_v, c, own in zip(of_all, columns, V, strict=True):
                put_rows(V_v, c, own)
            V, columns = of_all, [slice(None)] * len(V)
        return list(zip(columns, relevances(alone, V, ranking, self._as_they_come), strict=True))

    @cached_property
    def _recent_halves(self) -> list[tuple[tuple[Columns, ...], State, list[Array]]]:
        """What would be known if half of the recent rows were all, with its V; of both halves.

        On the columns that the rows have.
        """
        recent, found = self.scaled(self.recent_rows), []
        for half in (slice(0, None, 2), slice(1, None, 2)):
            columns, held = zip(*(on_own_columns(X_v[half]) for X_v in recent), strict=True)
            has = take(self.recent_present, half)
            alone = self._solver.reclustered(self._alone(held, has), self._as_they_come)
            V = self._solver.feature_matrices(alone, self._as_they_come)
            found.append((columns, alone, V))
        return found

    def _alone(
        self, rows: Sequence[Block], present: Presence, rng: np.random.Generator | None = None
    ) -> State:
        """Return what would be known if some rows were all that ever came."""
        widths, dtype = [X_v.shape[1] for X_v in rows], rows[0].dtype
        settings = self._as_they_come
        rng = copy.deepcopy(self.state.rng) if rng is None else rng
        empty = State.empty(widths, dtype, settings, rng)
        return self._solver.step(empty, rows, settings, present=present).commit()


def fit_rows(X: Sequence[Block], directions: Sequence[Array], present: Presence) -> Array:
    """Return the projections of rows on directions, over the views that each of them has."""
    return Reach.of(directions, present).fit(project(X, directions))


# How often the rows are halved to judge selections by them.
_SPLITS = 2
# With criterion "auto", signal has proved itself if it is ahead of separation on every half of the
# rows, and by so much on average, judged at so many features a view, or such a part of all.
_PROOF = 0.04
_JUDGED_AT = (80, 8), (240, 3)


class Queries(RecentQueries):
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
        self._agreements: dict[tuple[Ranking, tuple[Size, ...], bool], NDArray[np.float64]] = {}
        self._found: dict[Ranking, list[Repetition]] = {}
        self._sets: dict[Ranking, list[Array]] = {}
        self._own: dict[str, list[Array]] = {}
        self._proved: dict[float, bool] = {}

    @cached_property
    def state(self) -> State:
        """The state, with its clusters as good as they can be."""
        settings = self._settings
        if self.cluster_curve is not None:
            settings = settings.with_clusters(self.cluster_curve.best)
        return self._solver.reclustered(self._given, settings, self._near)

    @cached_property
    def _near(self) -> list[Block | None]:
        """Who is near whom in the reservoir, by view; empty where it is asked of other rows."""
        reservoir = self._given.reservoir
        sample = reservoir.take(reservoir.live)
        if not len(sample) or sample.present is not None or not asks_neighbours(self._settings):
            return []
        # What views weigh does not matter here, and may not be decided yet.
        rows = Scales.of(self._given.statistics, self._settings).rows(sample.blocks)
        return [nearest(on_own_columns(X_v)[1], self._settings.n_neighbors) for X_v in rows]

    @cached_property
    def cluster_curve(self) -> ClusterCurve | None:
        """What rows tell of how many clusters there are; None if it is not left to them."""
        return number_of_clusters(self._given, self._settings)

    @property
    def K(self) -> int:
        """The number of clusters in force."""
        asked = self._settings.n_clusters
        return self.state.n_clusters if asked == AUTO else asked

    @cached_property
    def V(self) -> list[Array]:
        """Its feature matrices."""
        return self._solver.feature_matrices(self.state, self._settings)

    @cached_property
    def directions(self) -> list[Array]:
        """Where its clusters point: feature matrices with columns of norm 1 over all views."""
        return unit_directions(self._solver.completed_matrices(self.state, self._settings))

    @cached_property
    def told(self) -> Settings:
        """The settings, with weights of views as the rows have decided them."""
        settings = self._settings
        return settings.weighing(self.state.view_weights) if settings.decides_weights else settings

    def scaled(self, X: Sequence[Block]) -> list[Block]:
        """Return rows with their columns scaled as the state has them."""
        return Scales.of(self._given.statistics, self.told).rows(X)

    def place(self, X: Sequence[Block], present: Presence = None) -> IntArray:
        """Return the cluster of every row, its columns scaled, by its fit and its neighbours.

        Parameters
        ----------
        X : sequence of array or CSR matrix of shape (n, D_v)
        present : array of shape (n, n_views), optional
            Which rows have which views; by default all.
        """
        X = [dense_if_full(X_v) for X_v in X]
        P = fit_rows(X, self.directions, present)
        if self._settings.graph != "neighbors" or not len(self.state.reservoir.live):
            return best_cluster(P).labels
        electorate, say = self._electorate
        return assign(P, weighed(electorate.shares(X), self.told.graph_weight, say))

    def window_labels(self) -> IntArray:
        """Return the cluster of every row in the window."""
        window = self._given.window
        if self._settings.solver == "paper":
            labels: IntArray = window.indicator().argmax(axis=1)
            return labels
        # Of parts that were merged side by side no row is the last.
        if not len(window):
            return np.zeros(0, np.intp)
        return self.place(self.scaled(window.rows()), window.present())

    def explained(self, X: Sequence[Block], present: Presence = None) -> float:
        """Return the share of the squared norm of rows that their nearest clusters explain."""
        total = float(sum(squared_row_norms(X_v).sum() for X_v in X))
        explained = best_cluster(fit_rows(X, self.directions, present)).masses.sum()
        return min(1.0, float(explained) / total) if total > 0 else 0.0

    def scores(self, ranking: Ranking) -> list[Array]:
        """Return the score of every feature, per view."""
        ranking = self._settled(ranking)
        if ranking.asks_sets:
            return self._taken_as_set(ranking)
        return [each.scores for each in self.repetition(ranking)]

    def repetition(self, ranking: Ranking) -> list[Repetition]:
        """Return the score of every feature with what it repeats, per view."""
        ranking = self._settled(ranking)
        if callable(ranking.criterion):
            # It may answer otherwise the next time.
            return self._scored(ranking)
        if ranking not in self._found:
            self._found[ranking] = self._scored(ranking)
        return self._found[ranking]

    def _settled(self, ranking: Ranking) -> Ranking:
        """Return how to rank, with all that rows decide, so that what is the same is equal."""
        ranking, drifted = self._decided(ranking), self._asks_recent(ranking)
        if ranking.asks_sets and (drifted or not len(self.sample)):
            # Then each feature is by itself.
            ranking = replace(ranking, criterion="separation")
        return ranking if drifted else replace(ranking, recency=0.0)

    def _scored(self, ranking: Ranking) -> list[Repetition]:
        rows = self._correlated_rows(ranking)
        if ranking.asks_sets:
            return discounted(self._taken_as_set(ranking), rows, ranking, 0.0)
        own = self._relevances(ranking)
        if self._asks_recent(ranking):
            own = self._shared(own, ranking)
        return discounted(own, rows, ranking)

    def _taken_as_set(self, ranking: Ranking) -> list[Array]:
        """Return scores of features taken as a set."""
        if ranking not in self._sets:
            found = self.repetition(replace(ranking, criterion="separation"))
            own = self._relevances(ranking)
            self._sets[ranking] = as_set(found, own, self.state, ranking, self._settings)
        return self._sets[ranking]

    def _relevances(self, ranking: Ranking) -> list[Array]:
        """Return the score of every feature by itself."""
        if callable(ranking.criterion):
            return relevances(self.state, self.V, ranking, self._settings)
        # Alike of all criteria that ask rows.
        rule = "separation" if ranking.asks_rows else ranking.criterion
        if rule not in self._own:
            self._own[rule] = relevances(self.state, self.V, ranking, self._settings)
        return self._own[rule]

    def _decided(self, ranking: Ranking) -> Ranking:
        """Return how to rank, with the rule that the rows decide for if that is left to them."""
        if ranking.criterion != "auto":
            return ranking
        if ranking.diversity not in self._proved:
            self._proved[ranking.diversity] = self._can_judge and self._prove(ranking)
        rule: Criterion = "signal" if self._proved[ranking.diversity] else "separation"
        return replace(ranking, criterion=rule)

    def _prove(self, ranking: Ranking) -> bool:
        """Tell whether features taken as a set are clearly better than each by itself.

        They are if they reproduce more of the clusters on every half of the rows, ranked on the
        other half. So the first half on which they do not is enough to know.
        """
        rows = self._judged_rows
        widest = max(X_v.shape[1] for X_v in rows.X)
        sizes = sorted({max(1, min(n, widest // part)) for n, part in _JUDGED_AT})
        ranking = replace(ranking, n_steps=sizes[-1])
        ahead = []
        for looked_at, judged in self._halves():
            part = self._part(rows, looked_at)
            own, found = self._found_by(part, ranking)
            single = [each.scores for each in found]
            together = as_set(found, own, part, ranking, self._as_they_come)
            halved = Halved(rows, looked_at, judged, self.K)
            gains = [halved.together(together, n) - halved.together(single, n) for n in sizes]
            ahead.append(float(np.mean(gains)))
            if ahead[-1] <= 0:
                return False
        return float(np.mean(ahead)) > _PROOF

    def agreements(
        self, ranking: Ranking, sizes: tuple[Size, ...], alone: bool = True
    ) -> NDArray[np.float64] | None:
        """Return how much of the clusters the best features reproduce; see `quality.agreements`.

        Of the rows of the reservoir, whatever the most recent ones are like. None if there are too
        few, or all are in one cluster.
        """
        if not self._can_judge:
            return None
        # What is judged depends on nothing else.
        most = max(size if isinstance(size, int) else max(size) for size in sizes)
        ranking = replace(self._decided(ranking), n_steps=most, recency=0.0)
        if callable(ranking.criterion):
            return self._judged(ranking, sizes, alone)
        alone = alone or (ranking, sizes, True) in self._agreements
        if (ranking, sizes, alone) not in self._agreements:
            self._agreements[ranking, sizes, alone] = self._judged(ranking, sizes, alone)
        return self._agreements[ranking, sizes, alone]

    @property
    def _can_judge(self) -> bool:
        """Whether there are rows enough to judge selections by, in more than one cluster."""
        few = len(self.sample) < ROWS_PER_CLUSTER * self.K
        return not few and len(np.unique(self.sample.counted.labels)) > 1

    def _halves(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Return the halves of the rows to judge by, always the same."""
        labels, rng = self.sample.counted.labels, copy.deepcopy(self.state.rng)
        return halves(labels, self.K, _SPLITS, rng)

    @cached_property
    def _judged_rows(self) -> Rows:
        """The rows to judge by, on the columns that they have."""
        own = [on_own_columns(X_v)[1] for X_v in self.scaled(self.sample.blocks)]
        labels, has = self.sample.counted.labels, self.sample.present
        return Rows(own, labels, has, self.state.view_weights)

    def _judged(
        self, ranking: Ranking, sizes: tuple[Size, ...], alone: bool
    ) -> NDArray[np.float64]:
        rows = self._judged_rows
        if callable(ranking.criterion):  # which may know features by their places
            rows = replace(rows, X=self.scaled(self.sample.blocks))

        def rank(looked_at: IntArray) -> list[Array]:
            part = self._part(rows, looked_at)
            own, found = self._found_by(part, ranking)
            if ranking.asks_sets:
                return as_set(found, own, part, ranking, self._as_they_come)
            return [each.scores for each in found]

        return agreements(rows, rank, sizes, self.K, self._halves(), alone)

    def selections(
        self,
        ranking: Ranking,
        sizes: Sequence[int],
        n_resamples: int,
        share: float,
        quick: bool = False,
    ) -> list[NDArray[np.bool_]] | None:
        """Return which features are selected if only some rows of the reservoir had come.

        Each time other rows, clustered from another seed; as many clusters, and ranked by the same
        rule, as for all. The same every time it is asked.

        Parameters
        ----------
        ranking : Ranking
        sizes : sequence of int
            Features to select of each view.
        n_resamples : int
        share : float
            Of the rows, those that are drawn.
        quick : bool, default=False
            Whether they are clustered with little effort, as the first rows of a stream are.

        Returns
        -------
        list of bool array of shape (n_resamples, D_v), or None
            None if there are too few rows to draw from.
        """
        n, widths = len(self.sample), [view.n_features for view in self.state.statistics.views]
        drawn = round(share * n)
        if drawn < max(2, self.K):
            return None
        ranking = replace(self._decided(ranking), recency=0.0)
        if not ranking.asks_sets:  # which looks at more features, the more are to be taken
            ranking = replace(ranking, n_steps=max(sizes))
        seed = int(copy.deepcopy(self.state.rng).integers(2**63))
        found = [np.zeros((n_resamples, width), bool) for width in widths]
        scaled = self.scaled(self.sample.blocks)
        for i in range(n_resamples):
            rng = np.random.default_rng([seed, i])
            rows = np.sort(rng.permutation(n)[:drawn])
            columns, scores = self._scored_of(scaled, rows, rng, ranking, quick)
            for masks, own, c, size in zip(found, scores, columns, sizes, strict=True):
                # Features that none of the rows has come last.
                whole = np.zeros(masks.shape[1])
                whole[c] = own
                masks[i, np.argsort(-whole, kind="stable")[:size]] = True
        return found

    def _scored_of(
        self,
        X: Sequence[Block],
        rows: IntArray,
        rng: np.random.Generator,
        ranking: Ranking,
        quick: bool,
    ) -> tuple[Sequence[Columns], list[Array]]:
        """Return which features some rows of the sample have, and their scores by them alone."""
        columns, held = zip(*(on_own_columns(X_v[rows]) for X_v in X), strict=True)
        alone = self._alone(held, take(self.sample.present, rows), rng)
        faded = replace(alone.reservoir, shares=self.sample.shares[rows])
        alone = replace(alone, reservoir=faded)
        if not quick:
            alone = self._solver.reclustered(alone, self._as_they_come)
        if callable(ranking.criterion):  # which may know features by their places
            V = self._solver.feature_matrices(alone, self._as_they_come)
            pairs = self._scored_alone(columns, alone, V, ranking)
            return [c for c, _ in pairs], [scores for _, scores in pairs]
        own, found = self._found_by(alone, ranking)
        if ranking.asks_sets:
            return columns, as_set(found, own, alone, ranking, self._as_they_come)
        return columns, [each.scores for each in found]

    def _part(self, rows: Rows, held: IntArray) -> State:
        """Return the state if some of the rows, in clusters that are known, were all that came."""
        X, U = [X_v[held] for X_v in rows.X], self.sample.counted.take(held)
        shares, has = self.sample.shares[held], take(rows.present, held)
        return replace(
            self.state,
            statistics=Statistics.of_clusters(X, U, shares, has),
            reservoir=Reservoir.of(self.state.reservoir.capacity, U, shares, X, has),
        )

    def _found_by(self, part: State, ranking: Ranking) -> tuple[list[Array], list[Repetition]]:
        """Return scores of features by themselves, and discounted, as a part of the rows has it.

        The latter of those that are taken: no more than these are judged.
        """
        V = self._solver.feature_matrices(part, self._as_they_come)
        own = relevances(part, V, ranking, self._as_they_come)
        rows = having(part.reservoir.blocks, part.reservoir.present)
        return own, discounted(own, rows, ranking, rest=False)

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

    @property
    def _alike(self) -> Indicator:
        """Clusters of the sample, rows by what forgetting has left of them."""
        return Indicator(self.sample.counted.labels, self.sample.shares, self.K)

    @property
    def _as_they_come(self) -> Settings:
        """Settings for rows that are scaled already, and as many clusters as are in force."""
        return self.told.with_clusters(self.K).unscaled

    @cached_property
    def _electorate(self) -> tuple[Electorate, Array]:
        """The rows of the reservoir, to be asked where rows near them belong; the say of views."""
        rows = self.scaled([dense_if_full(X_v) for X_v in self.sample.blocks])
        has = self.sample.present
        electorate = Electorate(rows, self._alike, self._settings.n_neighbors, has)
        shares, P = electorate.own_shares(self._near), fit_rows(rows, self.directions, has)
        return electorate, useful_say(shares, P, self._alike.labels, self.told.graph_weight, has)


class ExplainingQueries(Queries):
    """What can be asked of a state, and why its features have their scores."""

    def view_agreement(self, n: int) -> NDArray[np.float64] | None:
        """Return how far each of the first n views agrees with each; None without rows."""
        if not self.has_rows:
            return None
        present = self.sample.present
        X = self.scaled(self.sample.blocks)[:n]
        return between_views(X, None if present is None else present[:, :n])

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

        That is their correlation with being in each cluster; without rows see `heights`.
        """
        strength = self.strengths(v, features)
        if self.has_rows:
            X, U = self._of_view(v)
            return strength, membership_correlations(on_columns(X, features), U)
        return strength, heights(strength, self.state.statistics.views[v].weight_sums)

    def shares_of_rows(
        self, v: int, zeros: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the share of rows that have each feature of a view; None without a reservoir."""
        if not self.has_rows:
            return None
        X, U = self._of_view(v)
        return shares_of_rows(X, U.weights, zeros)

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

    def _of_view(self, v: int) -> tuple[Block, Indicator]:
        """Return the rows of the sample that have a view, in it, and their clusters as `_alike`."""
        rows, U = who_has(self.sample.present, v), self._alike
        X = of_those(self.sample.rows[v].block(), rows)
        return X, U if rows is None else U.take(rows)


# From the same part of each view to what features are worth: half the way, and all of it.
_LEANS = (0.5, 1.0)
# Ways are judged at a half of all features, a quarter and so on, so many times.
_HALVINGS = 6
# Features of a view that are taken one after another to tell; the others repeat these at most.
_STEPS = 240


class SharingQueries(ExplainingQueries):
    """What can be asked of a state, and how many features each view gives of so many in all."""

    def __init__(self, state: State, settings: Settings) -> None:
        super().__init__(state, settings)
        self._leans: dict[float, float] = {}
        self._places: dict[Ranking, list[NDArray[np.float64]]] = {}

    def budget(self, ranking: Ranking, total: int) -> tuple[int, ...]:
        """Return how many features of each view are among so many of all; there must be rows."""
        if callable(ranking.criterion):  # which may answer otherwise the next time
            return share_budget(self._placed(ranking), total)
        if ranking not in self._places:
            self._places[ranking] = self._placed(ranking)
        return share_budget(self._places[ranking], total)

    def _placed(self, ranking: Ranking) -> list[NDArray[np.float64]]:
        """Return the places of features among those of all views, by their ranks."""
        plain = replace(ranking, criterion="separation")
        order = [np.argsort(-scores, kind="stable") for scores in self.scores(ranking)]
        worth = worths(self.repetition(plain), order, self.state, self._settings)
        return joint_places(worth, self.lean(ranking.diversity))

    def lean(self, diversity: float) -> float:
        """Return how far views share by worth: not at all, half the way, or all of it.

        The way that reproduces most of the clusters, of those that are ahead of the same part of
        each view on every half of the rows, ranked on the other half, and by more than halves
        differ. Features are ranked by separation: it is of the views, whatever ranks within them.
        """
        if diversity not in self._leans:
            self._leans[diversity] = self._proved_lean(
                Ranking("separation", diversity, recency=0.0, n_steps=_STEPS)
            )
        return self._leans[diversity]

    def _proved_lean(self, ranking: Ranking) -> float:
        if not self._can_judge or len(self.state.statistics.views) == 1:
            return 0.0
        found = []
        for gains in self._gains(ranking):
            found.append(gains)
            if max(gains) <= 0:
                return 0.0
        best = best_proved(np.array(found))
        return 0.0 if best is None else _LEANS[best]

    def _gains(self, ranking: Ranking) -> Iterator[list[float]]:
        """Yield for each half how far each way is ahead of the same part of each view.

        Rows are of unit norm in all features of a view, so that a view counts by what is selected
        of it.
        """
        rows = self._judged_rows
        n, loud = sum(X_v.shape[1] for X_v in rows.X), rows.of_unit_norm()
        totals = sorted({max(len(rows.X), n >> i) for i in range(1, _HALVINGS + 1)})
        for looked_at, judged in self._halves():
            part, halved = self._part(rows, looked_at), (loud.take(looked_at), loud.take(judged))
            _, found = self._found_by(part, ranking)
            order = [np.argsort(-each.scores, kind="stable") for each in found]
            worth = worths(found, order, part, self._as_they_come)
            placed = [joint_places(worth, lean) for lean in (0.0, *_LEANS)]
            shared = [[share_budget(places, total) for total in totals] for places in placed]
            told = {each: self._told(halved, order, each) for each in {*chain(*shared)}}
            equal, *others = (np.mean([told[each] for each in way]) for way in shared)
            yield [float(other - equal) for other in others]

    def _told(
        self, halved: tuple[Rows, Rows], order: Sequence[IntArray], counts: tuple[int, ...]
    ) -> float:
        """Return how much of the clusters the first features of each view reproduce."""
        best = [np.sort(own[:n]) for own, n in zip(order, counts, strict=True)]
        known, asked = (half.keeping(best) for half in halved)
        return reproduced(known, asked, self.K)


def best_proved(gains: Array) -> int | None:
    """Return the way that gains most, of those that gain each time and by more than they differ.

    Parameters
    ----------
    gains : array of shape (n_judgements, n_ways)

    Returns
    -------
    int or None
        None if no way does.

    Examples
    --------
    >>> best_proved(np.array([[0.02, 0.05, 0.06], [0.02, 0.04, -0.01]]))
    1
    """
    mean, spread = gains.mean(axis=0), gains.std(axis=0, ddof=1)
    proved = (gains > 0).all(axis=0) & (mean > spread)
    return int(np.where(proved, mean, -np.inf).argmax()) if proved.any() else None


def joint_places(worths: Sequence[Array], lean: float) -> list[NDArray[np.float64]]:
    """Return the place of every feature among those of all views, the first being 1.

    The best feature of each view comes first. After that the same part of each view (`lean` 0),
    or the feature that is worth most (1), or between both: by the geometric mean of the places that
    it has by either.

    What a feature is worth is the mean over those about its rank, so that worth falls from rank to
    rank: the least such means that do, as isotonic regression finds them. Among equals the view of
    the larger part that is left comes first, so that views whose features are all alike give the
    same part.

    Parameters
    ----------
    worths : sequence of array of shape (D_v,)
        What the features of each view are worth, in the order of their ranks, on a scale that all
        views have in common.
    lean : float
        Between 0 and 1.

    Returns
    -------
    list of array of shape (D_v,)
        By rank, so that they rise.

    Examples
    --------
    >>> worths = [np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.7, 0.6])]
    >>> joint_places(worths, 1.0)
    [array([1., 5., 6.]), array([2., 3., 4.])]
    >>> joint_places(worths, 0.0)
    [array([1., 3., 5.]), array([2., 4., 6.])]
    """
    by_part = _places([np.ones(len(each)) for each in worths])
    by_worth = _places([falling_means(each) for each in worths])
    both = zip(by_part, by_worth, strict=True)
    return _places([-(part ** (1 - lean)) * worth**lean for part, worth in both])


def share_budget(places: Sequence[Array], total: int) -> tuple[int, ...]:
    """Return how many features each view gives: those of the first places, one at least.

    More in all are more of each view, or as many.

    Parameters
    ----------
    places : sequence of array of shape (D_v,)
        See `joint_places`.
    total : int
        Features in all, at least one for each view.

    Examples
    --------
    >>> worths = [np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.7, 0.6])]
    >>> share_budget(joint_places(worths, 1.0), 4)
    (1, 3)
    >>> share_budget(joint_places([np.ones(10), np.ones(30)], 0.0), 8)
    (2, 6)
    """
    return tuple(int(np.count_nonzero(each <= total)) for each in places)


def _places(worths: Sequence[Array]) -> list[NDArray[np.float64]]:
    """Return places by worths that never rise from rank to rank, the best of each view first."""
    widths = [len(each) for each in worths]
    view = np.repeat(np.arange(len(widths)), widths)
    rank = np.concatenate([np.arange(width) for width in widths])
    # Half a feature more, so that parts are those of the nearest numbers (Sainte-Laguë).
    part = (rank + 0.5) / np.repeat(widths, widths)
    order = np.lexsort((view, part, -np.concatenate(worths), rank > 0))
    places = np.empty(len(order))
    places[order] = np.arange(1, len(order) + 1)
    return np.split(places, np.cumsum(widths)[:-1])


def falling_means(worths: Array) -> Array:
    """Return the nearest numbers that never rise, by squares: means of neighbours where they would.

    Examples
    --------
    >>> falling_means(np.array([3.0, 1.0, 2.0, 0.0]))
    array([3. , 1.5, 1.5, 0. ])
    """
    means: list[float] = []
    sizes: list[int] = []
    for worth in worths.tolist():
        mean, size = worth, 1
        while means and means[-1] < mean:
            before, n = means.pop(), sizes.pop()
            mean, size = (before * n + mean * size) / (n + size), n + size
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, np.float64), sizes)
