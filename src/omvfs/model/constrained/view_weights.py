"""Which views have a say in the clusters, as the rows at hand decide.

A view is heard unless it is certain that it tells nothing: that it has nothing to do with any other
view where others have to do with each other; or, where no view has to do with any other, that it
has no structure of its own, and another has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Block, IntArray
from omvfs.model.concordance import (
    chance_error,
    halves_of_features,
    likeness,
    likeness_correlation,
)
from omvfs.model.presence import Presence, having, take

# Rows that are compared, each with each, at most, and at least for anything to be known. Of more
# rows there are several such parts.
_MOST_ROWS, FEWEST_ROWS = 1000, 100
# Standard errors beyond which a correlation is no chance. Likeness of few dimensions correlates by
# chance as a χ² of few degrees of freedom does, whose tail is long.
_CERTAIN = 4.0
# A view that may, within two standard errors, be related by as much as this part of the strongest
# relation is heard.
_PART = 0.25
# What is left to a view that is not heard, so that rows which have no other can be placed by it.
UNHEARD = 0.01


@dataclass(frozen=True)
class Correlation:
    """How far two likenesses of the same rows agree, and by how much that is uncertain.

    Attributes
    ----------
    value : float
        An estimate without bias of what is 0 if they have nothing to do with each other.
    error : float
        Its standard error if so; infinite if too few rows are known.
    """

    value: float
    error: float

    @property
    def is_certain(self) -> bool:
        """Whether it is more than chance would give."""
        return self.value > _CERTAIN * self.error

    @property
    def most(self) -> float:
        """What it may be, within two standard errors."""
        return self.value + 2 * self.error


# Of two views that hardly any row has.
_UNKNOWN = Correlation(0.0, np.inf)


def view_weights(X: Sequence[Block], present: Presence = None) -> tuple[float, ...]:
    """Return the weight of each view in the clusters: 1, or next to nothing if it is not heard.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
        A sample of the rows. The answer depends on nothing else.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all. Views are compared over rows that have both.

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kinds = np.eye(3)[rng.integers(0, 3, 300)]
    >>> a, b = (np.hstack([kinds, rng.random((300, 5))]) for _ in range(2))
    >>> noise = rng.random((300, 8))
    >>> view_weights([a, b, noise]), view_weights([a, noise]), view_weights([a, a[::-1]])
    ((1.0, 1.0, 0.01), (1.0, 0.01), (1.0, 1.0))
    """
    n = X[0].shape[0]
    if len(X) < 2 or n < FEWEST_ROWS:
        return (1.0,) * len(X)
    # In any order of the stream: neighbours in it may be alike.
    n_parts, order = -(-n // _MOST_ROWS), np.random.default_rng(0).permutation(n)
    parts = [_Part.of(X, present, np.sort(order[i::n_parts])) for i in range(n_parts)]
    related = _strongest([part.between_views() for part in parts])
    if not any(each.is_certain for each in related):
        related = _strongest([part.within_views() for part in parts])
    return tuple(1.0 if heard else UNHEARD for heard in _heard(related))


def _heard(related: Sequence[Correlation]) -> list[bool]:
    """Return which views are heard, by the strongest relation of each.

    Examples
    --------
    >>> _heard([Correlation(0.5, 0.01), Correlation(0.0, 0.01), Correlation(0.0, 0.1)])
    [True, False, True]
    >>> _heard([Correlation(0.0, 0.01), Correlation(0.0, 0.01)])
    [True, True]
    """
    least = _PART * max((each.value for each in related if each.is_certain), default=0.0)
    return [each.is_certain or each.most >= least for each in related]


def _strongest(parts: Sequence[Sequence[Sequence[Correlation]]]) -> list[Correlation]:
    """Return of each view its strongest relation; if none is certain, the one that may be.

    Views are judged by those that they can be compared with, and unknown if there are none.

    Parameters
    ----------
    parts : sequence of (sequence of (sequence of Correlation))
        Of each part of the rows, the relations of each view.
    """
    found = []
    for of_view in zip(*parts, strict=True):
        relations = [_mean(same) for same in zip(*of_view, strict=True)]
        known = [each for each in relations if np.isfinite(each.error)]
        found.append(max(known, key=lambda each: (each.is_certain, each.most), default=_UNKNOWN))
    return found


def _mean(same: Sequence[Correlation]) -> Correlation:
    """Return the mean of the same relation on several rows, the more certain the more it counts.

    Examples
    --------
    >>> both = _mean([Correlation(0.1, 0.02), Correlation(0.3, 0.02)])
    >>> round(both.value, 3), round(both.error, 3)
    (0.2, 0.014)
    """
    known = [each for each in same if np.isfinite(each.error)]
    if not known:
        return _UNKNOWN
    weights = np.array([each.error**-2 for each in known])
    values = np.array([each.value for each in known])
    return Correlation(float(np.average(values, weights=weights)), float(weights.sum() ** -0.5))


@dataclass(frozen=True)
class _Part:
    """Some of the rows, few enough to be compared each with each.

    Attributes
    ----------
    X : list of array or CSR matrix of shape (n, D_v)
    present : array of shape (n, n_views), or None
    """

    X: Sequence[Block]
    present: Presence

    @classmethod
    def of(cls, X: Sequence[Block], present: Presence, rows: IntArray) -> "_Part":
        """Return some of the rows."""
        return cls([X_v[rows] for X_v in X], take(present, rows))

    def between_views(self) -> list[list[Correlation]]:
        """Return the relation of each view to each other, over the rows that have both."""
        X, has = self.X, self.present
        whole = [likeness(X_v) for X_v in X] if has is None else []
        found: list[list[Correlation]] = [[] for _ in X]
        for v in range(len(X)):
            for w in range(v):
                if has is None:
                    both = _correlation(whole[v], whole[w])
                else:
                    rows = np.flatnonzero(has[:, v] & has[:, w])
                    both = _related(X[v][rows], X[w][rows])
                found[v].append(both)
                found[w].append(both)
        return found

    def within_views(self) -> list[list[Correlation]]:
        """Return how far halves of the features of each view agree, over the rows that have it."""
        found = []
        for X_v in having(self.X, self.present):
            halved = [_related(*halves) for halves in halves_of_features(X_v)]
            value = float(np.mean([each.value for each in halved]))
            found.append([Correlation(value, halved[0].error)])
        return found


def _related(A: Block, B: Block) -> Correlation:
    """Return how far two views of the same rows agree on which are alike."""
    return _UNKNOWN if A.shape[0] < FEWEST_ROWS else _correlation(likeness(A), likeness(B))


def _correlation(K: NDArray[np.float64], L: NDArray[np.float64]) -> Correlation:
    return Correlation(likeness_correlation(K, L), chance_error(len(K)))
