"""The laws of the statistics of a stream: adding, fading, relabelling, growing, raising."""

from dataclasses import astuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.columns import place_columns, widen_columns
from omvfs.model.indicator import Indicator
from omvfs.model.statistics import Statistics
from omvfs.model.stream.reservoir import Rows
from omvfs.model.view_statistics import lengthened
from support import counts, dense, fingerprint

K, WIDTHS = 3, (5, 4)
SUMS = (
    *("masses", "weight_sums", "B", "sums", "squares"),
    *("decayed_n_rows", "energy", "filled_rows", "filled_columns"),
)
seeds = st.integers(0, 2**32)
laws = settings(max_examples=40, deadline=None)


def rows(seed, n, kind=np.asarray):
    """Rows of two views and how they are placed."""
    rng = np.random.default_rng(seed)
    X = [kind(counts(rng, n, width)) for width in WIDTHS]
    return X, Indicator(rng.integers(K, size=n), rng.random(n), K)


def left_by(X, U, counts_columns=True, dtype=float, widths=WIDTHS):
    empty = Statistics.empty(widths, K, np.dtype(dtype), counts_columns=counts_columns)
    return empty.counted(X).placed(X, U)


@st.composite
def statistics(draw):
    """What a few rows leave, faded or not."""
    X, U = rows(draw(seeds), draw(st.integers(1, 12)))
    return left_by(X, U).decay(draw(st.sampled_from([1.0, 0.5, 0.1])))


def assert_same(a, b, rtol=1e-12, atol=1e-12):
    assert (a.n_rows, len(a.views)) == (b.n_rows, len(b.views))
    assert a.decayed_n_rows == pytest.approx(b.decayed_n_rows)
    for one, other in zip(a.views, b.views, strict=True):
        for name in SUMS:
            was, now = getattr(one, name), getattr(other, name)
            assert (was is None) == (now is None), name
            if was is not None:
                np.testing.assert_allclose(was, now, rtol=rtol, atol=atol, err_msg=name)


@given(seed=seeds, n=st.integers(1, 12))
@laws
def test_they_are_the_sums_that_they_are_called(seed, n):
    X, U = rows(seed, n)
    found, U = left_by(X, U), U.dense()
    assert found.n_rows == found.decayed_n_rows == n
    for view, X_v in zip(found.views, X, strict=True):
        np.testing.assert_allclose(np.diag(view.masses), U.T @ U, atol=1e-12)
        np.testing.assert_allclose(view.weight_sums, U.sum(axis=0))
        np.testing.assert_allclose(view.B, X_v.T @ U, atol=1e-12)
        np.testing.assert_allclose(view.sums, X_v.sum(axis=0))
        np.testing.assert_allclose(view.squares, (X_v**2).sum(axis=0))
        assert view.energy == pytest.approx(np.sum(X_v**2))
        assert view.filled_rows == X_v.any(axis=1).sum()
        assert view.filled_columns == X_v.any(axis=0).sum()


@given(a=statistics(), b=statistics(), c=statistics())
@laws
def test_adding_is_associative_and_commutative_and_nothing_is_its_zero(a, b, c):
    assert_same((a + b) + c, a + (b + c))
    assert fingerprint(a + b) == fingerprint(b + a)
    nothing = Statistics.empty(WIDTHS, K, np.dtype(float), counts_columns=True)
    assert fingerprint(a + nothing) == fingerprint(a) == fingerprint(nothing + a)


@given(a=statistics(), b=statistics())
@laws
def test_without_clusters_rows_and_columns_stay_counted(a, b):
    both, expected = a.without_clusters() + b.without_clusters(), a + b
    assert both.n_rows == expected.n_rows
    for view, own in zip(both.views, expected.views, strict=True):
        assert view.B.shape == (len(own.B), 0)
        for name in ("decayed_n_rows", "energy", "filled_rows", "squares"):
            np.testing.assert_array_equal(getattr(view, name), getattr(own, name))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@given(seed=seeds, n=st.integers(2, 15), m=st.integers(1, 14))
@laws
def test_rows_in_two_parts_leave_what_they_leave_together(kind, seed, n, m):
    X, U = rows(seed, n, kind)
    m = min(m, n - 1)
    parts = [left_by([X_v[part] for X_v in X], U.take(part)) for part in (slice(0, m), slice(m, n))]
    assert_same(parts[0] + parts[1], left_by(X, U))


