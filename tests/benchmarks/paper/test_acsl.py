"""ACSL: every update against the objective as written, and what it finds."""

from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from paper.acsl import Collaboration, centred_features, shares, simplex_rows
from paper.graphs import neighbour_graph
from support import KINDS, check_updates, counts, dense

UPDATES = ("update_s", "update_w", "update_f_and_p")
problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n": st.sampled_from([4, 9, 14]),
        "widths": st.sampled_from([(6,), (5, 20), (4, 2, 3)]),
        "weights": st.tuples(
            st.sampled_from([0.0, 1.0, 20.0]),
            st.sampled_from([0.1, 3.0]),
            st.sampled_from([1e-3, 0.1, 2.0]),
        ),
        "kind": st.sampled_from(list(KINDS.values())),
    }
)


def draw(seed, n, widths, weights, kind):
    """Return all views, their graphs and the alternation, after some updates."""
    rng = np.random.default_rng(seed)
    X = [counts(rng, n, width) for width in widths]
    X[0][:, 1] = 7.0  # constant
    A = [shares(neighbour_graph(X_v, 3, "cosine", None)) for X_v in X]
    found = Collaboration(centred_features([kind(X_v) for X_v in X]), A, 3, *weights)
    for _ in range(rng.integers(3)):
        for update in UPDATES:
            getattr(found, update)()
    return np.hstack(X), [dense(A_v) for A_v in A], found, rng


def naive(X, A, found, weights, norm21=None, **changed):
    """Return the objective as it is written, row by row; some parts may be others."""
    alpha, beta, gamma = weights
    S, w, F, P = (changed.get(name, getattr(found, name)) for name in ("S", "w", "F", "P"))
    b = np.mean(F - X @ P, axis=0)
    value = 1e-5 * np.sum(w**2)
    for j, s_j in enumerate(S):
        value += np.sum((s_j - sum(w[j, v] * A_v[j] for v, A_v in enumerate(A))) ** 2)
        value += alpha * sum(s_j[i] * np.sum((F[i] - F[j]) ** 2) for i in range(len(S)))
    sparsity = np.linalg.norm(P, axis=1).sum() if norm21 is None else norm21(P)
    return value + beta * (np.sum((X @ P + b - F) ** 2) + gamma * sparsity)


@settings(max_examples=30, deadline=None)
@given(problem=problems)
def test_no_update_raises_the_objective_as_written(problem):
    X, A, found, _ = draw(**problem)
    value_of = partial(naive, X, A, found, problem["weights"])
    check_updates(found, 2 * UPDATES, value_of, 1e-9, rel=1e-8, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(problem=problems)
def test_nothing_else_that_is_allowed_is_better_than_an_update(problem):
    X, A, found, rng = draw(**problem)
    weights = problem["weights"]
    n, n_views = found.w.shape

    found.update_s()
    assert (found.S >= 0).all()
    np.testing.assert_allclose(found.S.sum(axis=1), 1)
    best = naive(X, A, found, weights)
    for size in (1e-3, 0.1, 1.0):
        other = (1 - size) * found.S + size * rng.dirichlet(np.full(n, 0.3), size=n)
        assert best <= naive(X, A, found, weights, S=other) + 1e-9

    found.update_w()
    np.testing.assert_allclose(found.w.sum(axis=1), 1)
    best = naive(X, A, found, weights)
    for size in (1e-3, 0.1, 1.0):
        step = size * rng.standard_normal((n, n_views))
        other = found.w + step - step.mean(axis=1, keepdims=True)
        assert best <= naive(X, A, found, weights, w=other) + 1e-9


@settings(max_examples=20, deadline=None)
@given(problem=problems)
def test_f_and_p_are_the_best_together_for_the_reweighted_norm(problem):
    X, A, found, rng = draw(**problem)
    before = np.maximum(np.linalg.norm(found.P, axis=1), 1e-12)
    # What bounds ‖P‖_{2,1} from above, and touches it at the P before.
    found.update_f_and_p()

    def bound(P):
        return np.sum(np.sum(P**2, axis=1) / (2 * before) + before / 2)

    def value(F, P):
        return naive(X, A, found, problem["weights"], bound, F=F, P=P)

    F, P = found.F, found.P
    np.testing.assert_allclose(F.T @ F, np.eye(3), atol=1e-9)
    best = value(F, P)
    for size in (1e-4, 1e-2, 1.0):
        Q = np.linalg.qr(F + size * rng.standard_normal(F.shape))
        other = Q[0] * np.sign(np.diag(Q[1]))
        moved = P + size * before[:, np.newaxis] * rng.standard_normal(P.shape)
        for pair in ((other, P), (F, moved), (other, moved)):
            assert best <= value(*pair) * (1 + 1e-9) + 1e-9
    # The P of the formula, of centred features.
    Y = X - X.mean(axis=0)
    Q = Y.T @ Y + problem["weights"][2] * np.diag(1 / (2 * before))
    np.testing.assert_allclose(P, np.linalg.solve(Q, Y.T @ F), rtol=1e-5, atol=1e-8)


def naive_simplex(y):
    """Return the projection of one row, by a search for what is taken off all its entries."""
    taken = brentq(
        lambda t: np.maximum(y - t, 0).sum() - 1, y.min() - 2, y.max(), xtol=1e-15, rtol=1e-15
    )
    return np.maximum(y - taken, 0)


@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.integers(1, 9),
    size=st.sampled_from([1e-9, 0.1, 1.0, 1e9]),
)
def test_rows_are_in_the_simplex_and_nearest_in_it(seed, width, size):
    rng = np.random.default_rng(seed)
    Y = size * rng.standard_normal((4, width)).round(1)
    found = simplex_rows(Y)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    others = rng.dirichlet(np.full(width, 0.3), size=50)
    for row, own in zip(Y, found, strict=True):
        # The angle at the nearest point of a convex set is never acute.
        assert ((others - own) @ (row - own) <= 1e-9 * (1 + size)).all()
        if size <= 1:
            np.testing.assert_allclose(own, naive_simplex(row), atol=1e-9)
