"""What selectors that learn from a stream share: one way to learn, and one place to commit it."""

import copy
from abc import abstractmethod
from collections import deque
from typing import Any, Generic, Protocol, Self, TypeVar

from sklearn.utils.validation import check_is_fitted

from omvfs.data.blocks import Negative
from omvfs.data.rechunk import rechunk
from omvfs.data.views import Views, as_views
from omvfs.model.state import ChunkInfo, Update
from omvfs.selectors.base import MultiViewSelector
from omvfs.threads import on_one_thread

# Entries of a history: a stream may never end.
HISTORY = 10_000


class Known(Protocol):
    """What a stream has left."""

    @property
    def n_rows(self) -> int:
        """Rows seen."""


T = TypeVar("T", bound=Known)


class Journal(Generic[T]):
    """What is known; an update is taken as a whole or not at all, whatever interrupts it.

    An update that is under way is written down first. If taking it is interrupted, it is rolled
    back; if that is interrupted too, whoever looks next does it.

    Parameters
    ----------
    known : object
        What is known so far.

    Attributes
    ----------
    history : deque of ChunkInfo
        What happened in the last chunks.
    """

    def __init__(self, known: T) -> None:
        self._known = known
        self._under_way: tuple[T, Update[T]] | None = None
        self._history: deque[ChunkInfo] = deque()

    @property
    def known(self) -> T:
        """What is known."""
        self._recover()
        return self._known

    @property
    def history(self) -> deque[ChunkInfo]:
        """What happened in the last chunks."""
        self._recover()
        return self._history

    def take(self, update: Update[T]) -> None:
        """Commit an update of what is known."""
        self._under_way = self.known, update
        try:
            self._known = update.commit()
            if update.info is not None:
                self._history.append(update.info)
            self._under_way = None
        except BaseException:
            self._recover()
            raise
        while len(self._history) > HISTORY:
            self._history.popleft()

    def _recover(self) -> None:
        """Roll back an update that was interrupted; done again, it does no harm."""
        if self._under_way is None:
            return
        before, update = self._under_way
        update.rollback()
        self._known = before
        if self._history and self._history[-1] is update.info:
            self._history.pop()
        self._under_way = None


class StreamSelector(MultiViewSelector, Generic[T]):
    """Base of selectors that learn from a stream, chunk by chunk.

    A subclass takes the parameter `batch_size` and provides `_empty` and `_advance`.
    """

    batch_size: int
    _journal: Journal[T]

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
        batch = self._read_first(X)
        journal = Journal(self._empty(batch))
        for chunk in rechunk([batch], self.batch_size, negative=self._negative_mode):
            journal.take(self._advance(journal.known, chunk))
        self._become(X, batch, _journal=journal)
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

    @on_one_thread
    def _learn_chunk(self, X: Any, **starts: Any) -> Self:
        first = not hasattr(self, "_journal")
        batch = self._read_first(X) if first else self._read_next(X, self._checked_negative_mode)
        journal = Journal(self._empty(batch)) if first else self._journal
        journal.take(self._advance(journal.known, batch, **starts))
        if first:
            self._become(X, batch, _journal=journal)
        return self

    def __copy__(self) -> Self:
        # What one learns is not to be known to the other.
        return copy.deepcopy(self)

    @property
    def n_rows_seen_(self) -> int:
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

    def _read_first(self, X: Any) -> Views:
        return as_views(X, views=self.views, negative=self._negative_mode)

    @abstractmethod
    def _empty(self, first: Views) -> T:
        """Return what is known before the first chunk."""

    @abstractmethod
    def _advance(self, known: T, chunk: Views, **starts: Any) -> Update[T]:
        """Return what a chunk changes."""
