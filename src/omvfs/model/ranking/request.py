"""How features are to be ranked."""

from dataclasses import dataclass, field
from typing import get_args

from omvfs.model.arrays import Array, Block
from omvfs.model.ranking.criteria import AsSet, Criterion, relevance
from omvfs.model.ranking.repetition import Repetition, find_repetition


@dataclass(frozen=True)
class Ranking:
    """How features are to be ranked by what was learned.

    Attributes
    ----------
    criterion : {"signal", "auto", "separation", "norm", "contrast", "information", "balanced"} \
            or callable
        What makes features good: the first two as a set, the others each by itself; the first
        three by rows, the others by V.
    diversity : float
        How strongly a feature that repeats a better one is discounted.
    recency : float
        Say of the most recent rows, if they differ from those before.
    n_steps : int
        Features of a view to take one after another as repetition is discounted.
    """

    # A callable may be comparable only.
    criterion: Criterion = field(hash=False)
    diversity: float
    recency: float
    n_steps: int

    @property
    def asks_rows(self) -> bool:
        """Whether the criterion is by rows and their clusters."""
        return self.criterion == "separation" or self.asks_sets

    @property
    def asks_sets(self) -> bool:
        """Whether the criterion is of features as a set; `separation` is then the other rank."""
        return self.criterion in get_args(AsSet)

    def relevance(self, V: Array, masses: Array, sums: Array) -> Array:
        """Return the score of every feature of a view by itself; see `relevance`.

        Of a criterion that asks rows, what comes nearest by V.
        """
        return relevance(V, masses, sums, "balanced" if self.asks_rows else self.criterion)

    def discount(self, scores: Array, rows: Block) -> Repetition:
        """Return the scores of a view, repetition discounted; see `discount_repetition`."""
        return find_repetition(scores, rows, self.diversity, self.n_steps)
