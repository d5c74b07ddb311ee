"""What the comparison methods share: a fit on all rows, one view at a time, or along a stream."""

import inspect
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.data.blocks import Block
from omvfs.data.views import Views
from omvfs.model.learning import Update
from omvfs.parameters import seed_of, whole
from omvfs.selector import MultiViewSelector, SelectSize, StreamSelector, sizes_by_view

T = TypeVar("T")

# By view name, scores of all features, larger is better; what else a fitted selector is to have.
Found: TypeAlias = tuple[dict[str, NDArray[Any]], dict[str, Any]]

# Parameters that are whole numbers of at least 1 in all methods.
COUNTS = ("n_clusters", "n_neighbors")

# What the docstrings of methods share: ``{name}`` on a line of its own stands for it there.
PARAMETERS = {
    "shared": """\
n_features_per_view : int, float, mapping of str to either, or None, default=100
    Features to select per view: at most so many, a share, either by view name, or all.
views : "prefix", sequence of int, or mapping of str to columns, default=None
    How one 2-D X splits into views.""",
    "batch": """\
batch_size : int, default=1000
    Rows of a chunk in `fit`.""",
}


class SharedParameters:
    """Fills in what the docstrings of methods share.

    Parameters are fields of data classes: `dataclass` writes the constructor, with a signature that
    scikit-learn and ``help`` can read, and those that all methods have stand in the base class.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__doc__" in vars(cls) and cls.__doc__:
            cls.__doc__ = inspect.cleandoc(cls.__doc__)
            for name, text in PARAMETERS.items():
                cls.__doc__ = cls.__doc__.replace("{" + name + "}", text)


@dataclass(eq=False, repr=False, kw_only=True)
class OfflineSelector(SharedParameters, MultiViewSelector):
    """Base of methods that read all rows at once.

    A subclass provides `_score_views`.
    """

    n_features_per_view: SelectSize = 100
    views: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Score the features of X.

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
        batch = self._split(X)
        sizes_by_view(self.n_features_per_view, batch.schema)
        self._check_params()
        with self._drawing_if_it_becomes():
            scores, attributes = self._score_views(batch)
            self._become(X, batch, _view_scores=scores, **attributes)
        return self

    def _check_params(self) -> None:
        """Refuse bad parameters, before anything is learned."""
        for name, value in self.get_params(deep=False).items():
            if name in COUNTS:
                whole(name, value, least=1)

    @property
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""
        check_is_fitted(self)
        return {name: scores.copy() for name, scores in self._view_scores.items()}

    @abstractmethod
    def _score_views(self, batch: Views) -> Found:
        """Return the scores and what else was learned; nothing is set before all is there."""


@dataclass(eq=False, repr=False, kw_only=True)
class PerViewSelector(OfflineSelector):
    """Base of single-view methods: each view is scored by itself.

    A subclass takes the parameter `random_state`, None where nothing is random, and provides
    `_score_view`, or `_score_views` by way of `_each_view`.
    """

    random_state = None

    def _score_views(self, batch: Views) -> Found:
        return self._each_view(batch, lambda name, X, rng: self._score_view(X, rng)), {}

    def _each_view(
        self, batch: Views, work: Callable[[str, Block, np.random.Generator], T]
    ) -> dict[str, T]:
        """Return by view name what some work gives of each view, its name and a generator."""
        seed = seed_of(self.random_state)
        # Every view as if it were alone, so that neither its name nor its place matters.
        return {
            name: work(name, X, np.random.default_rng(seed)) for name, X in batch.blocks.items()
        }

    def _score_view(self, X: Block, rng: np.random.Generator) -> NDArray[Any]:
        """Return the score of every feature of a view, larger is better."""
        raise NotImplementedError


@dataclass(frozen=True)
class Seen:
    """What a stream has left."""

    # Rows seen.
    n_rows: int
    # What the method keeps of each view; replaced, never changed.
    states: dict[str, Any]


@dataclass(eq=False, repr=False, kw_only=True)
class PerViewStreamSelector(SharedParameters, StreamSelector[Seen]):
    """Base of single-view methods that read a stream, each view by itself.

    A subclass provides `_start`, `_learn` and `_score_state`.
    """

    n_features_per_view: SelectSize = 100
    views: Any = None
    batch_size: int = 1000

    @property
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""
        check_is_fitted(self)
        seen = self._known
        return {name: self._score_state(each, seen.n_rows) for name, each in seen.states.items()}

    def _empty(self, first: Views) -> Seen:
        sizes_by_view(self.n_features_per_view, first.schema)
        return Seen(0, {name: self._start(X) for name, X in first.blocks.items()})

    def _advance(self, known: Seen, chunk: Views, **starts: Any) -> Update[Seen]:
        blocks = chunk.blocks.items()
        states = {name: self._learn(known.states[name], X) for name, X in blocks}
        return Update(Seen(known.n_rows + len(chunk), states))

    @abstractmethod
    def _start(self, X: Block) -> Any:
        """Return what is known of a view before its first chunk X."""

    @abstractmethod
    def _learn(self, state: Any, X: Block) -> Any:
        """Return what is known after a chunk; the state before it is left as it was."""

    @abstractmethod
    def _score_state(self, state: Any, n_rows: int) -> NDArray[Any]:
        """Return the score of every feature, larger is better, in an array of its own."""
