"""Data as others hold it: frames, AnnData, MuData, xarray; told by what they offer, never imported.

Nothing becomes an array that does not offer itself as one, or whose values are somewhere else:
NumPy would go through an unknown object element by element, and fetch whatever is on a disk.
"""

import numbers
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Names: TypeAlias = NDArray[np.object_]

_EXPECTED = (
    "expected an array, a sparse matrix, a data frame, rows of numbers, AnnData, an xarray "
    "DataArray, MuData, or a dict or list of such by view"
)
_BY_PARTS = (
    "in parts to partial_fit. A file is learned from by parts with "
    "omvfs.pipeline.run(open_source(FILE), selector), or `omvfs select FILE`"
)
# How what is not in memory is asked to come there.
_FETCH = {"compute": ".compute()", "__getitem__": "[:]"}
_IN_ROWS = numbers.Number, np.generic, Sequence, type(None)  # a str is a sequence


class Labels(NamedTuple):
    """What the columns and the rows of a block are called.

    Attributes
    ----------
    names : ndarray of str objects, or None
        Of the columns, if they are strings; those of several levels are joined by ``__``.
    views : list of str, or None
        The first level of every column, where there are several.
    index : object or None
        Of the rows, as pandas has it.
    present : bool array, or None
        Which rows have the view, of rows by name; None if all do, or nothing tells.
    by_name : bool
        Whether the rows are mappings: which columns there are, and in which order, says nothing.
    """

    names: Names | None = None
    views: list[str] | None = None
    index: Any = None
    present: NDArray[np.bool_] | None = None
    by_name: bool = False


def labels_of(X: Any) -> Labels:
    """Return what the columns and rows of a block are called, without a look at its values.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame([[1, 2]], index=["a"], columns=["x", "y"])
    >>> labels_of(frame).names, labels_of(pd.concat({"text": frame}, axis=1)).views
    (array(['x', 'y'], dtype=object), ['text', 'text'])
    """
    columns, index = _axes(X)
    if columns is None:
        return Labels(index=index)
    columns = list(columns)
    views = None
    if columns and all(isinstance(column, tuple) for column in columns):
        views = [str(column[0]) for column in columns]
        columns = ["__".join(map(str, column)) for column in columns]
    n_strings = sum(isinstance(column, str) for column in columns)
    if 0 < n_strings < len(columns):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but only "
            f"{n_strings} of {len(columns)} have. Convert them: "
            "X.columns = X.columns.astype(str)."
        )
    if not n_strings:
        return Labels(index=index)
    if len(set(columns)) < len(columns):
        ((most, n),) = Counter(columns).most_common(1)
        raise ValueError(
            f"Expected unique column names, got {most!r} {n} times. Rename them; for AnnData, "
            "var_names_make_unique does that."
        )
    return Labels(as_names(columns), views, index)


def as_names(names: Iterable[str]) -> Names:
    """Object array of strings: numpy's fixed-width strings would cost the longest name each."""
    return np.array(list(names), dtype=object)


def _axes(X: Any) -> tuple[Any, Any]:
    """Return the labels of the columns and the index of the rows, None where there are none."""
    if _is_annotated(X):
        return X.var_names, X.obs_names
    if _is_data_array(X):
        index, columns = (X.indexes.get(dim) for dim in X.dims) if len(X.dims) == 2 else (None,) * 2
        return columns, index
    frame = _frame(X)
    return (None, None) if frame is None else (frame.columns, nw.maybe_get_index(frame))


def _frame(X: Any) -> Any:
    """Return a frame as narwhals sees it, None if X is none."""
    if isinstance(X, np.ndarray | list | tuple) or sp.issparse(X):
        return None  # what most are is told without a look around
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"Got a lazy frame ({_called(type(X))}); expected rows. Collect it first, by "
            ".collect() or .compute(), or pass it in parts to partial_fit."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def values_of(X: Any) -> Any:
    """Return what the numbers of a block can be read from, or say why nothing is.

    Examples
    --------
    >>> values_of([[1, 2]])
    [[1, 2]]
    >>> values_of({1, 2})
    Traceback (most recent call last):
    TypeError: Got set; expected an array, a sparse matrix, a data frame, rows of numbers, AnnData,
    an xarray DataArray, MuData, or a dict or list of such by view. Pass its numbers as one of them.
    """
    if _is_annotated(X):
        return _annotated_values(X)
    if _is_data_array(X):
        X = X.data
    if _frame(X) is None:
        _check_known(X)
    return X


