"""One order over all views: each view's best first, the same part of each, by worth, or between."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from omvfs.model.queries import falling_means, joint_places, share_budget

worths = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)
views = st.lists(worths, min_size=1, max_size=4)
leans = st.sampled_from([0.0, 0.5, 1.0])


def one_by_one(worths, total):
    """Share slowly: give the next feature to the view whose next one is worth most."""
    fallen = [falling_means(each) for each in worths]
    counts = [1] * len(worths)
    while sum(counts) < min(total, sum(map(len, worths))):
        left = [v for v, own in enumerate(fallen) if counts[v] < len(own)]
        best = min(
            left, key=lambda v: (-fallen[v][counts[v]], (counts[v] + 0.5) / len(fallen[v]), v)
        )
        counts[best] += 1
    return tuple(counts)


@given(worths)
def test_means_that_fall_are_those_of_isotonic_regression(each):
    np.testing.assert_allclose(
        falling_means(each), isotonic_regression(each, increasing=False), atol=1e-12
    )


@given(views, st.integers(0, 130))
def test_a_budget_is_shared_by_worth_as_one_by_one(worths, more):
    total = len(worths) + more
    assert share_budget(joint_places(worths, 1.0), total) == one_by_one(worths, total)


@given(views, leans)
def test_places_are_one_order_in_which_ranks_stay_and_every_view_has_one_early(worths, lean):
    places = joint_places(worths, lean)
    every = np.sort(np.concatenate(places))
    np.testing.assert_array_equal(every, np.arange(1, len(every) + 1))
    assert all((np.diff(each) > 0).all() for each in places)
    assert sorted(each[0] for each in places) == list(range(1, len(places) + 1))


@given(views, leans, st.integers(0, 60), st.integers(0, 60))
def test_more_in_all_is_less_of_no_view(worths, lean, one, other):
    places, n = joint_places(worths, lean), sum(map(len, worths))
    least, most = (len(worths) + more for more in sorted((one, other)))
    fewer, more = share_budget(places, least), share_budget(places, most)
    assert sum(fewer) == min(least, n)
    assert min(fewer) >= 1
    assert all(a <= b for a, b in zip(fewer, more, strict=True))


@given(st.lists(st.integers(1, 200), min_size=2, max_size=4), st.floats(0.1, 1), leans)
def test_views_that_are_worth_the_same_give_the_same_part(widths, part, lean):
    total = max(len(widths), round(part * sum(widths)))
    counts = share_budget(joint_places([np.ones(n) for n in widths], lean), total)
    for n, width in zip(counts, widths, strict=True):
        assert abs(n - total * width / sum(widths)) <= len(widths)


@given(views, st.integers(0, 100))
def test_the_same_part_does_not_ask_what_features_are_worth(worths, more):
    alike = [np.ones(len(each)) for each in worths]
    total = len(worths) + more
    assert share_budget(joint_places(worths, 0.0), total) == share_budget(
        joint_places(alike, 1.0), total
    )


@pytest.mark.parametrize("total", [20, 40, 80])
def test_half_the_way_is_between_both(total):
    told, noise = np.linspace(1, 0.5, 60), np.linspace(0.1, 0, 60)
    by_part, between, by_worth = (
        share_budget(joint_places([told, noise], lean), total)[1] for lean in (0.0, 0.5, 1.0)
    )
    assert by_worth < between < by_part
