"""Arrays with room, and the laws of growing: new columns are as if they had always been there."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from omvfs.model.columns import place_columns, widen_columns
from omvfs.model.indicator import Indicator
from omvfs.model.statistics import Statistics
from omvfs.model.stream.reservoir import Rows
from omvfs.model.stream.window import Window
from omvfs.model.view_statistics import lengthened


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_what_is_there_stays_and_what_is_behind_is_zero(steps):
    a = np.arange(6.0).reshape(3, 2) + 1
    expected = a.copy()
    for more in steps:
        a = lengthened(a, len(a) + more)
        expected = np.concatenate([expected, np.zeros((more, 2))])
        np.testing.assert_array_equal(a, expected)
        a += 1
        expected += 1
    assert type(a) is np.ndarray


def test_room_is_used_and_only_if_it_is_free():
    a = lengthened(np.ones((2, 3)), 4)
    b = lengthened(a, 6)
    assert np.shares_memory(a, b)
    b[5] = 7  # as an update does that is committed
    c = lengthened(a, 6)
    assert not np.shares_memory(a, c)
    assert not c[4:].any()
    b[5] = 0  # as it does when it is rolled back
    assert np.shares_memory(a, lengthened(a, 6))


def test_what_others_hold_is_not_written_into():
    a = lengthened(np.ones(2), 4)
    a.flags.writeable = False
    assert not np.shares_memory(a, lengthened(a, 5))
    whole = np.zeros((9, 2))
    assert not np.shares_memory(whole[:3], lengthened(whole[:3], 5))
    with pytest.raises(ValueError, match="expected at least the 4 so far"):
        lengthened(a, 3)


def learned(seed, width=5, n=8):
    rng = np.random.default_rng(seed)
    U = Indicator(rng.integers(0, 2, n), rng.random(n), 2)
    X = sp.csr_array(rng.random((n, width)) * (rng.random((n, width)) < 0.5))
    empty = Statistics.empty([width], 2, np.dtype(float), counts_columns=True)
    return empty.counted([X]).placed([X], U), X, U


def same(a, b):
    for one, other in zip(a.views, b.views, strict=True):
        for name in ("masses", "weight_sums", "B", "sums", "squares", "energy", "n_features"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 9))
def test_growing_goes_with_all_else(seed, other, more):
    (s, X, U), (t, _, _) = learned(seed), learned(other)
    widths = [5 + more]
    same((s + t).grow(widths), s.grow(widths) + t.grow(widths))
    same(s.decay(0.5).grow(widths), s.grow(widths).decay(0.5))
    moves = np.array([[0.25, 0.75], [1.0, 0.0]])
    same(s.relabel(moves).grow(widths), s.grow(widths).relabel(moves))
    # Known from the start, or not.
    wide = widen_columns(X, 5 + more)
    known = Statistics.empty(widths, 2, np.dtype(float), counts_columns=True)
    same(s.grow(widths), known.counted([wide]).placed([wide], U))


@given(st.integers(0, 99), st.permutations(range(7)))
def test_columns_are_placed_and_taken_back(seed, order):
    s, X, _ = learned(seed)
    places = np.array(order[:5])
    rising = np.sort(places)
    back = s.place([places], [7]).select([rising])
    same(back, s.select([np.argsort(places)]))
    for block in (X, X.toarray()):
        wide = place_columns(block, places, 7)
        expected = np.zeros((8, 7))
        expected[:, places] = X.toarray()
        for got in (wide, Rows.of(block).place(places, 7).block()):
            got = got.toarray() if sp.issparse(got) else got
            np.testing.assert_array_equal(got, expected)
        kept = Rows.of(block).grow(9).place(np.r_[0, -1, 1, -1, 2, -1, -1, -1, -1], 3).block()
        kept = kept.toarray() if sp.issparse(kept) else kept
        np.testing.assert_array_equal(kept, X.toarray()[:, [0, 2, 4]])


def test_a_window_grows_with_its_rows():
    window = Window(2).append([np.ones((1, 2)), sp.csr_array([[3.0]])], np.ones((1, 1)))
    dense, sparse = window.grow([3, 2]).rows()
    np.testing.assert_array_equal(dense, [[1.0, 1.0, 0.0]])
    np.testing.assert_array_equal(sparse.toarray(), [[3.0, 0.0]])
    assert window.rows()[1].shape == (1, 1)
