"""A budget goes to the features that are worth most, whichever view they are of."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from omvfs.model.ranking.budget import falling_means, share_budget

worths = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)
views = st.lists(worths, min_size=1, max_size=4)


def one_by_one(worths, total):
    """Share slowly: give the next feature to the view whose next one is worth most."""
    fallen = [falling_means(each) for each in worths]
    counts = [1] * len(worths)
    while sum(counts) < min(total, sum(map(len, worths))):
        left = [v for v, own in enumerate(fallen) if counts[v] < len(own)]
        best = min(left, key=lambda v: (-fallen[v][counts[v]], counts[v] / len(fallen[v]), v))
        counts[best] += 1
    return tuple(counts)


@given(worths)
def test_means_that_fall_are_those_of_isotonic_regression(each):
    np.testing.assert_allclose(
        falling_means(each), isotonic_regression(each, increasing=False), atol=1e-12
    )


@given(views, st.integers(0, 130))
def test_a_budget_is_shared_as_one_by_one(worths, more):
    total = len(worths) + more
    counts = share_budget(worths, total)
    assert counts == one_by_one(worths, total)
    assert sum(counts) == min(total, sum(map(len, worths)))
    assert min(counts) >= 1


@given(views, st.integers(0, 60), st.integers(0, 60))
def test_more_in_all_is_less_of_no_view(worths, one, other):
    least, most = sorted((one, other))
    fewer, more = (share_budget(worths, len(worths) + n) for n in (least, most))
    assert all(a <= b for a, b in zip(fewer, more, strict=True))


@given(st.lists(st.integers(1, 200), min_size=2, max_size=4), st.floats(0.1, 1))
def test_views_that_are_worth_the_same_give_the_same_part(widths, part):
    total = max(len(widths), round(part * sum(widths)))
    counts = share_budget([np.ones(n) for n in widths], total)
    for n, width in zip(counts, widths, strict=True):
        assert abs(n - total * width / sum(widths)) <= len(widths)
