"""MVUFS: its objective, its half-steps, and what it finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy
from omvfs.model.objective import orthogonality_gap
from omvfs.selector import rank
from omvfs.testing import check_selector
from paper import mvufs
from paper.mvufs import MVUFS, Problem, cluster, local_residual, solve
from support import KINDS, ODD, clustered, counts

kinds = st.sampled_from(list(KINDS.values()))
seeds = st.integers(0, 2**32 - 1)


def three_views(rng, n=24, kind=np.asarray, dtype=np.float64):
    return [kind(counts(rng, n, width, dtype)) for width in (9, 7, 5)]


def some_point(rng, X, n_clusters=3):
    n = X[0].shape[0]
    G = rng.random((n, n_clusters)) / np.sqrt(n)
    F = rng.random((n_clusters, X[0].shape[1]))
    return G, F, [rng.standard_normal((X_v.shape[1], n_clusters)) for X_v in X]


def l21(P):
    return np.linalg.norm(P, axis=1).sum()


def plain_objective(X, G, F, W, zeta, k=2, alpha=0.7, beta=0.3, nu=2.0):
    """Return the objective as it is written, the first view giving the labels."""
    value = l21(X[0] - G @ F) + zeta / 4 * np.sum((G.T @ G - np.eye(G.shape[1])) ** 2)
    for X_v in X[1:] or X:
        value += nu * np.trace(G.T @ plain_laplacian(X_v, k) @ G)
    for X_v, W_v in zip(X, W, strict=True):
        value += alpha * l21(X_v @ W_v - G) + beta * l21(W_v)
    return value


def plain_laplacian(X, k, ridge=0.1):
    """Return the local learning Laplacian, row by row."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    C = X @ X.T / np.where(norms > 0, norms, 1) / np.where(norms > 0, norms, 1).T
    residual = np.zeros_like(C)
    for i, row in enumerate(C):
        order = np.argsort(-np.round(row, 10), kind="stable")
        near = [j for j in order if j != i and row[j] > 0][:k]
        if near:
            K = C[np.ix_(near, near)] + ridge * np.eye(len(near))
            residual[i, near] = -np.linalg.solve(K, row[near])
            residual[i, i] = 1
    return residual.T @ residual


def small_problem(X, label=0, k=2):
    return Problem(X, label, k, (0.7, 0.3, 2.0))


# The objective


@settings(max_examples=30, deadline=None)
@given(seed=seeds, kind=kinds, n_views=st.integers(1, 3), zeta=st.sampled_from([0.0, 1.0, 1e3]))
def test_the_value_is_the_objective_as_written(seed, kind, n_views, zeta):
    rng = np.random.default_rng(seed)
    X = three_views(rng)[:n_views]
    G, F, W = some_point(rng, X)
    value = small_problem([kind(X_v) for X_v in X]).value(G, F, W, zeta)
    assert value == pytest.approx(plain_objective(X, G, F, W, zeta), rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, kind=kinds, n_views=st.integers(1, 3))
def test_gradients_are_those_of_the_objective_as_written(seed, kind, n_views):
    rng = np.random.default_rng(seed)
    X = three_views(rng)[:n_views]
    G, F, W = some_point(rng, X)
    problem = small_problem([kind(X_v) for X_v in X])
    zeta = 10.0
    parts = {
        "G": (G, problem.of_embedding(F, W, zeta), lambda P: (P, F, W)),
        "F": (F, problem.of_basis(G), lambda P: (G, P, W)),
    }
    for v in range(n_views):
        parts[f"W{v}"] = (
            W[v],
            problem.of_weights(v, G),
            lambda P, v=v: (G, F, [*W[:v], P, *W[v + 1 :]]),
        )
    for name, (at, function, point) in parts.items():
        direction = rng.standard_normal(at.shape)
        step = 1e-6 / np.linalg.norm(direction) * np.linalg.norm(at)
        there, back = (plain_objective(X, *point(at + t * direction), zeta) for t in (step, -step))
        slope = np.sum(function(at)[1] * direction)
        assert slope == pytest.approx((there - back) / (2 * step), rel=1e-4, abs=1e-4), name


# Local learning


@given(
    seed=seeds, kind=kinds, n=st.integers(1, 15), k=st.integers(1, 6), density=st.floats(0.1, 0.9)
)
def test_local_learning_is_that_of_every_row_by_itself(seed, kind, n, k, density):
    X = counts(np.random.default_rng(seed), n, 6, density=density)
    M = local_residual(kind(X), k)
    assert isinstance(M, sp.csr_array)
    assert np.diff(M.indptr).max() <= k + 1
    L = (M.T @ M).toarray()
    np.testing.assert_allclose(L, plain_laplacian(X, k), atol=1e-9)
    assert np.linalg.eigvalsh(L).min() >= -1e-12


