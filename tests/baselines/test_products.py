"""Products of rows are the same whichever way they are worked out, and so are neighbours."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omvfs.baselines import products
from omvfs.baselines.neighbours import neighbours
from omvfs.baselines.products import product_strips

# What costs nothing is always taken.
COSTS = {
    "sparse": {"_PAIR": 0, "_FOUND": 0},
    "dense": {"_DENSE": 0, "_FILL": 0, "_SORT": 0},
    "sparse by dense": {"_WIDE": 0, "_FILL": 0, "_SORT": 0},
}


def every_other_column(X, Y):
    return np.arange(0, X.shape[1], 2), np.arange(1, X.shape[1], 2)


@contextmanager
def only(way):
    """Multiply in one way, whatever it costs."""
    if way == "both":
        with patch.object(products, "_columns", every_other_column):
            yield
    else:
        with patch.multiple(products, **COSTS[way]):
            yield


WAYS = [*COSTS, "both"]
RELATIVE = {np.float64: 1e-12, np.float32: 1e-5}


@st.composite
def counts(draw, dtype=np.float64):
    """Rows of small counts, so that ties are common; some empty, some equal, some huge or tiny."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, width = draw(st.integers(2, 30)), draw(st.integers(1, 12))
    X = rng.integers(1, 4, (n, width)) * (rng.random((n, width)) < draw(st.floats(0, 1)))
    X = X[rng.integers(n, size=n)] if draw(st.booleans()) else X
    X[rng.random(n) < draw(st.sampled_from([0, 0.2]))] = 0
    large = draw(st.sampled_from([1.0, 1e-30, 1e30]))
    return (X * np.where(rng.random(n) < 0.3, large, 1.0)[:, np.newaxis]).astype(dtype)


def cosines(X):
    """All similarities at once, in double precision."""
    largest = X.max(axis=1, keepdims=True).astype(float)
    X = X / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(norms > 0, norms, 1)
    return unit @ unit.T


def nearest(X, k):
    """The k nearest other rows of every row, one after another, the first among equals."""
    S = cosines(X)
    np.fill_diagonal(S, 0)
    found = np.zeros(S.shape, bool)
    for i, row in enumerate(np.round(S, 10)):
        best = sorted(range(len(row)), key=lambda j: (-row[j], j))[:k]
        found[i, [j for j in best if row[j] > 0]] = True
    return np.where(found | found.T, S, 0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", RELATIVE)
@given(data=st.data(), entries=st.sampled_from([1, 40, 1 << 21]))
@settings(max_examples=30, deadline=None)
def test_products_are_those_of_arrays(way, dtype, data, entries):
    X, Y = data.draw(counts(dtype)), data.draw(counts(dtype))
    width = min(X.shape[1], Y.shape[1])
    X, Y = np.ascontiguousarray(X[:, :width]), np.ascontiguousarray(Y[:, :width])
    expected = X.astype(np.float64) @ Y.T.astype(np.float64)
    fits = expected <= np.finfo(dtype).max
    kinds = [(sp.csr_array, sp.csr_array), (np.asarray, sp.csr_array), (sp.csr_array, np.asarray)]
    for one, other in kinds:
        with (
            only(way),
            patch.multiple(products, STRIP_ENTRIES=entries, _SQUARE_ENTRIES=entries),
            np.errstate(over="ignore"),
        ):
            starts, strips = zip(
                *((start, S.copy()) for start, S in product_strips(one(X), other(Y))), strict=True
            )
        np.testing.assert_array_equal(starts, np.cumsum([0, *map(len, strips)])[:-1])
        S = np.concatenate(strips)
        assert S.dtype == dtype
        tiny = float(np.finfo(dtype).tiny)
        np.testing.assert_allclose(S[fits], expected[fits], rtol=RELATIVE[dtype], atol=tiny)


@pytest.mark.parametrize("way", WAYS)
@given(X=counts(), k=st.integers(1, 6))
@example(X=np.ones((5, 3)), k=2)
@settings(max_examples=50, deadline=None)
def test_neighbours_are_the_same_in_every_way(way, X, k):
    k = min(k, len(X) - 1)
    expected, single = nearest(X, k), sp.csr_array(X.astype(np.float32))
    with only(way):
        found = neighbours(sp.csr_array(X), k).toarray()
        as_near = neighbours(single, k, single).toarray()
    np.testing.assert_array_equal(found > 0, expected > 0)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(neighbours(X, k).toarray() > 0, expected > 0)
    # In single precision, others may be as near.
    own, best = -np.sort(-as_near, axis=1)[:, :k], -np.sort(-cosines(X), axis=1)[:, :k]
    np.testing.assert_allclose(own, best, atol=3e-5)


@given(share=st.floats(0, 1), seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_every_column_that_both_have_is_multiplied_once(share, seed):
    rng = np.random.default_rng(seed)
    X, Y = (sp.csr_array((rng.random((50, 30)) < rng.random(30) * share) * 1.0) for _ in range(2))
    common, rest = products._columns(X, Y)
    both = np.flatnonzero((X.sum(axis=0) > 0) & (Y.sum(axis=0) > 0))
    np.testing.assert_array_equal(np.sort(np.concatenate([common, rest])), both)
