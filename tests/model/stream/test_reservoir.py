"""The rows that are held: a uniform sample of all so far, and a window of the last chunks."""

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from omvfs.model.indicator import Indicator
from omvfs.model.stream.reservoir import Reservoir
from omvfs.model.stream.window import Window
from short_stream import kinds
from support import counts, dense, fingerprint

K = 4


def offered(reservoir, start, n, rng, kind=np.asarray, seen=None):
    """Offer rows that carry their number in both views, label and weight."""
    seen = start if seen is None else seen
    number = np.arange(start, start + n, dtype=float) + 1
    X = [kind(np.c_[number, number**2]), kind(-number[:, np.newaxis])]
    U = Indicator((number % K).astype(np.intp), 10 * number, K)
    return reservoir.update(X, U, seen, seen + n, rng)


def filled(capacity, sizes, seed, kind=np.asarray):
    rng, start = np.random.default_rng(seed), 0
    reservoir = Reservoir.empty(capacity, K, np.dtype(float))
    for n in sizes:
        reservoir, start = offered(reservoir, start, n, rng, kind), start + n
    return reservoir


def part(start, n, seed, capacity=8, kind=np.asarray):
    """A reservoir of n rows that are numbered from a start on, keyed."""
    rng = np.random.default_rng([seed, start])
    empty = Reservoir.empty(capacity, K, np.dtype(float))
    return offered(empty, start, n, rng, kind, seen=0).keyed(n, rng)


def numbers(reservoir):
    return dense(reservoir.blocks[0])[:, 0].astype(int) - 1


def chance(seen, capacity, repeats):
    """Return how likely counts are that differ by so much, if every row is equally likely."""
    n = len(seen)
    p = capacity / n
    expected = repeats * p
    # Counts over a fixed number of places: (n − 1) degrees of freedom, each of variance (1 − p).
    statistic = np.sum((seen - expected) ** 2) / (expected * (1 - p)) * (n - 1) / n
    return chi2.sf(statistic, n - 1)


@pytest.mark.parametrize("sizes", [[50], [5, 20, 25], [12] + [1] * 38], ids=len)
def test_every_row_is_equally_likely(sizes):
    seen, repeats = np.zeros(50), 600
    for seed in range(repeats):
        seen[numbers(filled(10, sizes, seed))] += 1
    assert chance(seen, 10, repeats) > 1e-3


@kinds
@given(
    capacity=st.integers(0, 12),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_rows_are_bounded_different_and_stay_together_whatever_the_chunks(
    kind, capacity, sizes, seed
):
    reservoir = filled(capacity, sizes, seed, kind)
    assert len(reservoir) == min(capacity, sum(sizes))
    if not len(reservoir):
        return
    rows = numbers(reservoir)
    assert len(set(rows)) == len(rows)
    first, second = map(dense, reservoir.blocks)
    np.testing.assert_array_equal(first[:, 1], (rows + 1.0) ** 2)
    np.testing.assert_array_equal(second[:, 0], -(rows + 1.0))
    np.testing.assert_array_equal(reservoir.counted.labels, (rows + 1) % K)
    np.testing.assert_array_equal(reservoir.counted.weights, 10.0 * (rows + 1))
    assert reservoir.shares.shape == (len(reservoir),)
    if sum(sizes) <= capacity:
        np.testing.assert_array_equal(rows, np.arange(sum(sizes)))
    if sizes[0] >= capacity:
        np.testing.assert_array_equal(numbers(filled(capacity, [sum(sizes)], seed, kind)), rows)


def test_new_rows_have_not_faded_and_an_update_leaves_the_old_reservoir_alone():
    faded = filled(6, [4], 0).decay(0.5)
    before = fingerprint(faded)
    later = offered(faded, 4, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(later.shares, [0.5] * 4 + [1.0] * 2)
    offered(faded, 4, 50, np.random.default_rng(0))
    assert fingerprint(faded) == before


@kinds
def test_grown_rows_have_nothing_in_new_columns(kind):
    small = filled(6, [4], 0, kind)
    before, after = (each.blocks[0] for each in (small, small.grow([5, 1])))
    assert after.shape == (4, 5)
    np.testing.assert_array_equal(dense(after[:, :2]), dense(before))
    assert not dense(after[:, 2:]).any()
    with pytest.raises(ValueError, match="at least the 2 so far"):
        small.grow([1, 1])
    assert len(Reservoir.empty(3, K, np.dtype(float)).grow([5])) == 0


# Merging


@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=5),
    seed=st.integers(0, 1000),
    order=st.randoms(use_true_random=False),
    kind=st.sampled_from([np.asarray, sp.csr_array]),
)
@settings(max_examples=60, deadline=None)
def test_whatever_is_merged_first_the_same_rows_stay_in_the_same_order(sizes, seed, order, kind):
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist()
    parts = [part(start, n, seed, kind=kind) for start, n in zip(starts, sizes, strict=True)]
    expected = fingerprint(reduce(Reservoir.merge, parts))
    while len(parts) > 1:
        order.shuffle(parts)
        parts.append(parts.pop().merge(parts.pop()))
    merged = parts[0]
    assert fingerprint(merged) == expected
    assert len(merged) == min(8, sum(sizes))
    # Rows stay with what was counted of them.
    rows = numbers(merged)
    assert len(set(rows)) == len(rows)
    np.testing.assert_array_equal(merged.counted.labels, (rows + 1) % K)
    np.testing.assert_array_equal(merged.counted.weights, 10.0 * (rows + 1))


