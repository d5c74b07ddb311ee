"""Which rows are alike, by some features and by others: agreement beyond chance."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from omvfs.model.concordance import concordance, likeness

# Whole numbers with many zeros, so that some rows have nothing and some are the same.
rows = arrays(
    np.float64, st.tuples(st.integers(4, 9), st.integers(4, 6)), elements=st.integers(0, 3)
)


def slow_likeness(X):
    """Return likeness by its definition, pair by pair."""
    units = [x / np.linalg.norm(x) if x.any() else x for x in X]
    mean = np.sum(units, axis=0)
    if mean.any():
        mean /= np.linalg.norm(mean)
    left = [x - (x @ mean) * mean if x.any() else x for x in units]
    left = [x / np.linalg.norm(x) if np.linalg.norm(x) > 1e-4 else 0 * x for x in left]
    n = len(X)
    K = np.array([[0.0 if i == j else left[i] @ left[j] for j in range(n)] for i in range(n)])
    centred = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                rest = K.sum() / ((n - 1) * (n - 2))
                centred[i, j] = K[i, j] - K[i].sum() / (n - 2) - K[:, j].sum() / (n - 2) + rest
    return centred


def correlation(A, B):
    norms = np.linalg.norm(A) * np.linalg.norm(B)
    return np.sum(A * B) / norms if norms > 1e-9 else 0.0


@given(rows)
@settings(max_examples=60, deadline=None)
def test_likeness_is_what_its_definition_says(X):
    np.testing.assert_allclose(likeness(X), slow_likeness(X), atol=1e-7)
    np.testing.assert_allclose(likeness(sp.csr_array(X)), likeness(X), atol=1e-12)
    np.testing.assert_allclose(likeness(X).sum(axis=0), 0, atol=1e-9)


@given(rows, st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_it_is_the_mean_correlation_with_all_other_views(X, seed):
    rng = np.random.default_rng(seed)
    views = [X, rng.poisson(1, (len(X), 5)), rng.poisson(2, (len(X), 4))]
    chosen = [np.array([0, 2]), np.array([1, 2, 4]), np.array([0, 3])]
    expected = [
        correlation(
            slow_likeness(views[v][:, chosen[v]]),
            sum(slow_likeness(views[w]) for w in range(3) if w != v),
        )
        for v in range(3)
    ]
    assert concordance(views, chosen) == pytest.approx(np.mean(expected), abs=1e-6)
    assert concordance(views, chosen) <= 1 + 1e-12


def planted(seed, n=120, told=6, noise=10):
    """Return rows of three kinds in two views; the first features of each tell the kind."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    return [
        np.hstack(
            [rng.poisson(0.2 + 3 * (np.arange(told) % 3 == kinds[:, np.newaxis])),
             rng.poisson(1.2, (n, noise))]
        ).astype(float)
        for _ in range(2)
    ]  # fmt: skip


@pytest.mark.parametrize("one_view", [False, True])
def test_features_that_tell_are_better_than_others_and_than_all(one_view):
    X = planted(0)
    X = [np.hstack(X)] if one_view else X
    tells = np.tile(np.arange(16) < 6, 2 if one_view else 1)
    good, poor, mixed = np.flatnonzero(tells), np.flatnonzero(~tells), np.arange(len(tells))
    by_choice = [concordance(X, [each] * len(X)) for each in (poor, mixed, good)]
    assert abs(by_choice[0]) < 0.05
    assert by_choice[0] + 0.4 < by_choice[1] < by_choice[2] - 0.02


def test_where_nothing_can_be_told_it_is_0():
    X = planted(0)
    some, none = np.arange(4), np.arange(0)
    assert concordance([X_v[:3] for X_v in X], [some, some]) == 0
    assert concordance(X, [none, none]) == 0
    assert concordance([X_v * 0 for X_v in X], [some, some]) == 0
    assert concordance([np.ones((9, 4))] * 2, [some, some]) == 0
    assert concordance([X[0][:, :1]], [np.array([0])]) == 0
    assert concordance([sp.csr_array(X[0])], [none]) == 0
