"""A collection of blocks: is it one, how are its views named, do its shapes agree."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from omvfs.data.blocks import Block
from omvfs.data.containers import Names, as_names, modalities_of
from omvfs.data.schema import listed
from omvfs.data.split import check_view_names

RowKey: TypeAlias = slice | int | Sequence[int] | Sequence[bool] | np.ndarray[Any, Any]


def holds_views(X: Any) -> bool:
    """Tell a collection of views from one 2-D X."""
    if sp.issparse(X):  # first: a DOK matrix is a dict
        return False
    if isinstance(X, Mapping) or modalities_of(X) is not None:
        return True
    if not isinstance(X, list | tuple):
        return False
    is_block = [len(getattr(element, "shape", ())) == 2 for element in X]
    if any(is_block) and not all(is_block):
        odd = is_block.index(False)
        raise ValueError(
            f"View 'view_{odd}' has no 2-D shape (got {type(X[odd]).__name__}); expected one of "
            "every element in a list of views. Reshape it, or leave it out."
        )
    return bool(is_block) and all(is_block)


def has_rows(X: Any) -> bool:
    """Tell whether a batch has rows, as far as it tells; one that is no batch is for others.

    Examples
    --------
    >>> has_rows(np.ones((2, 3))), has_rows({"text": np.ones((0, 3))}), has_rows([])
    (True, False, False)
    """
    if isinstance(X, Mapping) and not sp.issparse(X):
        return not X or has_rows(next(iter(X.values())))
    if isinstance(X, list | tuple):
        return bool(X) and (not holds_views(X) or has_rows(X[0]))
    shape = getattr(X, "shape", ())
    return not shape or shape[0] != 0


def named_blocks(blocks: Any) -> dict[str, Any]:
    """Name the blocks, the way they are given or by their place."""
    blocks = blocks if (own := modalities_of(blocks)) is None else own
    if sp.issparse(blocks) or not isinstance(blocks, Mapping | list | tuple):
        raise TypeError(
            f"Got {type(blocks).__name__}; expected a dict or list of 2-D blocks. "
            "Use as_views(X, views=...) to split one 2-D X."
        )
    if not blocks:
        raise ValueError("Got no views; expected at least one 2-D block.")
    if not isinstance(blocks, Mapping):
        return {f"view_{i}": block for i, block in enumerate(blocks)}
    check_view_names(blocks)
    return dict(blocks)


def fitting(blocks: dict[str, Block], may_be_empty: Container[str] = ()) -> dict[str, Block]:
    """Return blocks in their common dtype, if their shapes agree."""
    check_shapes({name: block.shape for name, block in blocks.items()}, may_be_empty)
    dtype = np.result_type(*(block.dtype for block in blocks.values()))
    return {name: block.astype(dtype, copy=False) for name, block in blocks.items()}


def check_shapes(shapes: Mapping[str, tuple[int, int]], may_be_empty: Container[str] = ()) -> None:
    """Refuse views of different numbers of rows, or without features that must have some."""
    if len({n_rows for n_rows, _ in shapes.values()}) > 1:
        counts = ", ".join(f"{view!r}: {n_rows:,}" for view, (n_rows, _) in shapes.items())
        raise ValueError(
            f"The views have different numbers of rows ({counts}); expected the same in every "
            "view. Row i of each view must describe the same object."
        )
    for view, (_, width) in shapes.items():
        if not width and view not in may_be_empty:
            raise ValueError(f"View {view!r} has 0 features; expected at least 1. Leave it out.")


def given_names(given: Mapping[str, Sequence[str]], widths: Mapping[str, int]) -> dict[str, Names]:
    """Check feature names against the widths of the views they are for."""
    for view, names in given.items():
        if view not in widths:
            raise ValueError(f"Got feature names of view {view!r}; the views are {listed(widths)}.")
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"View {view!r} has feature names {names!r}; expected a list of str.")
        width, n_names, n_different = widths[view], len(names), len(set(names))
        if not width == n_names == n_different:
            raise ValueError(
                f"View {view!r} has {width:,} features, but {n_names:,} feature names, "
                f"{n_different:,} of them different. Pass one name for each feature."
            )
    return {view: as_names(names) for view, names in given.items()}


def row_key(key: Any) -> Any:
    """Bring rows to ask for into a form that arrays and sparse matrices both take."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]  # how scikit-learn asks for rows
    if isinstance(key, slice):
        return key
    # Any other tuple means rows and columns; asarray must not guess at it.
    rows = np.empty((0, 0)) if isinstance(key, tuple) else np.atleast_1d(np.asarray(key))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iub"):
        raise TypeError(
            f"Got {key!r} as an index of Views; expected the name of a view, or rows as a slice, "
            "integers or a boolean mask. For columns see select_columns."
        )
    return rows if rows.size else rows.astype(np.intp)
