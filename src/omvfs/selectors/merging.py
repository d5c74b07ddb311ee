"""Estimators that can be merged: fit parts of a stream apart, merge, done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from omvfs.data.schema import Schema
from omvfs.model.state import ChunkInfo
from omvfs.selectors.fitted import FittedState
from omvfs.selectors.merge_plan import Plan, in_time, merge_parts
from omvfs.selectors.parts import Part, Reading
from omvfs.selectors.settings import PARAMETERS
from omvfs.selectors.stream import Journal
from omvfs.threads import alone


@dataclass(frozen=True)
class Merger:
    """Parts that are merged when somebody asks for what they have learned.

    Attributes
    ----------
    parts : tuple of Part
    plan : Plan
    """

    parts: tuple[Part, ...]
    plan: Plan

    def __call__(self) -> tuple[FittedState, tuple[ChunkInfo, ...]]:
        """Merge them."""
        return merge_parts(self.plan, self.parts.__getitem__)


class Mergeable:
    """Adds `merge` to the estimator."""

    _journal: Journal[FittedState]
    _columns: NDArray[np.intp] | None
    _plain: bool
    schema_: Schema
    n_features_in_: int
    get_params: Any

    def merge(self, *others: Self, order: bool = False) -> Self:
        """Return an estimator of the rows of this one and of others, none of which is changed.

        Each has learned from a part of a stream by itself, with the same parameters, but for those
        that rank, which are taken from this one. Parts count by the rows that they saw. Those that
        have seen none are passed over.

        For a given set of parts the result is the same, to the bit, in whatever order and grouping
        they are merged: parts are known by their rows. They are held until learning goes on, or the
        estimator is saved and loaded; from then on it is one part.

        Parameters
        ----------
        *others : OMVFS
        order : bool, default=False
            Whether the parts follow each other in time, as they are given. Then all but the last
            are faded by what came after them, as `half_life` says, and the last rows are the most
            recent ones. By default parts are alike, and no rows are.

        Returns
        -------
        OMVFS

        See Also
        --------
        omvfs.merge : The same, for files too.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(900, n_features=(300, 200), random_state=0)
        >>> thirds = [
        ...     {view: X[rows] for view, X in planted.views.items()}
        ...     for rows in (slice(0, 300), slice(300, 600), slice(600, 900))
        ... ]
        >>> a, b, c = (OMVFS(5, random_state=0).fit(third) for third in thirds)
        >>> merged = a.merge(b, c)
        >>> merged.n_samples_seen_
        900
        >>> bool((merged.scores_ == c.merge(a).merge(b).scores_).all())
        True
        """
        merged: Self = merge_models([self, *others], order)
        return merged

    @alone
    def as_parts(self) -> tuple[Part, ...]:
        """Return what was learned as parts that can be merged; learning on does not change them."""
        if not hasattr(self, "_journal"):
            return ()
        if isinstance(origin := self._journal.origin, Merger):
            return origin.parts
        known = self._journal.known
        # Whoever goes on learning takes a copy first.
        known.state.statistics.freeze()
        columns = None if self._columns is None else self._columns.astype("<i8").tobytes()
        params = self.get_params(deep=False)
        learns = [name for name, each in PARAMETERS.items() if each.role == "learns"]
        own = {name: params[name] for name in learns if not hasattr(known.settings, name)}
        # The steps that rows went through, in whatever form they were asked for.
        own["prepare"] = known.preparation.asked_for(known.schema.names)
        return (
            Part(
                known,
                tuple(self._journal.history),
                Reading(self._plain, self.n_features_in_, columns),
                own,
            ),
        )

    def with_learned(self, journal: Journal[FittedState], schema: Schema) -> Self:
        """Return an estimator that reads rows as this one does, and has learned something else.

        Parameters
        ----------
        journal : Journal
            What it has learned.
        schema : Schema
            Of what.
        """
        merged: Self = clone(self)
        for name in ("n_features_in_", "_columns", "_plain", "feature_names_in_"):
            if hasattr(self, name):
                setattr(merged, name, getattr(self, name))
        merged.schema_, merged._journal = schema, journal
        return merged


def merge_models(models: Sequence[Any], order: bool = False) -> Any:
    """Return an estimator of the rows of all of some; see `Mergeable.merge`.

    Parameters
    ----------
    models : sequence of OMVFS
        At least one.
    order : bool, default=False
    """
    for i, model in enumerate(models):
        if not isinstance(model, Mergeable) or type(model) is not type(models[0]):
            expected = type(models[0]).__name__ if i else "OMVFS"
            raise TypeError(f"Got {type(model).__name__} as part {i + 1}; expected {expected}.")
    groups = [model.as_parts() for model in models]
    parts = in_time(groups) if order else [part for group in groups for part in group]
    if not parts:
        return clone(models[0])
    names = [f"part {i}" for i, group in enumerate(groups, start=1) for _ in group]
    briefs = (part.brief for part in parts)
    plan = Plan.of(briefs, names)
    fitted = [model for model, group in zip(models, groups, strict=True) if group]
    merged = fitted[0].with_learned(Journal.of(Merger(tuple(parts), plan)), plan.schema)
    if plan.growth is not None:
        merged.n_features_in_ = sum(plan.schema.widths)
    # Names of columns are those of whoever knows them.
    for model in fitted:
        if hasattr(model, "feature_names_in_"):
            merged.feature_names_in_ = model.feature_names_in_
    return merged
