"""What can be asked of a state: clusters of rows, and scores of features."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, dense_if_full, squared_row_norms
from omvfs.model.columns import Columns, on_own_columns
from omvfs.model.constrained.alternate import best_cluster, unit_directions
from omvfs.model.constrained.number import ClusterCurve
from omvfs.model.constrained.recluster import ROWS_PER_CLUSTER, number_of_clusters
from omvfs.model.graph.neighbours import nearest
from omvfs.model.graph.term import asks_neighbours
from omvfs.model.graph.vote import Electorate, assign, useful_say, weighed
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence, having, take
from omvfs.model.quality import Halved, Rows, Size, agreements, halves
from omvfs.model.ranking.criteria import Criterion
from omvfs.model.ranking.repetition import Repetition
from omvfs.model.ranking.request import Ranking
from omvfs.model.recent import RecentQueries, fit_rows
from omvfs.model.scoring import as_set, discounted, relevances
from omvfs.model.settings import AUTO, Settings
from omvfs.model.solvers import SOLVERS
from omvfs.model.state import Scales, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.reservoir import Reservoir

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
        self._answered: dict[Ranking, list[Array]] = {}

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
        asked, ranking = ranking, self._settled(ranking)
        if ranking.asks_sets:
            found = self._taken_as_set(ranking)
        else:
            found = [each.scores for each in self.repetition(ranking)]
        if not callable(asked.criterion):  # which may answer otherwise the next time
            self._answered[asked] = found
        return found

    def known_scores(self, ranking: Ranking) -> list[Array] | None:
        """Return the same if it was asked for before; else None."""
        return None if callable(ranking.criterion) else self._answered.get(ranking)

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
