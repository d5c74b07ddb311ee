"""Rows are joined with the nearest, ties taken alike, in strips of any height."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from omvfs.model.arrays import unit_rows
from omvfs.model.graph import products
from omvfs.model.graph.neighbours import nearest, neighbours, normalised_neighbours

KINDS = [np.asarray, sp.csr_array, sp.csr_matrix]


def rows(seed, n=12, d=9, density=0.4):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)) * (rng.random((n, d)) < density)


def dense(W):
    return W.toarray() if sp.issparse(W) else W


def naive_neighbours(X, k):
    """Sort every row by (similarity, index); an edge where either end chose the other."""
    n = len(X)
    norms = np.linalg.norm(X, axis=1)
    norms[norms == 0] = 1
    S = (X / norms[:, None]) @ (X / norms[:, None]).T
    W = np.zeros((n, n))
    for i in range(n):
        for j in sorted((j for j in range(n) if j != i), key=lambda j: (-S[i, j], j))[:k]:
            W[i, j] = max(S[i, j], 0)
    return np.maximum(W, W.T)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 14), k=st.integers(1, 16))
@settings(max_examples=40, deadline=None)
def test_neighbours_equal_a_plain_sort(kind, seed, n, k):
    X = rows(seed, n)
    np.testing.assert_allclose(dense(neighbours(kind(X), k)), naive_neighbours(X, k), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_take_the_first_among_equals(kind):
    X = np.tile([[1.0, 0.0]], (6, 1))  # every row is exactly as near as any other
    chosen = dense(neighbours(kind(X), 2, kind(X)))
    np.testing.assert_array_equal(chosen, np.tile([1.0, 1, 0, 0, 0, 0], (6, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_do_not_depend_on_the_height_of_the_strips(kind, monkeypatch):
    X = rows(0, n=40)
    whole = dense(neighbours(kind(X), 3))
    monkeypatch.setattr(products, "STRIP_ENTRIES", 90)
    monkeypatch.setattr(products, "_SQUARE_ENTRIES", 90)
    np.testing.assert_allclose(dense(neighbours(kind(X), 3)), whole, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_leave_empty_and_unrelated_rows_alone(kind):
    X = np.array([[1.0, 0, 0], [2, 0, 0], [0, 0, 0], [0, 1, 0]])
    W = dense(neighbours(kind(X), 3))
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 1
    np.testing.assert_allclose(W, expected)


def test_neighbours_in_other_rows():
    X, Y = rows(0, n=5, density=1), rows(1, n=9, density=1)
    W = neighbours(X, 2, Y)
    assert W.shape == (5, 9)
    S = 1 - cdist(X, Y, "cosine")
    for i in range(5):
        best = np.argsort(-S[i])[:2]
        np.testing.assert_allclose(W.toarray()[i, best], S[i, best])
        assert W[[i]].nnz == 2


def test_neighbours_bad_k():
    with pytest.raises(ValueError, match="at least 1 neighbour; got k=0"):
        neighbours(rows(0), 0)


def test_rows_with_unsorted_columns_are_left_as_they_are():
    X = sp.csr_array(rows(0))
    X.indices[:] = np.concatenate([X.indices[a:b][::-1] for a, b in itertools.pairwise(X.indptr)])
    X.data[:] = np.concatenate([X.data[a:b][::-1] for a, b in itertools.pairwise(X.indptr)])
    X.has_sorted_indices = False
    before = X.toarray()
    unit = unit_rows(X)
    unit.sort_indices()
    neighbours(X, 3)
    np.testing.assert_array_equal(X.toarray(), before)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 40), k=st.integers(1, 6), ties=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_graph_of_those_found_near_is_the_graph(kind, seed, n, k, ties):
    X = np.ceil(rows(seed, n, 4) * 3) if ties else rows(seed, n)
    near = nearest(kind(X), k)
    expected = normalised_neighbours([kind(X)], k)[0]
    found = normalised_neighbours([kind(X)], k, [near])[0]
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_rows_that_are_all_alike_are_not_held_each_with_each():
    assert nearest(np.ones((100, 2)), 1) is None
    assert nearest(np.ones((3, 2)), 1) is not None
