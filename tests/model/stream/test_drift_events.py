"""The test for changes of a stream: its bound, its counts, and what it takes for a change."""

import itertools
import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial

from omvfs.model.constrained.step import measure
from omvfs.model.stream.change import (
    BUCKET,
    divergences,
    threshold,
)
from omvfs.model.stream.watch import LEVELS, Watch, Yardstick

K = 3


def watch(n_views=2):
    still = Yardstick((np.eye(K),), np.ones((1, K)), (np.ones(1),))
    return Watch(K, n_views).by(still)


def rows(rng, n, shares=(0.3, 0.3, 0.4), explained=(2, 5), has=1.0, n_views=2):
    """Clusters of rows, how well these explain them, and which views they have."""
    labels = rng.choice(K, n, p=shares)
    present = rng.random((n, n_views)) < has
    return labels, rng.beta(*explained, n), present


def joined(*parts):
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=5, max_size=5),
    st.lists(st.integers(0, 40), min_size=5, max_size=5),
)
def test_the_divergence_is_the_logarithm_of_a_likelihood_ratio(recent, before):
    def likelihood(counts, of):
        n, total = sum(counts), max(1, sum(of))
        return multinomial.logpmf(counts, n, np.array(of) / total) if n else 0.0

    expected = []
    for part in (slice(0, 2), slice(2, 5)):
        a, b = recent[part], before[part]
        both = [x + y for x, y in zip(a, b, strict=True)]
        apart = likelihood(a, a) + likelihood(b, b)
        expected.append(apart - likelihood(a, both) - likelihood(b, both))
    found = divergences(np.array(recent), np.array(before), [2, 3])
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("n", "n_before", "shares"),
    [(20, 20, (0.5, 0.5)), (200, 200, (0.98, 0.01, 0.01)), (200, 5000, (0.1,) * 10)],
)
def test_rows_that_are_drawn_alike_exceed_a_threshold_no_oftener_than_it_says(n, n_before, shares):
    rng = np.random.default_rng(0)
    recent, before = (rng.multinomial(size, shares, 4000) for size in (n, n_before))
    found = divergences(recent, before, [len(shares)])[:, 0]
    for chance in (0.5, 0.1, 0.01):
        assert np.mean(found >= threshold(len(shares), -math.log(chance))) <= chance


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 1800), max_size=8), st.booleans())
def test_how_rows_are_cut_into_chunks_changes_nothing(cuts, changes):
    rng = np.random.default_rng(2)
    later = (0.9, 0.05, 0.05) if changes else (0.3, 0.3, 0.4)
    stream = joined(rows(rng, 1200), rows(rng, 600, later))
    whole, expected, n_taken = watch().take(*stream)
    found, done, taken = watch(), None, 0
    edges = sorted({0, *cuts, 1800})
    for start, stop in itertools.pairwise(edges):
        found, done, n = found.take(*(each[start:stop] for each in stream))
        taken += n
        if done is not None:
            break
    assert done == expected
    assert (expected is None) is not changes
    assert taken == n_taken
    for each in fields(Watch):
        if each.name != "yardstick":
            np.testing.assert_array_equal(getattr(found, each.name), getattr(whole, each.name))


def test_buckets_are_what_counting_anew_finds():
    """Against the obvious: every row in the list of its bucket, counted cell by cell."""
    rng = np.random.default_rng(3)
    labels, explained, present = rows(rng, 200 + 20 * BUCKET + 7, has=0.7)
    found, change, _ = watch().take(labels, explained, present)
    assert change is None
    explained = np.round(explained, 6)
    counts = []
    for start in range(200, len(labels), BUCKET):
        cells = [0] * (K + 1 + LEVELS + 4)
        for i in range(start, min(start + BUCKET, len(labels))):
            cells[labels[i]] += 1
            own = [explained[j] for j in range(200) if labels[j] == labels[i]]
            above = [explained[i] > np.quantile(own, q / LEVELS) for q in range(1, LEVELS)]
            cells[K + 1 + sum(above)] += 1
            for v in range(2):
                cells[K + 1 + LEVELS + 2 * v + int(present[i, v])] += 1
        counts.append(cells)
    np.testing.assert_array_equal(found.recent, counts[4:20])
    np.testing.assert_array_equal(found.before, np.sum(counts[:4], axis=0))
    np.testing.assert_array_equal(found.open, counts[20])


@pytest.mark.parametrize(
    ("later", "kind"),
    [
        ({"shares": (0.7, 0.2, 0.1)}, "shares"),
        ({"explained": (1, 8)}, "meaning"),
        ({"has": 0.6}, "views"),
    ],
)
def test_what_changed_is_told_and_when_it_began(later, kind):
    rng = np.random.default_rng(4)
    begun, change, _ = watch().take(*rows(rng, 3000))
    assert change is None
    after, change, n_taken = begun.take(*rows(rng, 1000, **later))
    assert Watch.kind(change.variable) == kind
    assert change.strength > 1
    assert n_taken == change.n_rows <= 3 * BUCKET
    assert after.n_tests == begun.n_tests + n_taken // BUCKET
    anew = after.begun_anew(5000, 6000)
    assert (anew.since, anew.until, anew.yardstick) == (5000, 6000, None)
    assert anew.n_tests == after.n_tests
    assert not len(anew.recent)


@pytest.mark.parametrize("scaled", [False, True])
def test_rows_are_measured_as_a_dense_transcription_does(scaled):
    rng = np.random.default_rng(7)
    X, c = rng.random((30, 6)), rng.random((6, K))
    X[0] = 0  # in no cluster
    c /= np.linalg.norm(c, axis=0)
    s = rng.random(6) if scaled else np.full(6, 2.0)
    factor = np.square(s if scaled else s[:1])
    still = Yardstick((c * s[:, np.newaxis],), np.ones((1, K)), (factor,))
    labels, explained = measure(still, [X])
    assert (labels[0], explained[0]) == (K, 0)
    for i in range(1, 30):
        x = X[i] * s
        shares = [(x @ c[:, k]) ** 2 / (x @ x) for k in range(K)]
        assert labels[i] == int(np.argmax(shares))
        assert explained[i] == pytest.approx(max(shares))
    # Columns that were raised since are lowered again.
    delta = rng.random(6)
    raised = measure(still.shift([delta]).shift([delta]), [X[1:] + 2 * delta])
    for got, expected in zip(raised, (labels, explained), strict=True):
        np.testing.assert_allclose(got, expected[1:])
