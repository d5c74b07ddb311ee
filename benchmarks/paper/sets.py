"""The sets of the experiments: real ones where they are at hand, twins else, always named so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from omvfs.data.blocks import Block
from omvfs.data.read import as_views
from omvfs.data.views import Views
from omvfs.datasets import Planted, load_folder
from omvfs.evaluation import evaluate_selection, summarise
from omvfs.evaluation.protocol import labelled
from omvfs.model.arrays import IntArray
from paper.base import Place, Row
from paper.published import PUBLISHED, is_fetched
from paper.rows import ACC, NMI, NMI_GEOMETRIC, is_twin
from paper.twins import make_twin

# Real sets of some thousand rows, and the views of each that are read; None for all.
SMALL: dict[str, tuple[str, ...] | None] = {
    "fox": None,
    "reuters600": ("english", "french"),
    "reuters1200": None,
    "citeseer": None,
    "debian_en_fr": None,
    "bdgp": None,
    "mfeat": ("pixels", "profile", "fourier", "zernike", "morphological"),
}
LARGE: dict[str, tuple[str, ...] | None] = {
    "debian_large": ("english", "italian"),
    "wordnet": None,
}
# The paper's sets by the folder that holds them, if any does.
PAPER = ("fox", "cnn", "reuters", "youtube")
# Features per view where views have fewer.
SIZES: dict[str, tuple[int, ...]] = {"mfeat": (10, 20, 30, 40, 50, 60)}


@dataclass(frozen=True)
class LabelledSet:
    """Rows with known classes.

    Attributes
    ----------
    name : str
        Ends in ``-twin`` if it is one.
    views : dict of str to block
        Not negative, rows of unit norm.
    labels : int array of shape (n_rows,)
    """

    name: str
    views: Mapping[str, Block]
    labels: NDArray[np.intp]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.labels))

    def take(self, rows: Any) -> "LabelledSet":
        """Return the set of some rows, in their order."""
        views = {name: X[rows] for name, X in self.views.items()}
        return LabelledSet(self.name, views, self.labels[rows])

    def judge(self, scores: Any, sizes: Sequence[int], seeds: int) -> list[Row]:
        """Return ACC and NMI of the best features, a row a size, mean over seeds."""
        found = evaluate_selection(self.views, self.labels, {"": scores}, sizes, seeds=seeds)
        keys = ("p", ACC, NMI, NMI_GEOMETRIC)
        return [{key: row[key] for key in keys} for row in summarise(found)]


@dataclass(frozen=True)
class Shuffled:
    """Rows in memory, handed out in seeded orders: ``load(order)``.

    Attributes
    ----------
    views : Views
        The rows.
    labels : int array of shape (n_rows,)
        Class of every row, as a number.

    Examples
    --------
    >>> load = Shuffled.of(np.eye(3), ["a", "b", "c"])
    >>> views, labels = load(0)
    >>> views
    Views(3 rows; X: 3; float64)
    >>> labels
    array([2, 0, 1])
    """

    views: Views
    labels: IntArray

    @classmethod
    def of(cls, views: Any, labels: Any) -> "Shuffled":
        """Read the rows.

        Parameters
        ----------
        views : anything `as_views` accepts
        labels : array-like of shape (n_rows,)
        """
        return cls(*labelled(views, labels))

    def __call__(self, order: int) -> tuple[Views, IntArray]:
        """Return the views and the labels, rows in the order that this seed gives.

        Parameters
        ----------
        order : int
        """
        rows = np.random.default_rng(order).permutation(len(self.views))
        return self.views[rows], self.labels[rows]


def planted_set(planted: Planted, name: str = "planted") -> LabelledSet:
    """Return planted rows as a set, their norms 1."""
    views = {view: normalize(X) for view, X in planted.views.items()}
    return LabelledSet(name, views, planted.labels.astype(np.intp))


def at_hand(place: Place, names: Any) -> list[str]:
    """Return which of some sets there are: in the data folder, or fetched before."""
    return [name for name in names if _in_folder(name, place) or is_fetched(name, place.data_home)]


def _in_folder(name: str, place: Place) -> bool:
    return place.data is not None and (place.data / name / "labels.npy").exists()


def twins(place: Place, names: Sequence[str] = PAPER) -> list[str]:
    """Return the names of twins of those of the paper's sets that are not at hand."""
    there = at_hand(place, names)
    return [f"{name}-twin" for name in names if name not in there]


@lru_cache(maxsize=2)
def load(name: str, place: Place, n_rows: int | None = None) -> LabelledSet:
    """Return a set by name: a folder of the data, or, where the name ends so, a twin.

    One of the paper's sets that has no folder is read from what was fetched of it before.

    Parameters
    ----------
    name : str
    place : Place
    n_rows : int, optional
        At most so many rows, drawn at random from a real set.
    """
    if is_twin(name):
        twin = make_twin(name.removesuffix("-twin"), n_rows)  # type: ignore[arg-type]
        return LabelledSet(name, twin.views, twin.labels.astype(np.intp))
    views: Views
    labels: NDArray[Any] | None
    if not _in_folder(name, place) and is_fetched(name, place.data_home):
        fetched = PUBLISHED[name][1](data_home=place.data_home, download_if_missing=False)
        views, labels = fetched.views, fetched.labels
    else:
        assert place.data is not None, name
        views, labels = load_folder(place.data / name, {**SMALL, **LARGE}.get(name))
    clipped = as_views(views, negative="clip")
    blocks = {view: normalize(X.astype(np.float64)) for view, X in clipped.blocks.items()}
    assert labels is not None, name
    whole = LabelledSet(name, blocks, np.unique(labels, return_inverse=True)[1])
    if n_rows is None or n_rows >= len(whole.labels):
        return whole
    return whole.take(np.random.default_rng(0).permutation(len(whole.labels))[:n_rows])
