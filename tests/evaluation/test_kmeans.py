"""Spherical k-means of several views, and of one."""

from itertools import islice, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from omvfs.datasets import make_planted
from omvfs.evaluation import (
    MultiViewSphericalKMeans,
    clustering_accuracy,
    kmeans,
    spherical_k_means,
)
from omvfs.evaluation.kmeans import (
    alternate,
    consensus,
    nearest_by_angle,
    reassign,
    rounds,
    unit_means,
    unit_rows,
)
from support import KINDS, clustered

seeds = st.integers(0, 2**32 - 1)


def noisy_views(rng, n, widths, K=3, noise=0.3):
    """Views of the same classes, each with classes of its own for some rows."""
    truth = rng.integers(K, size=n)
    views = []
    for width in widths:
        labels = np.where(rng.random(n) < noise, rng.integers(K, size=n), truth)
        own = np.arange(width) % K == labels[:, np.newaxis]
        views.append(rng.random((n, width)) * (0.3 + own))
    return views, truth


class Transcription:
    """Bickel and Scheffer's algorithm as it is written, a row at a time."""

    def __init__(self, views, labels, K):
        self.X = [[self.unit(row) for row in view] for view in views]
        self.K, self.V, self.n = K, len(views), len(labels)
        self.labels = [list(labels) for _ in views]  # only those of the first are ever used
        self.centers = [None] * self.V
        self.objective = [None] * self.V

    @staticmethod
    def unit(row):
        return row / np.linalg.norm(row)

    def round(self):
        for v in reversed(range(self.V)):
            other = self.labels[(v + 1) % self.V]
            self.centers[v] = [
                self.unit(sum(self.X[v][i] for i in range(self.n) if other[i] == k))
                for k in range(self.K)
            ]
            cosines = [[float(x @ c) for c in self.centers[v]] for x in self.X[v]]
            self.labels[v] = [int(np.argmax(row)) for row in cosines]
            self.objective[v] = sum(max(row) for row in cosines)

    def run(self, patience):
        """Return the number of rounds, none left out."""
        best, age, n_rounds = [-np.inf] * self.V, [0] * self.V, 0
        while not all(a > patience for a in age):
            self.round()
            n_rounds += 1
            for v in range(self.V):
                age[v] = 0 if self.objective[v] > best[v] else age[v] + 1
                best[v] = max(best[v], self.objective[v])
        return n_rounds

    def final(self):
        centers = []
        for v in range(self.V):
            centers.append([])
            for k in range(self.K):
                agreed = [i for i in range(self.n) if all(own[i] == k for own in self.labels)]
                centers[v].append(
                    self.unit(sum(self.X[v][i] for i in agreed)) if agreed else self.centers[v][k]
                )
        labels = []
        for i in range(self.n):
            angles = [
                sum(np.arccos(np.clip(self.X[v][i] @ centers[v][k], -1, 1)) for v in range(self.V))
                for k in range(self.K)
            ]
            labels.append(int(np.argmin(angles)))
        return centers, labels


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize(("n_views", "seed"), [(2, 0), (3, 1)])
def test_every_round_is_as_written(kind, n_views, seed):
    rng = np.random.default_rng(seed)
    views, _ = noisy_views(rng, 60, [7, 5, 9][:n_views])
    start = rng.integers(3, size=60)
    slow = Transcription(views, start, 3)
    X = [unit_rows(kind(view)) for view in views]
    for fast in islice(rounds(X, start, 3), 6):
        slow.round()
        for v, own in enumerate(fast):
            np.testing.assert_array_equal(own.labels[:, 0], slow.labels[v])
            np.testing.assert_allclose(own.objective[0], slow.objective[v])
            np.testing.assert_allclose(own.centers[0], slow.centers[v], atol=1e-12)


@pytest.mark.parametrize(("n_views", "seed"), [(2, 0), (3, 1), (2, 2), (3, 3)])
def test_the_end_is_as_written_though_rounds_that_change_nothing_are_left_out(n_views, seed):
    rng = np.random.default_rng(seed)
    views, _ = noisy_views(rng, 60, [7, 5, 9][:n_views])
    start = rng.integers(3, size=60)
    slow = Transcription(views, start, 3)
    n_rounds = slow.run(patience=4)
    X = [unit_rows(view) for view in views]
    last, n_iter = alternate(X, start, 3, max_iter=100, patience=4)
    assert n_iter <= n_rounds
    np.testing.assert_array_equal([own.labels[:, 0] for own in last], slow.labels)
    centers, labels = slow.final()
    for fast_v, slow_v in zip(consensus(X, last), centers, strict=True):
        np.testing.assert_allclose(fast_v, slow_v, atol=1e-12)
    np.testing.assert_array_equal(nearest_by_angle(X, consensus(X, last)), labels)