@given(a=statistics(), b=statistics(), rho=st.floats(0.01, 1), sigma=st.floats(0.01, 1))
@laws
def test_decay_distributes_over_adding_and_composes(a, b, rho, sigma):
    assert_same((a + b).decay(rho), a.decay(rho) + b.decay(rho))
    assert_same(a.decay(rho).decay(sigma), a.decay(rho * sigma))
    assert a.decay(1.0) is a


@given(seed=seeds, n=st.integers(2, 12))
@laws
def test_what_rows_left_can_be_taken_off_again(seed, n):
    X, U = rows(seed, n)
    first, rest = (
        Statistics.of_clusters([X_v[part] for X_v in X], U.take(part))
        for part in (slice(0, 1), slice(1, n))
    )
    both = left_by(X, U)
    left = both.without(first)
    for view, own in zip(left.views, rest.views, strict=True):
        np.testing.assert_allclose(view.masses, own.masses, atol=1e-12)
        np.testing.assert_allclose(view.B, own.B, atol=1e-12)
    # Columns and rows stay counted; more than there is cannot be taken.
    assert left.n_rows == n
    np.testing.assert_array_equal(left.views[0].sums, both.views[0].sums)
    nothing = left.without(both)
    assert not any(view.B.any() or view.masses.any() for view in nothing.views)


@given(a=statistics(), b=statistics(), seed=seeds, now=st.integers(1, 6))
@laws
def test_relabelling_to_any_number_of_clusters_loses_nothing(a, b, seed, now):
    moves = np.random.default_rng(seed).dirichlet(np.ones(now), size=K)
    moved = a.relabel(moves)
    for was, view in zip(a.views, moved.views, strict=True):
        assert view.B.shape == (len(was.B), now)
        for name in ("masses", "weight_sums", "B"):
            before, after = getattr(was, name), getattr(view, name)
            np.testing.assert_allclose(after.sum(axis=-1), before.sum(axis=-1))
    assert_same((a + b).relabel(moves), moved + b.relabel(moves))


@given(a=statistics(), permutation=st.permutations(range(K)))
@laws
def test_relabelling_by_a_permutation_and_back_is_the_identity(a, permutation):
    moves = np.eye(K)[permutation]
    there = a.relabel(moves)
    for was, now in zip(a.views, there.views, strict=True):
        np.testing.assert_array_equal(now.B[:, permutation], was.B)
    assert fingerprint(there.relabel(moves.T)) == fingerprint(a)


@given(seed=seeds, n=st.integers(1, 12), rho=st.sampled_from([1.0, 0.5]))
@laws
def test_raised_statistics_are_those_of_raised_rows(seed, n, rho):
    X, U = rows(seed, n)
    delta = [np.random.default_rng(seed + v).random(width) for v, width in enumerate(WIDTHS)]
    raised = [X_v + d for X_v, d in zip(X, delta, strict=True)]
    assert_same(left_by(X, U).decay(rho).shift(delta), left_by(raised, U).decay(rho), atol=1e-9)
    zero = [np.zeros(width) for width in WIDTHS]
    assert_same(left_by(X, U).shift(zero), left_by(X, U))


@st.composite
def chosen(draw):
    """Some columns of each view."""
    return [
        draw(st.just(slice(None)) | st.permutations(range(width)).map(lambda p: np.array(p[:2])))
        for width in WIDTHS
    ]


@given(a=statistics(), b=statistics(), columns=chosen())
@laws
def test_on_some_columns_and_back_touches_nothing_else(a, b, columns):
    before, part = fingerprint(a), a.on(columns)
    changed = part + b.on(columns)
    # Neither taking a part nor adding to it changes the whole.
    assert fingerprint(a) == before
    whole = a.copy()
    whole.put(columns, changed)
    for view, own, was, c in zip(whole.views, changed.views, a.views, columns, strict=True):
        for name in ("B", "sums", "squares"):
            np.testing.assert_array_equal(getattr(view, name)[c], getattr(own, name))
            outside = np.ones(len(was.B), bool)
            outside[c] = False
            np.testing.assert_array_equal(getattr(view, name)[outside], getattr(was, name)[outside])
    # What is shared is the whole, once the part is put into it.
    shared = whole.sharing(changed)
    assert all(now.B is view.B for now, view in zip(shared.views, whole.views, strict=True))
    np.testing.assert_array_equal(shared.masses, changed.masses)
    whole.put(columns, part)
    assert fingerprint(whole) == before
    assert fingerprint(a) == before


