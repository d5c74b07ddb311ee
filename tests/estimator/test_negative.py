"""Negative values: clipped, or columns raised, exactly, or refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from faults import everything, good, with_value
from omvfs import OMVFS
from streams import SOLVERS
from support import clustered, counts


def signed(seed, n_rows):
    """Rows of either sign whose lowest values are all in the first ten rows."""
    rng = np.random.default_rng(seed)
    X = clustered(rng, n_rows, 12)[0] - 0.3
    X[:10] -= 0.2
    X[rng.integers(10, size=12), np.arange(12)] = X.min() - 0.1 * np.arange(12)
    return X


def test_clip_is_fitting_on_the_positive_part():
    X = signed(0, 60)
    clip, plain = (OMVFS(3, batch_size=20, negative=n, random_state=0) for n in ("clip", "error"))
    clip.fit(X)
    plain.fit(np.maximum(X, 0))
    np.testing.assert_array_equal(clip.scores_, plain.scores_)
    np.testing.assert_array_equal(clip.predict(X), plain.predict(np.maximum(X, 0)))
    clipped = clone(clip).fit(sp.csr_array(X)).scores_
    np.testing.assert_array_equal(clipped, clone(plain).fit(sp.csr_array(np.maximum(X, 0))).scores_)
    np.testing.assert_array_equal(clip.transform(X), X[:, clip.get_support()])


@pytest.mark.parametrize(("solver", "dtype"), [("constrained", np.float32)])
def test_shift_is_fitting_on_raised_columns_when_the_lowest_come_first(solver, dtype):
    X = signed(1, 60).astype(dtype)
    params = {"batch_size": 20, "random_state": 0}
    shift = SOLVERS[solver](3, negative="shift", **params).fit(X)
    plain = SOLVERS[solver](3, **params).fit(X + np.maximum(0, -X.min(axis=0)))
    np.testing.assert_allclose(
        shift.scores_, plain.scores_, rtol=1e-4 if dtype == np.float32 else 0
    )
    np.testing.assert_array_equal(shift.ranking_, plain.ranking_)
    np.testing.assert_array_equal(shift.transform(X), X[:, shift.get_support()])


@pytest.mark.parametrize(("solver", "half_life"), [("constrained", 16.0)])
@given(seed=st.integers(0, 100))
@settings(max_examples=5, deadline=None)
def test_shift_keeps_every_sum_exact_when_a_new_minimum_comes_later(solver, half_life, seed):
    rng = np.random.default_rng(seed)
    chunks = [counts(rng, 8, 5) - 0.1 * t for t in range(5)]  # a new minimum in every chunk
    model = SOLVERS[solver](2, negative="shift", half_life=half_life, window=2, random_state=0)
    for t, chunk in enumerate(chunks):
        model.partial_fit(chunk)
        state = model._known.state
        raised = np.maximum(0, -np.vstack(chunks[: t + 1]).min(axis=0))
        np.testing.assert_allclose(model._known.raised[0], raised)
        rows = [known + raised for known in chunks[: t + 1]]
        # Chunks of 8 rows.
        fade = [1.0 if half_life is None else 0.5 ** ((t - i) / 2) for i in range(t + 1)]
        sums = sum(f * X.sum(axis=0) for f, X in zip(fade, rows, strict=True))
        squares = sum(f * (X**2).sum(axis=0) for f, X in zip(fade, rows, strict=True))
        np.testing.assert_allclose(state.statistics.views[0].sums, sums, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            state.statistics.views[0].squares, squares, rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(state.window.rows()[0], np.vstack(rows[-2:]), atol=1e-12)
        if solver == "constrained":  # the memory holds every row, and how it was counted
            held = state.reservoir
            np.testing.assert_allclose(held.blocks[0], np.vstack(rows), atol=1e-12)
            U = held.counted.dense() * held.shares[:, np.newaxis]
            np.testing.assert_allclose(
                state.statistics.B[0], np.vstack(rows).T @ U, rtol=1e-9, atol=1e-12
            )


def test_values_below_any_seen_are_taken_as_the_lowest_seen_when_predicting():
    X = signed(2, 60)
    model = OMVFS(3, negative="shift", random_state=0).fit(X)
    low = X.copy()
    low[:, 0] = X[:, 0].min() - 5
    lowest = X.copy()
    lowest[:, 0] = X[:, 0].min()
    np.testing.assert_array_equal(model.predict(low), model.predict(lowest))


def test_shift_cannot_be_switched_on_later():
    X = counts(np.random.default_rng(0), 30, 5)
    model = OMVFS(2, random_state=0).fit(X).set_params(negative="shift")
    with pytest.raises(ValueError, match="'shift' after the first chunk"):
        model.partial_fit(-X)
    model.fit(-X)


def test_sparse_negative_values_cannot_be_shifted():
    chunk = with_value("text", 3, 1, -1.0)(good(0))
    for before in (0, 1):
        model = OMVFS(3, negative="shift", random_state=0)
        for seed in range(before):
            model.partial_fit(good(seed))
        known = everything(model)
        with pytest.raises(ValueError, match=r"'text' is sparse.*dense.*clip"):
            model.partial_fit(chunk)
        assert everything(model) == known
