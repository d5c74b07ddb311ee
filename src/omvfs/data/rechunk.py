"""A stream of batches of any sizes, as chunks of one size."""

import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from omvfs.data.blocks import Negative
from omvfs.data.door import as_views
from omvfs.data.lacking import Missing
from omvfs.data.schema import NewFeatures, Schema
from omvfs.data.split import Columns
from omvfs.data.views import Views


def rechunk(
    batches: Iterable[Any],
    batch_size: int,
    *,
    like: Schema | None = None,
    negative: Negative = "error",
    views: Columns | None = None,
    missing: Missing = "error",
    new_features: NewFeatures = "error",
) -> Iterator[Views]:
    """Cut a stream of batches of any sizes into chunks of `batch_size` rows.

    Any delivery of the same rows (of the same kind and dtype) gives the same chunks, bit for bit.
    At most one chunk and one batch are held at a time.

    Parameters
    ----------
    batches : iterable
        Each anything `as_views` accepts. Its memory may be used again for the next batch once the
        chunks made from it have been consumed.
    batch_size : int
        Rows of a chunk; the last one may have fewer.
    like, negative, views, missing, new_features
        As for `as_views`. Without `like`, every batch must match the first.

    Yields
    ------
    chunk : Views
        Validated.

    Examples
    --------
    >>> import numpy as np
    >>> [len(chunk) for chunk in rechunk([np.ones((3, 2)), np.ones((4, 2))], batch_size=5)]
    [5, 2]
    """
    batch_size = operator.index(batch_size)
    if batch_size < 1:
        raise ValueError(f"Got batch_size={batch_size}; expected at least 1.")
    return _rechunk(batches, batch_size, like, negative, views, missing, new_features)


def _rechunk(
    batches: Iterable[Any],
    batch_size: int,
    like: Schema | None,
    negative: Negative,
    views: Columns | None,
    missing_views: Missing,
    new_features: NewFeatures,
) -> Iterator[Views]:
    def joined(parts: list[Views]) -> Views:
        return as_views(
            Views.concat(parts, new_features),
            negative=negative,
            missing=missing_views,
            new_features=new_features,
        )

    pending: list[Views] = []
    missing = batch_size
    for X in batches:
        batch = as_views(
            X,
            views=views,
            like=like,
            negative=negative,
            missing=missing_views,
            new_features=new_features,
        )
        like = like or batch.schema
        start = 0
        while len(batch) - start >= missing:
            pending.append(batch[start : start + missing])
            start += missing
            yield joined(pending)
            pending, missing = [], batch_size
        if start < len(batch):
            # Integer rows are copied: a source may fill the same buffer again.
            pending.append(batch[np.arange(start, len(batch))])
            missing -= len(pending[-1])
    if pending:
        yield joined(pending)
