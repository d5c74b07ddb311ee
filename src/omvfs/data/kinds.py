"""Columns of data as others hold it, taken without a look at values: the kind stays what it is."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.containers import Names, as_names, labels_of
from omvfs.data.mappings import are_mappings


def column_names(X: Any) -> Names | None:
    """Return what the columns are called, if they have names.

    Examples
    --------
    >>> import polars as pl
    >>> column_names(pl.LazyFrame({"a": [1], "b": ["two"]})).tolist(), column_names(np.eye(2))
    (['a', 'b'], None)
    """
    if are_mappings(X):
        return as_names(dict.fromkeys(name for row in X if row is not None for name in row))
    lazy = _lazy(X)
    return labels_of(X).names if lazy is None else as_names(lazy.collect_schema().names())


def n_columns(X: Any) -> int:
    """Return how many columns there are.

    Examples
    --------
    >>> n_columns(np.ones((2, 5))), n_columns([[1, 2, 3]])
    (5, 3)
    """
    if (shape := getattr(X, "shape", None)) is not None and len(shape) == 2:
        return int(shape[1])
    if (names := column_names(X)) is not None:
        return len(names)
    if np.ndim(X) != 2:
        raise ValueError(f"Got {type(X).__name__} of {np.ndim(X)} dimensions; expected rows, 2-D.")
    return int(np.shape(X)[1])


def with_columns(X: Any, places: NDArray[np.intp]) -> Any:
    """Return some columns of X, as X holds them: a frame of the same library, index kept.

    Parameters
    ----------
    X : array, sparse matrix, frame, also a lazy one, AnnData, DataArray, or rows
    places : int array
        Which columns, in the order wanted.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [3.0, 4.0]}, index=["i", "j"])
    >>> with_columns(frame, np.array([2, 1]))
         c  b
    i  3.0  x
    j  4.0  y
    """
    if are_mappings(X):
        wanted = [column_names(X)[j] for j in places]  # type: ignore[index]
        return [None if row is None else _within(row, wanted) for row in X]
    if sp.issparse(X):
        return X.tocsr()[:, places].asformat(X.format)
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    frame = _lazy(X)
    if frame is None:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        names = frame.collect_schema().names()
        return frame.select([names[j] for j in places]).to_native()
    return (np.asarray(X) if isinstance(X, list | tuple) else X)[:, places]


def with_columns_of_modalities(X: Any, places: Mapping[str, NDArray[np.intp]]) -> Any:
    """Return MuData of some columns of each of its modalities.

    Parameters
    ----------
    X : MuData
    places : mapping of str to int array
        Which columns, by modality.
    """
    mask = np.zeros(X.shape[1], bool)
    for name, columns in places.items():
        own = np.zeros(X.mod[name].shape[1], bool)
        own[columns] = True
        at = np.asarray(X.varmap[name]).ravel().astype(np.intp)
        mask[at > 0] = own[at[at > 0] - 1]
    return X[:, mask]


def _within(row: Any, wanted: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in wanted if name in row}


def _lazy(X: Any) -> Any:
    """Return a lazy frame as narwhals sees it, None if X is none."""
    if isinstance(X, np.ndarray | list | tuple) or sp.issparse(X):
        return None
    frame = nw.from_native(X, pass_through=True)
    return frame if isinstance(frame, nw.LazyFrame) else None
