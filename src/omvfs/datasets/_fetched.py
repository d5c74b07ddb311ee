"""What the fetchers return."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.data.views import Views


@dataclass(frozen=True)
class Fetched:
    """A published data set in memory.

    Attributes
    ----------
    name : str
        Such as ``reuters``.
    views : Views
        Blocks by name, rows aligned; names of features where the set has any.
    labels : int array of shape (n_rows,)
        Class of every row, as a place in `target_names`.
    target_names : tuple of str
        Names of the classes.
    DESCR : str
        What it is, and how it compares with the paper.
    """

    name: str
    views: Views
    labels: NDArray[np.intp]
    target_names: tuple[str, ...]
    DESCR: str  # as scikit-learn calls it

    @property
    def n_classes(self) -> int:
        """Number of classes, with rows or without."""
        return len(self.target_names)


def described(about: str, views: Views, paper: tuple[int, dict[str, int]]) -> str:
    """Return what a set is: its shape, and where that of the paper differs.

    Examples
    --------
    >>> views = Views({"text": np.eye(3)})
    >>> print(described("News.", views, (3, {"text": 5})))
    News. 3 rows; text 3 features. The paper has 3 rows; text 5 features.
    """
    shape = _shape(len(views), {name: views[name].shape[1] for name in views.names})
    rows, widths = paper
    known = _shape(rows, {name: widths[name] for name in views.names if name in widths})
    if known == shape:
        return f"{about} {shape}, as in the paper."
    return f"{about} {shape}. The paper has {known}."


def chosen_views(views: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the views asked for, each once, of those that a set has.

    Examples
    --------
    >>> chosen_views(["text", "text"], ["text", "image"])
    Traceback (most recent call last):
    ValueError: Got views=('text', 'text'); expected some of ('text', 'image'), each once.
    """
    views, known = tuple(views), tuple(known)
    if not views or len(set(views)) < len(views) or not set(views) <= set(known):
        raise ValueError(f"Got views={views}; expected some of {known}, each once.")
    return views


def _shape(rows: int, widths: dict[str, int]) -> str:
    features = ", ".join(f"{name} {width:,}" for name, width in widths.items())
    return f"{rows:,} rows" + (f"; {features} features" if features else "")
