"""How an estimator reads its batches: the first sets what later ones must match."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from omvfs.data.blocks import Negative
from omvfs.data.collections import holds_views
from omvfs.data.containers import for_sklearn
from omvfs.data.door import as_views
from omvfs.data.lacking import Missing
from omvfs.data.mappings import are_mappings
from omvfs.data.schema import NewFeatures, Schema
from omvfs.data.split import Remainder, columns_by_view, depends_on_x
from omvfs.data.views import Views


def is_views(X: Any) -> bool:
    """Tell whether X comes as views already, not as one 2-D block.

    Examples
    --------
    >>> is_views([[1.0, 2.0]]), is_views({"text": [[1.0, 2.0]]}), is_views([{"cat": 1.0}])
    (False, True, True)
    """
    return isinstance(X, Views) or holds_views(X) or are_mappings(X)


class ReadsViews(BaseEstimator):  # type: ignore[misc]
    """Base of estimators that read anything `as_views` accepts.

    A subclass takes the parameters `views` and `remainder`, reads its first batch with `_split` and
    `_become`, and later ones with `_read_next`.
    """

    views: Any
    remainder: Remainder = "error"
    # Whether rows may lack views, and bring features that are not known.
    _missing: Missing = "error"
    _new_features: NewFeatures = "error"
    schema_: Schema
    n_features_in_: int
    # Of one 2-D X that was split, which column is which feature, view after view.
    _columns: NDArray[np.intp] | None

    def _remember(self, X: Any, batch: Views) -> None:
        """Remember of the first batch what later ones must match."""
        self._columns = None
        if is_views(X):
            self.n_features_in_ = batch.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        else:
            validate_data(self, for_sklearn(X), reset=True, skip_check_array=True)
            width = self.n_features_in_
            keys = columns_by_view(self.views, X, width, self.remainder)
            if keys is not None:
                self._columns = np.concatenate([np.arange(width)[key] for key in keys.values()])
        self.schema_ = batch.schema

    def _become(self, X: Any, batch: Views, **learned: Any) -> None:
        """Remember the first batch and what was learned, all at once."""
        after = object.__new__(type(self))
        after.__dict__ = dict(vars(self))
        after._remember(X, batch)
        # One assignment: an interruption finds all of it, or nothing.
        self.__dict__ = {**vars(after), **learned}

    @contextmanager
    def _drawing_if_it_becomes(self) -> Iterator[None]:
        """Give a RandomState that was passed back as it was if nothing comes of drawing from it."""
        held, passed = vars(self), getattr(self, "random_state", None)
        if not isinstance(passed, np.random.RandomState):
            yield
            return
        before = passed.get_state()
        try:
            yield
        except BaseException:
            if vars(self) is held:
                passed.set_state(before)
            raise

    def _split(self, X: Any, negative: Negative = "allow") -> Views:
        """Read a batch as the parameters say."""
        return as_views(
            X,
            views=self.views,
            remainder=self.remainder,
            negative=negative,
            missing=self._missing,
        )

    def _read_next(self, X: Any, negative: Negative = "allow") -> Views:
        """Validate a later batch."""
        if is_views(X):
            return as_views(X, like=self.schema_, negative=negative, missing=self._missing)
        if self._columns is None or not depends_on_x(self.views):
            batch = self._split(X, negative)
        else:
            batch = self._split_as_first(X, self._columns, negative)
        self._check_columns(X)
        return as_views(batch, like=self.schema_, negative=negative, missing=self._missing)

    def _split_as_first(self, X: Any, columns: NDArray[np.intp], negative: Negative) -> Views:
        """Read a batch by the columns that were found in the first, not those it may show now."""
        parts = np.split(columns, np.cumsum(self.schema_.widths)[:-1])
        found = dict(zip(self.schema_.names, parts, strict=True))
        try:
            return as_views(
                X, views=found, remainder="drop", negative=negative, missing=self._missing
            )
        except ValueError:
            self._check_columns(X)  # if it has others, that is what there is to tell
            raise

    def _check_columns(self, X: Any) -> None:
        """Refuse one X of other columns than the first, by their names or their number."""
        validate_data(self, for_sklearn(X), reset=False, skip_check_array=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