def columns_of_texts(X: Any) -> list[str]:
    """Return the names of the columns of a frame that hold texts or categories.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of_texts(pd.DataFrame({"width": [1.0, 2.0], "title": ["a", "b"]}))
    ['title']
    """
    frame = _frame(X)
    kinds = {} if frame is None else frame.schema
    texts = nw.String, nw.Categorical, nw.Enum
    return [str(name) for name, kind in kinds.items() if isinstance(kind, texts)]


def modalities_of(X: Any) -> Mapping[str, Any] | None:
    """Return the blocks of MuData by view, None if it is something else."""
    if not _has(X, "mod", "obs_names", "var_names"):
        return None
    if getattr(X, "axis", 0) != 0:
        raise ValueError(
            f"Got {_called(type(X))} with axis={X.axis}; expected axis=0, whose modalities are of "
            "the same rows."
        )
    return dict(X.mod)


def for_sklearn(X: Any) -> Any:
    """Return X, or a frame of no rows that has the names of its columns, if only we know them."""
    labels = labels_of(X)
    if labels.names is not None and (_is_annotated(X) or _is_data_array(X)):
        columns, _ = _axes(X)
        empty = columns.to_frame().iloc[:, :0].T
    elif labels.views is not None:
        empty = X.iloc[:0]
    else:
        return X
    return empty.set_axis(labels.names, axis=1)


def _has(X: Any, *names: str) -> bool:
    # Of the class: a frame has its columns for attributes, and nothing is computed.
    return all(hasattr(type(X), name) for name in names)


def _is_annotated(X: Any) -> bool:
    return _has(X, "X", "obs_names", "var_names")


def _is_data_array(X: Any) -> bool:
    return _has(X, "dims", "indexes", "data")


def _annotated_values(X: Any) -> Any:
    # Of rows of a file, adata[:1000], these rows; of all of it, something that is not here.
    values = X.X
    if values is None:
        raise ValueError(f"Got {_called(type(X))} without X; pass one of its layers.")
    path = getattr(X, "filename", None)
    if path is not None and not (isinstance(values, np.ndarray) or sp.issparse(values)):
        raise TypeError(
            f"Got {_called(type(X))} backed by {os.fspath(path)}; expected values in memory. Pass "
            f"X.to_memory(), or rows of it, X[:1000], {_BY_PARTS}."
        )
    return values_of(values)


def _check_known(X: Any) -> None:
    """Refuse what is neither an array nor rows of numbers."""
    if isinstance(X, Sequence) and not isinstance(X, str | bytes | memoryview):
        for kind in _kinds_within(X):
            _check_here(kind)
            if not (issubclass(kind, _IN_ROWS) or _offers_array(kind)):
                raise TypeError(f"Got {_called(type(X))} that holds {_called(kind)}; {_EXPECTED}.")
        return
    _check_here(type(X))
    if sp.issparse(X) or _offers_array(type(X)):
        return
    remedy = "Pass its numbers as one of them"
    if isinstance(X, str | os.PathLike):
        remedy = "Read files with omvfs.formats.open_source"
    elif _has(X, "__next__"):
        remedy = "Pass its batches one by one to partial_fit, or to rechunk"
    elif modalities_of(X) is not None:
        remedy = "It holds views itself: pass it alone"
    raise TypeError(f"Got {_called(type(X))}; {_EXPECTED}. {remedy}.")


def _kinds_within(rows: Sequence[Any]) -> set[type]:
    """Return the types of rows, and of what plain rows hold."""
    kinds = set(map(type, rows))
    for row in rows:
        if type(row) in (list, tuple):
            kinds.update(map(type, row))
    return kinds


def _check_here(kind: type) -> None:
    """Refuse what has its values on a disk, or yet to be computed: what is in chunks."""
    if not hasattr(kind, "chunks"):
        return
    how = next((how for name, how in _FETCH.items() if hasattr(kind, name)), " in memory")
    raise TypeError(
        f"Got {_called(kind)}, whose values are not in memory; expected values that are. Pass "
        f"X{how}, or X {_BY_PARTS}."
    )


def _offers_array(kind: type) -> bool:
    offers = hasattr(kind, "__array__") or hasattr(kind, "__array_interface__")
    return offers or kind is memoryview


def _called(kind: type) -> str:
    """Return the name of a class, and whose it is."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return name.removeprefix("builtins.")
