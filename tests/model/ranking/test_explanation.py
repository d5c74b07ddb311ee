"""Explanations: each figure is what the slow, obvious way to work it out gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.ranking.explanation import (
    displaced_by,
    leading_clusters,
    membership_correlations,
    place_of,
    shares_of_rows,
    strengths,
)
from omvfs.model.ranking.repetition import Repetition
from omvfs.selector import rank
from support import KINDS, counts

seeds = st.integers(0, 2**32)
quick = settings(max_examples=40, deadline=None)


def drawn(seed, n=30, d=6, k=3):
    rng = np.random.default_rng(seed)
    X = counts(rng, n, d)
    return X, Indicator(rng.integers(k, size=n), rng.uniform(0.2, 2, n), k), rng


@given(seed=seeds, amount=st.floats(1e-6, 1e6))
@quick
def test_strengths_are_means_of_clusters_over_that_of_all_rows_and_the_ratio_of_V(seed, amount):
    X, U, _ = drawn(seed)
    B, sums = transposed_product(X, U), U.sums
    found = strengths(B, sums)
    # Of a feature that every row has alike, all are 1.
    B_even = transposed_product(np.full((30, 1), amount), U)
    np.testing.assert_allclose(strengths(B_even, sums), sums[np.newaxis] > 0)
    assert leading_clusters(B_even, sums) == [-1]
    for k in range(3):
        own = U.labels == k
        if own.any():
            means = [np.average(X[rows], axis=0, weights=U.weights[rows]) for rows in (own, ...)]
            expected = np.divide(*means, out=np.zeros(6), where=means[1] > 0)
            np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)
    # V as the solver has it, a row shrunk as a whole, against that of an even feature.
    roots = np.sqrt(np.where(U.masses > 0, U.masses, 1))
    V, even = 0.3 * B / roots, sums / roots
    V, even = V * roots / (V @ roots)[:, np.newaxis], even * roots / (even @ roots)
    np.testing.assert_allclose(found, V / np.where(even > 0, even, 1), rtol=1e-9)


@given(seed=seeds)
@quick
def test_the_leading_cluster_carries_most_of_the_variance_between_clusters(seed):
    X, U, rng = drawn(seed)
    B, sums = transposed_product(X, U), U.sums
    for row, found in zip(B, leading_clusters(B, sums), strict=True):
        mean = row.sum() / sums.sum()
        parts = [
            s * (b / s - mean) ** 2 if s and b / s > mean else 0.0
            for b, s in zip(row, sums, strict=True)
        ]
        assert found == (np.argmax(parts) if any(parts) else -1)
    # Whatever the features' units, and whatever is added to them.
    scaled = B * rng.uniform(0.1, 10, (6, 1)) + np.outer(rng.random(6), sums)
    np.testing.assert_array_equal(leading_clusters(scaled, sums), leading_clusters(B, sums))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@given(seed=seeds)
@quick
def test_rows_that_have_a_feature_are_counted_by_what_is_left_of_them(kind, seed):
    X, _, rng = drawn(seed)
    left = rng.random(30)
    expected = [left[X[:, j] != 0].sum() / left.sum() for j in range(6)]
    np.testing.assert_allclose(shares_of_rows(kind(X), left), expected, rtol=1e-9)
    if kind is np.asarray:
        raised = rng.random(6)
        twice = (X + raised / 3) + (raised - raised / 3)  # rounded as it happens
        np.testing.assert_allclose(shares_of_rows(twice, left, raised), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@given(seed=seeds, power=st.sampled_from([-150, 0, 150]))
@quick
def test_memberships_are_the_textbook_s_correlations(kind, seed, power):
    X, U, rng = drawn(seed)
    X[:, 2] = 0.7
    times = rng.integers(1, 4, 30)
    found = membership_correlations(
        kind(X * 10.0**power), Indicator(U.labels, times.astype(float), 3)
    )
    rows, labels = X.repeat(times, axis=0), U.labels.repeat(times)
    for j in range(6):
        for k in range(3):
            own = (labels == k).astype(float)
            varied = np.ptp(rows[:, j]) > 0 and np.ptp(own) > 0
            expected = np.corrcoef(rows[:, j], own)[0, 1] if varied else 0.0
            assert found[j, k] == pytest.approx(expected, abs=1e-6)


@given(seed=seeds)
@quick
def test_displaced_are_the_best_that_lost_most_of_their_score(seed):
    rng = np.random.default_rng(seed)
    own, left = rng.random(9), rng.random(9)
    found = Repetition(own, own * left, rng.integers(-1, 2, 9), rng.random(9))
    expected = [i for i in range(9) if found.repeated[i] == 0 and left[i] < 0.5]
    expected.sort(key=lambda i: -own[i])
    assert displaced_by(found, 0, most=3).tolist() == expected[:3]
    # The place of a feature is its rank.
    tied = np.round(2 * own) / 2
    assert [place_of(tied, j) for j in range(9)] == list(rank(tied))
