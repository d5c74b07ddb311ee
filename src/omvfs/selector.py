"""What every selector shares: reading rows, ranking, support, names, transform, score."""

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from types import SimpleNamespace
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from omvfs.data.blocks import Block, Missing, Negative, for_sklearn, hstack
from omvfs.data.read import as_views, columns_by_view, depends_on_x, rechunk, select_columns
from omvfs.data.schema import NewFeatures, Schema, Vocabulary
from omvfs.data.views import Views, has_rows
from omvfs.model.arrays import significant
from omvfs.model.concordance import concordance
from omvfs.model.learning import Update
from omvfs.parameters import by_view, check_not_gone, select_size
from omvfs.prepare import Preparing
from omvfs.selection import Chosen, Selection, is_views
from omvfs.threads import on_one_thread


class ReadsViews(BaseEstimator):  # type: ignore[misc]
    """Base of estimators that read anything `as_views` accepts.

    A subclass takes the parameter `views`, reads its first batch with `_split` and `_become`, and
    later ones with `_read_next`.
    """

    views: Any
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
            keys = columns_by_view(self.views, X, width)
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
        return as_views(X, views=self.views, negative=negative, missing=self._missing)

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
            return as_views(X, views=found, negative=negative, missing=self._missing)
        except ValueError:
            self._check_columns(X)  # if it has others, that is what there is to tell
            raise

    def _check_columns(self, X: Any) -> None:
        """Refuse one X of other columns than the first, by their names or their number."""
        validate_data(self, for_sklearn(X), reset=False, skip_check_array=True)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, as scikit-learn has it.

        Parameters
        ----------
        **params
            By name. One of an earlier version is refused with what to do instead.
        """
        check_not_gone([name for name in params if name not in self._get_param_names()])
        found: Self = super().set_params(**params)
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


Frame = Literal["pandas", "polars", "pyarrow"]


def with_index(selector: Any, block: Block, index: Any) -> Any:
    """Return a block in the frame that is asked for, if only we know the labels of its rows.

    scikit-learn finds them in one frame alone. It names the columns, and refuses what is sparse.
    """
    adapter = _get_container_adapter("transform", selector)
    if adapter is None or index is None or sp.issparse(block):
        return block
    return _framed(adapter, block, None, index)


def selected_by_view(
    selector: Any, batch: Views, support: Mapping[str, NDArray[np.bool_]]
) -> dict[str, Any]:
    """Return the supported columns by view: blocks, or the frames that `set_output` asks for."""
    blocks = select_columns(batch, support)
    adapter = _get_container_adapter("transform", selector)
    if adapter is None:
        return dict(blocks)
    frames = {}
    for view, block in blocks.items():
        if sp.issparse(block):
            raise ValueError(
                f"View {view!r} is sparse, and frames are not. Pass it dense, or get it as it is: "
                'set_output(transform="default").'
            )
        names, columns = batch.feature_names[view], np.flatnonzero(support[view])
        called = columns.astype(str).astype(object) if names is None else names[columns]
        frames[view] = _framed(adapter, block, called, batch.index)
    return frames


def _framed(adapter: Any, block: Block, names: Any, index: Any) -> Any:
    frame = adapter.create_container(block, None, columns=names)
    if index is not None and hasattr(frame, "index"):  # polars has none
        frame.index = index
    return frame


def as_frame(columns: Mapping[str, Any], backend: Frame) -> Any:
    """Return columns by name as a frame of a library, which must be installed."""
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"Frames of {backend} need {missing.name}: pip install {missing.name}. Or ask for "
            'another kind: backend="pandas", "polars" or "pyarrow".',
            name=missing.name,
        ) from missing


SelectSize: TypeAlias = int | float | Mapping[str, int | float] | None


def rank(scores: NDArray[Any]) -> NDArray[np.intp]:
    """Return the rank of every feature, 1 = best; among equal scores the first is better.

    Scores that differ by rounding error only are equal.

    Examples
    --------
    >>> rank(np.array([0.2, 0.9, 0.2]))
    array([2, 1, 3])
    """
    order = np.argsort(-significant(scores), kind="stable")
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

    A subclass takes the parameters `views` and `n_features_per_view`, reads its first batch with
    `_split` and `_become`, later ones with `_read_next`, and provides `view_scores_`.

    Attributes by feature, such as `scores_`, stand in the order of the columns of X: of one 2-D X
    as they are, of several views one view after another.
    """

    n_features_per_view: SelectSize
    _plain: bool

    @property
    @abstractmethod
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""

    @property
    def scores_(self) -> NDArray[Any]:
        """Scores of all features in the order of X; larger is better."""
        return self._in_x(self.view_scores_)

    @property
    def ranking_(self) -> NDArray[np.intp]:
        """Rank of every feature within its view in the order of X; 1 is the best."""
        return self._in_x(self.view_ranking_)

    @property
    def view_ranking_(self) -> dict[str, NDArray[np.intp]]:
        """Rank of every feature by view name; 1 is the best."""
        return {view: rank(scores) for view, scores in self.view_scores_.items()}

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

    def to_frame(self, backend: Frame = "pandas") -> Any:
        """Return the ranking as a frame: a row a feature, view after view, the best first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Which library makes the frame; it must be installed.

        Returns
        -------
        frame
            Columns ``name``, ``view``, ``rank``, ``score``, ``selected``, ``feature`` (its number
            in the view), and what else the selector can tell; as in ``ranking.csv``.

        Examples
        --------
        >>> from omvfs.baselines import Variance
        >>> X = {"text": [[1.0, 0.0], [5.0, 1.0]]}
        >>> Variance(n_features_per_view=1).fit(X).to_frame()
          name  view  rank  score  selected  feature
        0    0  text     1   4.00      True        0
        1    1  text     2   0.25     False        1
        """
        check_is_fitted(self)
        return as_frame(self.ranking_table(), backend)

    def ranking_table(self) -> dict[str, Any]:
        """Return the columns of `to_frame` by name, for those who have no library for frames."""
        check_is_fitted(self)
        schema, scores, support = self.schema_, self.view_scores_, self.view_support_
        names = {view: schema.names_of(view) for view in schema.names}
        order = {view: np.argsort(each) for view, each in self.view_ranking_.items()}
        columns = {
            "name": [names[view][j] for view in schema.names for j in order[view].tolist()],
            "view": [view for view in schema.names for _ in names[view]],
            "rank": np.concatenate([np.arange(1, width + 1) for width in schema.widths]),
            "score": np.concatenate([scores[view][order[view]] for view in schema.names]),
            "selected": np.concatenate([support[view][order[view]] for view in schema.names]),
            "feature": np.concatenate(list(order.values())),
        }
        return columns | self._more_columns(order)

    def _more_columns(self, order: Mapping[str, NDArray[np.intp]]) -> dict[str, Any]:
        """Return further columns of `to_frame`, the features of each view in some order."""
        return {}

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self._in_x(self.view_support_)

    @property
    def view_support_(self) -> dict[str, NDArray[np.bool_]]:
        """Mask of the selected features by view name."""
        check_is_fitted(self)
        sizes = self._sizes()
        return {view: ranking <= sizes[view] for view, ranking in self.view_ranking_.items()}

    def _sizes(self) -> dict[str, int]:
        """Return how many features are selected by view name."""
        return sizes_by_view(self.n_features_per_view, self.schema_)

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
        parts = []
        for v, mask in enumerate(self.view_support_.values()):
            chosen = self._chosen(v, np.flatnonzero(mask))
            if (preparing := self._preparing(v)) is not None:
                every = np.arange(self.schema_.widths[v])
                in_order = preparing.on(np.argsort(self._places(v, every)))
                chosen = chosen.prepared(self._chosen(v, every), in_order)
            parts.append(chosen)
        of_one = self._plain or self._columns is not None
        names, table = tuple(self.get_feature_names_out()), getattr(self, "table_", None)
        return Selection(tuple(parts), of_one, names, table)

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
        batch, support = self._read_to_give_back(X), self.view_support_
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
        return selected_by_view(self, self._read_to_give_back(X), self.view_support_)

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
        return np.asarray(names[self.get_support()])

    def _in_x(self, by_view: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Put what is by view into the order of the columns of X."""
        each = np.concatenate(list(by_view.values()))
        if self._columns is None:
            return each
        placed = np.empty_like(each)
        placed[self._columns] = each
        return placed

    def _read_as_learned(self, X: Any) -> Views:
        """Return rows as they are learned from, if they are prepared; else as they come."""
        return self._read_next(X)

    def _read_to_give_back(self, X: Any) -> Views:
        """Return rows as they are given back."""
        return self._read_as_learned(X)

    def _preparing(self, v: int) -> Preparing | None:
        """Return how the rows of a view are prepared to be given back; None if they are not."""
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


# Chunks of which `history_` tells: a stream may never end.
HISTORY = 10_000


class Known(Protocol):
    """What a stream has left."""

    @property
    def n_rows(self) -> int:
        """Rows seen."""


T = TypeVar("T", bound=Known)


class StreamSelector(MultiViewSelector, Generic[T]):
    """Base of selectors that learn from a stream, chunk by chunk.

    A subclass takes the parameter `batch_size` and provides `_empty` and `_advance`.
    """

    batch_size: int
    # What is known, and what happened in the last chunks.
    _known: T
    _history: tuple[Any, ...]

    @on_one_thread
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from X anew, in chunks of `batch_size` rows.

        Parameters
        ----------
        X : anything `as_views` accepts
            2-D data, a mapping or list of 2-D blocks, or `Views`.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        self
        """
        with self._drawing_if_it_becomes():
            batch = self._read_first(X)
            known, history = self._empty(batch), list[Any]()
            for chunk in self._chunks([batch]):
                update = self._advance(known, chunk)
                known = update.commit()
                history += update.infos
            self._become(X, batch, **self._learned(known, history, batch))
        return self

    @on_one_thread
    def fit_batches(self, batches: Iterable[Any]) -> Self:
        """Learn anew from batches of any sizes, which come one by one, in chunks of `batch_size`.

        The same is learned as by `fit` of all rows at once, which are never in memory together.

        Parameters
        ----------
        batches : iterable
            Each anything `as_views` accepts; those without rows are passed over. If none has any,
            nothing is learned.

        Returns
        -------
        self

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> import numpy as np
        >>> X = np.random.default_rng(0).random((50, 6))
        >>> model = OMVFS(2, random_state=0).fit_batches([X[:7], X[7:7], X[7:]])
        >>> bool((model.scores_ == OMVFS(2, random_state=0).fit(X).scores_).all())
        True
        """
        before, some = self.__dict__, (X for X in batches if has_rows(X))
        with self._drawing_if_it_becomes():
            try:
                for first in some:
                    head = self._read_first(first)
                    self._become(first, head, **self._learned(self._empty(head), ()))
                    later = (self._read_chunk(X) for X in some)
                    for chunk in self._chunks(chain([head], later)):
                        self._learn_chunk(chunk)
            except BaseException:
                self.__dict__ = before
                raise
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more chunk; a call that fails changes nothing.

        Parameters
        ----------
        X : anything `as_views` accepts
            The chunk, of any number of rows. Use `rechunk` to cut a stream to equal chunks.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        self
        """
        return self._partial_fit(X)

    @on_one_thread
    def _partial_fit(self, X: Any, **starts: Any) -> Self:
        if "_known" in vars(self):
            self._learn_chunk(self._read_chunk(X), **starts)
            return self
        with self._drawing_if_it_becomes():
            batch = self._read_first(X)
            update = self._advance(self._empty(batch), batch, **starts)
            self._become(X, batch, **self._learned(update.commit(), update.infos))
        return self

    def _learn_chunk(self, chunk: Views, **starts: Any) -> None:
        """Learn from a later chunk: all that changes is worked out first, then assigned at once."""
        update = self._advance(self._known, chunk, **starts)
        learned = self._learned(update.known, (*self._history, *update.infos))
        try:
            # Arrays by column are shared with what was known before; see `Update`.
            update.commit()
            self.__dict__.update(learned)
        except BaseException:
            if self._known is not update.known:
                update.rollback()
            raise

    def _learned(
        self, known: T, history: Sequence[Any], rows: Views | None = None
    ) -> dict[str, Any]:
        """Return the attributes that follow from what is known, and what happened in the chunks.

        `rows` are all that it was learned from, if they were given at once.
        """
        return {"_known": known, "_history": tuple(history[-HISTORY:])}

    def __copy__(self) -> Self:
        # What one learns is not to be known to the other.
        return copy.deepcopy(self)

    @property
    def n_samples_seen_(self) -> int:
        """Rows seen."""
        check_is_fitted(self)
        return self._known.n_rows

    @property
    def _negative_mode(self) -> Negative:
        """How `as_views` is to take negative values."""
        return "allow"

    def _chunks(self, batches: Iterable[Views]) -> Iterator[Views]:
        """Return batches as chunks to learn from."""
        return rechunk(
            batches,
            self.batch_size,
            negative=self._negative_mode,
            missing=self._missing,
            new_features=self._new_features,
        )

    def _read_first(self, X: Any) -> Views:
        """Read the first batch to learn from."""
        return self._split(X, self._negative_mode)

    def _read_chunk(self, X: Any) -> Views:
        """Read a later batch to learn from."""
        return self._read_next(X, self._negative_mode)

    @abstractmethod
    def _empty(self, first: Views) -> T:
        """Return what is known before the first chunk."""

    @abstractmethod
    def _advance(self, known: T, chunk: Views, **starts: Any) -> Update[T]:
        """Return what a chunk changes."""
