"""Scores: what a repetition does to them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.ranking.repetition import discount_repetition
from support import KINDS, counts

seeds = st.integers(0, 2**32)


def naive_discount(scores, rows, strength, n_steps):
    """Take the best feature, discount the others by their correlation with it, and again."""
    D = len(scores)
    taken, worth = [], [0.0] * D
    candidates = [j for j in range(D) if scores[j] > 0]
    repeated = [0.0] * D
    for _ in range(min(n_steps, len(candidates))):
        value = {j: scores[j] * (1 - repeated[j]) ** strength for j in candidates}
        best = max(candidates, key=lambda j: value[j])
        worth[best] = value[best]
        taken.append(best)
        candidates.remove(best)
        for j in candidates:
            r = 0.0
            if np.ptp(rows[:, j]) > 0 and np.ptp(rows[:, best]) > 0:
                r = np.corrcoef(rows[:, j], rows[:, best])[0, 1]
            repeated[j] = max(repeated[j], min(1.0, r**2))
    for j in candidates:
        worth[j] = scores[j] * (1 - repeated[j]) ** strength
    return np.array(worth), taken


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@given(
    seed=seeds,
    n=st.integers(3, 15),
    d=st.integers(1, 10),
    strength=st.sampled_from([0.5, 1.0, 2.0, 5.0]),
    n_steps=st.integers(1, 12),
)
@settings(max_examples=40, deadline=None)
def test_repetition_is_discounted_as_by_the_slow_rule(kind, seed, n, d, strength, n_steps):
    rng = np.random.default_rng(seed)
    rows = counts(rng, n, d)
    rows[:, rng.integers(d)] = 0.7  # a constant
    scores = rng.random(d) * (rng.random(d) < 0.9)
    got = discount_repetition(scores, kind(rows), strength, n_steps)
    expected, taken = naive_discount(scores, rows, strength, n_steps)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    # The order of taking is the order of the new scores.
    assert (np.diff(got[taken]) <= 1e-12).all()
    rest = np.setdiff1d(np.flatnonzero(scores > 0), taken)
    assert (got[rest] <= got[taken[-1:]].min(initial=np.inf) + 1e-12).all()
    assert (got <= scores + 1e-12).all()
    assert (got >= 0).all()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_exact_repetitions_go_to_the_end(kind):
    rng = np.random.default_rng(0)
    X = counts(rng, 40, 5) + 0.1
    rows = kind(np.hstack([X, 3 * X, -X + 2 * X.max()]))
    scores = np.concatenate([5 + rng.random(5), 4 + rng.random(5), 3 + rng.random(5)])
    got = discount_repetition(scores, rows, 2.0, 15)
    order = np.argsort(-got)
    assert set(order[:5]) == set(range(5))
    np.testing.assert_allclose(got[5:], 0, atol=1e-10)


@given(seed=seeds, strength=st.sampled_from([0.0, -1.0]))
@settings(max_examples=10, deadline=None)
def test_no_strength_or_too_few_rows_leave_the_scores(seed, strength):
    rng = np.random.default_rng(seed)
    scores, rows = rng.random(5), counts(rng, 9, 5)
    for got in (
        discount_repetition(scores, rows, strength, 5),
        discount_repetition(scores, rows[:2], 2.0, 5),
    ):
        np.testing.assert_array_equal(got, scores)
        assert got is not scores


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_constant_columns_repeat_nothing(kind, size):
    rng = np.random.default_rng(0)
    rows = np.c_[np.full(30, 0.1), np.full(30, 1 / 3), np.zeros(30), rng.random(30)] * size
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    np.testing.assert_array_equal(discount_repetition(scores, kind(rows), 2.0, 4), scores)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=seeds, power=st.integers(-30, 30))
@settings(max_examples=20, deadline=None)
def test_repetition_has_no_scale(dtype, seed, power):
    rng = np.random.default_rng(seed)
    rows, scores = counts(rng, 12, 6, dtype), rng.random(6)
    factors = 2.0 ** (power * rng.integers(-1, 2, size=6))
    scaled = discount_repetition(scores, (rows * factors).astype(dtype), 2.0, 6)
    np.testing.assert_allclose(scaled, discount_repetition(scores, rows, 2.0, 6), atol=1e-5)
