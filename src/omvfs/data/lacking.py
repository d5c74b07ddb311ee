"""Rows that lack a view: how they are told, and what is made of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import listed

Missing: TypeAlias = Literal["error", "allow"]
BoolArray: TypeAlias = NDArray[np.bool_]


def lacks(block: Any) -> BoolArray | None:
    """Return which rows have a view, None if none is of NaN throughout.

    Examples
    --------
    >>> lacks(np.array([[1.0, 2.0], [np.nan, np.nan], [np.nan, 3.0]]))
    array([ True, False,  True])
    >>> lacks(np.ones((2, 2))) is None
    True
    """
    if sp.issparse(block) or not block.shape[1]:
        return None
    # Few rows begin with NaN, and most views have none.
    first = np.flatnonzero(np.isnan(block[:, 0]))
    gone = first[np.isnan(block[first]).all(axis=1)]
    if not len(gone):
        return None
    has = np.ones(len(block), bool)
    has[gone] = False
    return has


def blanked(block: Any, has: BoolArray) -> Block:
    """Return a block without what it holds in rows that lack the view.

    Examples
    --------
    >>> blanked(np.array([[1.0], [np.nan]]), np.array([True, False]))
    array([[1.],
           [0.]])
    """
    if not sp.issparse(block):
        block = block.copy()
        block[~has] = 0
        return block
    counts = np.diff(block.indptr)
    if not counts[~has].any():
        return block
    kept, counts = np.repeat(has, counts), np.where(has, counts, 0)
    ends = np.concatenate([[0], np.cumsum(counts)])
    kind: Any = type(block)
    return kind((block.data[kept], block.indices[kept], ends), shape=block.shape)


def spread(block: Any, places: NDArray[np.intp], n_rows: int) -> Block:
    """Return rows in certain places among others, which are empty.

    Examples
    --------
    >>> spread(np.array([[1.0], [2.0]]), np.array([2, 0]), 3)
    array([[2.],
           [0.],
           [1.]])
    """
    shape = n_rows, block.shape[1]
    if not sp.issparse(block):
        among = np.zeros(shape, block.dtype)
        among[places] = block
        return among
    counts = np.zeros(n_rows, np.int64)
    counts[places] = np.diff(block.indptr)
    rows = block[np.argsort(places)]
    parts = rows.data, rows.indices, np.concatenate([[0], np.cumsum(counts)])
    kind: Any = type(block)
    return kind(parts, shape=shape)


def shown(block: Any, has: BoolArray | None) -> Block:
    """Return a block as others see it: NaN, if it is dense, in rows that lack the view.

    Examples
    --------
    >>> shown(np.array([[1.0], [0.0]]), np.array([True, False]))
    array([[ 1.],
           [nan]])
    """
    if has is None or sp.issparse(block):
        return block
    block = block.copy()
    block[~has] = np.nan
    return block


def given_presence(
    given: Mapping[str, Any], views: Sequence[str], n_rows: int
) -> dict[str, BoolArray]:
    """Return by view which rows have it, as they are told, of the views that rows lack."""
    found = {}
    for view, told in given.items():
        if view not in views:
            raise ValueError(f"Got present of view {view!r}; the views are {listed(views)}.")
        has = np.asarray(told)
        if has.dtype != bool or has.shape != (n_rows,):
            raise ValueError(
                f"Got present of view {view!r} as {has.dtype} of shape {has.shape}; expected True "
                f"or False for each of {n_rows:,} rows."
            )
        if not has.all():
            found[view] = has.copy()
    return found


def refuse_missing(present: Mapping[str, BoolArray]) -> None:
    """Say which view a row lacks, to those who need all of them."""
    view, has = next(iter(present.items()))
    lacking = np.flatnonzero(~has)
    raise ValueError(
        f"{len(lacking):,} of {len(has):,} rows lack view {view!r}, such as row {lacking[0]:,}; "
        "expected rows that have every view. Drop these rows, fill them, or use OMVFS, which takes "
        "rows that lack views."
    )


def check_some_view(presence: BoolArray | None) -> None:
    """Refuse rows that lack every view."""
    if presence is not None and not (some := presence.any(axis=1)).all():
        raise ValueError(
            f"Row {int(np.argmin(some)):,} lacks every view; expected at least one in each row. "
            "Drop such rows."
        )
