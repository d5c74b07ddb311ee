"""Separation: what clusters explain of a feature, times its standard deviation."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.ranking.separation import cluster_means
from omvfs.model.ranking.separation import separation as of_means
from support import KINDS, counts

seeds = st.integers(0, 2**32)


def separation(*rows_and_sums):
    """Of rows and sums, as the model has them."""
    return of_means(cluster_means(*rows_and_sums))


def draw(seed, n=40, d=6, k=3, weights=None):
    rng = np.random.default_rng(seed)
    X = counts(rng, n, d)
    w = np.ones(n) if weights is None else weights(rng, n)
    return X, Indicator(rng.integers(0, k, n), w, k), rng


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
@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_of_all_rows_weighing_alike_it_is_the_textbook_s(kind, seed):
    X, U, rng = draw(seed)
    shares = rng.uniform(0.1, 1, len(X))
    faded = Indicator(U.labels, shares, U.n_clusters)
    found = separation(kind(X), U, shares, transposed_product(X, faded), faded.sums)
    np.testing.assert_allclose(found, slow(X, U.labels, shares), rtol=1e-6, atol=1e-9)


def test_rows_that_weigh_more_do_not_make_clusters_purer():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 500)
    # In its own cluster a feature is on half of the rows; these lie further along it.
    own = (rng.random(1000) < 0.5) & (labels == 0)
    X = own.astype(float)[:, np.newaxis]
    U = Indicator(labels, np.where(own, 3.0, 1.0), 2)
    found = separation(X, U, np.ones(1000), transposed_product(X, U), U.sums)
    assert found == pytest.approx(slow(X, labels, np.ones(1000)), rel=0.05)


def test_what_the_sample_lacks_is_known_by_the_sums():
    X, U, _ = draw(0, d=2)
    sample = X.copy()
    sample[:, 1] = 0
    found = separation(sample, U, np.ones(len(X)), np.array([[9.0, 0, 0], [9.0, 0, 0]]), U.sums)
    even = separation(sample, U, np.ones(len(X)), np.outer([9.0, 9.0], U.sums), U.sums)
    assert found[1] > 0
    assert even[1] == pytest.approx(0, abs=1e-12)


@given(seed=seeds, power=st.integers(-12, 12))
@settings(max_examples=40, deadline=None)
def test_every_column_has_its_own_scale(seed, power):
    X, U, rng = draw(seed, weights=lambda rng, n: rng.uniform(0.2, 2, n))
    B, ones = transposed_product(X, U), np.ones(len(X))
    factors = 10.0 ** (power * rng.random(X.shape[1]))
    before = separation(X, U, ones, B, U.sums)
    after = separation(X * factors, U, ones, B * factors[:, np.newaxis], U.sums)
    np.testing.assert_allclose(after, before * factors, rtol=1e-6, atol=1e-12 * factors.max())


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_it_neither_overflows_nor_vanishes(size):
    X, U, _ = draw(3)
    B = transposed_product(X, U)
    plain, scaled = (separation(X * s, U, np.ones(len(X)), B * s, U.sums) for s in (1.0, size))
    np.testing.assert_allclose(scaled / size, plain, rtol=1e-9)


def test_nothing_separates_nothing():
    X, U, _ = draw(1)
    empty = sp.csr_array(X.shape)
    assert not separation(empty, U, np.ones(len(X)), np.zeros((6, 3)), U.sums).any()
    assert not separation(X, U, np.zeros(len(X)), np.zeros((6, 3)), np.zeros(3)).any()
    constant = np.ones_like(X)
    assert not separation(
        constant, U, np.ones(len(X)), transposed_product(constant, U), U.sums
    ).any()


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
def test_a_sample_tells_of_all_rows_whatever_is_added_to_a_column(offset):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 20_000)
    X = offset + labels[:, np.newaxis] / 2 + rng.random((20_000, 1)) / 2
    U = Indicator(labels, rng.uniform(0.5, 1.5, 20_000), 3)
    B, expected = transposed_product(X, U), slow(X, labels, np.ones(20_000))
    for _ in range(10):
        rows = rng.permutation(20_000)[:2000]
        found = separation(X[rows], U.take(rows), np.ones(2000), B, U.sums)
        assert found == pytest.approx(expected, rel=0.15)


def test_entries_whose_squares_vanish_beside_others_are_sound():
    X, U, _ = draw(5)
    X[:, 4] = 0
    X[3, 4] = 1e-200
    found = separation(X, U, np.ones(len(X)), transposed_product(X, U), U.sums)
    assert np.isfinite(found).all()
    assert found[4] <= 1e-190
