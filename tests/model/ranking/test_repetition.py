"""Scores: what a repetition does to them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.arrays import column_sums, squared_entries
from omvfs.model.ranking import repetition
from omvfs.model.ranking.repetition import Correlations, discount_repetition, find_repetition
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


def one_by_one(scores, rows, strength, n_steps):
    """Look at every feature beside each that is taken, when it is taken."""
    worth, n = np.array(scores), rows.shape[0]
    means = column_sums(rows) / n
    variances = column_sums(squared_entries(rows)) / n - means**2
    varied = variances > 1e-12 * np.maximum(means**2, np.finfo(float).tiny)
    deviations = np.where(varied, np.sqrt(np.maximum(variances, 0)), np.inf)
    final, left = worth.copy(), np.ones(len(worth))
    repeated, found = np.full(len(worth), -1), np.zeros(len(worth))
    value = np.where(worth > 0, worth, -1)
    for _ in range(min(n_steps, np.count_nonzero(worth > 0))):
        j = value.argmax()
        final[j], value[j] = value[j], -1
        column = rows[:, [j]]
        column = column.toarray() if sp.issparse(column) else column
        r = (rows.T @ column.ravel() / n - means * means[j]) / (deviations * deviations[j])
        own = 1 - r**2
        own[own < 1e-12] = 0
        less = np.flatnonzero((own < left) & (value >= 0))
        left[less], repeated[less], found[less] = own[less], j, r[less]
        value[less] = final[less] = worth[less] * own[less] ** strength
    return final, repeated, found


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
def test_parts_find_what_one_by_one_finds(kind, seed, density, strength, n_steps):
    rng = np.random.default_rng(seed)
    rows = rng.random((30, 40)) * (rng.random((30, 40)) < density)
    rows[:, :3] = rng.random((30, 3)) + 1  # with rows all of which others meet
    rows[:, 7], rows[:, 11], rows[:, 13] = rows[:, 3], 2 * rows[:, 4], 3 - rows[:, 0]
    scores = rng.random(40) * (rng.random(40) < 0.9)
    found = find_repetition(scores, kind(rows), strength, n_steps)
    final, repeated, r = one_by_one(scores, kind(rows), strength, n_steps)
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


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_constant_columns_repeat_nothing_nor_do_columns_without_strength_or_rows(kind):
    rng = np.random.default_rng(0)
    rows = np.c_[np.full(30, 0.1), np.full(30, 1 / 3), np.zeros(30), rng.random(30)]
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    for size in (1e-9, 1.0, 1e9):
        got = discount_repetition(scores, kind(rows * size), 2.0, 4)
        np.testing.assert_array_equal(got, scores)
    rows = kind(counts(rng, 9, 4))
    for got in (
        discount_repetition(scores, rows, 0.0, 4),
        discount_repetition(scores, rows[:2], 2.0, 4),
    ):
        np.testing.assert_array_equal(got, scores)
        assert got is not scores


@given(seed=seeds, power=st.integers(-30, 30))
@settings(max_examples=20, deadline=None)
def test_repetition_has_no_scale(seed, power):
    rng = np.random.default_rng(seed)
    rows, scores = counts(rng, 12, 6, np.float32), rng.random(6)
    factors = 2.0 ** (power * rng.integers(-1, 2, size=6))
    scaled = discount_repetition(scores, (rows * factors).astype(np.float32), 2.0, 6)
    np.testing.assert_allclose(scaled, discount_repetition(scores, rows, 2.0, 6), atol=1e-5)
