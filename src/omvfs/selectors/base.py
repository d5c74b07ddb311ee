"""What every selector shares: scores of features per view -> ranking, support, names, transform."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from omvfs.data.schema import Schema
from omvfs.data.split import columns_by_view
from omvfs.data.views import Block, Views, hstack, select_columns
from omvfs.model.arrays import squared_row_norms
from omvfs.parameters import by_view, select_size
from omvfs.selectors.reading import ReadsViews, is_views
from omvfs.threads import alone

SelectSize: TypeAlias = int | float | Mapping[str, int | float] | None


def rank(scores: NDArray[Any]) -> NDArray[np.intp]:
    """Return the rank of every feature, 1 = best; among equal scores the first is better.

    Examples
    --------
    >>> rank(np.array([0.2, 0.9, 0.2]))
    array([2, 1, 3])
    """
    order = np.argsort(-scores, kind="stable")
    ranking = np.empty(len(scores), np.intp)
    ranking[order] = np.arange(1, len(scores) + 1)
    return ranking


def sizes_by_view(size: SelectSize, schema: Schema) -> dict[str, int]:
    """Return how many features to select by view name, at most as many as it has.

    Examples
    --------
    >>> schema = Schema(("text", "image"), (10, 4), (None, None))
    >>> sizes_by_view(0.5, schema), sizes_by_view({"text": 100, "image": None}, schema)
    ({'text': 5, 'image': 2}, {'text': 10, 'image': 4})
    """
    sizes = by_view("n_features_per_view", size, select_size, schema.names)
    views = zip(schema.names, sizes, schema.widths, strict=True)
    return {
        view: max(1, round(own * width)) if isinstance(own, float) else min(own or width, width)
        for view, own, width in views
    }


class MultiViewSelector(TransformerMixin, ReadsViews):  # type: ignore[misc]
    """Base of selectors that score the features of each view.

    A subclass takes the parameters `views` and `n_features_per_view`, reads its first batch with
    `as_views` and `_become`, later ones with `_read_next`, and provides `view_scores_`.
    """

    n_features_per_view: SelectSize
    # Whether the views are clustered together, and whether features are scored by the factor that
    # explains the data rather than by a regression on the clusters; None where there are none.
    is_multi_view: ClassVar[bool] = False
    embeds_directly: ClassVar[bool | None] = None

    @property
    @abstractmethod
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""

    @property
    def scores_(self) -> NDArray[Any]:
        """Scores of all features, view after view; larger is better."""
        return np.concatenate(list(self.view_scores_.values()))

    @property
    def ranking_(self) -> NDArray[np.intp]:
        """Rank of every feature within its view, view after view; 1 is the best."""
        return np.concatenate(list(self.view_ranking_.values()))

    @property
    def view_ranking_(self) -> dict[str, NDArray[np.intp]]:
        """Rank of every feature by view name; 1 is the best."""
        return {view: rank(scores) for view, scores in self.view_scores_.items()}

    @alone
    def top_features(self, view: str, n: int = 10) -> NDArray[Any]:
        """Return the best features of a view, the best first: names, or numbers if unnamed.

        Parameters
        ----------
        view : str
            Name of the view.
        n : int
            How many.
        """
        check_is_fitted(self)
        names = self.schema_.feature_names[self.schema_.number_of(view)]
        best = np.argsort(self.view_ranking_[view])[:n]
        return best if names is None else np.asarray(names, dtype=object)[best]

    @alone
    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return which features are selected, in the order of the columns of X.

        Parameters
        ----------
        indices : bool
            Return the numbers of the columns instead of a mask.
        """
        mask = np.concatenate(list(self.view_support_.values()))
        if self._columns is not None:
            chosen, mask = self._columns[mask], np.zeros(self.n_features_in_, bool)
            mask[chosen] = True
        return np.flatnonzero(mask) if indices else mask

    @property
    @alone
    def view_support_(self) -> dict[str, NDArray[np.bool_]]:
        """Mask of the selected features by view name."""
        check_is_fitted(self)
        sizes = self._sizes()
        return {view: ranking <= sizes[view] for view, ranking in self.view_ranking_.items()}

    def _sizes(self) -> dict[str, int]:
        """Return how many features are selected by view name."""
        return sizes_by_view(self.n_features_per_view, self.schema_)

    @alone
    def transform(self, X: Any) -> Block:
        """Return the selected features of all views side by side.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.

        Returns
        -------
        array or CSR matrix
            Sparse if any view is.
        """
        check_is_fitted(self)
        batch = self._read_next(X)
        support = self.view_support_
        if self._plain:
            return select_columns(batch, support)[self.schema_.names[0]]
        return hstack(list(select_columns(batch, support).values()))

    @alone
    def transform_views(self, X: Any) -> dict[str, Block]:
        """Return the selected features by view name, each in the kind it came.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.
        """
        check_is_fitted(self)
        return select_columns(self._read_next(X), self.view_support_)

    @alone
    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of ‖X‖² that the selected features hold, between 0 and 1.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.
        y : ignored
            For compatibility with scikit-learn.
        """
        check_is_fitted(self)
        batch = self._read_next(X)
        kept, total = (
            sum(float(squared_row_norms(block).sum()) for block in blocks.values())
            for blocks in (select_columns(batch, self.view_support_), batch.blocks)
        )
        return kept / total if total > 0 else 0.0

    @alone
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: ``view__feature``, or as in one plain X.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of one plain X; must agree with those seen in fit, if any.
        """
        check_is_fitted(self)
        if self._plain:
            names = _check_feature_names_in(self, input_features)
            chosen: NDArray[Any] = np.asarray(names, dtype=object)[self.get_support()]
            return chosen
        named = []
        schema, support = self.schema_, self.view_support_
        for view, width, features in zip(
            schema.names, schema.widths, schema.feature_names, strict=True
        ):
            features = features or tuple(str(j) for j in range(width))
            named += [f"{view}__{features[j]}" for j in np.flatnonzero(support[view])]
        return np.asarray(named, dtype=object)

    def _remember(self, X: Any, batch: Views) -> None:
        super()._remember(X, batch)
        plain = not is_views(X)
        self._plain = plain and self.views is None
        self._columns = self._columns_of() if plain and self.views is not None else None

    def _columns_of(self) -> NDArray[np.intp]:
        """Return which column of one 2-D X is which feature, view after view."""
        width = self.n_features_in_
        keys = columns_by_view(self.views, width, getattr(self, "feature_names_in_", None))
        return np.concatenate([np.arange(width)[key] for key in keys.values()])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
