"""Which rows are alike, by some features and by others: agreement beyond chance."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from omvfs.model.concordance import concordance, likeness, own_evidence, structured

# Whole numbers with many zeros, so that some rows have nothing and some are the same.
rows = arrays(
    np.float64, st.tuples(st.integers(4, 9), st.integers(3, 7)), elements=st.integers(0, 3)
)


def slow_likeness(X):
    """Return likeness by its definition, pair by pair."""
    if X.shape[1] <= 4:
        if (X == 0).any():
            X = np.array([x / np.linalg.norm(x) if x.any() else x for x in X])
        X = X - X.mean(axis=0)
    left = [x / np.linalg.norm(x) if x.any() else x for x in X]
    has = np.array([x.any() for x in X])
    if X.shape[1] > 4:
        # What all rows have in common, and what full rows have beside it.
        common = [np.sum(left, axis=0)]
        lengths = [math.log1p(np.count_nonzero(x)) for x in X[has]]
        if len(set(lengths)) > 1:
            scaled = (np.array(lengths) - np.mean(lengths)) / np.std(lengths)
            common.append(scaled @ np.array(left)[has])
        directions, values, _ = np.linalg.svd(np.array(common).T, full_matrices=False)
        directions = directions[:, values > 1e-5 * max(values[0], 1e-9)]
        left = [x - directions @ (directions.T @ x) if x.any() else x for x in left]
        left = [x / np.linalg.norm(x) if np.linalg.norm(x) > 4e-5 else 0 * x for x in left]
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
    np.testing.assert_allclose(likeness(sp.csr_array(X)), likeness(X), atol=1e-9)
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
    assert by_choice[0] + 0.4 < by_choice[1] < by_choice[2]


def test_where_nothing_can_be_told_it_is_0():
    X = planted(0)
    some, none = np.arange(4), np.arange(0)
    assert concordance([X_v[:3] for X_v in X], [some, some]) == 0
    assert concordance(X, [none, none]) == 0
    assert concordance([X_v * 0 for X_v in X], [some, some]) == 0
    assert concordance([np.ones((9, 4))] * 2, [some, some]) == 0
    assert concordance([X[0][:, :1]], [np.array([0])]) == 0
    assert concordance([sp.csr_array(X[0])], [none]) == 0


def noise(kind, rng, n=400, width=60):
    if kind == "numbers":
        return rng.standard_normal((n, width))
    if kind == "frequent and rare":
        return (rng.random((n, width)) < rng.uniform(0.02, 0.6, width)).astype(float)
    # Texts of very different lengths, in which words are drawn by one law.
    law = rng.pareto(1, width) + 0.1
    lengths = 1 + rng.lognormal(2, 1, n)
    return sp.csr_array(rng.poisson(np.outer(lengths, law / law.sum())).astype(float))


@pytest.mark.parametrize("kind", ["numbers", "frequent and rare", "texts"])
def test_a_view_of_noise_is_told_from_those_that_tell(kind):
    for seed in range(3):
        two, other = planted(seed, n=400), noise(kind, np.random.default_rng(seed))
        everywhere = np.ones((400, 3), bool)
        assert structured([*two, other], everywhere).tolist() == [True, True, False]
        assert not structured([other], everywhere[:, :1]).any()
        # A view that tells nothing by its own halves may by another view.
        one = [each[:, :1] for each in two]
        assert structured([one[0], one[0] + 1], everywhere[:, :2]).all()


def test_evidence_of_noise_is_that_of_chance():
    found = [
        own_evidence(noise("numbers", np.random.default_rng(seed), 100, 40), np.ones(100, bool))
        for seed in range(60)
    ]
    # A mean of two halvings: no more than one standard deviation.
    assert abs(np.mean(found)) < 0.4
    assert 0.5 < np.std(found) < 1.3


@given(rows)
@settings(max_examples=20, deadline=None)
def test_the_order_of_columns_does_not_matter(X):
    X = X + np.linspace(0, 0.5, X.shape[1])  # no two columns of one size
    has = np.ones(len(X), bool)
    assert own_evidence(X[:, ::-1], has) == pytest.approx(own_evidence(X, has), abs=1e-6)
