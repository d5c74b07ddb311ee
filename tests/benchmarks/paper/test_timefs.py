"""TIME-FS: every update against the objective as written, rows without a view, what it finds."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import khatri_rao
from sklearn.preprocessing import normalize

from omvfs.datasets import make_planted
from omvfs.testing import check_selector
from paper.acsl import simplex_rows
from paper.timefs import TIMEFS, Anchored
from support import KINDS, check_updates, clustered, counts

UPDATES = (
    "update_z",
    "update_w",
    "update_anchors",
    "update_preferences",
    "update_m",
    "update_absent",
    "update_a",
)
problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n": st.sampled_from([6, 15]),
        "widths": st.sampled_from([(6,), (5, 20), (2, 7, 9)]),
        "weights": st.tuples(
            st.sampled_from([0.0, 1e-3, 1.0]),
            st.sampled_from([1e-3, 1.0]),
            st.sampled_from([1.5, 6.0]),
        ),
        "kind": st.sampled_from(list(KINDS.values())),
        "complete": st.booleans(),
    }
)


def draw(seed, n, widths, weights, kind, complete):
    """Return views, which of their rows are present, and the alternation, after some updates."""
    rng = np.random.default_rng(seed)
    X = [counts(rng, n, width) for width in widths]
    present = [complete | (rng.random(n) < 0.7) | (np.arange(n) < 3) for _ in X]
    masks = None if complete else present
    found = Anchored([kind(X_v) for X_v in X], 3, *weights, rng, present=masks)
    for _ in range(rng.integers(3)):
        found.iterate()
    return X, present, found, rng


def filled(X, present, found):
    """Return X̂ of every view, formed."""
    views = []
    for X_v, mask, own in zip(X, present, found._X, strict=True):
        full = X_v - X_v[mask].mean(axis=0)
        full[~mask] = own._Z @ own._W.T
        views.append(full)
    return views


def naive(full, found, weights, **changed):
    """Return the objective as it is written; some parts may be others."""
    lam, eta, power = weights
    Z, W, A, P, M, a = (changed.get(name, getattr(found, name)) for name in "ZWAPMa")
    value = eta * np.sum(M**2)
    for v, X_v in enumerate(full):
        cost = np.sum((X_v - Z[v] @ W[v].T) ** 2) + lam * np.linalg.norm(W[v], axis=1).sum()
        value += a[v] ** power * cost + np.sum((Z[v] - M @ np.diag(P[v]) @ A.T) ** 2)
    return value


@settings(max_examples=30, deadline=None)
@given(problem=problems)
def test_no_update_but_that_of_m_raises_the_objective_as_written(problem):
    X, present, found, _ = draw(**problem)

    def value_of():
        return naive(filled(X, present, found), found, problem["weights"])

    check_updates(found, 2 * UPDATES, value_of, 1e-8, ("update_m",), rel=1e-7, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(problem=problems)
def test_nothing_else_that_is_allowed_is_better_than_an_update(problem):
    X, present, found, rng = draw(**problem)
    weights = problem["weights"]

    def best_of(update, other):
        getattr(found, update)()
        full = filled(X, present, found)
        best = naive(full, found, weights)
        for size in (1e-3, 0.1, 1.0):
            assert best <= naive(full, found, weights, **other(size)) + 1e-8 * (1 + best), update

    def turned(size):
        other = [np.linalg.qr(Z_v + size * rng.standard_normal(Z_v.shape)) for Z_v in found.Z]
        return {"Z": [Q * np.sign(np.diag(R)) for Q, R in other]}

    def moved(name):
        at = getattr(found, name)
        if isinstance(at, list):
            return lambda size: {
                name: [B + size * rng.standard_normal(B.shape) for B in getattr(found, name)]
            }
        return lambda size: {
            name: getattr(found, name) + size * rng.standard_normal(getattr(found, name).shape)
        }

    best_of("update_z", turned)
    for Z_v in found.Z:
        np.testing.assert_allclose(Z_v.T @ Z_v, np.eye(3), atol=1e-9)
    best_of("update_w", moved("W"))
    best_of("update_anchors", moved("A"))
    best_of("update_preferences", moved("P"))
    best_of("update_a", lambda size: {"a": rng.dirichlet(np.full(len(X), 1 / size))})
    assert found.a.sum() == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(problem=problems)
def test_what_is_absent_is_best_filled_by_the_product(problem):
    X, present, found, rng = draw(**{**problem, "complete": False})
    found.iterate()
    full = filled(X, present, found)
    best = naive(full, found, problem["weights"])
    for v, mask in enumerate(present):
        np.testing.assert_allclose(full[v][~mask], (found.Z[v] @ found.W[v].T)[~mask], atol=1e-9)
        other = [each.copy() for each in full]
        other[v][~mask] += rng.standard_normal(other[v][~mask].shape)
        assert best <= naive(other, found, problem["weights"]) + 1e-9


@settings(max_examples=25, deadline=None)
@given(problem=problems)
def test_anchors_preferences_and_mixtures_are_those_of_the_unfolded_tensor(problem):
    _, _, found, _ = draw(**problem)
    T = np.stack([Z_v.T for Z_v in found.Z], axis=2)  # anchors' space, rows, views
    k, n, n_views = T.shape
    first = T.transpose(0, 2, 1).reshape(k, -1)
    second = T.transpose(1, 2, 0).reshape(n, -1)
    third = T.transpose(2, 1, 0).reshape(n_views, -1)

    def regression(unfolded, K):
        return np.linalg.lstsq(K, unfolded.T, rcond=None)[0].T

    found.update_anchors()
    K = khatri_rao(found.P, found.M)
    np.testing.assert_allclose(found.A @ K.T, regression(first, K) @ K.T, atol=1e-5)
    found.update_preferences()
    K = khatri_rao(found.M, found.A)
    np.testing.assert_allclose(found.P @ K.T, regression(third, K) @ K.T, atol=1e-5)
    found.update_m()
    K = khatri_rao(found.P, found.A)
    best = second @ K @ np.linalg.inv(K.T @ K + problem["weights"][1] * np.eye(k))
    np.testing.assert_allclose(found.M, simplex_rows(best), atol=1e-6)
    assert (found.M >= 0).all()
    np.testing.assert_allclose(found.M.sum(axis=1), 1)


def test_rows_that_lack_a_view_are_filled_from_the_others_and_never_looked_at():
    rng = np.random.default_rng(0)
    mixtures = rng.dirichlet(np.full(4, 0.1), size=200)
    # Short rows: beside long ones the anchors have no say.
    X = [0.3 * mixtures @ rng.standard_normal((4, width)) for width in (12, 9)]
    present = [rng.random(200) < 0.7, rng.random(200) < 0.7]
    present[1] |= ~present[0]
    views = zip(X, present, strict=True)
    spoiled = [np.where(mask[:, np.newaxis], X_v, np.nan) for X_v, mask in views]
    found = Anchored(spoiled, 3, 1e-3, 1e-3, 6.0, np.random.default_rng(0), present=present)
    for _ in range(300):
        found.iterate()
    for v, mask in enumerate(present):
        missing = (X[v] - X[v][mask].mean(axis=0))[~mask]
        guess = (found.Z[v] @ found.W[v].T)[~mask]
        # By the mean alone: 1.
        assert np.sum((guess - missing) ** 2) < 0.4 * np.sum(missing**2)


@settings(max_examples=12, deadline=None)
@given(problem=problems)
def test_w_is_where_the_update_of_the_paper_tends_to(problem):
    X, present, found, _ = draw(**problem)
    found.update_w()
    lam = problem["weights"][0]
    for X_v, Z_v, W_v in zip(filled(X, present, found), found.Z, found.W, strict=True):
        B = X_v.T @ Z_v
        expected = B
        for _ in range(1000):
            norms = np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-300)
            expected = B / (1 + lam / (2 * norms))
        np.testing.assert_allclose(W_v, expected, atol=2e-3 if lam == 1 else 1e-6)


def test_planted_features_are_found_far_above_chance():
    data = make_planted(400, n_features=(150, 100), n_informative=(15, 10), random_state=0)
    views = {name: normalize(X.astype(float)) for name, X in data.views.items()}
    model = TIMEFS(5, random_state=0).fit(views)
    for view, truth in data.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() >= 0.6  # chance: 0.1


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_constant_feature_comes_last(kind):
    X, _ = clustered(np.random.default_rng(0), 60, 9)
    X[:, 0], X[:, 4] = 100.0, 0.1
    X[:, 4] *= 1 + 2e-16 * np.arange(60)
    model = TIMEFS(3, random_state=0).fit(kind(X))
    assert set(np.argsort(model.ranking_)[-2:]) == {0, 4}
    assert model.scores_[0] == model.scores_[4] < np.delete(model.scores_, [0, 4]).min()


@pytest.mark.parametrize(
    ("name", "value"), [("sparsity", -1.0), ("smoothness", 0.0), ("view_power", 1.0)]
)
def test_a_bad_parameter_is_refused_before_anything_is_learned(name, value):
    model = TIMEFS(**{name: value})
    with pytest.raises(ValueError, match=name):
        model.fit({"a": np.eye(4), "b": np.eye(4)})
    assert not [each for each in vars(model) if each.endswith("_")]


def test_the_contract_of_selectors_is_kept():
    check_selector(TIMEFS(3, max_iter=3, random_state=0))


def test_memory_is_far_from_that_of_rows_or_features_squared():
    n, d = 2500, 30_000
    X = sp.random_array((n, d), density=5e-4, format="csr", rng=np.random.default_rng(0))
    tracemalloc.start()
    try:
        TIMEFS(2, max_iter=2, random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.17 * n * d * 8