def test_planted_classes_are_found():
    planted = make_planted(1000, random_state=0)
    model = MultiViewSphericalKMeans(5, random_state=0).fit(planted.views)
    assert clustering_accuracy(planted.labels, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(planted.views), model.labels_)
    assert {view: X.shape for view, X in model.cluster_centers_.items()} == {
        "view_0": (5, 4000),
        "view_1": (5, 1000),
    }
    assert all(X.dtype == np.float32 for X in model.cluster_centers_.values())


def test_rows_missing_in_a_view_are_clustered_by_the_others():
    planted = make_planted(1000, missing=(0.3, 0.0), random_state=0)
    found = MultiViewSphericalKMeans(5, random_state=0).fit_predict(planted.views)
    missing = planted.views["view_0"].sum(axis=1) == 0
    assert 200 < missing.sum() < 400
    assert clustering_accuracy(planted.labels[missing], found[missing]) > 0.9


def test_one_view_is_spherical_k_means():
    X, _ = clustered(np.random.default_rng(0), 100, 12, 3)
    model = MultiViewSphericalKMeans(3, random_state=5).fit(X)
    rng = np.random.default_rng(np.random.RandomState(5).randint(2**31 - 1))
    plain = spherical_k_means(X, 3, rng)
    np.testing.assert_array_equal(model.labels_, plain.labels)
    np.testing.assert_allclose(model.cluster_centers_["X"], plain.centers)
    assert model.objective_ == {"X": pytest.approx(plain.objective)}
    assert model.n_iter_ == plain.n_iter


@given(
    seed=seeds,
    n=st.integers(1, 10),
    n_views=st.integers(1, 6),
    dtype=st.sampled_from([np.float32, np.float64]),
    sparse=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_rows_can_be_clustered(seed, n, n_views, dtype, sparse):
    rng = np.random.default_rng(seed)
    views = []
    for _ in range(n_views):
        X = rng.integers(-1, 3, size=(n, rng.integers(1, 5))) * rng.integers(0, 2, size=(n, 1))
        X = X[rng.integers(n, size=n)].astype(dtype)  # duplicates
        views.append(sp.csr_array(X) if sparse else X)
    K = int(rng.integers(1, n + 1))
    model = MultiViewSphericalKMeans(K, n_init=2, max_iter=5, random_state=0).fit(views)
    assert model.labels_.shape == (n,)
    assert set(model.labels_) <= set(range(K))
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    for centers in model.cluster_centers_.values():
        assert centers.dtype == dtype
        assert np.isfinite(centers).all()


def test_errors_name_what_was_got():
    X, rng = np.ones((5, 2)), np.random.default_rng(0)
    for params, message in [
        ({"n_clusters": 6}, "n_clusters=6 for n_samples=5"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 2, "n_init": 0}, "n_init=0"),
        ({"n_clusters": 2, "max_iter": 1.5}, r"max_iter=1\.5"),
    ]:
        with pytest.raises(ValueError, match=message):
            MultiViewSphericalKMeans(**params).fit(X)
        with pytest.raises(ValueError, match=message):
            spherical_k_means(X, rng=rng, **params)
    with pytest.raises(ValueError, match="patience=-1"):
        MultiViewSphericalKMeans(2, patience=-1).fit(X)
    with pytest.raises(NotFittedError):
        MultiViewSphericalKMeans(2).predict(X)
    model = MultiViewSphericalKMeans(2).fit({"text": X})
    with pytest.raises(ValueError, match="'text' has 1 features"):
        model.predict({"text": X[:, :1]})


@parametrize_with_checks([MultiViewSphericalKMeans()])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def rows_of_any_sort(rng, n, width):
    """Few different rows, some zero, some negative: what makes clusters empty."""
    X = rng.integers(-1, 3, size=(n, width)) * rng.integers(0, 2, size=(n, 1))
    return X[rng.integers(n, size=n)].astype(float)


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


def test_a_zero_row_keeps_its_label_and_is_no_start():
    X = np.zeros((40, 3))
    X[7], X[11] = [1, 0, 0], [0, 1, 0]
    step = reassign(X, np.full((40, 1), 1), 2)
    assert (step.labels[np.setdiff1d(np.arange(40), [7, 11]), 0] == 1).all()
    starts = kmeans._seeds(X, 2, np.random.default_rng(0), 20)
    assert (np.sort(starts.argmax(axis=2)) == [0, 1]).all()
    assert (starts.max(axis=2) == 1).all()


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    width=st.integers(1, 5),
    max_iter=st.integers(1, 5),
    sparse=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_rows_of_one_view_can_be_clustered(seed, n, width, max_iter, sparse):
    rng = np.random.default_rng(seed)
    X, K = rows_of_any_sort(rng, n, width), int(rng.integers(1, n + 1))
    found = spherical_k_means(sp.csr_array(X) if sparse else X, K, rng, 3, max_iter)
    assert found.labels.shape == (n,)
    assert set(found.labels) <= set(range(K))
    assert np.isfinite(found.centers).all()
    assert found.n_iter <= max_iter
