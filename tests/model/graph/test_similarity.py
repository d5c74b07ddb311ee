"""The Gaussian kernel, and Laplacians of any similarity."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from omvfs.model.graph import similarity as graph
from omvfs.model.graph.neighbours import neighbours

KINDS = [np.asarray, sp.csr_array, sp.csr_matrix]


def rows(seed, n=12, d=9, density=0.4):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)) * (rng.random((n, d)) < density)


def dense(W):
    return W.toarray() if sp.issparse(W) else W


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_gaussian_is_the_kernel_of_the_distances(kind, sigma):
    X, Y = rows(0), rows(1, n=5)
    expected = np.exp(-cdist(X, Y, "sqeuclidean") / (2 * sigma**2))
    np.testing.assert_allclose(graph.gaussian(kind(X), kind(Y), sigma), expected, rtol=1e-12)
    W = graph.gaussian(kind(X), sigma=sigma)
    np.testing.assert_allclose(W, graph.gaussian(X, X, sigma), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(W), 1)
    np.testing.assert_allclose(W, W.T, rtol=1e-14)


def test_gaussian_of_equal_rows_never_exceeds_one():
    X = np.random.default_rng(0).random((200, 50)) * 1e3
    W = graph.gaussian(X, X.copy())
    assert W.max() == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("normalised", [False, True])
def test_laplacian(kind, normalised):
    W = neighbours(rows(3), 3).toarray()
    W[4] = W[:, 4] = 0
    degree = W.sum(axis=1)
    L = dense(graph.laplacian(kind(W), normalised))
    expected = np.diag(degree) - W
    if normalised:
        root = np.sqrt(np.where(degree > 0, degree, 1))
        expected = expected / np.outer(root, root)
    np.testing.assert_allclose(L, expected, atol=1e-14)
    assert np.linalg.eigvalsh(L).min() > -1e-12
    assert not L[4].any()
    if normalised:
        assert np.linalg.eigvalsh(L).max() <= 2 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_split_signs(kind):
    M = np.random.default_rng(0).normal(size=(6, 6))
    positive, negative = (dense(part) for part in graph.split_signs(kind(M)))
    np.testing.assert_array_equal(positive - negative, M)
    np.testing.assert_array_equal(positive + negative, abs(M))


@pytest.mark.parametrize("kind", KINDS)
def test_precision_is_kept(kind):
    X = kind(rows(0).astype(np.float32))
    W = neighbours(X, 3)
    L = graph.laplacian(W, normalised=True)
    for result in (graph.gaussian(X), W, L, graph.laplacian(W), *graph.split_signs(L)):
        assert result.dtype == np.float32
