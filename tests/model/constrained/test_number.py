"""What rows tell of how many clusters there are."""

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from omvfs.model.constrained import number
from omvfs.model.constrained.number import ClusterCurve, cluster_curve, numbers_to_try
from omvfs.model.partitions import information
from short_stream import SETTINGS
from support import clustered, fingerprint

ASKED = replace(SETTINGS, n_clusters="auto", n_init=24)


def rows(seed, n, n_clusters, widths=(24, 18)):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n)
    found = []
    for width in widths:
        own = np.arange(width) % n_clusters == labels[:, np.newaxis]
        found.append(rng.random((n, width)) * (0.05 + own))
    return found


@pytest.mark.parametrize("n_clusters", [2, 3, 4, 6])
def test_as_many_clusters_are_found_as_there_are(n_clusters):
    X = rows(n_clusters, 300, n_clusters)
    assert cluster_curve(X, np.random.default_rng(0), ASKED).best == n_clusters


def test_neither_rows_nor_generator_are_changed_and_features_may_come_in_any_order():
    X, rng = rows(0, 120, 3), np.random.default_rng(0)
    before = fingerprint([X, copy.deepcopy(rng)])
    curve = cluster_curve(X, rng, ASKED)
    assert fingerprint([X, rng]) == before
    order = np.random.default_rng(1).permutation(24)
    other = cluster_curve([X[1], X[0][:, order]], rng, ASKED)
    np.testing.assert_allclose(curve.criterion, other.criterion, atol=1e-9)


def test_rows_that_lack_views_do_not_make_clusters_of_who_lacks_what():
    X, rng = rows(3, 400, 3), np.random.default_rng(3)
    present = np.ones((400, 2), bool)
    some = np.flatnonzero(rng.random(400) < 0.5)
    present[some, rng.integers(0, 2, len(some))] = False
    X = [X_v * present[:, [v]] for v, X_v in enumerate(X)]
    assert cluster_curve(X, rng, ASKED, present=present).best == 3


@given(st.integers(0, 5000))
def test_numbers_rise_to_the_root_of_the_rows(n):
    tried = numbers_to_try(n).tolist()
    assert tried[0] == (2 if n >= 4 else 1)
    assert all(a < b <= max(a + 1, 1.3 * a) for a, b in pairwise(tried))
    assert tried[-1] <= max(1, min(n**0.5, 50))


@given(st.integers(0, 100), st.integers(2, 6), st.integers(2, 6))
@settings(deadline=None)
def test_what_is_shared_and_what_is_not_make_up_the_entropy(seed, j, k):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(j, size=200), rng.integers(k, size=200)
    assert information(a, b) == pytest.approx(mutual_info_score(a, b), abs=1e-12)
    shared, unshared = number._information(a, b)
    entropies = [mutual_info_score(x, x) / np.log(2) for x in (a, b)]
    assert shared + unshared == pytest.approx(np.mean(entropies))
    # Of clusters that have nothing to do with each other, nothing beyond chance.
    exact = expected_mutual_information(contingency_matrix(a, b), 200)
    assert (j - 1) * (k - 1) / 400 == pytest.approx(exact, rel=0.15, abs=2e-3)
    assert number._information(a, a)[0] > 0.9 * entropies[0]


def test_of_numbers_that_are_as_good_the_least_is_taken():
    tried, none = np.array([2, 3, 4, 5]), np.zeros(4)
    assert ClusterCurve(tried, np.array([1.0, 2.0, 2.05, 1.9]), none, none).best == 3
    assert ClusterCurve(tried, np.array([1.0, 1.8, 2.05, 1.9]), none, none).best == 4
    assert ClusterCurve(tried, none, np.array([0.5, 0.6, 0.7, 0.8]), none).best == 2
    assert ClusterCurve(tried, none, none, none).best == 2


def test_one_clear_cluster_in_noise_is_not_many():
    X, _ = clustered(np.random.default_rng(0), 200, 20, n_clusters=1)
    assert cluster_curve([X], np.random.default_rng(0), ASKED).best <= 4
