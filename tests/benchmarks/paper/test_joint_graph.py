"""JMVFG: every update against the objective as written, and what it finds."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy
from paper.acsl import ACSL
from paper.factors import unit_columns
from paper.joint_graph import (
    JMVFG,
    Joint,
    simplex_least_squares,
    unit_interval,
    view_graph,
)
from support import KINDS, check_updates, clustered, counts, dense

UPDATES = ("update_delta", "update_w", "update_h", "update_s")
problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n": st.sampled_from([4, 9, 14]),
        "widths": st.sampled_from([(6,), (5, 20), (30, 7, 3)]),
        "weights": st.tuples(
            st.sampled_from([1e-3, 0.1, 2.0]),
            st.sampled_from([0.0, 1.0, 20.0]),
            st.sampled_from([1e-3, 1.0]),
        ),
        "kind": st.sampled_from(list(KINDS.values())),
    }
)


def draw(seed, n, widths, weights, kind):
    """Return views, their graphs and the alternation, after some updates."""
    rng = np.random.default_rng(seed)
    X = [unit_interval(counts(rng, n, width)) for width in widths]
    X[0][:, 1] = 0
    A = [len(X) * view_graph(X_v, 3) for X_v in X]
    H = unit_columns(np.eye(3)[np.arange(n) % 3])
    joint = Joint([kind(X_v) for X_v in X], A, H, *weights)
    for _ in range(rng.integers(3)):
        for update in UPDATES:
            getattr(joint, update)()
    return X, [dense(A_v) for A_v in A], joint, rng


def naive(X, A, joint, weights, B=None, **changed):
    """Return the objective as the paper writes it, with the penalty; some parts may be others."""
    eta, gamma, beta = weights
    delta, W, H, S = (changed.get(name, getattr(joint, name)) for name in ("delta", "W", "H", "S"))
    Z = changed.get("Z", np.maximum(H, 0))
    L = np.diag((S + S.T).sum(axis=1) / 2) - (S + S.T) / 2
    value = 1e4 * np.sum((H - Z) ** 2)
    for v, X_v in enumerate(X):
        B_v = np.eye(H.shape[1]) if B is None else B[v]
        value += np.sum((X_v @ W[v] - H @ B_v.T) ** 2)
        value += eta * sum(np.sqrt(np.sum(row**2)) for row in W[v])
        value += gamma * np.trace(W[v].T @ X_v.T @ L @ X_v @ W[v])
        value += beta * np.sum((S - delta[v] * A[v]) ** 2)
    return value


@settings(max_examples=30, deadline=None)
@given(problem=problems)
def test_no_update_raises_the_objective_as_written(problem):
    X, A, joint, _ = draw(**problem)
    value_of = partial(naive, X, A, joint, problem["weights"])
    check_updates(joint, 2 * UPDATES, value_of, 1e-9, rel=1e-9, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(problem=problems)
def test_nothing_else_that_is_allowed_is_better_than_an_update(problem):
    X, A, joint, rng = draw(**problem)
    weights = problem["weights"]
    n, n_views = len(joint.H), len(X)

    joint.update_delta()
    best = naive(X, A, joint, weights)
    for delta in rng.dirichlet(np.ones(n_views), size=20):
        assert best <= naive(X, A, joint, weights, delta=delta) + 1e-9

    Z = np.maximum(joint.H, 0)
    joint.update_h()
    np.testing.assert_allclose(joint.H.T @ joint.H, np.eye(3), atol=1e-9)
    best = naive(X, A, joint, weights, Z=Z)
    for size in (1e-4, 1e-2, 1.0):
        Q = np.linalg.qr(joint.H + size * rng.standard_normal((n, 3)))
        other = Q[0] * np.sign(np.diag(Q[1]))
        assert best <= naive(X, A, joint, weights, H=other, Z=Z) * (1 + 1e-9) + 1e-9

    joint.update_s()
    assert (joint.S >= 0).all()
    np.testing.assert_allclose(joint.S.sum(axis=1), 1)
    best = naive(X, A, joint, weights)
    for size in (1e-3, 0.1, 1.0):
        other = (1 - size) * joint.S + size * rng.dirichlet(np.full(n, 0.3), size=n)
        assert best <= naive(X, A, joint, weights, S=other) * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(problem=problems)
def test_w_is_the_closed_form_by_features_and_by_rows(problem):
    eta, gamma, _ = problem["weights"]
    X, _, joint, _ = draw(**problem)
    L = np.diag((joint.S + joint.S.T).sum(axis=1) / 2) - (joint.S + joint.S.T) / 2
    expected = []
    for X_v, W_v in zip(X, joint.W, strict=True):
        D = np.diag(1 / (2 * np.maximum(np.linalg.norm(W_v, axis=1), 1e-12)))
        Q = X_v.T @ X_v + gamma * X_v.T @ L @ X_v + eta * D
        expected.append(np.linalg.solve(Q, X_v.T @ joint.H))
    joint.update_w()
    for found, W_v in zip(joint.W, expected, strict=True):
        np.testing.assert_allclose(found, W_v, rtol=1e-6, atol=1e-9)
    assert not joint.W[0][1].any()  # of a feature that is 0


def test_at_the_end_all_constraints_are_met_and_the_objective_has_fallen():
    rng = np.random.default_rng(0)
    X, labels = clustered(rng, 90, 12)
    model = JMVFG(3, random_state=0).fit({"a": X, "b": counts(rng, 90, 7)})
    H, S = model.embedding_, model.graph_
    np.testing.assert_allclose(H.T @ H, np.eye(3), atol=1e-9)
    assert H.min() > -1e-3
    assert (S >= 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1)
    assert sum(model.view_weights_.values()) == pytest.approx(1)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert clustering_accuracy(labels, H.argmax(axis=1)) > 0.95
    # The graph joins rows of one class.
    same = labels[:, np.newaxis] == labels
    assert S[same].sum() > 0.9 * S.sum()


@given(seed=st.integers(0, 2**32 - 1), n_views=st.integers(1, 5), empty=st.booleans())
def test_weights_of_views_are_the_best_in_the_simplex(seed, n_views, empty):
    rng = np.random.default_rng(seed)
    p, q = rng.random(n_views) * rng.choice([0.1, 1, 10]), rng.random(n_views) + 0.01
    if empty:
        p[0] = q[0] = 0
    found = simplex_least_squares(p, q)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    others = rng.dirichlet(np.ones(n_views), size=200)
    assert (found**2 @ q - 2 * found @ p <= others**2 @ q - 2 * others @ p + 1e-9).all()


@pytest.mark.parametrize("method", [ACSL, JMVFG])
def test_both_methods_that_learn_a_full_graph_find_planted_features(method):
    data = make_planted(400, n_features=(150, 100), n_informative=(15, 10), random_state=0)
    views = {name: normalize(X.astype(float)) for name, X in data.views.items()}
    model = method(5).fit(views)
    for view, truth in data.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() > 0.6  # chance: 0.1
    for name in ("n_clusters", "n_neighbors", "max_iter", "sparsity"):
        with pytest.raises(ValueError, match=name):
            method(**{name: 0}).fit(views)


@pytest.mark.parametrize("method", [ACSL, JMVFG])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_constant_feature_comes_last_and_odd_views_give_finite_scores(method, kind):
    X, _ = clustered(np.random.default_rng(0), 60, 9)
    X[:, [0, 4]] = 100.0, 0.1
    scores = method(3).fit(kind(X)).scores_
    assert not scores[[0, 4]].any()
    assert scores.any()
    for odd in (np.zeros((5, 3)), np.eye(5), np.array([[1.0, 2.0]]), -1e6 * np.eye(4)):
        model = method(8).fit({"a": kind(odd), "b": kind(odd)})
        assert np.isfinite(model.scores_).all()
        np.testing.assert_allclose(model.graph_.sum(axis=1), 1)
