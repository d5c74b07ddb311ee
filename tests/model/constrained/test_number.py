"""What rows tell of how many clusters there are."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from omvfs.model.concordance import chance_error
from omvfs.model.constrained.number import ClusterCurve, cluster_curve, numbers_to_try
from short_stream import SETTINGS

ASKED = replace(SETTINGS, n_clusters="auto", n_init=24)


def rows(seed, n, n_clusters, widths=(24, 18)):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n)
    found = []
    for width in widths:
        own = np.arange(width) % n_clusters == labels[:, np.newaxis]
        found.append(rng.random((n, width)) * (0.05 + own))
    return found


@given(st.integers(0, 5000))
def test_numbers_rise_to_the_root_of_the_rows(n):
    tried = numbers_to_try(n).tolist()
    assert tried[0] == (2 if n >= 4 else 1)
    assert all(a < b <= max(a + 1, 1.3 * a) for a, b in pairwise(tried))
    assert tried[-1] <= max(1, min(n**0.5, 50))


def test_clusters_that_one_view_alone_knows_do_not_count():
    rng = np.random.default_rng(0)
    labels, own = rng.integers(3, size=600), rng.integers(2, size=600)
    finer = 2 * labels + own
    one, other = (
        rng.random((600, 36)) * (0.05 + (np.arange(36) % k == each[:, np.newaxis]))
        for each, k in ((finer, 6), (labels, 3))
    )
    assert cluster_curve([one, other], rng, ASKED).best == 3
    assert cluster_curve([one, one[:, ::-1].copy()], rng, ASKED).best == 6


@pytest.mark.parametrize("on_the_way", [False, True])
def test_halves_agree_on_what_is_there_and_noise_is_told_by_chance(on_the_way):
    told = cluster_curve(rows(0, 300, 3), np.random.default_rng(0), ASKED, on_the_way)
    assert told.criterion.max() > 0.5
    assert told.spread[told.criterion.argmax()] < 0.1
    noise = [np.random.default_rng(v).random((300, 20)) for v in range(2)]
    curve = cluster_curve(noise, np.random.default_rng(0), ASKED, on_the_way)
    assert np.abs(curve.criterion).max() < 5 * chance_error(150)


curves = arrays(float, (4, 6), elements=st.floats(-1, 1)).map(
    lambda halves: ClusterCurve(np.arange(2, 8), halves)
)


@given(curves)
def test_the_fewest_are_taken_that_are_within_an_error_of_the_most(curve):
    most = curve.criterion.max()
    assert curve.criterion[curve.n_clusters == curve.best] >= most - curve.error
    assert (curve.criterion[curve.n_clusters < curve.best] < most - curve.error).all()
    ahead = np.where(np.arange(6) == 3, curve.halves + 9, curve.halves)
    assert ClusterCurve(curve.n_clusters, ahead).best == 5


@given(curves, st.floats(-1, 1), st.integers(0, 9))
def test_the_error_is_that_of_differences_whatever_halves_have_in_common(curve, shift, seed):
    # Of any two numbers, the variance of their difference; mean over all pairs.
    pairs = [curve.halves[:, i] - curve.halves[:, j] for i in range(6) for j in range(i)]
    expected = np.sqrt(np.mean([each.var(ddof=1) for each in pairs]) / 4)
    assert curve.error == pytest.approx(expected, abs=1e-9)
    easier = np.random.default_rng(seed).random((4, 1)) + np.linspace(0, shift, 6)
    other = ClusterCurve(curve.n_clusters, curve.halves + easier)
    assert other.error == pytest.approx(curve.error, abs=1e-9)
