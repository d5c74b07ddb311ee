"""Rows that benchmarks make: half-dense and dense ones, and twins of sets not at hand."""

import numpy as np
import scipy.sparse as sp

from paper import Place
from paper.sets import load as load_set
from paper.twins import make_twin

# Cells that are drawn at a time: their rates are dense.
DRAWN = 2_000


class Cells:
    """The law of a twin of single-cell counts: few common and many rare features, some of a kind.

    Rows are the logarithms of counts, drawn part by part.

    Parameters
    ----------
    width : int
        Features.
    n_clusters : int
    density : float
        Share of the entries that are not zero.

    Examples
    --------
    >>> X = Cells(400, 3, 0.1).draw(500, np.random.default_rng(0))
    >>> X.shape, round(X.nnz / X.shape[0] / X.shape[1], 2)
    ((500, 400), 0.1)
    """

    def __init__(self, width, n_clusters, density):
        rng = np.random.default_rng(0)
        self._means = rng.lognormal(-2.5, 1.6, width)
        marks = rng.random((n_clusters, width)) < 0.05
        self._fold = np.where(marks, rng.lognormal(1.2, 0.6, marks.shape), 1.0)
        rates, least, most = self._rates(500, rng), 1e-6, 1e6
        for _ in range(40):
            self._depth = np.sqrt(least * most)
            fuller = np.mean(-np.expm1(-self._depth * rates)) > density
            least, most = (least, self._depth) if fuller else (self._depth, most)

    def draw(self, n, rng):
        """Return so many rows as a CSR matrix."""
        parts = [min(DRAWN, n - start) for start in range(0, n, DRAWN)]
        counts = (rng.poisson(self._depth * self._rates(each, rng)) for each in parts)
        return sp.vstack([sp.csr_array(np.log1p(each)) for each in counts], format="csr")

    def _rates(self, n, rng):
        labels = rng.integers(len(self._fold), size=n)
        rates = rng.lognormal(0, 0.35, n)[:, np.newaxis] * (self._means * self._fold[labels])
        return rates * rng.gamma(2.0, 0.5, rates.shape)


def cells(n, width, n_clusters, density):
    """Return the rows of a twin of single-cell counts."""
    return Cells(width, n_clusters, density).draw(n, np.random.default_rng(1))


def full(n, width, n_clusters):
    """Return rows around some centres, without a zero, as pixels are."""
    rng = np.random.default_rng(0)
    centres, labels = rng.normal(size=(n_clusters, width)), rng.integers(n_clusters, size=n)
    return np.abs(centres[labels] + 2 * rng.normal(size=(n, width))) + 1e-3


def debian_twin(n):
    """Return rows in the shape of debian_large, and its number of clusters."""
    law = {"n_features": (30_098, 35_212), "n_words": (39, 41), "n_classes": 20}
    return make_twin("reuters", n, **law).views, law["n_classes"]


def load(name, data, n_rows=None):
    """Return the views and number of clusters of a set, and whether a twin stands in for it.

    None where it is not at hand and has no twin.
    """
    if name == "cells-twin":
        return {"rna": cells(n_rows or 20_000, 3_000, 17, 0.1)}, 17, False
    if name == "pixels":
        return {"pixels": full(n_rows or 20_000, 784, 10)}, 10, False
    if name.endswith("-twin"):
        twin = make_twin(name.removesuffix("-twin"), n_rows)
        return twin.views, twin.n_classes, False
    if name == "debian_large":
        if not (data / name).exists():
            return *debian_twin(n_rows or 50_584), True
        views = load_set(name, Place(data=data)).views
        rows = np.random.default_rng(0).permutation(50_584)[:n_rows]
        return {view: X[rows] for view, X in views.items()}, 20, False
    if not (data / name).exists():
        return None
    found = load_set(name, Place(data=data), n_rows)
    return dict(found.views), found.n_classes, False
