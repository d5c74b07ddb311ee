"""Scores: what a repetition does to them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.ranking import repetition
from omvfs.model.ranking.repetition import Correlations, find_repetition
from support import KINDS, counts

seeds = st.integers(0, 2**32)


def slow_rule(scores, rows, strength, n_steps):
    """Take the best feature, discount the others by what they repeat of it, and again."""
    varied = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    R = np.zeros((len(scores), len(scores)))
    R[np.ix_(varied, varied)] = np.corrcoef(rows[:, varied].T)
    worth, repeated, found = np.array(scores), [-1] * len(scores), np.zeros(len(scores))
    candidates = [j for j in range(len(scores)) if scores[j] > 0]
    for _ in range(min(n_steps, len(candidates))):
        best = max(candidates, key=lambda j: worth[j])
        candidates.remove(best)
        for j in candidates:
            if abs(R[j, best]) > abs(found[j]):
                repeated[j], found[j] = best, R[j, best]
                own = 1 - found[j] ** 2
                worth[j] = scores[j] * (own if own > 1e-12 else 0) ** strength
    return worth, np.array(repeated), found


@pytest.fixture(scope="module")
def in_small_parts():
    """Let few features be looked at at once, so that small examples have many parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repetition, "_POOL", 5)
        patch.setattr(repetition, "_AT_ONCE", 7)
        patch.setattr(repetition, "_BESIDE", 3)
        patch.setattr(repetition, "_PAIRS", 40)
        yield


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@given(
    seed=seeds,
    density=st.sampled_from([0.03, 0.1, 0.9]),
    strength=st.sampled_from([0.0, 0.5, 4.0]),
    n_steps=st.integers(0, 45),
)
@settings(max_examples=30, deadline=None)
def test_repetition_is_discounted_as_by_the_slow_rule_also_in_parts(
    kind, seed, density, strength, n_steps
):
    rng = np.random.default_rng(seed)
    rows = rng.random((30, 40)) * (rng.random((30, 40)) < density)
    rows[:, :3] = rng.random((30, 3)) + 1  # with rows all of which others meet
    rows[:, 7], rows[:, 11], rows[:, 13] = rows[:, 3], 2 * rows[:, 4], 3 - rows[:, 0]
    scores = rng.random(40) * (rng.random(40) < 0.9)
    found = find_repetition(scores, kind(rows), strength, n_steps)
    final, repeated, r = slow_rule(scores, rows, strength, n_steps)
    np.testing.assert_allclose(found.scores, final, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.abs(found.correlations), np.abs(np.clip(r, -1, 1)), atol=1e-9)
    # Features that repeat two others alike may be said to repeat either.
    same = found.repeated == repeated
    other = Correlations(kind(rows)).between(np.arange(40), np.maximum(found.repeated, 0))
    np.testing.assert_allclose(np.abs(np.diag(other))[~same], np.abs(r)[~same], atol=1e-9)
    np.testing.assert_array_equal(found.repeated < 0, repeated < 0)
    # Without the rest, those taken are the same to the bit, and no other comes before them.
    short = find_repetition(scores, kind(rows), strength, n_steps, rest=False)
    order = np.argsort(-short.scores, kind="stable")[:n_steps]
    np.testing.assert_array_equal(order, np.argsort(-found.scores, kind="stable")[:n_steps])
    np.testing.assert_array_equal(short.scores[order], found.scores[order])


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_of_equal_features_the_first_is_taken_first(kind):
    # Columns that do not correlate, each twice, all of the same score.
    H = np.array([[1.0]])
    for _ in range(5):
        H = np.block([[H, H], [H, -H]])
    rows = kind(np.repeat(1 + H[:, 1:], 2, axis=1))
    found = find_repetition(np.ones(62), rows, 2.0, n_steps=40)
    np.testing.assert_allclose(found.scores, np.tile([1.0, 0.0], 31), atol=1e-12)
    np.testing.assert_array_equal(found.repeated[1::2], np.arange(0, 62, 2))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_constant_columns_repeat_nothing(kind):
    rng = np.random.default_rng(0)
    rows = np.c_[np.full(30, 0.1), np.full(30, 1 / 3), np.zeros(30), rng.random(30)]
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    for size in (1e-9, 1.0, 1e9):
        got = find_repetition(scores, kind(rows * size), 2.0, 4).scores
        np.testing.assert_array_equal(got, scores)


@given(seed=seeds, n=st.integers(1, 2), strength=st.sampled_from([0.0, 2.0]))
@settings(max_examples=10, deadline=None)
def test_too_few_rows_leave_the_scores(seed, n, strength):
    rng = np.random.default_rng(seed)
    scores, rows = rng.random(5), counts(rng, n, 5)
    found = find_repetition(scores, rows, strength, 5)
    np.testing.assert_array_equal(found.scores, scores)
    assert found.scores is not scores
    assert (found.repeated == -1).all()


@given(seed=seeds, power=st.integers(-30, 30))
@settings(max_examples=20, deadline=None)
def test_repetition_has_no_scale(seed, power):
    rng = np.random.default_rng(seed)
    rows, scores = counts(rng, 12, 6, np.float32), rng.random(6)
    factors = 2.0 ** (power * rng.integers(-1, 2, size=6))
    scaled = find_repetition(scores, (rows * factors).astype(np.float32), 2.0, 6).scores
    np.testing.assert_allclose(scaled, find_repetition(scores, rows, 2.0, 6).scores, atol=1e-5)
