"""What selectors that learn from a stream share: one way to learn, and one place to commit it."""

import copy
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Generic, Protocol, Self, TypeVar

from sklearn.utils.validation import check_is_fitted

from omvfs.data.blocks import Negative
from omvfs.data.collections import has_rows
from omvfs.data.rechunk import rechunk
from omvfs.data.views import Views
from omvfs.model.state import ChunkInfo, Update
from omvfs.selectors.base import MultiViewSelector
from omvfs.threads import alone, on_one_thread

# Entries of a history: a stream may never end.
HISTORY = 10_000


class Known(Protocol):
    """What a stream has left."""

    @property
    def n_rows(self) -> int:
        """Rows seen."""


T = TypeVar("T", bound=Known)
T_co = TypeVar("T_co", bound=Known, covariant=True)


class Origin(Protocol[T_co]):
    """What something can be worked out from: what is known, and what happened in the chunks."""

    def __call__(self) -> tuple[T_co, Iterable[ChunkInfo]]:
        """Work it out."""


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    """All that a journal holds, in one piece.

    Attributes
    ----------
    known : object or None
        What is known; if an update is under way, what was known before it. None if it is yet to be
        worked out.
    infos : list of ChunkInfo
        What happened in the chunks, and maybe in some that were never taken behind them.
    n : int
        How many of them are true.
    under_way : Update or None
        An update that is neither taken nor rolled back.
    origin : callable or None
        From what it was worked out, or will be; None after an update.
    """

    known: T | None
    infos: list[ChunkInfo]
    n: int
    under_way: Update[T] | None = None
    origin: Origin[T] | None = None


class Journal(Generic[T]):
    """What is known; an update is taken as a whole or not at all, whatever interrupts it.

    An update that is under way is written down first. If taking it is interrupted, it is rolled
    back; if that is interrupted too, whoever looks next does it.

    Parameters
    ----------
    known : object
        What is known so far.
    history : iterable of ChunkInfo, default=()
        What happened in the chunks so far.
    """

    def __init__(self, known: T, history: Iterable[ChunkInfo] = ()) -> None:
        infos = list(history)
        self._entry: _Entry[T] = _Entry(known, infos, len(infos))

    @classmethod
    def of(cls, origin: Origin[T]) -> "Journal[T]":
        """Return a journal of what is worked out when somebody asks for it.

        Parameters
        ----------
        origin : callable
            Returns what is known, and what happened in the chunks.
        """
        journal = object.__new__(cls)
        journal._entry = _Entry(None, [], 0, origin=origin)
        return journal

    @property
    def origin(self) -> Origin[T] | None:
        """From what all that is known was worked out, or will be; None if it was not."""
        return self._entry.origin

    @property
    def worked_out(self) -> T | None:
        """What is known; None if it is yet to be worked out."""
        return None if self._entry.known is None else self.known

    @property
    def known(self) -> T:
        """What is known."""
        known = self._recovered().known
        assert known is not None
        return known

    @property
    def history(self) -> deque[ChunkInfo]:
        """What happened in the last chunks."""
        entry = self._recovered()
        return deque(entry.infos[max(0, entry.n - HISTORY) : entry.n])

    def take(self, update: Update[T]) -> None:
        """Commit an update of what is known."""
        before = self._recovered()
        infos, n = before.infos, before.n
        if n >= 2 * HISTORY:
            infos, n = infos[n - HISTORY : n], HISTORY
        # What is behind the true ones is of updates that were not taken.
        infos[n:] = [] if update.info is None else [update.info]
        after = _Entry(update.known, infos, len(infos))
        self._entry = replace(before, under_way=update)
        try:
            update.commit()
            self._entry = after
        except BaseException:
            self._recovered()
            raise

    def _recovered(self) -> _Entry[T]:
        """Return what is held, after rolling back what was interrupted; done again, no harm."""
        entry = self._entry
        if entry.under_way is not None:
            entry.under_way.rollback()
            entry = self._entry = replace(entry, under_way=None)
        if entry.known is None and entry.origin is not None:
            known, history = entry.origin()
            infos = list(history)
            entry = self._entry = replace(entry, known=known, infos=infos, n=len(infos))
        return entry


class StreamSelector(MultiViewSelector, Generic[T]):
    """Base of selectors that learn from a stream, chunk by chunk.

    A subclass takes the parameter `batch_size` and provides `_empty` and `_advance`.
    """

    batch_size: int
    _journal: Journal[T]

    @alone
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
            journal = Journal(self._empty(batch))
            for chunk in self._chunks([batch]):
                self._take(journal, chunk)
            self._become(X, batch, _journal=journal, **self._of_all_rows(journal.known, batch))
        return self

    @alone
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
                    self._become(first, head, _journal=Journal(self._empty(head)))
                    later = (self._read_chunk(X, self._negative_mode) for X in some)
                    for chunk in self._chunks(chain([head], later)):
                        self._take(self._journal, chunk)
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
        return self._learn_chunk(X)

    @alone
    @on_one_thread
    def _learn_chunk(self, X: Any, **starts: Any) -> Self:
        if hasattr(self, "_journal"):
            batch = self._read_chunk(X, self._checked_negative_mode)
            self._take(self._journal, batch, **starts)
            return self
        with self._drawing_if_it_becomes():
            batch = self._read_first(X)
            journal = Journal(self._empty(batch))
            self._take(journal, batch, **starts)
            self._become(X, batch, _journal=journal)
        return self

    def _take(self, journal: Journal[T], chunk: Views, **starts: Any) -> None:
        """Learn from a chunk, and tell of it when it is learned."""
        update = self._advance(journal.known, chunk, **starts)
        journal.take(update)
        self._tell(update.info)

    def _tell(self, info: ChunkInfo | None) -> None:
        """Tell whoever asked to be told what happened in a chunk."""

    def __copy__(self) -> Self:
        # What one learns is not to be known to the other.
        return copy.deepcopy(self)

    @alone
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "_journal" not in state:
            return state
        # A copy, as learning, which may go on while this is pickled, writes in place.
        return {**state, "_journal": copy.deepcopy(self._journal)}

    @property
    @alone
    def n_samples_seen_(self) -> int:
        """Rows seen."""
        check_is_fitted(self)
        return self._journal.known.n_rows

    @property
    def _negative_mode(self) -> Negative:
        """How `as_views` is to take negative values."""
        return "allow"

    @property
    def _checked_negative_mode(self) -> Negative:
        """The same, for rows after the first chunk."""
        return self._negative_mode

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
        return self._split(X, self._negative_mode)

    def _read_chunk(self, X: Any, negative: Negative) -> Views:
        """Read a later batch to learn from."""
        return self._read_next(X, negative)

    def _of_all_rows(self, known: T, rows: Views) -> dict[str, Any]:
        """Return what is to be remembered of rows that were all given at once."""
        return {}

    @abstractmethod
    def _empty(self, first: Views) -> T:
        """Return what is known before the first chunk."""

    @abstractmethod
    def _advance(self, known: T, chunk: Views, **starts: Any) -> Update[T]:
        """Return what a chunk changes."""
