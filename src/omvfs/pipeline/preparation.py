"""Row-wise preparation of chunks on their way: what it has learned so far travels along."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.model.arrays import Block, dense, scale_columns, unit_rows

# What a step knows of one view, by name; replaced, never changed.
Known: TypeAlias = Mapping[str, NDArray[Any]]
Step: TypeAlias = Callable[[Block, Known], tuple[Block, Known]]


def l2(X: Block, known: Known) -> tuple[Block, Known]:
    """Bring every row to unit norm; zero rows stay zero."""
    return unit_rows(X), known


def log1p(X: Block, known: Known) -> tuple[Block, Known]:
    """Take log(1 + x) of every value."""
    lowest = X.min() if X.shape[0] and X.shape[1] else 0
    if lowest <= -1:
        raise ValueError(f"log1p needs values above -1; got {lowest:g}.")
    return (X.log1p() if sp.issparse(X) else np.log1p(X)), known


def tfidf(X: Block, known: Known) -> tuple[Block, Known]:
    """Weigh every column by log((1 + n) / (1 + df)) + 1, counted over all rows so far.

    n are rows, df those in which the column is not zero. A row is weighed by what is known when it
    comes, its own chunk included.
    """
    present = np.asarray((X != 0).sum(axis=0)).ravel()
    df = known.get("df", np.zeros(X.shape[1], np.int64)) + present
    n = known.get("n", np.zeros(1, np.int64)) + X.shape[0]
    weights = (np.log((1 + n) / (1 + df)) + 1).astype(X.dtype)
    return scale_columns(X, weights), {"df": df, "n": n}


def scale(X: Block, known: Known) -> tuple[Block, Known]:
    """Divide every column by its largest size over all rows so far."""
    sizes = dense(abs(X).max(axis=0)).ravel()
    largest = np.maximum(known.get("largest", np.zeros(X.shape[1], X.dtype)), sizes)
    factors = np.divide(1, largest, out=np.ones_like(largest), where=largest > 0)
    return scale_columns(X, factors), {"largest": largest}


STEPS: dict[str, Step] = {"l2": l2, "log1p": log1p, "tfidf": tfidf, "scale": scale}


def _split(step: str) -> tuple[str, str]:
    """Return the view a step is for, empty if it is for all, and its name."""
    view, _, name = step.rpartition(":")
    return view, name


@dataclass(frozen=True)
class Preparation:
    """Steps that every chunk goes through, and what they know after the last.

    Attributes
    ----------
    steps : tuple of str
        Names of the steps, in order: "l2", "log1p", "tfidf", "scale"; or ``view:step`` for one view
        only.
    known : dict of str to array
        What they know, by ``<number of the step>/<view>/<name>``.

    Examples
    --------
    >>> from omvfs.data.views import as_views
    >>> X = as_views({"text": np.array([[3.0, 4.0]])})
    >>> views, after = Preparation(("scale", "l2")).apply(X)
    >>> views["text"].round(3), after.known["0/text/largest"]
    (array([[0.707, 0.707]]), array([3., 4.]))
    """

    steps: tuple[str, ...] = ()
    known: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := [step for step in self.steps if _split(step)[1] not in STEPS]:
            raise ValueError(
                f"Got preparation {listed(unknown)}; expected {listed(STEPS)}, or view:step."
            )

    def apply(self, views: Views) -> tuple[Views, "Preparation"]:
        """Return a chunk prepared, and the preparation after it.

        Parameters
        ----------
        views : Views
        """
        if not self.steps:
            return views, self
        blocks: dict[str, Block] = dict(views.blocks)
        after: dict[str, NDArray[Any]] = {}
        for number, (own, step) in enumerate(map(_split, self.steps)):
            if own and own not in blocks:
                raise ValueError(
                    f"Got preparation {self.steps[number]!r}; the views are {listed(blocks)}."
                )
            for view in [own] if own else list(blocks):
                place = f"{number}/{view}/"
                known = {
                    k.removeprefix(place): v for k, v in self.known.items() if k.startswith(place)
                }
                try:
                    blocks[view], learned = STEPS[step](blocks[view], known)
                except ValueError as error:
                    raise ValueError(f"View {view!r}: {error}") from error
                after |= {place + name: array for name, array in learned.items()}
        return views.replaced(blocks), Preparation(self.steps, after)

    @classmethod
    def of(cls, steps: Sequence[str], known: Mapping[str, NDArray[Any]]) -> "Preparation":
        """Return a preparation that goes on from what is known."""
        return cls(tuple(steps), dict(known))
