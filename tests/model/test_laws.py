"""Laws of what rows leave: sums are added in any order, and samples drawn by keys alone."""

from dataclasses import replace
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.learning import Settings, State, step
from omvfs.model.sample import Sample
from omvfs.model.sums import ViewSums, on_filled
from support import KINDS, counts, dense, fingerprint

few = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 10_000)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
K, D = 3, 5


def sums(seed, n=12):
    rng = np.random.default_rng(seed)
    return ViewSums.from_rows(rng.normal(size=(n, D)), rng.integers(0, K, n), K)


def assert_close(a, b):
    for name in ("S", "Q", "n", "norms"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-9, err_msg=name)


# Sums


@given(seed=seeds, rho=st.floats(0, 1))
@few
def test_sums_are_added_in_any_order_and_grouping_and_fade_before_or_after(seed, rho):
    a, b, c = (sums(seed + i) for i in range(3))
    for name in ("S", "Q", "n"):
        np.testing.assert_array_equal(getattr(a + b, name), getattr(b + a, name))
    assert_close(a + b, b + a)
    assert_close((a + b) + c, a + (b + c))
    assert_close((a + b).decay(rho), a.decay(rho) + b.decay(rho))
    assert_close(a.decay(rho).decay(0.5), a.decay(0.5 * rho))
    assert_close(a + ViewSums.zeros(D, K), a)


@every_kind
@given(seed=seeds, cut=st.integers(0, 20))
@few
def test_sums_of_rows_are_those_of_their_parts(kind, seed, cut):
    rng = np.random.default_rng(seed)
    X, labels = counts(rng, 20, D) - 0.2, rng.integers(0, K, 20)
    parts = [
        ViewSums.from_rows(kind(X[rows]), labels[rows], K) for rows in (slice(cut), slice(cut, 20))
    ]
    whole = ViewSums.from_rows(kind(X), labels, K)
    assert_close(parts[0] + parts[1], whole)
    # A chunk writes its own columns, and keeps norms true of all.
    columns, rows, old = on_filled(parts[0], kind(X[cut:]))
    after = old + ViewSums.from_rows(rows, labels[cut:], K)
    into = replace(parts[0], S=parts[0].S.copy(), Q=parts[0].Q.copy(), n=after.n, norms=after.norms)
    into.S[columns], into.Q[columns] = after.S, after.Q
    assert_close(into, whole)


@given(seed=seeds, random=st.randoms(use_true_random=False))
@few
def test_columns_that_are_placed_are_found_there_and_others_are_empty(seed, random):
    own = sums(seed)
    places = np.array(random.sample(range(9), D))
    wide = own.place(places, 9)
    assert_close(wide.on(places), own)
    assert not wide.on(np.setdiff1d(np.arange(9), places)).S.any()
    assert wide.Q.sum() == pytest.approx(own.Q.sum())
    assert fingerprint(own.grow(9)) == fingerprint(own.place(np.arange(D), 9))
    assert fingerprint(own.grow(D)) == fingerprint(own)
    other = sums(seed + 1)
    assert_close(own.grow(9) + other.grow(9), (own + other).grow(9))
    # What is taken out is a copy.
    own.on(slice(None)).S.fill(7)
    assert fingerprint(own) == fingerprint(sums(seed))


# Samples


def offered(sample, keys, kind=np.asarray):
    """Offer rows whose values tell their keys."""
    rows = np.column_stack([keys, np.zeros_like(keys)])
    labels = (100 * keys).astype(np.intp)
    present = np.ones((len(keys), 1), bool)
    return sample.offered([kind(rows)], keys, labels, present)


def content(sample):
    """Return keys, labels and rows, in the order of the keys."""
    sample = sample.compact()
    order = np.argsort(sample.keys)
    rows = dense(sample.pieces[0][0])[order] if sample.pieces else np.zeros((0, 2))
    return sample.keys[order].tolist(), sample.labels[order].tolist(), rows.tolist()


