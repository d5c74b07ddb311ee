"""Scores: what an even feature and a scale do to them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.ranking.criteria import contrast, information, norm, relevance
from support import counts

CRITERIA = ["norm", "contrast", "information", "balanced"]
seeds = st.integers(0, 2**32)
quick = settings(max_examples=60, deadline=None)


def draw(seed, d=6, k=4, empty=True):
    rng = np.random.default_rng(seed)
    masses = rng.random(k) * 10 * (rng.random(k) < 0.8 if empty else 1)
    sums = np.sqrt(masses) * rng.uniform(1, 5, k)
    return counts(rng, d, k) * (masses > 0), masses, sums, rng


@given(seed=seeds, amount=st.floats(1e-3, 1e3))
@quick
def test_an_even_feature_has_no_contrast_and_no_information(seed, amount):
    _, masses, sums, _ = draw(seed)
    roots = np.sqrt(np.where(masses > 0, masses, 1))
    even = amount * (sums / roots)[np.newaxis]  # each row has as much of it as any other
    assert contrast(even, masses, sums)[0] <= 1e-12 * amount * (1 + sums.sum())
    assert information(even, masses, sums)[0] <= 1e-12 * amount * (1 + sums.sum())
    assert relevance(even, masses, sums, "balanced")[0] <= 1e-5 * amount * (1 + sums.sum())


@given(seed=seeds)
@quick
def test_a_feature_of_one_cluster_has_the_most_of_its_amount(seed):
    _, masses, sums, rng = draw(seed, empty=False)
    k = sums.argmin()  # where an even feature has least
    amount = rng.random(4) * 3
    own = np.zeros((1, 4))
    own[0, k] = amount.sum() / np.sqrt(masses[k])
    spread = (amount / np.sqrt(masses))[np.newaxis]
    assert information(own, masses, sums)[0] >= information(spread, masses, sums)[0] - 1e-9


@given(seed=seeds, power=st.integers(-20, 20))
@quick
def test_scores_follow_the_scale_of_v_and_not_that_of_the_masses(seed, power):
    V, masses, sums, _ = draw(seed)
    c = 4.0**power
    np.testing.assert_array_equal(norm(c * V), c * norm(V))
    np.testing.assert_allclose(
        contrast(c * V, masses, sums), c * contrast(V, masses, sums), atol=1e-12 * c
    )
    np.testing.assert_allclose(
        contrast(V, c * masses, np.sqrt(c) * sums), contrast(V, masses, sums), atol=1e-12
    )
    # V and the root of the masses each carry the scale.
    expected = information(V, masses, sums)
    np.testing.assert_allclose(information(c * V, masses, sums), c * expected, atol=1e-12 * c)
    np.testing.assert_allclose(
        information(V, c * masses, np.sqrt(c) * sums),
        np.sqrt(c) * expected,
        atol=1e-12 * np.sqrt(c),
    )


@given(seed=seeds)
@quick
def test_scores_are_finite_and_nonnegative_and_permute_with_features_and_clusters(seed):
    V, masses, sums, rng = draw(seed)
    rows, columns = rng.permutation(len(V)), rng.permutation(len(masses))
    for criterion in CRITERIA:
        own = relevance(V, masses, sums, criterion)
        assert own.shape == (len(V),)
        assert np.isfinite(own).all()
        assert (own >= 0).all()
        moved = relevance(V[rows][:, columns], masses[columns], sums[columns], criterion)
        np.testing.assert_allclose(moved, own[rows], atol=1e-7)
        assert not own[~V.any(axis=1)].any()


def test_balanced_is_a_mean_of_norm_and_information():
    for seed in range(20):
        V, masses, sums, _ = draw(seed, empty=False)
        both = np.array([norm(V), information(V, masses, sums)])
        balanced = relevance(V, masses, sums, "balanced")
        assert (balanced >= both.min(axis=0) * (1 - 1e-12)).all()
        assert (balanced <= both.max(axis=0) * (1 + 1e-12)).all()
        np.testing.assert_array_equal(relevance(V, masses, sums, "information"), both[1])
        np.testing.assert_array_equal(
            relevance(V, masses, sums, "contrast"), contrast(V, masses, sums)
        )
        np.testing.assert_allclose(relevance(V, masses, sums, "norm"), np.linalg.norm(V, axis=1))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept_and_no_mass_is_no_score(criterion, dtype):
    V, masses, sums, _ = draw(1)
    assert relevance(V.astype(dtype), masses, sums, criterion).dtype == dtype
    assert not relevance(np.zeros((3, 2), dtype), np.zeros(2), np.zeros(2), criterion).any()


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_scores_of_single_precision_neither_overflow_nor_vanish(criterion, size):
    V, masses, sums, _ = draw(0, empty=False)
    scaled = relevance((size * V).astype(np.float32), masses * size**2, sums * size, criterion)
    expected = relevance(V, masses, sums, criterion)
    assert np.isfinite(scaled).all()
    np.testing.assert_array_equal(scaled > 0, expected > 0)
    np.testing.assert_array_equal(np.argsort(scaled), np.argsort(expected))


# Repetition
