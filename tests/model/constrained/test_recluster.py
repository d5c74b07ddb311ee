"""Clustering the reservoir anew: when, by what merit, and what becomes of what is known."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.datasets import make_planted
from omvfs.model.arrays import unit_rows
from omvfs.model.constrained import recluster
from omvfs.model.constrained.recluster import foretold, merit
from omvfs.model.graph.neighbours import normalised_neighbours
from omvfs.model.indicator import Indicator
from short_stream import SETTINGS, begin, chunk, kinds, learned, states
from support import dense, fingerprint


@pytest.mark.parametrize(
    ("size", "n_chunks", "expected"),
    # At 4 times the rows of the last time; when it is full, and at 64 times that.
    [(1000, 17, [40, 160]), (30, 193, [30, 1920])],
)
def test_the_reservoir_is_clustered_anew_as_the_stream_grows(size, n_chunks, expected):
    own = replace(SETTINGS, sample_size=size)
    done = [info.reclustered for _, info in states(own, [10] * n_chunks)]
    assert [10 * (t + 1) for t, it_was in enumerate(done) if it_was] == expected


def test_what_is_asked_is_reclustered_and_the_stream_is_not():
    *_, (state, _) = states(SETTINGS, [10] * 3)
    before = fingerprint(state)
    asked = recluster.reclustered(state, SETTINGS)
    assert (state.reclustered_at, asked.reclustered_at) == (10, 30)
    assert fingerprint(state) == before
    assert fingerprint(asked) == fingerprint(recluster.reclustered(state, SETTINGS))


@kinds
@given(seed=st.integers(0, 100), capacity=st.integers(3, 20))
@settings(max_examples=10, deadline=None)
def test_reclustering_moves_what_is_gone_and_loses_nothing(kind, seed, capacity):
    given_settings = replace(SETTINGS, sample_size=capacity)
    state = begin(given_settings)
    for i, n in enumerate([15, 20]):
        state, _ = learned(state, chunk(seed + i, n, kind), given_settings)
    draft = recluster.reclustered(state, given_settings)
    old, new = state.reservoir.counted, draft.reservoir.counted
    assert len(state.reservoir) == capacity
    # Rows held are counted anew; the rest only moves between clusters.
    held = map(dense, state.reservoir.blocks)
    views = state.statistics.views, draft.statistics.views
    for before, after, X_v in zip(*views, held, strict=True):
        for name, was, now in [
            ("masses", old.masses, new.masses),
            ("weight_sums", old.weights, new.weights),
        ]:
            left = getattr(before, name).sum() - was.sum()
            assert getattr(after, name).sum() == pytest.approx(left + now.sum())
        moved = before.B.sum(axis=1) - X_v.T @ old.weights + X_v.T @ new.weights
        np.testing.assert_allclose(after.B.sum(axis=1), moved, atol=1e-9)
        for array in (after.masses, after.weight_sums, after.B):
            assert (array >= 0).all()


def test_the_same_clusters_keep_their_numbers_and_sums():
    *_, (state, _) = states(replace(SETTINGS, sample_size=30), [30, 30, 30])
    once = recluster.reclustered(state, SETTINGS)
    twice = recluster.reclustered(once, SETTINGS)
    np.testing.assert_array_equal(twice.reservoir.counted.labels, once.reservoir.counted.labels)
    np.testing.assert_allclose(twice.statistics.masses, once.statistics.masses, rtol=0.05)
    rng = np.random.default_rng(0)
    old = Indicator(rng.integers(4, size=50), rng.random(50), 4)
    renumbered = Indicator(rng.permutation(4)[old.labels], old.weights, 4)
    np.testing.assert_array_equal(recluster._matched(renumbered, old).labels, old.labels)


# Merit: good clusters are told from bad ones without classes.


@pytest.fixture(scope="module")
def planted():
    found = make_planted(
        400, n_features=(200, 100), n_informative=(60, 40), n_classes=4, random_state=0
    )
    X = [unit_rows(block.astype(float)) for block in found.views.values()]
    return X, found.labels


def clusters(labels, n_clusters=4):
    return Indicator(np.asarray(labels), np.ones(len(labels)), n_clusters)


def spoilt(labels, share, seed=0):
    """Return labels of which a share is drawn anew."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(labels)) < share, rng.permutation(labels), labels)


def test_the_more_rows_are_astray_the_less_the_merit(planted):
    X, labels = planted
    near = normalised_neighbours(X, 10)
    for graphs in (near, []):
        found = [
            merit(clusters(spoilt(labels, s)), X, graphs, [1.0, 1.0]) for s in (0, 0.2, 0.5, 1)
        ]
        assert found == sorted(found, reverse=True)
        assert found[-1] < 0.2 * found[0]
    renamed = clusters(np.array([2, 0, 3, 1])[labels])
    ours = merit(clusters(labels), X, near, [1.0, 2.0])
    assert merit(renamed, X, near, [1.0, 2.0]) == pytest.approx(ours)
    assert merit(clusters(np.zeros_like(labels)), X, [], []) == 0
    # A view of no weight has no say.
    noise = normalised_neighbours([np.random.default_rng(0).random((400, 5))], 10)
    alone = merit(clusters(labels), X, near[:1], [1.0])
    graphs = [near[0], *noise]
    assert merit(clusters(labels), X, graphs, [2.0, 0.0]) == pytest.approx(alone)
    assert merit(clusters(labels), X, graphs, [1.0, 1.0]) < 0.9 * alone


def test_what_tells_clusters_foretells_them_and_noise_does_not(planted):
    X, labels = planted
    U = clusters(labels)
    assert foretold(X[0], U) > 0.6
    assert foretold(X[0].toarray(), U) == pytest.approx(foretold(sp.csr_array(X[0]), U))
    assert foretold(unit_rows(np.random.default_rng(0).random(X[0].shape)), U) < 0.1
    # Every row by itself: whoever learned from the row it foretells would know its cluster.
    labels = np.random.default_rng(1).integers(0, 2, 200)
    assert foretold(np.eye(200), clusters(labels, 2)) == 0
    # Clusters that take turns are foretold as well.
    for turns in (np.arange(40) % 2, np.arange(40) // 20):
        assert foretold(np.eye(2)[turns], clusters(turns, 2)) == 1
