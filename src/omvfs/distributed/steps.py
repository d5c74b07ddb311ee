"""Steps of Dask and Spark: learn from each part where it is, and merge what was learned here.

1. `worker_copy` of the estimator goes to the workers.
2. `fit_part`, or `shards.fit_file`, learns from a part on a worker. What is learned travels as
   bytes, those of `OMVFS.to_bytes`; a part without rows is None.
3. `merge_states` writes the states to a temporary folder as they come, and merges the files, of
   which it holds one at a time.

The result has the bits of `omvfs.merge` of the same parts, whatever runs where and when.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from sklearn.base import clone

from omvfs.constraints import check_all
from omvfs.data.views import has_rows
from omvfs.omvfs import OMVFS
from omvfs.parts import merge_files
from omvfs.persistence import pack_params
from omvfs.prepare import AUTO, is_auto


class ClusterError(RuntimeError):
    """The machines that were to work do not: none is there, or those that were are gone."""


# What was learned from a part, as `OMVFS.to_bytes` gives it.
PartState: TypeAlias = bytes


def worker_copy(selector: Any) -> OMVFS:
    """Return an estimator of the same parameters for workers, or say why there can be none.

    Examples
    --------
    >>> worker_copy(OMVFS(3, criterion=lambda S, Q, n: Q)).criterion
    'separation'
    """
    if not isinstance(selector, OMVFS):
        raise TypeError(f"Got {type(selector).__name__}; expected OMVFS, whose fits merge.")
    copy: OMVFS = clone(selector)
    if callable(copy.criterion):
        # It ranks what was learned, and cannot be sent as a state is.
        copy.criterion = "separation"
    check_all(copy.get_params(deep=False))
    pack_params(copy.get_params(deep=False))
    return copy


def fit_part(selector: OMVFS, batches: Iterable[Any], name: str) -> PartState | None:
    """Return what is learned from the rows of a part; None if there are none."""
    with naming(name):
        return state_of(clone(selector).fit_batches(batches))


def settled_by(selector: OMVFS, batches: Iterable[Any]) -> OMVFS | None:
    """Return the estimator with what the first rows of a part tell; None if there are too few."""
    first = next((batch for batch in batches if has_rows(batch)), None)
    found = None if first is None else selector.settled(first)
    return None if found is None or found.prepare in (AUTO, {}) else found


def settled(selector: OMVFS, first: Iterable[OMVFS | None]) -> OMVFS:
    """Return the estimator that all parts share, by the first of them that has rows."""
    if not is_auto(selector.prepare):
        return selector
    return next((found for found in first if found is not None), selector)


def state_of(model: OMVFS) -> PartState | None:
    """Return what was learned as bytes, None if nothing was."""
    return model.to_bytes() if hasattr(model, "schema_") else None


def merge_states(
    selector: OMVFS,
    states: Iterable[tuple[int, PartState | None]],
    names: Sequence[str],
    order: bool = False,
) -> OMVFS:
    """Return the estimator of all parts, with the parameters of the one that was asked to learn.

    States come with the numbers of their parts, in any order.
    """
    with tempfile.TemporaryDirectory(prefix="omvfs-") as folder:
        paths: dict[int, Path] = {}
        for i, state in states:
            if state is not None:
                paths[i] = Path(folder, f"{i}.omvfs")
                paths[i].write_bytes(state)
        if not paths:
            raise ValueError("Got no rows; expected some in at least one part.")
        return merged(selector, [(names[i], paths[i]) for i in sorted(paths)], order)


def merged(
    selector: OMVFS, parts: Sequence[tuple[str, str | os.PathLike[str]]], order: bool = False
) -> OMVFS:
    """Return the estimator of all parts that files hold, with the parameters of `selector`."""
    names, paths = zip(*parts, strict=True)
    model = OMVFS.load(paths[0]) if len(paths) == 1 else merge_files(paths, order, names)
    found: OMVFS = model.set_params(**selector.get_params(deep=False))
    return found


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Have errors in the rows of a part tell which part it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if name in str(error):
            raise
        if len(error.args) != 1 or not isinstance(error.args[0], str):
            raise ValueError(f"{name}: {error}") from error
        error.args = (f"{name}: {error}",)
        raise
