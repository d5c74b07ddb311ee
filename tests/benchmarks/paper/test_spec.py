"""SPEC."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper.spec import SPEC, LaplacianScore
from support import KINDS, connected_graph, counts

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
every_style = pytest.mark.parametrize("style", [1, 2, 3])


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
