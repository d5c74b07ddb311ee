"""What can be asked of the most recent rows of a state, beside all of them."""

import copy
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, project, stack
from omvfs.model.columns import Columns, on_own_columns, put_rows
from omvfs.model.constrained.alternate import best_cluster, unit_directions
from omvfs.model.constrained.reach import Reach
from omvfs.model.presence import Presence, having, take
from omvfs.model.ranking.request import Ranking
from omvfs.model.scoring import relevances
from omvfs.model.settings import Settings
from omvfs.model.solvers import Solver
from omvfs.model.state import State
from omvfs.model.stream.drift import (
    cluster_shares_drifted,
    explained_energy_drifted,
    share_places,
    worst_ranks,
)


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
