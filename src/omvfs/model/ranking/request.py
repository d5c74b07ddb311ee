"""How features are to be ranked."""

from dataclasses import dataclass, field
from typing import get_args

from omvfs.model.arrays import Array, Block
from omvfs.model.ranking.criteria import ByRows, Criterion, relevance
from omvfs.model.ranking.repetition import Repetition, find_repetition


@dataclass(frozen=True)
class Ranking:
    """How features are to be ranked by what was learned.

    Attributes
    ----------
    criterion : {"auto", "separation", "signal", "norm", "contrast", "information", "balanced"} \
            or callable
        What makes features good, by rows (the first three) or by V: each by itself, but "signal"
        as a set. "auto" is one of the two others by rows, as they decide.
    diversity : float
        How strongly a feature that repeats a better one is discounted.
    recency : float
        Share of the places that the most recent rows have, if they differ from those before.
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
        return self.criterion in get_args(ByRows)

    @property
    def asks_sets(self) -> bool:
        """Whether the criterion is of features as a set."""
        return self.criterion == "signal"

    def relevance(self, V: Array, masses: Array, sums: Array) -> Array:
        """Return the score of every feature of a view by itself; see `relevance`.

        Of a criterion that asks rows, what comes nearest by V.
        """
        return relevance(V, masses, sums, "balanced" if self.asks_rows else self.criterion)

    def discount(self, scores: Array, rows: Block, rest: bool = True) -> Repetition:
        """Return the scores of a view, repetition discounted; see `find_repetition`."""
        return find_repetition(scores, rows, self.diversity, self.n_steps, rest)
