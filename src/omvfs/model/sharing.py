"""How views share one budget: the same part of each, unless rows prove another way better."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, IntArray
from omvfs.model.explaining import ExplainingQueries
from omvfs.model.quality import Rows, reproduced
from omvfs.model.ranking.budget import joint_places, share_budget
from omvfs.model.ranking.request import Ranking
from omvfs.model.scoring import worths
from omvfs.model.settings import Settings
from omvfs.model.state import State

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
