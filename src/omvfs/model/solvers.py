"""What a solver must offer."""

from collections.abc import Callable
from dataclasses import dataclass

from omvfs.model.arrays import Array
from omvfs.model.constrained import directions, recluster
from omvfs.model.constrained import step as constrained_step
from omvfs.model.settings import Settings
from omvfs.model.state import State, Update


@dataclass(frozen=True)
class Solver:
    """How to learn from a chunk, and what to make of what was learned.

    Attributes
    ----------
    step : callable
        From a state, a chunk, settings, and a U and V to start from, to an `Update`.
    reclustered : callable
        From a state, settings and, if at hand, who is near whom in the reservoir to a state whose
        clusters are as good as they can be.
    feature_matrices : callable
        From a state to its V, per view.
    completed_matrices : callable
        The same as if rows that lack views had what their cluster has.
    """

    step: Callable[..., Update[State]]
    reclustered: Callable[..., State]
    feature_matrices: Callable[[State, Settings], list[Array]]
    completed_matrices: Callable[[State, Settings], list[Array]]


SOLVERS = {
    "constrained": Solver(
        constrained_step.step,
        recluster.reclustered,
        directions.feature_matrices,
        directions.completed_matrices,
    ),
}
