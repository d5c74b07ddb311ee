"""Rows that are in memory, or come from a Python iterator."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from omvfs.data.read import as_views, rechunk
from omvfs.data.schema import Schema
from omvfs.formats._base import Chunk, Cursor, Source, SourceError, fewer_rows, row_of


class ArraySource(Source):
    """Views in memory.

    Parameters
    ----------
    X : anything `as_views` accepts
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource({"text": np.eye(3)})
    >>> [len(chunk.views) for chunk in source.chunks(2)]
    [2, 1]
    """

    def __init__(self, X: Any, views: Any = None) -> None:
        self._views = as_views(X, views=views, negative="allow", missing="allow")
        self._schema, self._n_rows = self._views.schema, len(self._views)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        for start in range(row_of(cursor), len(self._views), batch_size):
            views = self._views[start : start + batch_size]
            yield Chunk(start, views, {"row": start + len(views)})


class IteratorSource(Source):
    """Batches of any sizes that a Python function yields.

    Parameters
    ----------
    batches : callable
        Returns an iterable of batches, each anything `as_views` accepts, the same each time: a
        resumed run calls it again, and passes over what was read before.

    Examples
    --------
    >>> import numpy as np
    >>> source = IteratorSource(lambda: ({"text": np.ones((n, 2))} for n in (3, 4)))
    >>> [len(chunk.views) for chunk in source.chunks(5)]
    [5, 2]
    >>> [chunk.start for chunk in source.chunks(2, cursor={"row": 4})]
    [4, 6]
    """

    def __init__(self, batches: Callable[[], Iterable[Any]]) -> None:
        self._batches = batches
        self._known: Schema | None = None

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features, as in the first batch."""
        if self._known is None:
            for batch in self._batches():
                self._known = as_views(batch, negative="allow", missing="allow").schema
                break
            else:
                raise SourceError("The iterator has no batches.")
        return self._known

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        first = row = row_of(cursor)
        for views in rechunk(self._after(first), batch_size, negative="allow", missing="allow"):
            # Not to be asked for by a call of its own: the function may have but one stream.
            self._known = self._known or views.schema
            yield Chunk(row, views, {"row": row + len(views)})
            row += len(views)

    def _after(self, row: int) -> Iterator[Any]:
        """Yield the batches without the rows before a given one."""
        n_rows = 0
        for batch in self._batches():
            if not row:
                yield batch
                continue
            views = as_views(batch, negative="allow", missing="allow")
            if row < len(views):
                yield views[row:]
            passed = min(row, len(views))
            row, n_rows = row - passed, n_rows + passed
        if row:
            raise fewer_rows("The iterator", n_rows, n_rows + row)
