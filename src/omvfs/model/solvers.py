"""What a solver must offer, and the two there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from omvfs.model.arrays import Array, Block
from omvfs.model.constrained import directions, recluster
from omvfs.model.constrained import step as constrained_step
from omvfs.model.paper import step as paper_step
from omvfs.model.settings import Settings
from omvfs.model.state import State, Update


class _Step(Protocol):
    def __call__(
        self,
        state: State,
        X: Sequence[Block],
        settings: Settings,
        start_U: Array | None = None,
        start_V: Sequence[Array] | None = None,
    ) -> Update[State]: ...


class _Asked(Protocol):
    def __call__(self, state: State, settings: Settings) -> State: ...


class _Matrices(Protocol):
    def __call__(self, state: State, settings: Settings) -> list[Array]: ...


@dataclass(frozen=True)
class Solver:
    """How to learn from a chunk, and what to make of what was learned.

    Attributes
    ----------
    step : callable
        From a state and a chunk to an `Update`.
    reclustered : callable
        From a state to one whose clusters are as good as they can be.
    feature_matrices : callable
        From a state to its V, per view.
    """

    step: _Step
    reclustered: _Asked
    feature_matrices: _Matrices


SOLVERS = {
    "constrained": Solver(
        constrained_step.step, recluster.reclustered, directions.feature_matrices
    ),
    "paper": Solver(paper_step.step, paper_step.reclustered, paper_step.feature_matrices),
}
