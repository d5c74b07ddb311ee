"""What every selector shares: scores of features per view -> ranking, support, names, transform."""

from abc import abstractmethod
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from omvfs.data.door import select_columns
from omvfs.data.schema import Schema
from omvfs.data.views import Views, hstack
from omvfs.data.vocabulary import Vocabulary
from omvfs.model.concordance import concordance
from omvfs.parameters import by_view, select_size
from omvfs.selectors.chosen import Chosen
from omvfs.selectors.output import Frame, as_frame, selected_by_view, with_index
from omvfs.selectors.preparation import Preparing
from omvfs.selectors.reading import ReadsViews, is_views
from omvfs.selectors.selection import Prepared, Selection
from omvfs.threads import alone, on_one_thread

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


class MultiViewSelector(SelectorMixin, ReadsViews):  # type: ignore[misc]
    """Base of selectors that score the features of each view.

    A subclass takes the parameters `views`, `remainder` and `n_features_per_view`, reads its first
    batch with `_split` and `_become`, later ones with `_read_next`, and provides `view_scores_`.

    Attributes by feature, such as `scores_`, stand in the order of the columns of X: of one 2-D X
    as they are, of several views one view after another.
    """

    n_features_per_view: SelectSize
    # Whether the views are clustered together, and whether features are scored by the factor that
    # explains the data rather than by a regression on the clusters; None where there are none.
    is_multi_view: ClassVar[bool] = False
    embeds_directly: ClassVar[bool | None] = None
    _plain: bool

    @property
    @abstractmethod
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""

    @property
    def scores_(self) -> NDArray[Any]:
        """Scores of all features in the order of X, NaN in no view; larger is better."""
        return self._in_x(self.view_scores_, np.nan)

    @property
    def ranking_(self) -> NDArray[np.intp]:
        """Rank of every feature within its view in the order of X; 1 is the best, 0 in no view."""
        return self._in_x(self.view_ranking_, 0)

    @property
    def view_ranking_(self) -> dict[str, NDArray[np.intp]]:
        """Rank of every feature by view name; 1 is the best."""
        return {view: rank(scores) for view, scores in self.view_scores_.items()}

    @alone
    def top_features(self, view: str, n: int = 10) -> list[str]:
        """Return the names of the best features of a view, the best first.

        Parameters
        ----------
        view : str
            Name of the view.
        n : int
            How many.

        Returns
        -------
        list of str
            Features without names are called by their numbers, from 0.
        """
        check_is_fitted(self)
        names = self.schema_.names_of(view)
        best = np.argsort(self.view_ranking_[view])[:n]
        return [names[j] for j in best.tolist()]

    @alone
    def to_frame(self, backend: Frame = "pandas") -> Any:
        """Return the ranking as a frame: a row a feature, view after view, the best first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Which library makes the frame; it must be installed.

        Returns
        -------
        frame
            Columns ``view``, ``rank``, ``feature`` (its number in the view), ``name``, ``score``,
            ``selected``, and what else the selector can tell; as in ``ranking.csv``.

        Examples
        --------
        >>> from omvfs.baselines import Variance
        >>> X = {"text": [[1.0, 0.0], [5.0, 1.0]]}
        >>> Variance(n_features_per_view=1).fit(X).to_frame()
           view  rank  feature name  score  selected
        0  text     1        0    0   4.00      True
        1  text     2        1    1   0.25     False
        """
        check_is_fitted(self)
        return as_frame(self.ranking_table(), backend)

    @alone
    def ranking_table(self) -> dict[str, Any]:
        """Return the columns of `to_frame` by name, for those who have no library for frames."""
        check_is_fitted(self)
        schema, scores, support = self.schema_, self.view_scores_, self.view_support_
        names = {view: schema.names_of(view) for view in schema.names}
        order = {view: np.argsort(each) for view, each in self.view_ranking_.items()}
        columns = {
            "view": [view for view in schema.names for _ in names[view]],
            "rank": np.concatenate([np.arange(1, width + 1) for width in schema.widths]),
            "feature": np.concatenate(list(order.values())),
            "name": [names[view][j] for view in schema.names for j in order[view].tolist()],
            "score": np.concatenate([scores[view][order[view]] for view in schema.names]),
            "selected": np.concatenate([support[view][order[view]] for view in schema.names]),
        }
        return columns | self._more_columns(order)

    def _more_columns(self, order: Mapping[str, NDArray[np.intp]]) -> dict[str, Any]:
        """Return further columns of `to_frame`, the features of each view in some order."""
        return {}

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self._in_x(self.view_support_, False)

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
    def selection(self) -> Selection:
        """Return the selected features, frozen: what serving needs, and nothing else.

        It is not changed by what is learned later, takes the columns of a row in microseconds,
        and can be saved by itself.

        Examples
        --------
        >>> from omvfs.baselines import Variance
        >>> X = {"text": [[1.0, 0.0], [5.0, 1.0]], "image": [[0.0, 2.0], [0.0, 4.0]]}
        >>> selection = Variance(n_features_per_view=1).fit(X).selection()
        >>> selection
        Selection(text: 1 of 2, image: 1 of 2)
        >>> selection.transform({"text": [[7.0, 8.0]], "image": [[9.0, 6.0]]})
        array([[7., 6.]])
        """
        check_is_fitted(self)
        parts, prepared = [], []
        for v, mask in enumerate(self.view_support_.values()):
            chosen = self._chosen(v, np.flatnonzero(mask))
            parts.append(chosen)
            if (preparing := self._preparing(v)) is not None:
                every = np.arange(self.schema_.widths[v])
                of_all, places = self._chosen(v, every), self._places(v, every)
                in_order = preparing.on(np.argsort(places))
                prepared.append(Prepared.of_all(chosen, of_all, in_order))
        of_one = self._plain or self._columns is not None
        names_out = tuple(self.get_feature_names_out())
        return Selection(tuple(parts), of_one, names_out, tuple(prepared))

    def _chosen(self, v: int, columns: NDArray[np.intp]) -> Chosen:
        """Return some columns of a view as those of what it is in, in rising order."""
        view, names = self.schema_.names[v], self.schema_.feature_names[v]
        if self._columns is None:
            chosen = None if names is None else tuple(names[j] for j in columns.tolist())
            may_lack = isinstance(names, Vocabulary)
            return Chosen(view, self.schema_.widths[v], columns, chosen, may_lack)
        places = np.sort(self._places(v, columns))
        known = getattr(self, "feature_names_in_", None)
        chosen = None if known is None else tuple(known[places])
        return Chosen(view, self.n_features_in_, places, chosen)

    def _places(self, v: int, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where some columns of a view are in the one X that it was split from."""
        if self._columns is None:
            return columns
        return self._columns[sum(self.schema_.widths[:v]) + columns]

    @alone
    def transform(self, X: Any) -> Any:
        """Return the selected features: of one 2-D X its columns, of views one after another.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.

        Returns
        -------
        array, CSR matrix or frame
            Sparse if any view is; a frame where `set_output` asks for one, its rows called as those
            of X.
        """
        check_is_fitted(self)
        batch, support = self._read_as_learned(X), self.view_support_
        chosen = hstack(list(select_columns(batch, support).values()))
        if self._columns is not None:
            places = self._columns[np.concatenate(list(support.values()))]
            order = np.argsort(places)
            chosen = chosen if (np.diff(places) > 0).all() else chosen[:, order]
        return with_index(self, chosen, batch.index)

    def select(self, X: Any) -> Any:
        """Return the selected columns of X as X holds them: a frame of the same kind, index kept.

        As ``selection().select(X)``: values are not read, checked or prepared. `transform` gives
        arrays, or the frames that `set_output` asks for.

        Parameters
        ----------
        X : array, sparse matrix, data frame, AnnData, or a dict or list of such by view, MuData
            With the columns that were fitted.

        Examples
        --------
        >>> import polars as pl
        >>> from omvfs.baselines import Variance
        >>> frame = pl.DataFrame({"a": [1, 5], "b": [0, 1]})
        >>> Variance(n_features_per_view=1).fit(frame).select(frame).columns
        ['a']
        """
        return self.selection().select(X)

    @alone
    def transform_views(self, X: Any) -> dict[str, Any]:
        """Return the selected features by view name, each in the kind it came.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.

        Returns
        -------
        dict of str to (array, CSR matrix or frame)
            Frames where `set_output` asks for them.
        """
        check_is_fitted(self)
        return selected_by_view(self, self._read_as_learned(X), self.view_support_)

    @alone
    @on_one_thread
    def score(self, X: Any, y: Any = None) -> float:
        """Return how far the selected features agree with other views on which rows are alike.

        The correlation of likeness by the selected features of a view with likeness by all features
        of the other views, mean over the views; one view alone is divided into two. It is 0 by
        chance, however many features or clusters there are, and 1 at most. Meant for rows that were
        not fitted, as in cross-validation; the same for every selector. See ``docs/method.md``.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted; of more than 1,000, so many are drawn.
        y : ignored
            For compatibility with scikit-learn.
        """
        check_is_fitted(self)
        batch = self._read_as_learned(X)
        chosen = [np.flatnonzero(mask) for mask in self.view_support_.values()]
        return concordance(list(batch.blocks.values()), chosen, batch.presence)

    @alone
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: those of one X, or ``view__feature``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of one 2-D X; must agree with those seen in fit, if any.
        """
        check_is_fitted(self)
        if self._plain or self._columns is not None:
            names = np.asarray(_check_feature_names_in(self, input_features), dtype=object)
        else:
            schema = self.schema_
            named = [f"{view}__{name}" for view in schema.names for name in schema.names_of(view)]
            names = np.asarray(named, dtype=object)
        chosen: NDArray[Any] = names[self.get_support()]
        return chosen

    def _in_x(self, by_view: Mapping[str, NDArray[Any]], fill: Any) -> NDArray[Any]:
        """Put what is by view into the order of the columns of X."""
        each = np.concatenate(list(by_view.values()))
        if self._columns is None:
            return each
        placed: NDArray[Any] = np.full(self.n_features_in_, fill, each.dtype)
        placed[self._columns] = each
        return placed

    def _read_as_learned(self, X: Any) -> Views:
        """Return rows as they are learned from, if they are prepared; else as they come."""
        return self._read_next(X)

    def _preparing(self, v: int) -> Preparing | None:
        """Return how the rows of a view are prepared; None if they are not."""
        return None

    def _remember(self, X: Any, batch: Views) -> None:
        super()._remember(X, batch)
        self._plain = not is_views(X) and self._columns is None

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Show what is there, and not all that can be worked out: that may take a while."""
        shown = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return BaseEstimator._get_fitted_attr_html(SimpleNamespace(**shown), doc_link)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
