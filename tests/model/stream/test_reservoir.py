"""The reservoir is a uniform sample of the rows so far, whatever the chunks."""

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from omvfs.model.indicator import Indicator
from omvfs.model.stream.reservoir import Reservoir
from support import dense, fingerprint

K = 4


def filled(capacity, sizes, seed, kind=np.asarray):
    """A reservoir offered rows that carry their number in both views, label and weight."""
    rng = np.random.default_rng(seed)
    reservoir = Reservoir.empty(capacity, K, np.dtype(float))
    start = 0
    for n in sizes:
        number = np.arange(start, start + n, dtype=float) + 1
        X = [kind(np.c_[number, number**2]), kind(-number[:, np.newaxis])]
        U = Indicator((number % K).astype(np.intp), 10 * number, K)
        reservoir = reservoir.update(X, U, start, start + n, rng)
        start += n
    return reservoir


def numbers(reservoir):
    block = reservoir.blocks[0]
    return (block.toarray() if sp.issparse(block) else block)[:, 0].astype(int) - 1


@pytest.mark.parametrize("sizes", [[50], [7] * 7 + [1], [5, 20, 25], [12] + [1] * 38], ids=len)
def test_every_row_is_equally_likely(sizes):
    capacity, n, repeats = 10, sum(sizes), 800
    seen = np.zeros(n)
    for seed in range(repeats):
        seen[numbers(filled(capacity, sizes, seed))] += 1
    p = capacity / n
    expected = repeats * p
    # Counts over a fixed number of places: (n − 1) degrees of freedom, each of variance (1 − p).
    statistic = np.sum((seen - expected) ** 2) / (expected * (1 - p)) * (n - 1) / n
    assert chi2.sf(statistic, n - 1) > 1e-3


def test_every_pair_of_rows_is_equally_likely():
    capacity, n, repeats = 4, 12, 3000
    together = np.zeros((n, n))
    for seed in range(repeats):
        rows = numbers(filled(capacity, [5, 7], seed))
        together[np.ix_(rows, rows)] += 1
    p = capacity * (capacity - 1) / (n * (n - 1))
    pairs = together[np.triu_indices(n, 1)]
    z = (pairs - repeats * p) / np.sqrt(repeats * p * (1 - p))
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@given(
    capacity=st.integers(0, 12),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_rows_are_bounded_different_and_stay_together(kind, capacity, sizes, seed):
    reservoir = filled(capacity, sizes, seed, kind)
    assert len(reservoir) == min(capacity, sum(sizes))
    if not len(reservoir):
        return
    rows = numbers(reservoir)
    assert len(set(rows)) == len(rows)
    first, second = (b.toarray() if sp.issparse(b) else b for b in reservoir.blocks)
    np.testing.assert_array_equal(first[:, 1], (rows + 1.0) ** 2)
    np.testing.assert_array_equal(second[:, 0], -(rows + 1.0))
    np.testing.assert_array_equal(reservoir.counted.labels, (rows + 1) % K)
    np.testing.assert_array_equal(reservoir.counted.weights, 10.0 * (rows + 1))
    assert reservoir.shares.shape == (len(reservoir),)
    if sum(sizes) <= capacity:
        np.testing.assert_array_equal(rows, np.arange(sum(sizes)))
    again = filled(capacity, sizes, seed, kind)
    np.testing.assert_array_equal(numbers(again), rows)


def test_what_is_kept_does_not_depend_on_the_chunks():
    for seed in range(20):
        whole = numbers(filled(10, [50], seed))
        np.testing.assert_array_equal(numbers(filled(10, [10, 1, 39], seed)), whole)


def test_new_rows_have_not_faded():
    reservoir = filled(6, [4], 0)
    faded = reservoir.decay(0.5)
    U = Indicator(np.zeros(2, np.intp), np.ones(2), K)
    X = [np.full((2, 2), 99.0), np.full((2, 1), 99.0)]
    reservoir = faded.update(X, U, 4, 6, np.random.default_rng(0))
    np.testing.assert_array_equal(reservoir.shares, [0.5] * 4 + [1.0] * 2)


def test_an_update_leaves_the_old_reservoir_alone():
    reservoir = filled(5, [5], 0)
    before = reservoir.blocks[0].copy(), reservoir.counted.labels.copy()
    U = Indicator(np.zeros(50, np.intp), np.ones(50), K)
    reservoir.update([np.ones((50, 2)), np.ones((50, 1))], U, 5, 55, np.random.default_rng(0))
    np.testing.assert_array_equal(reservoir.blocks[0], before[0])
    np.testing.assert_array_equal(reservoir.counted.labels, before[1])


# Merging


def part(start, n, seed, capacity=8, kind=np.asarray):
    """A reservoir of n rows that are numbered from a start on, keyed."""
    rng = np.random.default_rng([seed, start])
    reservoir = Reservoir.empty(capacity, K, np.dtype(float))
    number = np.arange(start, start + n, dtype=float) + 1
    X = [kind(np.c_[number, number**2]), kind(-number[:, np.newaxis])]
    U = Indicator((number % K).astype(np.intp), 10 * number, K)
    return reservoir.update(X, U, 0, n, rng).keyed(n, rng)


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
    assert fingerprint(parts[0]) == expected
    merged = parts[0]
    assert len(merged) == min(8, sum(sizes))
    # Rows stay with what was counted of them.
    rows = numbers(merged)
    assert len(set(rows)) == len(rows)
    np.testing.assert_array_equal(merged.counted.labels, (rows + 1) % K)
    np.testing.assert_array_equal(merged.counted.weights, 10.0 * (rows + 1))


@pytest.mark.parametrize("sizes", [(40, 10), (3, 47), (25, 25), (5, 5), (20, 15, 15)], ids=str)
def test_every_row_of_the_union_is_equally_likely(sizes):
    capacity, n, repeats = 8, sum(sizes), 1500
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist()
    seen = np.zeros(n)
    for seed in range(repeats):
        parts = [part(start, m, seed) for start, m in zip(starts, sizes, strict=True)]
        seen[numbers(reduce(Reservoir.merge, parts))] += 1
    p = capacity / n
    expected = repeats * p
    statistic = np.sum((seen - expected) ** 2) / (expected * (1 - p)) * (n - 1) / n
    assert chi2.sf(statistic, n - 1) > 1e-3


def test_a_part_has_as_many_rows_as_its_share_of_the_stream():
    # 8 of 8,000 rows and 8 of 2,000: of the union 4 in 5 are of the first.
    from_first = []
    for seed in range(600):
        rng = np.random.default_rng(seed)
        long, short = part(0, 8, seed).keyed(8000, rng), part(100, 8, seed).keyed(2000, rng)
        from_first.append(np.mean(numbers(long.merge(short)) < 100))
    # Each a mean of 8 draws, almost independent.
    assert np.mean(from_first) == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 8 / 600))


