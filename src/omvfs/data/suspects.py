"""Columns that are hardly features: they count the rows, outweigh all others, or are labels."""

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import take_columns
from omvfs.data.views import Views
from omvfs.model.arrays import Block, column_sums, dense, squared_entries
from omvfs.wording import Sentence, Setting

# Of fewer rows nothing is said, and of so many the first are looked at to tell who is asked more.
_FEWEST = 20
# A column outweighs the others of its view if it holds so much of the variance; of a few columns,
# of which one always holds much, so many times the even share, or nearly all.
_MOST, _TIMES_EVEN, _NEARLY_ALL = 0.5, 5, 0.9
_ROUNDING = 1e-6
# What labels are called, and how many different ones there are at most.
_CALLED = {"label", "labels", "class", "classes", "target", "y"}
_MOST_LABELS = 100


class SuspectColumnWarning(UserWarning):
    """A column of the first chunk is hardly a feature, or outweighs all others.

    Attributes
    ----------
    suspects : tuple of Suspect
    """

    def __init__(self, suspects: Iterable["Suspect"]) -> None:
        self.suspects = tuple(suspects)
        sentences = ((str(each), " ", each.remedy, " ") for each in self.suspects)
        super().__init__(Sentence(*(part for each in sentences for part in each)).rstrip())


@dataclass(frozen=True)
class Suspect:
    """A column that is hardly a feature.

    Attributes
    ----------
    view : str
    column : str or int
        Its name, or its number if it has none.
    kind : {"row number", "dominant", "label"}
    share : float
        Of the variance of its view.

    Examples
    --------
    >>> print(Suspect("rows", "id", "row number", 0.99))
    Column 'id' of view 'rows' counts the rows: its whole numbers only rise or only fall.
    """

    view: str
    column: str | int
    kind: Literal["row number", "dominant", "label"]
    share: float

    def __str__(self) -> str:
        column = f"Column {self.column!r} of view {self.view!r}"
        if self.kind == "row number":
            return f"{column} counts the rows: its whole numbers only rise or only fall."
        if self.kind == "label":
            return f"{column} is called like a label, and has few different whole numbers."
        return (
            f"{column} holds {self.share:.1%} of the variance of its view: clusters will follow it."
        )

    @property
    def remedy(self) -> Sentence:
        """What to do about it."""
        if self.kind == "dominant":
            scaled = Setting("prepare", "scale")
            return Sentence("Leave it out, or bring columns to one scale: ", scaled, ".")
        return Sentence("Leave it out, if it is no feature.")


def row_numbers(views: Views) -> list[Suspect]:
    """Return the columns whose whole numbers only rise or only fall from row to row.

    Parameters
    ----------
    views : Views

    Examples
    --------
    >>> X = np.random.default_rng(0).random((50, 3))
    >>> X[:, 1] = np.arange(50)
    >>> [each.column for each in row_numbers(Views({"rows": X}))]
    [1]
    """
    return [
        _suspect(views, view, j, "row number")
        for view, X in views.blocks.items()
        if X.shape[0] >= _FEWEST
        for j in _monotone(X[:_FEWEST], np.arange(X.shape[1]))
        if len(_monotone(X, np.array([j])))
    ]


def dominant(views: Views) -> list[Suspect]:
    """Return the columns that hold most of the variance of their view.

    Not of ‖X‖²: a column that is large in all rows alike tells none of them apart.

    Parameters
    ----------
    views : Views

    Examples
    --------
    >>> X = np.random.default_rng(0).random((50, 12)) * ([100.0] + 11 * [1.0])
    >>> print(dominant(Views({"shape": X}))[0])
    Column 0 of view 'shape' holds 99.9% of the variance of its view: clusters will follow it.
    """
    found = []
    for view, X in views.blocks.items():
        shares = _shares(X)
        n, width = X.shape[0], np.count_nonzero(shares)
        if n < _FEWEST or width < 2:
            continue
        j = int(shares.argmax())
        much = max(_MOST, min(_NEARLY_ALL, _TIMES_EVEN / width))
        if shares[j] > much:
            found.append(_suspect(views, view, j, "dominant"))
    return found


def labels(views: Views) -> list[Suspect]:
    """Return the columns that are called like labels and have few different whole numbers.

    Parameters
    ----------
    views : Views

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 3, (50, 2)).astype(float)
    >>> [each.column for each in labels(Views({"rows": X}, feature_names={"rows": ["a", "y"]}))]
    ['y']
    """
    found = []
    for view, names in views.feature_names.items():
        if names is None or len(views) < _FEWEST:
            continue
        for j in np.flatnonzero([name.lower() in _CALLED for name in names]):
            values = np.unique(_column(views[view], int(j)))
            if _are_whole(values) and len(values) <= min(_MOST_LABELS, len(views) // 2):
                found.append(_suspect(views, view, int(j), "label"))
    return found


def named_once(suspects: Iterable[Suspect]) -> list[Suspect]:
    """Return suspects, of each column the first.

    Examples
    --------
    >>> twice = [Suspect("rows", "id", kind, 0.99) for kind in ("row number", "dominant")]
    >>> [each.kind for each in named_once(twice)]
    ['row number']
    """
    found: dict[tuple[str, str | int], Suspect] = {}
    for each in suspects:
        found.setdefault((each.view, each.column), each)
    return list(found.values())


def warn_of(found: Sequence[Suspect]) -> None:
    """Warn of columns, if there are any, at the line that called the library."""
    if not found:
        return
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(SuspectColumnWarning(found), stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("omvfs", "contextlib", "functools")


def _suspect(views: Views, view: str, j: int, kind: Any) -> Suspect:
    names = views.feature_names[view]
    return Suspect(view, j if names is None else names[j], kind, float(_shares(views[view])[j]))


def _shares(X: Block) -> NDArray[np.float64]:
    """Return the share of every column in the variance; zeros if that is 0 or not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums, squares = (column_sums(each).astype(np.float64) for each in (X, squared_entries(X)))
        about_mean = squares - sums**2 / max(1, X.shape[0])
        # What rounding leaves of a column that does not vary.
        about_mean[about_mean <= _ROUNDING * squares] = 0
        total = about_mean.sum()
        sound = np.isfinite(total) and total > 0
        return about_mean / total if sound else np.zeros_like(about_mean)


def _monotone(X: Block, columns: NDArray[np.intp]) -> list[int]:
    """Return which columns have whole numbers that only rise or only fall."""
    if sp.issparse(X):
        # All but one of the rows have them.
        filled = np.bincount(X.indices, minlength=X.shape[1])[columns]
        columns = columns[filled >= X.shape[0] - 1]
    values = dense(take_columns(X, columns))
    with np.errstate(invalid="ignore"):
        steps = np.diff(values, axis=0)
    only = np.flatnonzero((steps > 0).all(axis=0) | (steps < 0).all(axis=0))
    return [int(columns[i]) for i in only if _are_whole(values[:, i])]


def _column(X: Block, j: int) -> NDArray[Any]:
    return dense(take_columns(X, np.array([j]))).ravel()


def _are_whole(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())
