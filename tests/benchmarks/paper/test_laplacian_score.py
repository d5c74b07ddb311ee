"""The Laplacian score, and the graphs of neighbours that it shares with others."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from paper.graphs import neighbour_graph
from paper.spec import LaplacianScore
from support import KINDS, counts

WEIGHTS = ["heat", "binary", "cosine"]
seeds = st.integers(0, 2**32 - 1)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
every_weight = pytest.mark.parametrize("weights", WEIGHTS)


def textbook(X, S):
    """Return 1 − f̃ᵀLf̃ / f̃ᵀDf̃, as it is written, and -2 where it is 1 − 0/0."""
    D = np.diag(S.sum(axis=1))
    scores = []
    for f in X.T:
        centred = f - (f @ D).sum() / max(D.sum(), 1e-300)
        size = centred @ D @ centred
        worst = size <= 1e-20 * (f @ D @ f)
        scores.append(-2 if worst else 1 - centred @ (D - S) @ centred / size)
    return np.array(scores)


def naive_graph(X, k, weights, width=None):
    """Sort every row by (distance, index); an edge where either end chose the other."""
    n = len(X)
    if weights == "cosine":
        norms = np.linalg.norm(X, axis=1)
        unit = X / np.where(norms == 0, 1, norms)[:, np.newaxis]
        distance, values = -unit @ unit.T, np.maximum(unit @ unit.T, 0)
    else:
        distance = cdist(X, X, "sqeuclidean")
    order = distance.round(10)
    np.fill_diagonal(order, np.inf)
    S = np.zeros((n, n), bool)
    for i in range(n):
        S[i, np.argsort(order[i], kind="stable")[: min(k, n - 1)]] = True
    S |= S.T
    if weights == "cosine":
        return np.where(S, values, 0)
    if weights == "binary" or not distance[S].any():
        return S.astype(float)
    return np.where(S, np.exp(-distance / (width or distance[S].mean())), 0)


def random_graph(rng, n):
    """Symmetric weights, most of them 0, that join the last two rows with none."""
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4))
    S = S + S.T
    S[-2:] = S[:, -2:] = 0
    return S


# The score


@every_kind
@given(seed=seeds, n=st.integers(4, 25), d=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_score_on_a_given_graph_is_the_textbooks(kind, seed, n, d):
    rng = np.random.default_rng(seed)
    X, S = counts(rng, n, d) - 0.2 * rng.integers(2), random_graph(rng, n)
    scores = LaplacianScore(graph=kind(S)).fit(kind(X)).scores_
    np.testing.assert_allclose(scores, textbook(X, S), rtol=1e-10, atol=1e-10)


@every_kind
@every_weight
@given(seed=seeds, n=st.integers(1, 25), k=st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_score_on_neighbours_is_the_textbooks(kind, weights, seed, n, k):
    X = counts(np.random.default_rng(seed), n, 6)
    scores = LaplacianScore(n_neighbors=k, weights=weights).fit(kind(X)).scores_
    expected = textbook(X, naive_graph(X, k, weights))
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)


# Graphs of neighbours


@every_kind
@every_weight
@pytest.mark.parametrize("width", [None, 0.7])
@given(seed=seeds, n=st.integers(1, 20), k=st.integers(1, 25))
@settings(max_examples=30, deadline=None)
def test_neighbours_equal_a_plain_sort(kind, weights, width, seed, n, k):
    X = np.random.default_rng(seed).integers(0, 3, (n, 4)).astype(float)  # many ties
    W = neighbour_graph(kind(X), k, weights, width)
    assert sp.issparse(W)
    np.testing.assert_allclose(W.toarray(), naive_graph(X, k, weights, width), atol=1e-12)


# Given graphs


def test_graphs_by_view_serve_their_views():
    rng = np.random.default_rng(0)
    X = {"a": rng.random((20, 4)), "b": rng.random((20, 3))}
    S = {"b": random_graph(rng, 20), "a": sp.csr_array(random_graph(rng, 20))}
    scores = LaplacianScore(graph=S).fit(X).view_scores_
    for view in X:
        alone = LaplacianScore(graph=S[view]).fit(X[view]).scores_
        np.testing.assert_array_equal(scores[view], alone)
    one = LaplacianScore(graph=S["a"]).fit(X).view_scores_
    np.testing.assert_array_equal(one["a"], scores["a"])
    assert not np.array_equal(one["b"], scores["b"])


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\); expected \(20, 20\)"),
        (-np.eye(20), "weights below 0"),
        (sp.csr_array(-np.eye(20)), "weights below 0"),
        (np.full((20, 20), np.nan), "no matrix of finite numbers"),
        (np.eye(20, k=1), "expected a symmetric one"),
        (np.ones(20), "no matrix of finite numbers"),
        ("kNN", "no matrix of finite numbers"),
        ({"a": np.eye(20)}, "Got graph for views 'a'; expected one for each of 'a', 'b'"),
        ({"a": np.eye(20), "b": np.eye(3)}, r"graph\['b'\] of shape \(3, 3\)"),
    ],
)
def test_a_bad_graph_is_refused(graph, message):
    X = {"a": np.ones((20, 4)), "b": np.ones((20, 3))}
    with pytest.raises((TypeError, ValueError), match=message):
        LaplacianScore(graph=graph).fit(X)
