"""Rows that are mappings: features by name, as streams of words and records have them."""

import numbers
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.containers import Names, as_names


def are_mappings(X: Any) -> bool:
    """Tell whether X are rows by name: mappings, and None for rows that lack the view.

    All of a chunk may lack it.

    Examples
    --------
    >>> are_mappings([{"cat": 2.0}, {}, None]), are_mappings([[1.0]]), are_mappings([])
    (True, False, False)
    >>> are_mappings([None, None])
    True
    """
    if not isinstance(X, list | tuple) or not X:
        return False
    first = next((row for row in X if row is not None), None)
    if first is not None and not _is_row(first):
        return False
    return all(row is None or _is_row(row) for row in X)


def _is_row(row: Any) -> bool:
    # A DOK matrix is a dict.
    return isinstance(row, Mapping) and not sp.issparse(row)


def read_mappings(
    rows: Sequence[Mapping[str, Any] | None], view: str
) -> tuple[sp.csr_array, Names, NDArray[np.bool_] | None]:
    """Return rows by name as a matrix, its names in order of appearance, and who has the view.

    Parameters
    ----------
    rows : sequence of (mapping of str to number, or None)
    view : str
        The name errors speak of.

    Returns
    -------
    block : csr_array
    names : ndarray of str objects
    has : bool array, or None
        Which rows are not None; None if all are not.

    Examples
    --------
    >>> block, names, has = read_mappings([{"b": 2.0}, None, {"a": 1.0, "b": 3.0}], "text")
    >>> block.toarray(), names.tolist(), has.tolist()
    (array([[2., 0.],
           [0., 0.],
           [3., 1.]]), ['b', 'a'], [True, False, True])
    """
    held: list[Mapping[Any, Any]] = [{} if row is None else row for row in rows]
    order = dict.fromkeys(chain.from_iterable(held))
    if strange := [name for name in order if not isinstance(name, str)]:
        raise TypeError(
            f"View {view!r} has rows by name, with the name {strange[0]!r}; expected names that "
            "are str. Convert them."
        )
    places = {name: j for j, name in enumerate(order)}
    values = list(chain.from_iterable(row.values() for row in held))
    for kind in set(map(type, values)):
        if not issubclass(kind, numbers.Real | np.bool_):
            i = next(i for i, row in enumerate(held) if kind in set(map(type, row.values())))
            raise TypeError(
                f"View {view!r} has {kind.__name__} as a value in row {i}; expected numbers by "
                "name, such as {'cat': 2.0}."
            )
    ends = np.cumsum([0, *map(len, held)])
    indices = np.fromiter(
        (places[name] for name in chain.from_iterable(held)), np.int32, len(values)
    )
    parts = np.array(values, np.float64), indices, ends.astype(np.int32)
    block = sp.csr_array(parts, shape=(len(held), len(places)))
    block.sort_indices()
    block.eliminate_zeros()
    has = np.array([row is not None for row in rows])
    return block, as_names(places), None if has.all() else has
