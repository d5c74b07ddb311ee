"""Rows of several views that carry labels: whether they are the same, and in which order."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.blocks import Block, take_rows

_BY_PLACE = (
    "if row i of every view is the same object, pass views without labels: "
    "frame.reset_index(drop=True), adata.X"
)


def aligned(
    blocks: Mapping[str, Block], indices: Mapping[str, Any]
) -> tuple[dict[str, Block], Any]:
    """Put the rows of all views in the order of the first that has labels.

    Views without labels, or with those that pandas counts by default, go by the place of their
    rows.

    Parameters
    ----------
    blocks : mapping of str to Block
    indices : mapping of str to (index or None)
        By view what its rows are called, as pandas has it; None where they have no labels.

    Returns
    -------
    blocks : dict of str to Block
    index : index or None
        Labels of the rows, None if no view has any.

    Examples
    --------
    >>> import pandas as pd
    >>> blocks = {"a": np.array([[1.0], [2.0]]), "b": np.array([[2.0], [1.0]])}
    >>> aligned(blocks, {"a": pd.Index(["x", "y"]), "b": pd.Index(["y", "x"])})[0]["b"].tolist()
    [[1.0], [2.0]]
    """
    told = {view: index for view, index in indices.items() if not _is_counted(index)}
    if not told:
        return dict(blocks), None
    (first, like), *others = told.items()
    found = {view: _order(view, index, first, like) for view, index in others}
    orders = {view: order for view, order in found.items() if order is not None}
    for view in [view for view in indices if view not in told]:
        if orders:
            raise ValueError(
                f"View {next(iter(orders))!r} has the rows of view {first!r} in another order by "
                f"their labels, and view {view!r} has no labels to tell its order. Put all of them "
                f"in one order before, such as by frame.loc[other.index]; or, {_BY_PLACE}."
            )
        _check_counted(view, indices[view], first, like)
    return {
        view: take_rows(block, orders[view]) if view in orders else block
        for view, block in blocks.items()
    }, like


def joined(indices: Sequence[Any]) -> Any:
    """Return the labels of rows below each other, None if some have none."""
    first, *rest = indices
    return None if any(index is None for index in indices) else first.append(rest)


def _is_counted(index: Any) -> bool:
    """Tell whether rows have no labels but those that pandas gives by default, 0, 1, ..."""
    if index is None:
        return True
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def _order(view: str, index: Any, first: str, like: Any) -> NDArray[np.intp] | None:
    """Return which rows to take for labels to be those of the first view, None if they are."""
    if like.equals(index):
        return None
    for name, each in ((first, like), (view, index)):
        if not each.is_unique:
            twice = each[each.duplicated()].tolist()[0]
            raise ValueError(
                f"Views {first!r} and {view!r} have rows of other labels or in another order, and "
                f"{name!r} has the label {twice!r} more than once; expected "
                f"labels that tell which rows go together. Make them unique; or, {_BY_PLACE}."
            )
    order: NDArray[np.intp] = index.get_indexer(like)
    _check_same(first, like[order < 0], view)
    _check_same(view, index[like.get_indexer(index) < 0], first)
    return None if np.array_equal(order, np.arange(len(order))) else order


def _check_same(view: str, lacking: Any, other: str) -> None:
    if len(lacking):
        raise ValueError(
            f"Views {view!r} and {other!r} are of different rows by their labels: {len(lacking):,} "
            f"of {view!r} are not in {other!r}, such as {lacking.tolist()[0]!r}; expected the same "
            "in every view. Keep the rows that all have: frame.loc[common], adata[common]; or, "
            f"{_BY_PLACE}."
        )


def _check_counted(view: str, index: Any, first: str, like: Any) -> None:
    """Refuse rows that are counted beside others that have the same numbers in another order."""
    if index is None or len(index) != len(like) or not like.is_unique or like.equals(index):
        return
    if (index.get_indexer(like) >= 0).all():
        raise ValueError(
            f"View {view!r} numbers its rows, and view {first!r} has these numbers in another "
            "order; whether they go together by number or by place is not told. Pass "
            f"frame.loc[other.index]; or, {_BY_PLACE}."
        )
