"""The Laplacian score, and the graphs of neighbours that it shares with others."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest

from omvfs.baselines.graphs import neighbour_graph
from omvfs.baselines.spectral import LaplacianScore, laplacian_score
from omvfs.datasets import make_planted
from omvfs.model.graph import products
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


def test_score_is_the_same_in_single_precision_but_for_rounding():
    X = counts(np.random.default_rng(0), 60, 12)
    wide = LaplacianScore().fit(X.astype(np.float32).astype(np.float64)).scores_
    for kind in KINDS.values():
        narrow = LaplacianScore().fit(kind(X.astype(np.float32))).scores_
        np.testing.assert_allclose(narrow, wide, atol=1e-6)


@every_kind
def test_score_is_exact_far_from_zero(kind):
    rng = np.random.default_rng(0)
    X, S = rng.integers(1, 9, (30, 4)).astype(float), random_graph(rng, 30)
    near = LaplacianScore(graph=S).fit(kind(X)).scores_
    far = LaplacianScore(graph=S).fit(kind(X + 2.0**30)).scores_
    np.testing.assert_allclose(far, near, rtol=1e-10)


@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_constant_but_for_rounding_is_worst(kind, dtype):
    rng = np.random.default_rng(0)
    X = np.hstack([rng.random((300, 3)), np.full((300, 5), 0.3)])
    X[:, 4] = 0
    X[:, 5] *= 1 + np.finfo(dtype).eps * rng.integers(-1, 2, 300)
    X[:, 6] *= -1e-9
    X[-1, 7] = 5  # varies only in a row that is joined with none
    S = np.ones((300, 300))
    S[-1] = S[:, -1] = 0
    scores = LaplacianScore(graph=S).fit(kind(X.astype(dtype))).scores_
    np.testing.assert_array_equal(scores[3:], -2)
    assert (scores[:3] >= -1).all()


def test_smooth_features_beat_rough_ones():
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    X = np.column_stack([np.sin(angle), np.sin(40 * angle), np.ones(200), np.cos(angle)])
    ring = np.roll(np.eye(200), 1, axis=0)
    selector = LaplacianScore(graph=ring + ring.T, n_features_per_view=2).fit(X)
    # The neighbours of a wave of m periods are on average cos(2πm / n) times it.
    smooth, rough = np.cos(np.pi / 100 * np.array([1, 40]))
    np.testing.assert_allclose(selector.scores_, [smooth, rough, -2, smooth], rtol=1e-10)
    assert list(selector.get_support(indices=True)) == [0, 3]


def test_planted_features_are_found():
    planted = make_planted(
        800, n_features=[600, 300], n_informative=[60, 30], row_length=60, random_state=0
    )
    selector = LaplacianScore(weights="cosine", n_neighbors=10).fit(planted.views)
    for view, truth in planted.informative.items():
        found = truth[selector.view_ranking_[view] <= truth.sum()].mean()
        assert found > 0.8  # by chance 0.1


@every_kind
@every_weight
def test_input_is_left_alone(kind, weights):
    before, graph = counts(np.random.default_rng(0), 30, 5), np.ones((30, 30))
    X, S = kind(before.copy()), kind(graph.copy())
    LaplacianScore(weights=weights).fit(X)
    LaplacianScore(graph=S).fit(X)
    for now, then in ((X, before), (S, graph)):
        np.testing.assert_array_equal(now.toarray() if sp.issparse(now) else now, then)


def test_nothing_large_is_made_dense():
    X = sp.random_array((4000, 30_000), density=5e-4, format="csr", rng=np.random.default_rng(0))
    tracemalloc.start()
    try:
        scores = LaplacianScore().fit(X).scores_
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(scores).all()
    assert peak < 100e6  # X would take 960 MB, the graph 128 MB


def test_select_k_best_takes_the_function():
    X = counts(np.random.default_rng(0), 40, 9)
    expected = LaplacianScore(n_features_per_view=3).fit(X).get_support()
    for kind in KINDS.values():
        chosen = SelectKBest(laplacian_score, k=3).fit(kind(X), np.zeros(40)).get_support()
        np.testing.assert_array_equal(chosen, expected)


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


@every_kind
def test_neighbours_do_not_depend_on_the_height_of_the_strips(kind, monkeypatch):
    X = kind(counts(np.random.default_rng(0), 50, 6))
    whole = neighbour_graph(X, 3, "heat", None).toarray()
    monkeypatch.setattr(products, "STRIP_ENTRIES", 120)
    monkeypatch.setattr(products, "_SQUARE_ENTRIES", 120)
    np.testing.assert_allclose(neighbour_graph(X, 3, "heat", None).toarray(), whole, atol=1e-14)


@every_kind
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_neighbours_do_not_depend_on_the_scale(kind, scale):
    X = counts(np.random.default_rng(0), 50, 6)
    X[0] *= 1e4  # one far away must not blur the others
    expected = naive_graph(X, 5, "heat")
    W = neighbour_graph(kind(X * scale), 5, "heat", None).toarray()
    np.testing.assert_allclose(W, expected, atol=1e-10)


def test_neighbours_far_from_zero():
    X = np.random.default_rng(0).random((40, 3))
    X = (X * 2**20).round() / 2**20
    W = neighbour_graph(X + 2.0**28, 4, "heat", None)
    np.testing.assert_allclose(W.toarray(), naive_graph(X, 4, "heat"), atol=1e-10)


@every_kind
def test_a_width_far_too_small_isolates_rows(kind):
    X = counts(np.random.default_rng(0), 20, 4)
    scores = LaplacianScore(width=1e-300).fit(kind(X)).scores_
    np.testing.assert_array_equal(scores, -2)


@every_kind
@every_weight
def test_a_row_alone_and_equal_rows_have_no_best_feature(kind, weights):
    for X in (np.ones((1, 3)), np.ones((5, 3)), np.zeros((5, 3))):
        scores = LaplacianScore(weights=weights).fit(kind(X)).scores_
        np.testing.assert_array_equal(scores, [-2, -2, -2])


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
        (np.ones((21, 21)), r"shape \(21, 21\); expected \(20, 20\)"),
        (-np.eye(20), "holds -1; expected finite weights of at least 0"),
        (np.full((20, 20), np.nan), "holds nan; expected finite"),
        (np.full((20, 20), np.inf), "holds inf; expected finite"),
        (sp.csr_array(-np.eye(20)), "holds -1"),
        (np.eye(20, k=1), "row 0 with row 1 by 1, but row 1 with row 0 by 0; expected a symm"),
        (np.ones(20), "no matrix of numbers"),
        ("kNN", "no matrix of numbers"),
        ({"a": np.eye(20)}, "Got graph for views 'a'; expected one for each of 'a', 'b'"),
        ({"a": np.eye(20), "b": np.eye(3)}, r"graph\['b'\] of shape \(3, 3\)"),
    ],
)
def test_a_bad_graph_is_refused(graph, message):
    X = {"a": np.ones((20, 4)), "b": np.ones((20, 3))}
    with pytest.raises((TypeError, ValueError), match=message):
        LaplacianScore(graph=graph).fit(X)


def test_rounding_does_not_make_a_graph_asymmetric():
    rng = np.random.default_rng(0)
    S = random_graph(rng, 20)
    X = rng.random((20, 4))
    scores = LaplacianScore(graph=S * (1 + 1e-12 * rng.random((20, 20)))).fit(X).scores_
    np.testing.assert_allclose(scores, textbook(X, S), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e300])
def test_the_scale_of_a_graph_does_not_matter(scale):
    rng = np.random.default_rng(0)
    X, S = rng.random((20, 4)), random_graph(rng, 20)
    scores = LaplacianScore(graph=S * scale).fit(X).scores_
    np.testing.assert_allclose(scores, textbook(X, S), rtol=1e-10)


@pytest.mark.parametrize(
    "params",
    [
        {"n_neighbors": 0},
        {"n_neighbors": 2.0},
        {"n_neighbors": True},
        {"weights": "dot"},
        {"width": 0},
        {"width": -1.0},
        {"width": np.inf},
        {"width": "mean"},
    ],
)
def test_a_bad_parameter_is_refused_before_anything_is_learned(params):
    selector = LaplacianScore(**params)
    with pytest.raises(ValueError, match=f"Got {next(iter(params))}="):
        selector.fit(np.ones((5, 2)))
    with pytest.raises(NotFittedError):
        selector.get_support()


def test_a_graph_may_be_of_any_sparse_format():
    rng = np.random.default_rng(0)
    X, S = counts(rng, 20, 5), random_graph(rng, 20)
    expected = LaplacianScore(graph=S).fit(X).scores_
    for kind in (sp.dok_array, sp.dok_matrix, sp.lil_array, sp.coo_array, sp.csc_matrix):
        np.testing.assert_allclose(LaplacianScore(graph=kind(S)).fit(X).scores_, expected)
