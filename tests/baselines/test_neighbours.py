"""Graphs of rows: nearest neighbours, the Gaussian kernel, and Laplacians."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from omvfs.baselines import similarity as graph
from omvfs.baselines.neighbours import nearest, neighbours, normalised_neighbours
from support import KINDS, dense

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def rows(seed, n=12, d=9, density=0.4):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)) * (rng.random((n, d)) < density)


@every_kind
def test_neighbours_take_the_first_among_equals_and_leave_empty_rows_alone(kind):
    X = np.tile([[1.0, 0.0]], (6, 1))  # every row is exactly as near as any other
    chosen = dense(neighbours(kind(X), 2, kind(X)))
    np.testing.assert_array_equal(chosen, np.tile([1.0, 1, 0, 0, 0, 0], (6, 1)))
    X = np.array([[1.0, 0, 0], [2, 0, 0], [0, 0, 0], [0, 1, 0]])
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 1
    np.testing.assert_allclose(dense(neighbours(kind(X), 3)), expected)


def test_neighbours_in_other_rows():
    X, Y = rows(0, n=5, density=1), rows(1, n=9, density=1)
    W = neighbours(X, 2, Y)
    assert W.shape == (5, 9)
    S = 1 - cdist(X, Y, "cosine")
    for i in range(5):
        best = np.argsort(-S[i])[:2]
        np.testing.assert_allclose(W.toarray()[i, best], S[i, best])
        assert W[[i]].nnz == 2
    with pytest.raises(ValueError, match="at least 1 neighbour; got k=0"):
        neighbours(X, 0)


@every_kind
@given(seed=st.integers(0, 2**32), n=st.integers(2, 40), k=st.integers(1, 6), ties=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_graph_of_those_found_near_is_the_graph(kind, seed, n, k, ties):
    X = np.ceil(rows(seed, n, 4) * 3) if ties else rows(seed, n)
    near = nearest(kind(X), k)
    expected = normalised_neighbours([kind(X)], k)[0]
    found = normalised_neighbours([kind(X)], k, [near])[0]
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


# Similarity


@every_kind
@pytest.mark.parametrize("normalised", [False, True])
def test_laplacian(kind, normalised):
    W = neighbours(rows(3), 3).toarray()
    W[4] = W[:, 4] = 0
    degree = W.sum(axis=1)
    L = dense(graph.laplacian(kind(W), normalised))
    root = np.sqrt(np.where(degree > 0, degree, 1)) if normalised else np.ones(len(W))
    np.testing.assert_allclose(L, (np.diag(degree) - W) / np.outer(root, root), atol=1e-14)
    eigenvalues = np.linalg.eigvalsh(L)
    assert eigenvalues.min() > -1e-12
    assert not L[4].any()
    assert not normalised or eigenvalues.max() <= 2 + 1e-12


@every_kind
def test_signs_are_split_and_precision_is_kept(kind):
    M = np.random.default_rng(0).normal(size=(6, 6))
    positive, negative = (dense(part) for part in graph.split_signs(kind(M)))
    np.testing.assert_array_equal(positive - negative, M)
    np.testing.assert_array_equal(positive + negative, abs(M))
    X = kind(rows(0).astype(np.float32))
    W = neighbours(X, 3)
    L = graph.laplacian(W, normalised=True)
    for result in (W, L, graph.laplacian(W), *graph.split_signs(L)):
        assert result.dtype == np.float32
