"""Snapshots of the best features: bounded, even, and moved with their columns."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from omvfs.model.stream.snapshots import CLUSTERS, MOST, Snapshot, Snapshots, n_top, overlap


def along(steps, widths, fast=False):
    """Take snapshots along a stream of chunks wherever they are due."""
    held, n_rows = Snapshots(), 0
    for step in steps:
        n_rows += step
        if held.due(n_rows, widths, fast):
            held = held.add(Snapshot(n_rows, np.zeros((len(widths), 1), np.int32)))
    return held


@given(st.integers(1, 400), st.integers(0, 3000), st.lists(st.integers(1, 50), min_size=1))
def test_snapshots_are_few_and_evenly_apart(chunk, n_chunks, widths):
    held = along([chunk] * n_chunks, widths[:5])
    rows = [each.n_rows for each in held.taken]
    assert len(rows) < MOST
    gaps = np.diff(rows)
    assert not len(gaps) or gaps.max() - gaps.min() <= chunk
    if held.gap:
        assert len(rows) >= MOST // 2
    if rows:
        assert rows[0] < 2 * (sum(widths[:5]) / 2 + 200 * len(widths[:5])) + 2 * chunk


def test_more_features_and_faster_rows_make_them_rarer():
    few, many = along([100] * 90, [50]), along([100] * 90, [4000])
    assert len(few.taken) > 5 * len(many.taken) > 0
    assert len(along([100] * 90, [50], fast=True).taken) < len(few.taken)


@given(st.integers(1, 3000))
def test_the_bound_holds_for_any_number_of_views(n_views):
    if n_views <= 2000:
        top, shares = 4 * n_views * n_top(n_views) + 8, 4 * CLUSTERS + 8
        assert (MOST - 1) * (top + shares) + 8 + 8 * CLUSTERS < 10**6


@given(st.integers(1, 5), st.integers(1, 60), st.integers(1, 900), st.integers(0, 2**32))
def test_shares_are_those_of_the_rows_between_however_often_they_are_thinned(K, m, n, seed):
    """Nothing is counted twice, and nothing is lost but by rounding."""
    rng = np.random.default_rng(seed)
    held, n_rows, counts = Snapshots(), 0, {}
    labels = rng.integers(K, size=n)
    for start in range(0, n, m):
        some = labels[start : start + m]
        held = held.count(np.eye(K)[some])
        n_rows += len(some)
        if rng.random() < 0.7:
            held = held.add(Snapshot(n_rows, np.zeros((1, 1), np.int32), held.shares))
    counts = np.array([np.bincount(labels[:i], minlength=K) for i in range(n + 1)])
    ends = [0, *(each.n_rows for each in held.taken)]
    for a, b, each in zip(ends, ends[1:], held.taken, strict=False):
        expected = (counts[b] - counts[a]) / (b - a)
        np.testing.assert_allclose(each.shares, expected, atol=1e-6)
    assert_array_equal(held.placed if len(held.placed) else 0, counts[n_rows] - counts[ends[-1]])


def test_of_other_numbers_of_clusters_nothing_is_mixed():
    held = Snapshots().count(np.eye(3)).count(np.eye(2))
    assert held.placed.tolist() == [1, 1]
    assert not len(held.count(np.eye(CLUSTERS + 1)).shares)
    assert len(held.count(np.eye(CLUSTERS)).shares) == CLUSTERS
    for n in range(1, MOST + 1):
        K = 2 if n % 2 else 3
        held = held.count(np.eye(K)[:1])
        held = held.add(Snapshot(n, np.zeros((1, 1), np.int32), held.shares))
    assert len(held.taken) == (MOST + 1) // 2
    assert all(len(each.shares) == 2 for each in held.taken)


@given(st.data())
def test_columns_move_and_forgotten_ones_leave_a_gap(data):
    width = data.draw(st.integers(2, 12))
    top = data.draw(st.permutations(range(width)))[: width - 1]
    kept = sorted(data.draw(st.sets(st.integers(0, width - 1), min_size=1)))
    held = Snapshots().add(Snapshot(7, np.array([[*top, -1]], np.int32)))
    places = np.full(width, -1)
    places[kept] = np.arange(len(kept))
    ((moved,),) = (each.top for each in held.place([places]).taken)
    assert moved.dtype == np.int32
    expected = [kept.index(j) if j in kept else -1 for j in top]
    assert_array_equal(moved, [*expected, -1])


@given(st.data())
def test_overlap_is_a_share_of_what_is_there_now(data):
    tops = st.lists(st.integers(0, 9), max_size=5, unique=True)
    pairs = data.draw(st.lists(st.tuples(tops, tops), min_size=1, max_size=3))

    def filled(rows):
        return np.array([[*own, *[-1] * (5 - len(own))] for own in rows], np.int32)

    found = overlap(filled(a for a, _ in pairs), filled(b for _, b in pairs))
    n = sum(len(b) for _, b in pairs)
    if not n:
        assert math.isnan(found)
    else:
        assert found == sum(len(set(a) & set(b)) for a, b in pairs) / n
