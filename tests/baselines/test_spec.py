"""SPEC."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from omvfs.baselines.spectral import SPEC, LaplacianScore
from omvfs.datasets import make_planted
from support import KINDS, counts

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
every_style = pytest.mark.parametrize("style", [1, 2, 3])


def connected_graph(rng, n):
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), k=1)
    S[np.arange(n - 1), np.arange(1, n)] += 0.1
    return S + S.T


def textbook(X, S, style, K):
    """Return 2 − φ₁, 2 − φ₂ or φ₃ from all eigenvectors, as they are written."""
    degree = S.sum(axis=1)
    values, vectors = np.linalg.eigh(
        np.eye(len(S)) - S / np.sqrt(np.outer(degree, degree)),
    )
    scores = []
    for f in X.T:
        weighted = np.sqrt(degree) * f
        alpha = vectors.T @ (weighted / np.linalg.norm(weighted))
        phi = values @ alpha**2
        if style == 2:
            phi = values[1:] @ alpha[1:] ** 2 / np.sum(alpha[1:] ** 2)
        if style == 3:
            scores.append((2 - values[1 : K + 1]) @ alpha[1 : K + 1] ** 2)
        else:
            scores.append(2 - phi)
    return np.array(scores)


@every_kind
@every_style
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 30), K=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_scores_are_the_textbooks(kind, style, seed, n, K):
    rng = np.random.default_rng(seed)
    X, S = counts(rng, n, 6, density=0.8), connected_graph(rng, n)
    X = X[:, X.any(axis=0)]
    scores = SPEC(K, style=style, graph=S).fit(kind(X)).scores_
    np.testing.assert_allclose(scores, textbook(X, S, style, K), rtol=1e-8, atol=1e-8)


@every_kind
def test_style_3_of_many_rows_is_the_textbooks(kind):
    rng = np.random.default_rng(0)
    X, S = counts(rng, 400, 10), connected_graph(rng, 400)
    scores = SPEC(4, graph=kind(S), random_state=0).fit(kind(X)).scores_
    np.testing.assert_allclose(scores, textbook(X, S, 3, 4), atol=1e-9)
    other = SPEC(4, graph=kind(S), random_state=1).fit(kind(X)).scores_
    np.testing.assert_allclose(other, scores, atol=1e-9)


@every_kind
def test_style_2_is_the_laplacian_score(kind):
    X = kind(counts(np.random.default_rng(0), 60, 8))
    scores = SPEC(style=2).fit(X).scores_
    np.testing.assert_allclose(scores, LaplacianScore().fit(X).scores_ + 1, rtol=1e-14)


def test_style_3_with_all_eigenvectors_is_style_1_less_the_constant_part():
    rng = np.random.default_rng(0)
    X, S = counts(rng, 30, 8), connected_graph(rng, 30)
    degree = S.sum(axis=1)
    constant = (degree @ X) ** 2 / degree.sum() / (degree @ X**2)
    every = SPEC(29, style=3, graph=S).fit(X).scores_
    expected = SPEC(style=1, graph=S).fit(X).scores_ - 2 * constant
    np.testing.assert_allclose(every, expected, atol=1e-12)


@every_kind
@every_style
def test_constant_features_are_worst(kind, style):
    X = np.hstack([counts(np.random.default_rng(0), 40, 4), np.full((40, 3), 0.3)])
    X[:, 5] = 0
    X[:, 6] *= 1 + 2e-16 * np.arange(40)
    scores = SPEC(style=style, random_state=0).fit(kind(X)).scores_
    np.testing.assert_array_equal(scores[4:], -1)
    assert (scores[:4] >= 0).all()


@every_kind
@every_style
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(kind, style, n):
    X = np.arange(3.0 * n).reshape(n, 3) % 5
    scores = SPEC(10, style=style).fit(kind(X)).scores_
    assert ((scores >= -1) & (scores <= 2)).all()
    assert (scores.max() == -1) == (n == 1)


@every_style
def test_planted_features_are_found(style):
    planted = make_planted(
        800, n_features=[600, 300], n_informative=[60, 30], row_length=60, random_state=0
    )
    selector = SPEC(5, style=style, weights="cosine", n_neighbors=10, random_state=0)
    selector.fit(planted.views)
    for view, truth in planted.informative.items():
        found = truth[selector.view_ranking_[view] <= truth.sum()].mean()
        assert found > (0.4 if style == 1 else 0.8)  # by chance 0.1


def test_nothing_large_is_made_dense():
    X = sp.random_array((2500, 30_000), density=5e-4, format="csr", rng=np.random.default_rng(0))
    tracemalloc.start()
    try:
        SPEC(2, random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # X would take 600 MB


@pytest.mark.parametrize("params", [{"n_clusters": 0}, {"style": 0}, {"style": True}, {"width": 0}])
def test_a_bad_parameter_is_refused_before_anything_is_learned(params):
    selector = SPEC(**params)
    with pytest.raises(ValueError, match=f"Got {next(iter(params))}="):
        selector.fit(np.ones((5, 2)))
    with pytest.raises(NotFittedError):
        selector.get_support()