@pytest.mark.parametrize("sizes", [(3, 47), (20, 15, 15)], ids=str)
def test_every_row_of_the_union_is_equally_likely(sizes):
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist()
    seen, repeats = np.zeros(sum(sizes)), 1000
    for seed in range(repeats):
        parts = [part(start, m, seed) for start, m in zip(starts, sizes, strict=True)]
        seen[numbers(reduce(Reservoir.merge, parts))] += 1
    assert chance(seen, 8, repeats) > 1e-3


@pytest.mark.parametrize(("sizes", "capacity"), [((8000, 2000), 8), ((2, 8), 5)])
def test_a_part_has_as_many_rows_as_its_share_of_what_is_left_of_the_stream(sizes, capacity):
    # Eight rows each, of streams of so many; or of which forgetting has left two.
    from_first = []
    for seed in range(600):
        rng = np.random.default_rng(seed)
        both = (part(100 * i, 8, seed, capacity).keyed(n, rng) for i, n in enumerate(sizes))
        from_first.append(np.mean(numbers(reduce(Reservoir.merge, both)) < 100))
    # Each a mean of so many draws, almost independent.
    error = np.sqrt(0.16 / capacity / 600)
    assert np.mean(from_first) == pytest.approx(sizes[0] / sum(sizes), abs=4 * error)


def test_forgotten_rows_come_behind_all_others_and_nothing_merges_with_anything():
    old, new = part(0, 8, 0), part(100, 3, 0)
    merged = old.decay(0.04).keyed(0.3, np.random.default_rng(0)).merge(new)
    assert len(merged) == 8
    assert sorted(numbers(merged)[:3]) == [100, 101, 102]
    empty = Reservoir.empty(8, K, np.dtype(float)).keyed(0, np.random.default_rng(0))
    assert fingerprint(empty.merge(new)) == fingerprint(new.merge(empty))
    assert sorted(numbers(new.merge(empty))) == sorted(numbers(new))
    # A merged one goes on like any other.
    later = offered(merged, 200, 500, np.random.default_rng(0), seen=50)
    assert len(later) == 8
    assert np.count_nonzero(numbers(later) >= 200) >= 5


def test_keys_are_needed_and_gone_when_they_are_no_longer_the_smallest_of_the_stream():
    some = part(0, 5, 0)
    for other in (some.decay(0.5), some.take(np.arange(3)), filled(8, [5], 0)):
        assert other.keys is None
        with pytest.raises(ValueError, match=r"got one without. Use keyed\(\)"):
            some.merge(other)
    with pytest.raises(ValueError, match="keys of one generator"):
        some.merge(part(0, 5, 0))
    with pytest.raises(ValueError, match=r"\(8, 2, 1\) and \(9, 2, 1\); expected the same"):
        some.merge(part(0, 5, 0, capacity=9))


# The window


@kinds
@given(
    size=st.sampled_from([1, 2, 3, None]),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    at_hand=st.integers(0, 12),
)
@settings(max_examples=50, deadline=None)
def test_the_window_holds_the_last_chunks_and_as_many_recent_rows(kind, size, sizes, at_hand):
    rng = np.random.default_rng(0)
    window = Window(size, at_hand=at_hand)
    chunks, Us = [], []
    last = slice(None) if size is None else slice(-size, None)
    for n in sizes:
        chunks.append([counts(rng, n, 4), counts(rng, n, 2)])
        Us.append(rng.random((n, 3)))
        before = len(window)
        longer = window.append([kind(X) for X in chunks[-1]], U=Us[-1])
        assert len(window) == before
        window = longer
        if at_hand:
            for v, rows in enumerate(window.last(at_hand)):
                everything = np.vstack([c[v] for c in chunks])
                np.testing.assert_array_equal(dense(rows), everything[-at_hand:])
        # No chunk too many: without the first held, something would be missing.
        held = sum(len(U) for U in window.U[1:])
        assert len(window) == len(chunks[last]) or held < at_hand
        for v, rows in enumerate(window.rows()):
            np.testing.assert_array_equal(dense(rows), np.vstack([c[v] for c in chunks[last]]))
        np.testing.assert_array_equal(window.indicator(), np.vstack(Us[last]))
    other = rng.random(window.indicator().shape)
    np.testing.assert_array_equal(window.with_indicator(other).indicator(), other)
    np.testing.assert_array_equal(window.indicator(), np.vstack(Us[last]))
    grown = window.grow([5, 2]).rows()[0]
    assert not dense(grown)[:, 4].any()
    np.testing.assert_array_equal(dense(grown)[:, :4], dense(window.rows()[0]))


@given(
    sizes=st.lists(st.lists(st.integers(1, 4), max_size=4), min_size=3, max_size=3),
    size=st.sampled_from([1, 2, 3, None]),
    at_hand=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_windows_that_follow_each_other_are_one_in_any_grouping(sizes, size, at_hand):
    windows, whole, n = [], Window(size, at_hand=at_hand), 0
    for some in sizes:
        window = Window(size, at_hand=at_hand)
        for m in some:
            X = np.arange(n, n + m, dtype=float)[:, np.newaxis]
            window, whole, n = window.append([X], X), whole.append([X], X), n + m
        windows.append(window)
    a, b, c = windows
    held = [X[0].ravel().tolist() for X in whole.chunks]
    for other in ((a + b) + c, a + (b + c)):
        assert [X[0].ravel().tolist() for X in other.chunks] == held
    assert whole.n_rows == sum(map(len, held))
