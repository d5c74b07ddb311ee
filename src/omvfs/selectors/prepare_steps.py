"""The steps that rows can go through before they are learned from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.schema import listed
from omvfs.model.arrays import Block, dense, scale_columns, unit_rows
from omvfs.selectors.hashing import hash_bits
from omvfs.wording import Clause, Sentence, Setting

# What a step has counted of one view, by name; replaced, never changed.
Counted: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Step:
    """One step of a preparation, of one view.

    Attributes
    ----------
    apply : callable
        From rows, and what was counted, to rows.
    count : callable or None
        From rows, and what was counted before, to what is counted with them; None if the step
        looks at no row but its own.
    merge : mapping of str to callable
        How what two parts of a stream have counted goes together, by name; neither order nor
        grouping matter.
    whole_rows : bool
        Whether a value hangs on the other columns of its row.
    """

    apply: Callable[[Block, Counted], Block]
    count: Callable[[Block, Counted], Counted] | None = None
    merge: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)
    whole_rows: bool = False


def l2(X: Block, counted: Counted) -> Block:
    """Bring every row to unit norm; zero rows stay zero."""
    return unit_rows(X)


def log1p(X: Block, counted: Counted) -> Block:
    """Take log(1 + x) of every value."""
    lowest = X.min() if X.shape[0] and X.shape[1] else 0
    if lowest <= -1:
        raise ValueError(f"log1p needs values above -1; got {lowest:g}.")
    return X.log1p() if sp.issparse(X) else np.log1p(X)


def tfidf(X: Block, counted: Counted) -> Block:
    """Weigh every column by log((1 + n) / (1 + df)) + 1, counted over all rows so far.

    n are rows, df those in which the column is not zero. A row is weighed by what is known when it
    comes, its own chunk included.
    """
    weights = np.log((1 + counted["n"]) / (1 + counted["df"])) + 1
    return scale_columns(X, weights.astype(X.dtype))


def count_rows_with(X: Block, counted: Counted) -> Counted:
    """Count rows, and of every column those in which it is not zero."""
    df = counted.get("df", np.zeros(X.shape[1], np.int64))
    n = counted.get("n", np.zeros(1, np.int64))
    return {"df": df + np.asarray((X != 0).sum(axis=0)).ravel(), "n": n + X.shape[0]}


def scale(X: Block, counted: Counted) -> Block:
    """Divide every column by its largest size over all rows so far."""
    largest = counted["largest"]
    # What is smaller still has no inverse.
    sound = largest >= np.finfo(largest.dtype).tiny
    return scale_columns(X, np.divide(1, largest, out=np.ones_like(largest), where=sound))


def largest_sizes(X: Block, counted: Counted) -> Counted:
    """Return the largest size of every column."""
    if not X.shape[0]:
        return {"largest": counted.get("largest", np.zeros(X.shape[1], X.dtype))}
    sizes = dense(abs(X).max(axis=0)).ravel()
    return {"largest": np.maximum(counted.get("largest", np.zeros_like(sizes)), sizes)}


def as_hashed(X: Block, counted: Counted) -> Block:
    """Leave rows as they are: they are hashed when they are read, as names are gone here."""
    return X


STEPS = {
    "l2": Step(l2, whole_rows=True),
    "log1p": Step(log1p),
    "tfidf": Step(tfidf, count_rows_with, {"df": np.add, "n": np.add}),
    "scale": Step(scale, largest_sizes, {"largest": np.maximum}),
}


def step_of(name: Any) -> Step | None:
    """Return a step by its name, None if there is none.

    Examples
    --------
    >>> step_of("l2").whole_rows, step_of("hash:20").whole_rows, step_of("hash")
    (True, False, None)
    """
    if isinstance(name, str) and hash_bits(name) is not None:
        return Step(as_hashed)
    return STEPS.get(name) if isinstance(name, str) else None


def steps_of(name: str, value: Any) -> tuple[tuple[str | None, str], ...]:
    """Return the steps that a parameter asks for, each with the view that it is for, None for all.

    Examples
    --------
    >>> steps_of("prepare", ["text:tfidf", "l2"])
    (('text', 'tfidf'), (None, 'l2'))
    >>> steps_of("prepare", {"text": ["tfidf", "l2"], "image": "l2"})
    (('text', 'tfidf'), ('text', 'l2'), ('image', 'l2'))
    """
    if isinstance(value, Mapping):
        pairs = [(view, step) for view, own in value.items() for step in _sequence(own)]
    else:
        pairs = [_with_view(step) for step in _sequence(value)]
    for view, step in pairs:
        if not isinstance(view, str | None) or step_of(step) is None:
            several = "several of these in order, or steps by view name"
            raise ValueError(
                Sentence(
                    "Got ",
                    Setting(name, value),
                    f"; expected {listed(STEPS)}, 'hash:20' for 2**20 columns (4 to 28), "
                    "'view:step' for one view, ",
                    Clause("steps", several),
                    ".",
                )
            )
    for i, (view, step) in enumerate(pairs):
        if hash_bits(step) is not None and any(
            None in (view, own) or own == view for own, _ in pairs[:i]
        ):
            raise ValueError(
                Sentence(
                    "Got ",
                    Setting(name, value),
                    f"; expected {step!r}, by which names become columns, before all other steps.",
                )
            )
    return tuple(pairs)


def _sequence(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def _with_view(step: Any) -> tuple[str | None, Any]:
    """Return the view that ``view:step`` is for, None if there is none, and the step."""
    if not isinstance(step, str):
        return None, step
    head, own = step, ""
    while True:
        head, colon, last = head.rpartition(":")
        own = f"{last}:{own}" if own else last
        # The name of a step may have a colon, and so may that of a view.
        if not colon or last != own or not last.isdigit():
            return (head if colon else None), own


def known_step(name: str) -> Step:
    """Return a step by its name, which is one."""
    step = step_of(name)
    assert step is not None
    return step
