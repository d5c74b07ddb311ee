"""Spherical k-means."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.evaluation import clustering_accuracy, spherical, spherical_k_means
from omvfs.evaluation.spherical import reassign, unit_means, unit_rows
from support import KINDS, clustered, counts, dense

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def rows_of_any_sort(rng, n, width):
    """Few different rows, some zero, some negative: what makes clusters empty."""
    X = rng.integers(-1, 3, size=(n, width)) * rng.integers(0, 2, size=(n, 1))
    return X[rng.integers(n, size=n)].astype(float)


@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e15])
def test_unit_rows_have_unit_norm_whatever_their_size_and_zero_rows_stay_zero(kind, dtype, scale):
    X = (counts(np.random.default_rng(0), 20, 6) * scale).astype(dtype)
    X[3] = 0
    before = X.copy()
    unit = unit_rows(kind(X))
    norms = np.linalg.norm(dense(unit).astype(float), axis=1)
    np.testing.assert_allclose(norms, dense(X).any(axis=1), rtol=1e-6)
    assert unit.dtype == dtype
    assert sp.issparse(unit) == sp.issparse(kind(X))
    np.testing.assert_array_equal(X, before)


@every_kind
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), K=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_unit_means_are_the_means_of_each_cluster(kind, seed, n, K):
    rng = np.random.default_rng(seed)
    X, labels = rng.random((n, 4)), rng.integers(K, size=(n, 3))
    centers = unit_means(kind(X), labels, K)
    for r, k in product(range(3), range(K)):
        total = X[labels[:, r] == k].sum(axis=0)
        expected = total / np.linalg.norm(total) if total.any() else total
        np.testing.assert_allclose(centers[r, k], expected, atol=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 15),
    width=st.integers(1, 5),
)
@settings(max_examples=60, deadline=None)
def test_the_objective_never_falls(seed, n, width):
    rng = np.random.default_rng(seed)
    X, K = unit_rows(rows_of_any_sort(rng, n, width)), int(rng.integers(1, n + 1))
    labels, before = rng.integers(K, size=(n, 4)), np.full(4, -np.inf)
    for _ in range(8):
        step = reassign(X, labels, K)
        assert (step.objective >= before - 1e-9).all()
        labels, before = step.labels, step.objective


def test_an_emptied_cluster_is_given_the_row_that_fits_worst():
    X = unit_rows(np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.15], [0.0, 0.0], [0.3, 1.0]]))
    step = reassign(X, np.zeros((5, 1), int), 2)
    np.testing.assert_allclose(step.centers[0, 1], X[4])
    np.testing.assert_array_equal(step.labels[:, 0], [0, 0, 0, 0, 1])


def test_an_emptied_cluster_is_given_the_worst_of_rows_that_point_away():
    X = unit_rows(np.array([[1.0, 0.0]] * 5 + [[-0.3, -1.0], [-1.0, 0.0]]))
    step = reassign(X, np.zeros((7, 1), int), 2)
    np.testing.assert_allclose(step.centers[0, 1], X[6])


def test_a_zero_row_keeps_its_label_and_is_no_start():
    X = np.zeros((40, 3))
    X[7], X[11] = [1, 0, 0], [0, 1, 0]
    step = reassign(X, np.full((40, 1), 1), 2)
    assert (step.labels[np.setdiff1d(np.arange(40), [7, 11]), 0] == 1).all()
    starts = spherical._seeds(X, 2, np.random.default_rng(0), 20)
    assert (np.sort(starts.argmax(axis=2)) == [0, 1]).all()
    assert (starts.max(axis=2) == 1).all()


@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clear_clusters_are_found(kind, dtype):
    X, labels = clustered(np.random.default_rng(0), 200, 30, 4, dtype)
    found = spherical_k_means(kind(X), 4, np.random.default_rng(1))
    assert clustering_accuracy(labels, found.labels) > 0.98
    assert found.centers.dtype == dtype
    assert type(found.centers) is np.ndarray
    cosines = unit_rows(X)[np.arange(200)] * found.centers[found.labels]
    assert found.objective == pytest.approx(cosines.sum(), rel=1e-5)


def test_the_end_is_a_fixed_point():
    X = unit_rows(counts(np.random.default_rng(0), 80, 10))
    found = spherical_k_means(X, 5, np.random.default_rng(0))
    again = reassign(X, found.labels[:, np.newaxis], 5)
    np.testing.assert_array_equal(again.labels[:, 0], found.labels)
    np.testing.assert_allclose(again.centers[0], found.centers)
    assert 1 < found.n_iter < 100


def test_more_starts_are_never_worse():
    X = counts(np.random.default_rng(2), 100, 10)
    few, many = (spherical_k_means(X, 6, np.random.default_rng(0), n_init=n) for n in (1, 40))
    assert many.objective > few.objective


def test_starts_that_do_not_fit_at_once_run_in_groups_of_which_the_best_is_taken(monkeypatch):
    X = counts(np.random.default_rng(2), 100, 20)
    found = []
    original = spherical._side_by_side

    def remembered(X, n_clusters, rng, n_starts, max_iter):
        found.append((n_starts, original(X, n_clusters, rng, n_starts, max_iter)))
        return found[-1][1]

    monkeypatch.setattr(spherical, "_MOST_CELLS", 6 * 120 * 4)
    monkeypatch.setattr(spherical, "_side_by_side", remembered)
    best = spherical_k_means(X, 6, np.random.default_rng(0))
    objectives = [clusters.objective for _, clusters in found]
    assert [n_starts for n_starts, _ in found] == [4, 4, 2]
    assert best.objective == max(objectives) > min(objectives)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    width=st.integers(1, 5),
    max_iter=st.integers(1, 5),
    sparse=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_rows_can_be_clustered(seed, n, width, max_iter, sparse):
    rng = np.random.default_rng(seed)
    X, K = rows_of_any_sort(rng, n, width), int(rng.integers(1, n + 1))
    found = spherical_k_means(sp.csr_array(X) if sparse else X, K, rng, 3, max_iter)
    assert found.labels.shape == (n,)
    assert set(found.labels) <= set(range(K))
    assert np.isfinite(found.centers).all()
    assert found.n_iter <= max_iter


def test_as_many_clusters_as_different_rows_fit_exactly():
    X = counts(np.random.default_rng(0), 12, 8, density=1.0)
    found = spherical_k_means(X, 12, np.random.default_rng(0))
    assert sorted(found.labels) == list(range(12))
    assert found.objective == pytest.approx(12)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 6}, "n_clusters=6 for n_samples=5"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 2, "n_init": 0}, "n_init=0"),
        ({"n_clusters": 2, "max_iter": 1.5}, r"max_iter=1\.5"),
    ],
)
def test_errors_name_what_was_got(params, message):
    with pytest.raises(ValueError, match=message):
        spherical_k_means(np.ones((5, 2)), rng=np.random.default_rng(0), **params)
