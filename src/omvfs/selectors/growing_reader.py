"""How an estimator reads rows whose features go by their names: they may come later, or are hashed.

Then the columns of one X have no order that stays, so that all that is told by feature stands view
after view, and one X is read as the views that it has.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.constraints import checked
from omvfs.data.blocks import Negative
from omvfs.data.read import as_views
from omvfs.data.schema import NewFeatures, Schema
from omvfs.data.views import Views
from omvfs.fitted import FittedState
from omvfs.growth import Growth
from omvfs.prepare import bits_of, hash_bits, hashed_views, steps_of
from omvfs.selection import is_views
from omvfs.selector import Journal, MultiViewSelector
from omvfs.threads import alone
from omvfs.wording import Clause, Sentence, Setting


class GrowsFeatures(MultiViewSelector):
    """Adds features that go by their names to the estimator."""

    new_features: Any
    max_features: Any
    prepare: Any
    _plain: bool
    _columns: NDArray[np.intp] | None
    _journal: Journal[FittedState]

    @property
    def schema_(self) -> Schema:
        """Views, their widths and the names of their features, as far as they have come."""
        known = self._grown
        return self._held("schema_") if known is None else known.schema

    @schema_.setter
    def schema_(self, schema: Schema) -> None:
        self.__dict__["schema_"] = schema

    @property
    def n_features_in_(self) -> int:
        """Features of all views together, as far as they have come."""
        known = self._grown
        return self._held("n_features_in_") if known is None else sum(known.schema.widths)

    @n_features_in_.setter
    def n_features_in_(self, n_features: int) -> None:
        self.__dict__["n_features_in_"] = n_features

    @property
    @alone
    def n_features_forgotten_(self) -> dict[str, int]:
        """Features that were forgotten, or never taken in, by view name."""
        check_is_fitted(self)
        known = self._journal.known
        names, growth = known.schema.names, known.growth
        return dict(
            zip(names, (0,) * len(names) if growth is None else growth.forgotten, strict=True)
        )

    @property
    def _grown(self) -> FittedState | None:
        """What is known, if features come later and somebody has worked it out; else None."""
        journal: Journal[FittedState] | None = self.__dict__.get("_journal")
        if journal is None:
            return None
        # How many features are left of too many, only the work itself tells.
        known = journal.worked_out if self.max_features is None else journal.known
        return None if known is None or known.growth is None else known

    def _held(self, name: str) -> Any:
        if name not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__dict__[name]

    @property
    def _new_features(self) -> NewFeatures:  # type: ignore[override]
        found: NewFeatures = checked("new_features", self.new_features)
        return found

    @property
    def _goes_by_names(self) -> bool:
        """Whether features go by their names, and not by their places."""
        if self._new_features == "grow":
            return True
        return any(hash_bits(step) for _, step in steps_of("prepare", self.prepare))

    def _growth(self, views: tuple[str, ...]) -> Growth | None:
        """Return what is known of features that come later before the first chunk."""
        if self._new_features == "error":
            return None
        return Growth.of(checked("max_features", self.max_features, views))

    def _check_growth_unchanged(self, known: FittedState) -> None:
        asked = self._growth(known.schema.names)
        was, now = (None if each is None else each.most for each in (known.growth, asked))
        if was == now:
            return
        name = "max_features" if None not in (was, now) else "new_features"
        raise ValueError(
            Sentence(
                "Got ",
                Setting(name, getattr(self, name)),
                ", and another for the rows so far; expected the same for all rows. Set it back",
                Clause("or start anew", ", or call fit() to start anew"),
                ".",
            )
        )

    def _remember(self, X: Any, batch: Views) -> None:
        if not self._goes_by_names:
            super()._remember(X, batch)
            return
        super()._remember(batch, batch)
        self._plain = False

    def _read_first(self, X: Any) -> Views:
        negative: Negative = self._negative_mode
        return self._by_names(X, negative) if self._goes_by_names else self._split(X, negative)

    def _read_chunk(self, X: Any, negative: Negative) -> Views:
        if not self._goes_by_names:
            return super()._read_next(X, negative)
        batch = self._by_names(X, negative)
        return as_views(
            batch,
            like=self.schema_,
            negative=negative,
            missing=self._missing,
            new_features=self._new_features,
        )

    def _read_next(self, X: Any, negative: Negative = "allow") -> Views:
        """Validate later rows, with the features that are known."""
        batch = self._read_chunk(X, negative)
        known = self._journal.known
        return batch if known.growth is None else known.matched(batch)

    def _by_names(self, X: Any, negative: Negative) -> Views:
        """Read a batch as it is, but for what is hashed."""
        split = {} if is_views(X) else {"views": self.views, "remainder": self.remainder}
        batch = as_views(X, negative=negative, missing=self._missing, new_features="grow", **split)
        bits = bits_of(self.prepare, batch.names)
        return hashed_views(batch, bits) if any(bits) else batch
