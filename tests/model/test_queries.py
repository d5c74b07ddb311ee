"""How views share a budget: each view's best first, the same part of each, by worth, or between."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import isotonic_regression

from omvfs.model.queries import best_proved, falling_means, joint_places, share_budget

views = st.lists(
    st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array), min_size=1, max_size=4
)
leans = st.sampled_from([0.0, 0.5, 1.0])


def one_by_one(worths, total):
    """Share slowly: give the next feature to the view whose next one is worth most."""
    fallen = [isotonic_regression(each, increasing=False) for each in worths]
    for each, expected in zip(worths, fallen, strict=True):
        np.testing.assert_allclose(falling_means(each), expected, atol=1e-12)
    fallen = list(map(falling_means, worths))
    counts = [1] * len(worths)
    while sum(counts) < min(total, sum(map(len, worths))):
        left = [v for v, own in enumerate(fallen) if counts[v] < len(own)]
        best = min(
            left, key=lambda v: (-fallen[v][counts[v]], (counts[v] + 0.5) / len(fallen[v]), v)
        )
        counts[best] += 1
    return tuple(counts)


@given(views, st.integers(0, 130))
def test_a_budget_is_shared_by_worth_as_one_by_one_or_without_asking_for_it(worths, more):
    total = len(worths) + more
    assert share_budget(joint_places(worths, 1.0), total) == one_by_one(worths, total)
    alike = [np.ones(len(each)) for each in worths]
    the_same_part = share_budget(joint_places(alike, 1.0), total)
    assert share_budget(joint_places(worths, 0.0), total) == the_same_part


@given(views, leans, st.integers(0, 60), st.integers(0, 60))
def test_places_are_one_order_in_which_more_in_all_is_less_of_no_view(worths, lean, one, other):
    places, n = joint_places(worths, lean), sum(map(len, worths))
    np.testing.assert_array_equal(np.sort(np.concatenate(places)), np.arange(1, n + 1))
    assert all((np.diff(each) > 0).all() for each in places)
    assert sorted(each[0] for each in places) == list(range(1, len(places) + 1))
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


@given(
    arrays(float, st.tuples(st.integers(2, 6), st.integers(1, 3)), elements=st.floats(-1, 1)),
    st.booleans(),
)
def test_a_way_to_share_is_taken_if_it_gains_each_time_and_none_that_does_gains_more(each, once):
    if once:
        each[0] = -0.1
    best = best_proved(each)
    proved = [
        v for v, own in enumerate(each.T) if min(own) > 0 and np.mean(own) > np.std(own, ddof=1)
    ]
    assert (best is None) == (not proved)
    assert best is None or best in proved
    assert all(each[:, best].mean() >= each[:, v].mean() for v in proved)