# The solver


@settings(max_examples=12, deadline=None)
@given(seed=seeds, n_views=st.integers(1, 3), zeta=st.sampled_from([0.0, 5.0, 1e3, 1e7]))
def test_the_objective_falls_along_every_half_step(seed, n_views, zeta):
    rng = np.random.default_rng(seed)
    X = three_views(rng, 15)[:n_views]
    G, _, history = solve(small_problem(X), cluster(X[0], 3, rng), zeta, 3)
    values = np.array(history)
    assert values.shape == (3, 4)
    assert (np.diff(values, axis=1) <= 1e-12 * values[:, :1]).all()
    assert values[0, -1] < values[0, 0]
    assert orthogonality_gap(G) <= 1e-6
    assert (G >= 0).all()


# The estimator


def test_from_a_spoiled_start_the_classes_and_their_features_are_found(monkeypatch):
    seed = 0
    rng = np.random.default_rng(seed)
    data = make_planted(800, n_features=(300, 200), n_informative=(30, 20), random_state=seed)
    labels = np.where(rng.random(800) < 0.6, rng.integers(5, size=800), data.labels)
    monkeypatch.setattr(mvufs, "cluster", lambda X, n_clusters, rng: np.eye(5)[labels])
    model = MVUFS(5, random_state=0).fit({name: normalize(X) for name, X in data.views.items()})
    assert clustering_accuracy(data.labels, labels) < 0.6
    assert clustering_accuracy(data.labels, model.embedding_.argmax(axis=1)) > 0.95
    for view, truth in data.informative.items():
        # Without a single half-step for G: 0.6 to 0.8.
        assert truth[rank(model.view_scores_[view]) <= truth.sum()].mean() > 0.95


def test_negative_values_are_refused():
    X = counts(np.random.default_rng(0), 20, 5)
    X[3, 2] = -1
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        MVUFS(2).fit(X)


def test_planted_features_are_found_far_above_chance():
    data = make_planted(400, n_features=(150, 100), n_informative=(15, 10), random_state=0)
    views = {name: normalize(X.astype(float)) for name, X in data.views.items()}
    model = MVUFS(5, random_state=0).fit(views)
    for view, truth in data.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() >= 0.8  # chance: 0.1


def test_kind_and_precision_change_little():
    rng = np.random.default_rng(0)
    views = {"a": clustered(rng, 40, 12)[0], "b": counts(rng, 40, 60)}
    views = {name: X.astype(np.float32).astype(np.float64) for name, X in views.items()}
    expected = MVUFS(3, random_state=0).fit(views).scores_
    for kind in KINDS.values():
        own = {name: kind(X.astype(np.float32)) for name, X in views.items()}
        scores = MVUFS(3, random_state=0).fit(own).scores_
        assert scores.dtype == np.float64
        # Its steps end before they have converged, which lets rounding grow.
        atol = 1e-2 * np.abs(expected).max()
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("X", ODD.values(), ids=ODD.keys())
def test_odd_views_give_finite_scores(X):
    X = np.abs(X)
    for kind in (np.asarray, sp.csr_array):
        model = MVUFS(8, random_state=0).fit({"a": kind(X), "b": kind(X)})
        assert np.isfinite(model.scores_).all()
        assert np.isfinite(model.embedding_).all()
        assert model.embedding_.shape[1] <= min(8, len(X))


def test_the_seed_decides():
    X = counts(np.random.default_rng(0), 60, 20)
    seeds = (0, 0, 1, 2, 3)
    first, again, *others = (MVUFS(5, max_iter=2, random_state=i).fit(X).scores_ for i in seeds)
    np.testing.assert_array_equal(again, first)
    assert not all(np.allclose(other, first, atol=1e-7) for other in others)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_neighbors", 0),
        ("regression_weight", 0.0),
        ("regression_weight", np.inf),
        ("graph_weight", "m"),
        ("label_view", "sound"),
        ("orthogonality", -1.0),
    ],
)
def test_a_bad_parameter_is_refused_before_anything_is_learned(name, value):
    model = MVUFS(**{name: value})
    with pytest.raises(ValueError, match=name):
        model.fit({"a": np.eye(4), "b": np.eye(4)})
    assert not [each for each in vars(model) if each.endswith("_")]


def test_the_contract_of_selectors_is_kept():
    check_selector(MVUFS(3, max_iter=1, random_state=0))
