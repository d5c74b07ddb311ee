"""The reservoir is clustered anew as the stream grows, and all that is known follows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.constrained import recluster
from omvfs.model.indicator import Indicator
from short_stream import SETTINGS, begin, chunk, kinds, learned, states
from support import dense, fingerprint


def test_the_reservoir_is_clustered_anew_as_the_stream_grows():
    done = [info.reclustered for _, info in states(SETTINGS, [10] * 17)]
    # At 4 times the rows of the last time.
    assert [10 * (t + 1) for t, it_was in enumerate(done) if it_was] == [40, 160]


def test_a_full_reservoir_is_clustered_anew_and_then_seldom():
    small = replace(SETTINGS, sample_size=30)
    done = [info.reclustered for _, info in states(small, [10] * 193)]
    # When it is full, and at 64 times that.
    assert [10 * (t + 1) for t, it_was in enumerate(done) if it_was] == [30, 1920]


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


def test_clusters_are_numbered_to_agree_with_the_old():
    rng = np.random.default_rng(0)
    old = Indicator(rng.integers(4, size=50), rng.random(50), 4)
    for _ in range(5):
        numbers = rng.permutation(4)
        renumbered = Indicator(numbers[old.labels], old.weights, 4)
        np.testing.assert_array_equal(recluster._matched(renumbered, old).labels, old.labels)