@every_kind
@given(
    seed=seeds,
    size=st.integers(1, 30),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    random=st.randoms(use_true_random=False),
)
@few
def test_a_sample_is_the_rows_of_the_largest_keys_whatever_came_when(
    kind, seed, size, cuts, random
):
    keys = np.random.default_rng(seed).random(60)
    parts = [part for part in np.split(keys, sorted(cuts)) if len(part)]
    none = Sample.empty(size, 1)
    one_by_one = reduce(lambda sample, part: offered(sample, part, kind), parts, none)
    random.shuffle(parts)
    apart = [offered(none, part, kind) for part in parts]
    while len(apart) > 1:
        i = random.randrange(len(apart) - 1)
        apart[i : i + 2] = [apart[i] + apart[i + 1]]
    best = np.sort(keys)[-size:]
    for sample in (one_by_one, apart[0]):
        found, labels, rows = content(sample)
        assert found == best.tolist()
        assert labels == (100 * best).astype(int).tolist()
        assert [row[0] for row in rows] == best.tolist()
        assert len(sample) == min(size, 60)
        # Memory is bounded, too.
        assert len(sample.keys) <= max(1.5 * size, size + 1)


def test_rows_of_the_sample_get_columns_that_come_later():
    early = offered(Sample.empty(10, 1), np.array([0.1, 0.2]), sp.csr_array)
    later = early.offered([sp.csr_array([[3.0, 4.0, 5.0]])], np.array([0.3]), np.array([1]))
    rows = later.compact().pieces[0][0].toarray()
    np.testing.assert_array_equal(rows, [[0.1, 0, 0], [0.2, 0, 0], [3, 4, 5]])
    placed = early.place([(np.array([2, 0]), 3)]).pieces[0][0].toarray()
    np.testing.assert_array_equal(placed, [[0, 0, 0.1], [0, 0, 0.2]])
    assert early.grow([4]).pieces[0][0].shape == (2, 4)


def test_later_rows_are_kept_more_often_if_rows_fade():
    X = np.arange(4000.0)[:, np.newaxis]
    ages = {}
    for half_life in (None, 500.0):
        own = Settings(2, sample_size=200, half_life=half_life)
        state = State.empty([1], own)
        for start in range(0, 4000, 500):
            state = step(state, [X[start : start + 500]], own).commit()
        ages[half_life] = np.median(4000 - state.sample.compact().pieces[0][0])
    assert 1600 < ages[None] < 2400
    # Half of the weight of all rows is on the last 500.
    assert 350 < ages[500.0] < 650


# Updates


@every_kind
@given(seed=seeds, n=st.integers(1, 30), half_life=st.sampled_from([None, 40.0]))
@few
def test_an_update_changes_nothing_until_it_is_committed_and_rolls_back(kind, seed, n, half_life):
    rng = np.random.default_rng(seed)
    own = Settings(K, sample_size=10, half_life=half_life)
    state = step(State.empty([D], own), [kind(counts(rng, 20, D))], own).commit()
    chunk = [kind(counts(rng, n, D))]
    before = fingerprint(state)
    update = step(state, chunk, own)
    assert fingerprint(state) == before
    after = fingerprint(update.commit())
    assert fingerprint(update.commit()) == after
    update.rollback()
    assert fingerprint(state) == before
    assert fingerprint(step(state, chunk, own).commit()) == after


@given(seed=seeds, cut=st.integers(1, 39), half_life=st.sampled_from([None, 30.0]))
@few
def test_the_sample_does_not_depend_on_how_rows_are_cut_into_chunks(seed, cut, half_life):
    X = np.random.default_rng(seed).random((40, D))
    own = Settings(K, sample_size=15, half_life=half_life, seed=seed)
    found = []
    for sizes in ((0, 40), (0, cut, 40)):
        state = State.empty([D], own)
        for start, stop in pairwise(sizes):
            state = step(state, [X[start:stop]], own).commit()
        found.append(state.sample.compact())
    for name in ("keys", "arrived"):
        np.testing.assert_array_equal(*(getattr(each, name) for each in found))
    np.testing.assert_array_equal(*(each.pieces[0][0] for each in found))


def test_rows_of_a_cluster_that_the_sample_lacks_in_a_view_go_where_its_others_go():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    sums = ViewSums.from_rows(X, np.array([0, 0, 1, 1]), 2)
    before, after = np.array([0, 0, 1]), np.array([1, 1, 0])
    # The third row of the sample lacks the view.
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    moved = sums.relabel(rows, np.array([1.0, 1.0, 0.0]), before, after, 2)
    np.testing.assert_array_equal(moved.S, [[0, 2], [2, 0]])
    np.testing.assert_array_equal(moved.n, [2, 2])