def test_a_merged_reservoir_goes_on_like_any_other():
    merged = part(0, 30, 0).merge(part(30, 20, 0))
    U = Indicator(np.zeros(500, np.intp), np.ones(500), K)
    X = [np.full((500, 2), 999.0), np.full((500, 1), 999.0)]
    later = merged.update(X, U, 50, 550, np.random.default_rng(0))
    assert len(later) == 8
    assert later.keys is None
    assert np.count_nonzero(later.blocks[0][:, 0] == 999) >= 5


def test_rows_that_stand_for_fewer_are_drawn_less_often():
    # 8 rows of which forgetting has left 2, and 8 of 8: of the union 1 in 5 is of the first.
    from_first = []
    for seed in range(600):
        rng = np.random.default_rng(seed)
        faded, new = part(0, 8, seed, 5).keyed(2, rng), part(100, 8, seed, 5).keyed(8, rng)
        from_first.append(np.mean(numbers(faded.merge(new)) < 100))
    assert np.mean(from_first) == pytest.approx(0.2, abs=0.03)


def test_forgotten_rows_come_behind_all_others():
    old, new = part(0, 8, 0), part(100, 3, 0)
    forgotten = old.decay(0.04).keyed(0.3, np.random.default_rng(0))
    merged = forgotten.merge(new)
    assert len(merged) == 8
    assert sorted(numbers(merged)[:3]) == [100, 101, 102]


def test_nothing_merges_with_anything():
    empty = Reservoir.empty(8, K, np.dtype(float)).keyed(0, np.random.default_rng(0))
    some = part(0, 5, 0)
    assert fingerprint(empty.merge(some)) == fingerprint(some.merge(empty))
    assert sorted(numbers(some.merge(empty))) == sorted(numbers(some))


def test_without_keys_or_with_another_capacity_nothing_is_merged():
    some = part(0, 5, 0)
    with pytest.raises(ValueError, match=r"got one without. Use keyed\(\)"):
        some.merge(filled(8, [5], 0))
    with pytest.raises(ValueError, match="keys of one generator"):
        some.merge(part(0, 5, 0))
    with pytest.raises(ValueError, match=r"\(8, 2, 1\) and \(9, 2, 1\); expected the same"):
        some.merge(part(0, 5, 0, capacity=9))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_grown_rows_have_nothing_in_new_columns(kind):
    small = filled(6, [4], 0, kind)
    grown = small.grow([5, 1])
    before, after = (each.blocks[0] for each in (small, grown))
    assert after.shape == (4, 5)
    np.testing.assert_array_equal(dense(after[:, :2]), dense(before))
    assert not dense(after[:, 2:]).any()
    with pytest.raises(ValueError, match="at least the 2 so far"):
        small.grow([1, 1])
    assert len(Reservoir.empty(3, K, np.dtype(float)).grow([5])) == 0


def test_keys_are_gone_when_they_are_no_longer_the_smallest_of_the_stream():
    some = part(0, 30, 0)
    for other in (some.decay(0.5), some.take(np.arange(3))):
        assert other.keys is None
    assert some.decay(1.0).keys is not None
