"""Chance, column sum and variance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omvfs import rechunk
from omvfs.baselines import ColumnSum, RandomScore, Variance
from support import KINDS, counts


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_column_sum_and_variance_of_a_stream_are_those_of_all_its_rows(kind, dtype, seed, sizes):
    X = 5 + counts(np.random.default_rng(seed), sum(sizes), 6, dtype) * [1, 1, 1, 1, 1, 0]
    X[:, 1] -= 5
    X = X.astype(dtype)
    total, variance = ColumnSum(), Variance()
    for start, stop in zip(np.cumsum([0, *sizes[:-1]]), np.cumsum(sizes), strict=True):
        total.partial_fit(kind(X[start:stop]))
        variance.partial_fit(kind(X[start:stop]))
    rounding = 1e-12 if dtype == np.float64 else 1e-5
    wide = X.astype(np.float64)
    np.testing.assert_allclose(total.scores_, wide.mean(axis=0), rtol=rounding)
    np.testing.assert_allclose(variance.scores_, wide.var(axis=0), rtol=rounding, atol=rounding)
    assert variance.n_samples_seen_ == len(X)


def test_variance_is_exact_far_from_zero():
    X = 1e8 + np.arange(12.0).reshape(6, 2)
    selector = Variance()
    for chunk in rechunk([X], 2):
        selector.partial_fit(chunk)
    np.testing.assert_allclose(selector.scores_, X.var(axis=0), rtol=1e-12)


def test_random_scores_follow_the_seed_alone():
    X, Y = np.ones((3, 50)), np.zeros((7, 50))
    first = RandomScore(random_state=1).fit(X).scores_
    np.testing.assert_array_equal(first, RandomScore(random_state=1).fit(Y).scores_)
    assert not np.array_equal(first, RandomScore(random_state=2).fit(X).scores_)
    assert len(set(first)) == 50
