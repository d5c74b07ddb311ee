"""Checks of what a planted stream is asked to be."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T", int, float)


def segment_bounds(drift_at: Sequence[int], n_rows: int) -> list[tuple[int, int]]:
    """Return the first row of every stretch between drifts, and one past its last."""
    edges = [0, *drift_at, n_rows]
    if any(a >= b for a, b in pairwise(edges)):
        raise ValueError(
            f"drift_at must be increasing rows between 1 and n_rows - 1 = {n_rows - 1}; "
            f"got {list(drift_at)}."
        )
    return list(pairwise(edges))


def class_weights_of(class_weights: Sequence[float] | None, n_classes: int) -> NDArray[np.float64]:
    """Return the shares of the classes, equal by default."""
    check_positive("n_classes", n_classes)
    weights: NDArray[np.float64] = np.ones(n_classes)
    if class_weights is not None:
        weights = np.array(class_weights, dtype=np.float64)
    if weights.shape != (n_classes,) or not np.all(weights > 0) or not np.all(weights < np.inf):
        raise ValueError(
            f"class_weights must be {n_classes} positive numbers, one per class; "
            f"got {class_weights}."
        )
    weights /= weights.sum()
    return weights


def names_of_views(view_names: Sequence[str] | None, n_views: int) -> tuple[str, ...]:
    """Return the names of the views, numbered by default."""
    check_positive("the number of views", n_views)
    if view_names is None:
        return tuple(f"view_{v}" for v in range(n_views))
    names = tuple(view_names)
    if len(names) != n_views or len(set(names)) != n_views:
        raise ValueError(f"view_names must be {n_views} different names; got {names}.")
    return names


def per_view(what: str, value: _T | Sequence[_T], names: tuple[str, ...]) -> tuple[_T, ...]:
    """Return a value for every view, of one for all or of as many."""
    if not isinstance(value, Sequence):
        return (value,) * len(names)
    if len(value) != len(names):
        raise ValueError(f"{what} has {len(value)} values; there are {len(names)} views {names}.")
    return tuple(value)


def check_positive(what: str, value: float) -> None:
    """Refuse what is below 1."""
    if value < 1:
        raise ValueError(f"{what} must be at least 1; got {value}.")


def check_fraction(what: str, value: float) -> None:
    """Refuse what is not between 0 and 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{what} must lie between 0 and 1; got {value}.")


def check_informative(name: str, n_informative: int, n_ranks: int, *, drifts: bool) -> None:
    """Refuse more informative features than a view can have."""
    most = n_ranks // 2 if drifts else n_ranks
    if not 1 <= n_informative <= most:
        why = " (half of the features, so that drift can change all of them)" if drifts else ""
        raise ValueError(
            f"View {name!r} can have 1 to {most} informative features{why}; got {n_informative}."
        )
