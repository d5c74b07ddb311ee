"""What features stand for, and how far views agree: asked of a state."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Block, IntArray
from omvfs.model.columns import Columns, on_columns
from omvfs.model.concordance import between_views
from omvfs.model.indicator import Indicator
from omvfs.model.presence import of_those, who_has
from omvfs.model.queries import Queries
from omvfs.model.ranking.explanation import (
    RULES,
    heights,
    leading_clusters,
    membership_correlations,
    place_of,
    shares_of_rows,
    strengths,
)
from omvfs.model.ranking.request import Ranking


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
