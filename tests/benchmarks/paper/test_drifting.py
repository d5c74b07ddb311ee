"""The stream drifts: few classes dominate, others do later, and no row comes twice."""

from itertools import pairwise

import numpy as np
import pytest

from paper import Place
from paper.drifting import (
    DOMINANT,
    SEGMENTS,
    SHARE,
    drifting_order,
    longest_segment,
    stream,
)

LABELS = np.random.default_rng(0).integers(9, size=2000)


def order_of(seed, segment=300):
    rng = np.random.default_rng(seed)
    return drifting_order(LABELS, np.arange(9), segment, rng)


def test_no_row_comes_twice():
    rows, _ = order_of(0)
    assert len(rows) == SEGMENTS * 300 == len(np.unique(rows))


@pytest.mark.parametrize("seed", range(5))
def test_dominant_classes_have_their_share_and_change(seed):
    rows, dominant = order_of(seed)
    for pair, segment in zip(dominant, LABELS[rows].reshape(SEGMENTS, -1), strict=True):
        counts = np.bincount(segment, minlength=9)
        assert counts[list(pair)].tolist() == [int(300 * SHARE / DOMINANT)] * DOMINANT
        assert set(np.argsort(counts)[-DOMINANT:]) == set(pair)
    for before, after in pairwise(dominant):
        assert not set(before) & set(after)


def test_orders_are_deterministic_and_differ():
    (one, pairs), (again, same), (other, _) = order_of(1), order_of(1), order_of(2)
    np.testing.assert_array_equal(one, again)
    assert pairs == same
    assert (one != other).any()


def test_few_classes_dominate_in_turn():
    labels = np.repeat(np.arange(5), 400)
    segment = longest_segment(labels, 3000)
    rows, dominant = drifting_order(labels, np.arange(5), segment, np.random.default_rng(0))
    assert len(np.unique(rows)) == SEGMENTS * segment
    assert all(set(a) != set(b) for a, b in pairwise(dominant))


def test_too_few_rows_for_the_rest_are_told():
    labels = np.repeat(np.arange(8), 1250)
    assert drifting_order(labels, np.arange(8), 2500, np.random.default_rng(0)) is None
    rows, _ = drifting_order(labels, np.arange(8), 2000, np.random.default_rng(0))
    assert len(np.unique(rows)) == SEGMENTS * 2000


def test_segments_are_as_long_as_the_classes_allow():
    assert longest_segment(np.repeat(np.arange(8), 5000), 3000) == 3000
    assert longest_segment(np.repeat(np.arange(8), 500), 3000) == 1000


def test_the_stream_of_a_twin():
    drifting = stream("reuters-twin", Place(), 0, 60)
    assert drifting.rows.n_classes == 6
    assert len(drifting.rows.labels) == 4 * drifting.segment == 240
    assert [chunk.stop for chunk in drifting.points(3)] == list(range(20, 241, 20))


def test_segments_take_turns():
    first, later, other = (stream("planted", Place(), order, 30) for order in (0, 1, 4))
    np.testing.assert_array_equal(later.rows.labels, np.roll(first.rows.labels, -30))
    for view, X in first.rows.views.items():
        rolled = np.roll(X.toarray(), -30, axis=0)
        np.testing.assert_array_equal(later.rows.views[view].toarray(), rolled)
    assert (other.rows.labels != first.rows.labels).any()
    twin = [stream("reuters-twin", Place(), order, 60) for order in range(4)]
    for place in range(SEGMENTS):
        assert {each.dominant[place] for each in twin} == set(twin[0].dominant)
    for each in twin:
        assert not any(set(a) & set(b) for a, b in pairwise(each.dominant))
