"""The steps that an engine runs over parts of data: plain functions of states, which are bytes.

1. `fit_part` or `fit_source`, where the rows of a part are. What is learned travels as bytes, those
   of `OMVFS.to_bytes`; a part without rows is None, and the engine leaves it out.
2. `brief_of` every state; of the briefs, at one place, in the order of the parts, `Plan.of`. If
   there is but one part, its state is the result.
3. `sample_of` every part; `added` by `in_levels`, parts in the order of `plan.order`; then, at one
   place, `common_of` the sample and of `known_of` the part number `plan.lead`.
4. `sums_of` every part; `added` in the same way; then `merged_of` the total.
5. `model_of` that, where the user is.

Who keeps to it, comes to the bits of `omvfs.merge` of the same parts, whatever runs where and when.
Every function takes and returns what can be pickled.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.base import clone

from omvfs.constraints import check_all
from omvfs.formats import Source
from omvfs.model.arrays import Array
from omvfs.model.constrained.merging import CommonClusters, Sample
from omvfs.omvfs import OMVFS
from omvfs.parts import Brief, Part, Plan, Sums
from omvfs.persistence import pack_params
from omvfs.pipeline import run
from omvfs.selector import Journal
from omvfs.threads import on_one_thread


class ClusterError(RuntimeError):
    """The machines that were to work do not: none is there, or those that were are gone."""


# What was learned from a part, as `OMVFS.to_bytes` gives it.
PartState: TypeAlias = bytes

T = TypeVar("T")
A = TypeVar("A", Sample, Sums)


def worker_copy(selector: Any) -> OMVFS:
    """Return an estimator of the same parameters for workers, or say why there can be none.

    Parameters
    ----------
    selector : OMVFS
        Whatever it has learned does not matter, and is not sent.

    Examples
    --------
    >>> worker_copy(OMVFS(3, criterion=lambda V, masses, sums: masses)).criterion
    'auto'
    """
    if not isinstance(selector, OMVFS) or selector._fixed["solver"] != "constrained":
        raise TypeError(f"Got {type(selector).__name__}; expected OMVFS, whose fits merge.")
    copy: OMVFS = clone(selector)
    if callable(copy.criterion):
        # It ranks what was learned, and cannot be sent as a state is.
        copy.criterion = "auto"
    check_all(copy.get_params(deep=False))
    pack_params(copy.get_params(deep=False))
    return copy


def fit_part(selector: OMVFS, batches: Iterable[Any], name: str) -> PartState | None:
    """Return what is learned from the rows of a part; None if there are none.

    Parameters
    ----------
    selector : OMVFS
        A `worker_copy`; it is not changed.
    batches : iterable
        All rows of the part, each batch anything `as_views` accepts.
    name : str
        What errors call the part.
    """
    with naming(name):
        model = clone(selector).fit_batches(batches)
        return model.to_bytes() if hasattr(model, "schema_") else None


def fit_source(selector: OMVFS, source: Source, name: str) -> PartState | None:
    """Return what is learned from the rows of a source; None if there are none.

    Parameters
    ----------
    selector : OMVFS
        A `worker_copy`; it is not changed.
    source : Source
    name : str
        What errors call the part.
    """
    with naming(name):
        model = run(source, clone(selector)).selector
        return model.to_bytes() if hasattr(model, "schema_") else None


def brief_of(state: PartState) -> Brief:
    """Return what must be known of every part before one of them is merged."""
    return _part(state).brief


@on_one_thread
def sample_of(plan: Plan, i: int, state: PartState) -> Sample:
    """Return what part number i gives to the common sample."""
    with _quiet():
        return plan.sample(i, _part(state))


@on_one_thread
def known_of(plan: Plan, state: PartState) -> list[Array]:
    """Return what the leading part knows of its clusters."""
    with _quiet():
        return plan.known(_part(state))


@on_one_thread
def common_of(plan: Plan, sample: Sample, known: list[Array]) -> CommonClusters:
    """Return the common clusters, from the sample of all parts and what the leading one knows."""
    with _quiet():
        return plan.common(sample, known)


@on_one_thread
def sums_of(plan: Plan, i: int, state: PartState, common: CommonClusters) -> Sums:
    """Return what part number i has in the common clusters."""
    with _quiet():
        return plan.sums(i, _part(state), common)


@on_one_thread
def added(first: A, second: A) -> A:
    """Return the sum of two samples, or of two sums, that are neighbours."""
    with _quiet():
        return first + second


@on_one_thread
def merged_of(plan: Plan, common: CommonClusters, total: Sums, state: PartState) -> PartState:
    """Return what all parts have learned together.

    Parameters
    ----------
    plan : Plan
    common : CommonClusters
    total : Sums
        Of all parts.
    state : bytes
        Of part number 0, which tells how rows are read.
    """
    with _quiet():
        journal = Journal(plan.merged(common, total), total.history)
    return OMVFS.from_bytes(state).with_learned(journal, plan.schema).to_bytes()


def model_of(selector: OMVFS, state: PartState) -> OMVFS:
    """Return the estimator of a state, with the parameters of the one that was asked to learn.

    Parameters
    ----------
    selector : OMVFS
    state : bytes
    """
    model: OMVFS = OMVFS.from_bytes(state).set_params(**selector.get_params(deep=False))
    return model


def in_levels(items: Sequence[T], add: Callable[[T, T], T]) -> T:
    """Return the sum of some things, as `in_pairs` has it: pairs of neighbours, level by level.

    Parameters
    ----------
    items : sequence
        At least one, in the order of `Plan.order`; promises of values as well as values.
    add : callable
        Returns the sum of two, or the promise of it.

    Examples
    --------
    >>> in_levels(list("abcdefg"), lambda a, b: f"({a}{b})")
    '(((ab)(cd))((ef)g))'
    """
    level = list(items)
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Have errors in the rows of a part tell which part it is.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> with naming("part 3"):
    ...     raise ValueError("Got NaN.")
    Traceback (most recent call last):
    ValueError: part 3: Got NaN.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        if name in str(error):
            raise
        if len(error.args) != 1 or not isinstance(error.args[0], str):
            raise ValueError(f"{name}: {error}") from error
        error.args = (f"{name}: {error}",)
        raise


def _part(state: PartState) -> Part:
    (part,) = OMVFS.from_bytes(state).as_parts()
    return part


def _quiet() -> Any:
    """Let what is too large be found at the end, as `merge_parts` does."""
    return np.errstate(over="ignore", invalid="ignore")
