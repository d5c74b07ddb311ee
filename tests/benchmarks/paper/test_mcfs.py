"""Multi-cluster feature selection, and the spectrum that it shares with SPEC."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag, eigh
from sklearn.linear_model import lars_path

from paper import graphs
from paper.graphs import spectrum
from paper.mcfs import MCFS, lars
from support import KINDS, connected_graph, counts

seeds = st.integers(0, 2**32 - 1)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
# Both ways to find eigenvectors: all at once, or a few by iteration.
both_ways = pytest.mark.parametrize("dense_rows", [10_000, 0])


def textbook(S, n_vectors):
    """Return the eigenpairs of L y = λ D y but the first, with yᵀDy = 1."""
    D = np.diag(S.sum(axis=1))
    values, vectors = eigh(D - S, D)
    return values[1 : n_vectors + 1], vectors[:, 1 : n_vectors + 1]


def naive_mcfs(X, S, n_vectors, n_nonzero):
    """Return the largest size of the coefficients, by scikit-learn's regression on dense data."""
    best = np.zeros(X.shape[1])
    for y in textbook(S, n_vectors)[1].T:
        y = (y - y.mean()) / np.linalg.norm(y - y.mean())
        path = lars_path(X - X.mean(axis=0), y, method="lasso")[2]
        sizes = (path != 0).sum(axis=0)
        end = np.flatnonzero(sizes == n_nonzero)[0] if sizes.max() >= n_nonzero else -1
        best = np.maximum(best, np.abs(path[:, end]))
    return best


# The spectrum


@both_ways
@given(seed=seeds, sizes=st.lists(st.integers(2, 9), min_size=1, max_size=5), k=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_spectrum_of_several_components(dense_rows, seed, sizes, k):
    rng = np.random.default_rng(seed)
    S = block_diag(*(connected_graph(rng, n) for n in sizes), np.zeros((2, 2)))
    order = rng.permutation(len(S))
    S = S[np.ix_(order, order)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "_DENSE_ROWS", dense_rows)
        values, vectors = spectrum(sp.csr_array(S), k, rng)
    degree = S.sum(axis=1)
    root = np.sqrt(degree)
    scale = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
    L = np.diag(degree > 0) - scale[:, np.newaxis] * S * scale
    n_found = min(k, sum(sizes) - 1)
    assert vectors.shape == (len(S), n_found)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_found), atol=1e-10)
    np.testing.assert_allclose(root @ vectors, 0, atol=1e-10)
    np.testing.assert_allclose(L @ vectors, vectors * values, atol=1e-10)
    assert not vectors[degree == 0].any()
    joined = degree > 0
    expected = np.linalg.eigvalsh(L[np.ix_(joined, joined)])[1 : n_found + 1]
    np.testing.assert_allclose(values, expected, atol=1e-10)


def test_components_are_set_apart_from_the_heaviest_on():
    S = block_diag(np.ones((2, 2)), np.ones((4, 4)), np.ones((3, 3)))
    vectors = spectrum(sp.csr_array(S), 2, np.random.default_rng(0))[1]
    Y = vectors / np.sqrt(S.sum(axis=1))[:, np.newaxis]
    signs = np.sign(Y).astype(int)
    np.testing.assert_array_equal(signs[:, 0], [-1] * 2 + [1] * 4 + [-1] * 3)
    np.testing.assert_array_equal(signs[:, 1], [-1] * 2 + [0] * 4 + [1] * 3)


# The regression


@given(seed=seeds, m=st.integers(1, 30), alike=st.booleans())
@settings(max_examples=30, deadline=None)
def test_lars_is_at_the_optimum_of_the_lasso(seed, m, alike):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 20)) @ (np.eye(20) + 0.5 * rng.standard_normal((20, 20)))
    if alike:
        X[:, 10:] = X[:, :10] * rng.choice([-1, 1], 10)
    y = rng.standard_normal(30)
    w, left, penalty = lars(X.T @ y, (X.T @ X).__matmul__, m)
    scale = np.abs(X.T @ y).max()
    np.testing.assert_allclose(left, X.T @ (y - X @ w), atol=1e-9 * scale)
    assert np.count_nonzero(w) == min(m, 10 if alike else 20)
    assert np.abs(left).max() <= penalty + 1e-9 * scale
    np.testing.assert_allclose(left[w != 0], np.sign(w[w != 0]) * penalty, atol=1e-9 * scale)


# The score


@every_kind
@pytest.mark.parametrize("n_nonzero", [1, 4, 50])
def test_scores_are_the_coefficients_of_the_paper(kind, n_nonzero):
    rng = np.random.default_rng(1)
    X, S = counts(rng, 40, 9) - 0.1, connected_graph(rng, 40)
    X[:, 3] += 0.5  # without a zero
    scores = MCFS(3, n_nonzero=n_nonzero, graph=S).fit(kind(X)).scores_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = naive_mcfs(X, S, 3, n_nonzero)
    np.testing.assert_allclose(np.maximum(scores, 0), expected, atol=1e-9)
    assert (scores >= -1).all()
