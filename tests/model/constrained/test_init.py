"""Starts find planted clusters, and every degenerate set of rows gives sound directions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.evaluation import clustering_accuracy
from omvfs.model.arrays import project
from omvfs.model.constrained import init, race
from omvfs.model.constrained.alternate import best_cluster
from support import counts

kinds = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
seeds = st.integers(0, 2**32)


def start(X, n_clusters, seed=0, n_init=4):
    return init.spectral_start(X, n_clusters, np.random.default_rng(seed), n_init)


def planted(seed, n=60, n_clusters=4, widths=(12, 8)):
    """Rows of clear clusters over two views, of very different lengths."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_clusters
    lengths = rng.uniform(0.1, 10, n)[:, np.newaxis]
    X = []
    for width in widths:
        own = np.arange(width) % n_clusters == labels[:, np.newaxis]
        X.append(lengths * (0.05 * rng.random((n, width)) + own))
    return X, labels


def assert_sound(directions, X, n_clusters):
    for V_v, X_v in zip(directions, X, strict=True):
        assert V_v.shape == (X_v.shape[1], n_clusters)
        assert V_v.dtype == X_v.dtype
        assert np.isfinite(V_v).all()
        assert (V_v >= 0).all()
    norms = np.sqrt(sum(np.sum(V_v**2, axis=0) for V_v in directions))
    tolerance = 1e-5 if X[0].dtype == np.float32 else 1e-12
    assert (np.isclose(norms, 1, atol=tolerance) | (norms == 0)).all()


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_planted_clusters_are_found_and_empty_rows_do_not_take_part(kind, dtype):
    for seed, n_empty in ((0, 0), (1, 0), (2, 7)):
        X, labels = planted(seed)
        X = [np.vstack([np.zeros_like(X_v[:n_empty]), X_v]) for X_v in X]
        X = [kind(X_v.astype(dtype)) for X_v in X]
        directions = start(X, 4, seed)
        assert_sound(directions, X, 4)
        found = best_cluster(project(X, directions)).labels[n_empty:]
        assert clustering_accuracy(labels, found) == 1


@kinds
@given(
    seed=seeds,
    n=st.integers(1, 12),
    n_clusters=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    same=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_any_rows_give_sound_directions(kind, seed, n, n_clusters, density, same):
    rng = np.random.default_rng(seed)
    X = [counts(rng, n, width, density=density) for width in (5, 3)]
    if same:
        X = [np.repeat(X_v[:1], n, axis=0) for X_v in X]
    X = [kind(X_v) for X_v in X]
    directions = start(X, n_clusters, seed)
    assert_sound(directions, X, n_clusters)
    for V_v, W_v in zip(directions, start(X, n_clusters, seed), strict=True):
        np.testing.assert_array_equal(V_v, W_v)
    if density == 0:
        assert not any(V_v.any() for V_v in directions)


@given(seed=seeds, n_clusters=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_alternating_never_explains_less_and_starts_do_not_know_of_each_other(seed, n_clusters):
    rng = np.random.default_rng(seed)
    X = counts(rng, 15, 10)
    total = np.sum(X**2)
    begin = race.kmeans_plusplus_directions(X, n_clusters, rng, 3)
    runs = [race.alternate(X, begin, i) for i in range(6)]
    energies = np.array([each.energies for each in runs])
    assert (np.diff(energies, axis=0) >= -1e-9 * total).all()
    assert (energies[-1] <= total * (1 + 1e-12)).all()
    for i, directions in enumerate(begin):
        placed = best_cluster(X @ directions.T)
        np.testing.assert_array_equal(runs[0].labels[i], placed.labels)
        assert energies[0, i] == pytest.approx(placed.masses.sum())
        alone = race.alternate(X, begin[[i]], 5)
        np.testing.assert_array_equal(alone.labels[0], runs[5].labels[i])
        np.testing.assert_allclose(alone.energies[0], energies[5, i], rtol=1e-12)


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_seeds_are_rows_and_different_ones(seed):
    rng = np.random.default_rng(seed)
    X = counts(rng, 8, 8, density=0.7) + 0.01
    for drawn in race.kmeans_plusplus_directions(X, 4, rng, 3):
        assert_sound([drawn.T], [X], 4)
        cosines = X @ drawn.T / np.linalg.norm(X, axis=1, keepdims=True)
        rows = cosines.argmax(axis=0)
        np.testing.assert_allclose(cosines[rows, np.arange(4)], 1, atol=1e-9)
        assert len(set(rows)) == 4


@given(seed=seeds, n=st.integers(4, 12), n_clusters=st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_a_cluster_without_rows_gets_the_row_that_is_explained_least(seed, n, n_clusters):
    rng = np.random.default_rng(seed)
    X = np.diag(rng.permutation(n) + 1.0) + 0.01
    # All rows are nearest to the first direction; the others have none.
    begin = np.zeros((1, n_clusters, n))
    begin[0, 0] = 1 / np.sqrt(n)
    found = race.alternate(X, begin, 1)
    alone = np.argsort(-np.diag(X))[: n_clusters - 1]
    unit = X[alone] / np.linalg.norm(X[alone], axis=1, keepdims=True)
    np.testing.assert_allclose(found.directions[0, 1:], unit, atol=1e-12)
    assert set(found.labels[0]) == set(range(n_clusters))
    # Of rows that one direction explains, none is taken from it.
    same = np.outer(rng.random(n) + 1, np.ones(n))
    found = race.alternate(same, begin, 3)
    assert not found.labels.any()
    assert not found.directions[0, 1:].any()


def cliques(n_cliques, size, isolated=0):
    """Return the graph of rows that are near all of their own clique, and none else."""
    W = np.kron(np.eye(n_cliques), np.ones((size, size)) - np.eye(size)) / (size - 1)
    return sp.csr_array(sp.block_diag([W, np.zeros((isolated, isolated))]))


def test_neighbours_alone_make_clusters_and_a_view_of_no_weight_has_no_say():
    noise = sp.random_array((36, 36), density=0.5, random_state=0, format="csr")
    for graphs, weights in (
        ([cliques(4, 9), cliques(4, 9)], [1.0, 3.0]),
        ([cliques(4, 9), noise], [1.0, 0.0]),
    ):
        labels = init.graph_start(graphs, weights, 4, np.random.default_rng(0), n_init=8)
        assert clustering_accuracy(np.repeat(np.arange(4), 9), labels) == 1
    E = init.graph_embedding([cliques(2, 5, isolated=3)], [1.0], 4, np.random.default_rng(0))
    assert not E[10:].any()
    assert np.allclose(np.linalg.norm(E[:10], axis=1), 1)


@given(seed=seeds, n=st.integers(1, 12), n_clusters=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_any_graph_gives_clusters(seed, n, n_clusters):
    W = sp.random_array((n, n), density=0.4, random_state=seed % 2**31, format="csr")
    W = sp.csr_array(W + W.T) / max(1.0, 2 * n)
    labels = init.graph_start([W], [1.0], n_clusters, np.random.default_rng(seed), n_init=2)
    assert labels.shape == (n,)
    assert labels.min() >= 0
    assert labels.max() < n_clusters
