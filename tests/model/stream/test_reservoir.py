"""The memory is a uniform sample of the rows so far, whatever the chunks."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from omvfs.model.indicator import Indicator
from omvfs.model.stream.reservoir import Memory

K = 4


def filled(capacity, sizes, seed, kind=np.asarray, keep=1.0):
    """A memory offered rows that carry their number in both views, label and weight."""
    rng = np.random.default_rng(seed)
    memory = Memory.empty(capacity, K, np.dtype(float))
    start = 0
    for n in sizes:
        number = np.arange(start, start + n, dtype=float) + 1
        X = [kind(np.c_[number, number**2]), kind(-number[:, np.newaxis])]
        U = Indicator((number % K).astype(np.intp), 10 * number, K)
        memory = memory.offer(X, U, start, start + n, rng)
        start += n
    return memory


def numbers(memory):
    block = memory.blocks[0]
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
    memory = filled(capacity, sizes, seed, kind)
    assert len(memory) == min(capacity, sum(sizes))
    if not len(memory):
        return
    rows = numbers(memory)
    assert len(set(rows)) == len(rows)
    first, second = (b.toarray() if sp.issparse(b) else b for b in memory.blocks)
    np.testing.assert_array_equal(first[:, 1], (rows + 1.0) ** 2)
    np.testing.assert_array_equal(second[:, 0], -(rows + 1.0))
    np.testing.assert_array_equal(memory.counted.labels, (rows + 1) % K)
    np.testing.assert_array_equal(memory.counted.weights, 10.0 * (rows + 1))
    assert memory.keep.shape == (len(memory),)
    if sum(sizes) <= capacity:
        np.testing.assert_array_equal(rows, np.arange(sum(sizes)))
    again = filled(capacity, sizes, seed, kind)
    np.testing.assert_array_equal(numbers(again), rows)


def test_what_is_kept_does_not_depend_on_the_chunks():
    for seed in range(20):
        whole = numbers(filled(10, [50], seed))
        np.testing.assert_array_equal(numbers(filled(10, [10, 1, 39], seed)), whole)


def test_new_rows_have_not_faded():
    memory = filled(6, [4], 0)
    faded = replace(memory, keep=memory.keep * 0.5)
    U = Indicator(np.zeros(2, np.intp), np.ones(2), K)
    X = [np.full((2, 2), 99.0), np.full((2, 1), 99.0)]
    memory = faded.offer(X, U, 4, 6, np.random.default_rng(0))
    np.testing.assert_array_equal(memory.keep, [0.5] * 4 + [1.0] * 2)


def test_offering_leaves_the_old_memory_alone():
    memory = filled(5, [5], 0)
    before = memory.blocks[0].copy(), memory.counted.labels.copy()
    U = Indicator(np.zeros(50, np.intp), np.ones(50), K)
    memory.offer([np.ones((50, 2)), np.ones((50, 1))], U, 5, 55, np.random.default_rng(0))
    np.testing.assert_array_equal(memory.blocks[0], before[0])
    np.testing.assert_array_equal(memory.counted.labels, before[1])