@given(a=statistics())
@laws
def test_a_copy_shares_nothing_and_frozen_ones_are_copied_before_they_are_written_to(a):
    before, twin = fingerprint(a), a.copy()
    assert fingerprint(twin) == before
    for view in twin.views:
        for array in astuple(view)[:5]:
            array += 1
    assert a.writable() is a
    a.freeze()
    with pytest.raises(ValueError, match="read-only"):
        a.put([slice(None)] * len(a.views), a)
    written = a.writable()
    written.put([slice(None)] * len(a.views), a + a)
    assert fingerprint(a) == before


def test_what_does_not_fit_is_not_added():
    X, U = rows(0, 6)
    known = left_by(X, U)
    with pytest.raises(ValueError, match=r"\(6, 3\).*expected .*\(5, 3\)"):
        known + known.grow([6, 4])
    with pytest.raises(ValueError, match="columns counted and rows without"):
        known + left_by(X, U, counts_columns=False)
    # Rows that are placed after they were counted are not counted twice.
    assert fingerprint(known + Statistics.of_clusters(X, U)) == fingerprint(known.placed(X, U))


# Growth: new columns are as if they had always been there.


@given(a=statistics(), b=statistics(), more=st.tuples(st.integers(0, 3), st.integers(0, 3)))
@laws
def test_growing_goes_with_all_else(a, b, more):
    wider = [width + m for width, m in zip(WIDTHS, more, strict=True)]
    grown, old = a.grow(wider), [slice(0, width) for width in WIDTHS]
    assert_same(grown.on(old), a, rtol=0, atol=0)
    assert [view.n_features for view in grown.on(old).views] == wider
    assert not any(view.B[width:].any() for view, width in zip(grown.views, WIDTHS, strict=True))
    assert fingerprint(grown + b.grow(wider)) == fingerprint((a + b).grow(wider))
    assert fingerprint(grown.decay(0.5)) == fingerprint(a.decay(0.5).grow(wider))
    moves = np.array([[0.25, 0.5, 0.25], [1.0, 0, 0], [0, 0, 1.0]])
    assert_same(a.relabel(moves).grow(wider), grown.relabel(moves))
    with pytest.raises(ValueError, match="expected at least the 5 so far"):
        a.grow([4, 4])


@given(seed=seeds, order=st.permutations(range(7)))
@laws
def test_columns_are_placed_and_taken_back(seed, order):
    X, U = rows(seed, 8, sp.csr_array)
    a, places = left_by(X, U), np.array(order[:5])
    every = np.arange(4)
    back = a.place([places, every], [7, 4]).on([places, every])
    for name in ("B", "sums", "squares"):
        np.testing.assert_array_equal(getattr(back.views[0], name), getattr(a.views[0], name))
    wide = [widen_columns(X[0], 8), X[1]]
    assert_same(a.grow([8, 4]), left_by(wide, U, widths=(8, 4)))
    expected = np.zeros((8, 7))
    expected[:, places] = dense(X[0])
    for block in (X[0], dense(X[0])):
        for got in (place_columns(block, places, 7), Rows.of(block).place(places, 7).block()):
            np.testing.assert_array_equal(dense(got), expected)
        kept = Rows.of(block).grow(9).place(np.r_[0, -1, 1, -1, 2, -1, -1, -1, -1], 3).block()
        np.testing.assert_array_equal(dense(kept), dense(X[0])[:, [0, 2, 4]])


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_in_a_lengthened_array_what_is_there_stays_and_the_rest_is_zero(steps):
    a = np.arange(6.0).reshape(3, 2) + 1
    expected = a.copy()
    for more in steps:
        a = lengthened(a, len(a) + more)
        expected = np.concatenate([expected, np.zeros((more, 2))])
        np.testing.assert_array_equal(a, expected)
        a += 1
        expected += 1
    assert type(a) is np.ndarray


def test_room_is_used_only_if_it_is_free_and_writable():
    a = lengthened(np.ones((2, 3)), 4)
    b = lengthened(a, 6)
    assert np.shares_memory(a, b)
    b[5] = 7  # as an update does that is committed
    c = lengthened(a, 6)
    assert not np.shares_memory(a, c)
    assert not c[4:].any()
    b[5] = 0  # as it does when it is rolled back
    assert np.shares_memory(a, lengthened(a, 6))
    a.flags.writeable = False
    assert not np.shares_memory(a, lengthened(a, 5))
    whole = np.zeros((9, 2))
    assert not np.shares_memory(whole[:3], lengthened(whole[:3], 5))
    with pytest.raises(ValueError, match="expected at least the 4 so far"):
        lengthened(a, 3)
