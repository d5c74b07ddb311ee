"""Scores by V, and separation: what clusters explain of a feature, times its deviation."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.ranking.criteria import contrast, information, relevance
from omvfs.model.ranking.separation import cluster_means
from omvfs.model.ranking.separation import separation as of_means
from support import KINDS, counts

CRITERIA = ["norm", "contrast", "information", "balanced"]
seeds = st.integers(0, 2**32)
quick = settings(max_examples=40, deadline=None)


def draw(seed, d=6, k=4, empty=True):
    rng = np.random.default_rng(seed)
    masses = rng.random(k) * 10 * (rng.random(k) < 0.8 if empty else 1)
    sums = np.sqrt(masses) * rng.uniform(1, 5, k)
    return counts(rng, d, k) * (masses > 0), masses, sums, rng


@given(seed=seeds, amount=st.floats(1e-3, 1e3))
@quick
def test_an_even_feature_has_no_score_and_one_of_one_cluster_the_most_of_its_amount(seed, amount):
    _, masses, sums, rng = draw(seed)
    roots = np.sqrt(np.where(masses > 0, masses, 1))
    even = amount * (sums / roots)[np.newaxis]  # each row has as much of it as any other
    assert contrast(even, masses, sums)[0] <= 1e-12 * amount * (1 + sums.sum())
    assert information(even, masses, sums)[0] <= 1e-12 * amount * (1 + sums.sum())
    assert relevance(even, masses, sums, "balanced")[0] <= 1e-5 * amount * (1 + sums.sum())
    _, masses, sums, rng = draw(seed, empty=False)
    k = sums.argmin()  # where an even feature has least
    amounts = rng.random(4) * 3
    own = (np.arange(4) == k)[np.newaxis] * amounts.sum() / np.sqrt(masses[k])
    spread = (amounts / np.sqrt(masses))[np.newaxis]
    assert information(own, masses, sums)[0] >= information(spread, masses, sums)[0] - 1e-9


@given(seed=seeds, power=st.integers(-20, 20))
@quick
def test_scores_follow_the_scale_of_v_and_move_with_features_and_clusters(seed, power):
    V, masses, sums, rng = draw(seed)
    c = 4.0**power
    rows, columns = rng.permutation(len(V)), rng.permutation(len(masses))
    for criterion in CRITERIA:
        own = relevance(V, masses, sums, criterion)
        assert own.shape == (len(V),)
        assert np.isfinite(own).all()
        assert (own >= 0).all()
        assert not own[~V.any(axis=1)].any()
        moved = relevance(V[rows][:, columns], masses[columns], sums[columns], criterion)
        np.testing.assert_allclose(moved, own[rows], atol=1e-7)
        scaled = relevance(c * V, masses, sums, criterion)
        np.testing.assert_allclose(scaled, c * own, atol=1e-12 * c)
    # The scale of the masses is that of information, and not of contrast.
    expected, root = information(V, masses, sums), np.sqrt(c)
    found = information(V, c * masses, root * sums)
    np.testing.assert_allclose(found, root * expected, atol=1e-12 * root)
    found = contrast(V, c * masses, root * sums)
    np.testing.assert_allclose(found, contrast(V, masses, sums), atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_single_precision_is_kept_and_neither_overflows_nor_vanishes(criterion):
    V, masses, sums, _ = draw(0, empty=False)
    expected = relevance(V, masses, sums, criterion)
    for size in (1e-12, 1e12):
        scaled = relevance((size * V).astype(np.float32), masses * size**2, sums * size, criterion)
        assert scaled.dtype == np.float32
        assert np.isfinite(scaled).all()
        np.testing.assert_array_equal(scaled > 0, expected > 0)
        np.testing.assert_array_equal(np.argsort(scaled), np.argsort(expected))
    assert not relevance(np.zeros((3, 2)), np.zeros(2), np.zeros(2), criterion).any()


# Separation


def separation(*rows_and_sums):
    """Of rows and sums, as the model has them."""
    return of_means(cluster_means(*rows_and_sums))


def drawn(seed, n=40, d=6, k=3):
    rng = np.random.default_rng(seed)
    return counts(rng, n, d), Indicator(rng.integers(0, k, n), np.ones(n), k), rng


def slow(X, labels, shares):
    """Return between / √whole feature by feature, by the textbook."""
    found = []
    for x in X.T:
        mean = np.average(x, weights=shares)
        whole = np.average((x - mean) ** 2, weights=shares)
        between = 0.0
        for k in np.unique(labels):
            own = labels == k
            if shares[own].sum():
                there = np.average(x[own], weights=shares[own])
                between += shares[own].sum() / shares.sum() * (there - mean) ** 2
        found.append(between / np.sqrt(whole) if whole > 1e-10 else 0.0)
    return np.array(found)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@given(seed=seeds, power=st.integers(-12, 12))
@quick
def test_separation_is_the_textbook_s_and_every_column_has_its_own_scale(kind, seed, power):
    X, U, rng = drawn(seed)
    shares = rng.uniform(0.1, 1, len(X))
    faded = Indicator(U.labels, shares, U.n_clusters)
    B, expected = transposed_product(X, faded), slow(X, U.labels, shares)
    found = separation(kind(X), U, shares, B, faded.sums)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    factors = 10.0 ** (power * rng.random(X.shape[1]))
    scaled = separation(kind(X * factors), U, shares, B * factors[:, np.newaxis], faded.sums)
    np.testing.assert_allclose(scaled, found * factors, rtol=1e-6, atol=1e-12 * factors.max())


def test_what_the_sample_lacks_is_known_by_the_sums():
    X, U, _ = drawn(0, d=2)
    X[:, 1] = 0
    found = separation(X, U, np.ones(len(X)), np.array([[9.0, 0, 0], [9.0, 0, 0]]), U.sums)
    even = separation(X, U, np.ones(len(X)), np.outer([9.0, 9.0], U.sums), U.sums)
    assert found[1] > 0
    assert even[1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_a_sample_tells_of_all_rows_whatever_is_added_to_a_column(offset):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 20_000)
    X = offset + labels[:, np.newaxis] / 2 + rng.random((20_000, 1)) / 2
    U = Indicator(labels, rng.uniform(0.5, 1.5, 20_000), 3)
    B, expected = transposed_product(X, U), slow(X, labels, np.ones(20_000))
    for _ in range(5):
        rows = rng.permutation(20_000)[:2000]
        found = separation(X[rows], U.take(rows), np.ones(2000), B, U.sums)
        assert found == pytest.approx(expected, rel=0.15)


def test_separation_neither_overflows_nor_vanishes_and_of_nothing_it_is_0():
    X, U, _ = drawn(3)
    B, ones = transposed_product(X, U), np.ones(len(X))
    plain = separation(X, U, ones, B, U.sums)
    for size in (1e-300, 1e-150, 1e150, 1e300):
        found = separation(X * size, U, ones, B * size, U.sums)
        np.testing.assert_allclose(found / size, plain, rtol=1e-9)
    X[:, 4] = 1e-200 * (np.arange(len(X)) == 3)  # its squares vanish beside others
    found = separation(X, U, ones, transposed_product(X, U), U.sums)
    assert np.isfinite(found).all()
    assert found[4] <= 1e-190
    even = np.ones_like(X)
    assert not separation(sp.csr_array(X.shape), U, ones, 0 * B, U.sums).any()
    assert not separation(X, U, 0 * ones, 0 * B, np.zeros(3)).any()
    assert not separation(even, U, ones, transposed_product(even, U), U.sums).any()
