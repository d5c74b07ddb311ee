"""Parts in common clusters: rows that are there move exactly, those that are gone as they did."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.constrained.directions import feature_matrices
from omvfs.model.constrained.merging import CommonClusters, KeyedPart, Sample, in_pairs
from omvfs.model.statistics import Statistics
from short_stream import SETTINGS, begin, chunk, kinds, learned

SMALL = replace(SETTINGS, sample_size=20)


def part(seed, sizes, own=SMALL, kind=np.asarray, left=1.0):
    state = begin(own)
    for i, n in enumerate(sizes):
        state, _ = learned(state, chunk(100 * seed + i, n, kind), own)
    return KeyedPart(state, seed, left)


def common_of(parts, own=SMALL):
    known = [feature_matrices(parts[0].state, own)]
    sample = in_pairs(map(Sample.of, parts))
    return CommonClusters(sample, known, np.random.default_rng(0), own), sample


@given(st.integers(1, 200))
@settings(max_examples=30, deadline=None)
def test_in_pairs_holds_few_and_adds_neighbours(n):
    held, most = set(), [0]

    class Item:
        def __init__(self, first, last, height):
            self.first, self.last, self.height = first, last, height
            held.add(self)
            most[0] = max(most[0], len(held))

        def __add__(self, other):
            assert self.last + 1 == other.first
            held.discard(self)
            held.discard(other)
            return Item(self.first, other.last, 1 + max(self.height, other.height))

    total = in_pairs(Item(i, i, 0) for i in range(n))
    assert (total.first, total.last) == (0, n - 1)
    assert total.height == int(np.ceil(np.log2(n)))
    assert most[0] <= 2 + np.log2(n)


@kinds
def test_rows_that_a_part_still_has_are_counted_where_they_are_placed(kind):
    # All rows of both parts are in their samples, and half of them in the common one.
    own = replace(SETTINGS, sample_size=60)
    parts = [part(seed, [30, 30], own, kind) for seed in (1, 2)]
    common, sample = common_of(parts, own)
    total = in_pairs(map(common.moved, parts))
    state = common.state(total, parts[0].state.window, 4, np.random.default_rng(0))
    held = state.reservoir
    drawn = set(sample.reservoir.keys.tolist())
    expected = Statistics.of_clusters(held.blocks, held.counted)
    for each in parts:
        others = np.flatnonzero([key not in drawn for key in each.reservoir.keys])
        rows = [X_v[others] for X_v in each.state.reservoir.blocks]
        expected = expected.placed(rows, common.place(rows))
    for view, same in zip(state.statistics.views, expected.views, strict=True):
        np.testing.assert_allclose(view.B, same.B, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(view.masses, same.masses)
        np.testing.assert_allclose(view.weight_sums, same.weight_sums)
    assert (state.statistics.n_rows, len(held), state.reclustered_at) == (120, 60, 120)


@kinds
def test_of_rows_that_are_gone_nothing_is_lost(kind):
    parts = [part(seed, [60, 60, 60], kind=kind) for seed in (1, 2, 3)]
    common, _ = common_of(parts)
    for each in parts:
        known, sample = each.state.statistics, each.state.reservoir
        gone = known.without(Statistics.of_clusters(sample.blocks, sample.counted, sample.shares))
        others = ~common._has(each)
        rows = [X_v[others] for X_v in sample.blocks]
        placed = Statistics.of_clusters(rows, common.place(rows))
        moved = common.moved(each)
        for view, before, added in zip(moved.views, gone.views, placed.views, strict=True):
            np.testing.assert_allclose(view.B.sum(axis=1), (before.B + added.B).sum(axis=1))
            assert view.masses.sum() == pytest.approx((before.masses + added.masses).sum())
            assert (view.decayed_n_rows, view.energy) == (180, before.energy)
            assert view.filled_rows == before.filled_rows > 0
        assert moved.n_rows == 180


@pytest.fixture(scope="module")
def two_parts():
    return [part(seed, [60, 60]) for seed in (1, 2)]


def test_what_is_left_of_a_part_fades_all_of_it(two_parts):
    young, faded = two_parts[0], replace(two_parts[1], left=0.01)
    common, sample = common_of([young, faded])
    assert sample.statistics.decayed_n_rows == pytest.approx(120 * 1.01)
    # Rows of which too little is left are drawn after all others.
    assert np.isin(sample.reservoir.keys, young.reservoir.keys).all()
    moved, same = common.moved(faded), common.moved(replace(faded, left=1.0))
    assert moved.decayed_n_rows == pytest.approx(1.2)
    for view, before in zip(moved.views, faded.state.statistics.views, strict=True):
        assert view.energy == pytest.approx(0.01 * before.energy)
        assert view.filled_rows == pytest.approx(1.2)
    np.testing.assert_allclose(moved.masses.sum(), 0.01 * same.masses.sum(), rtol=0.5)
