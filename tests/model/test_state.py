"""Raised columns are as if every row had come raised."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.state import B_sq_norms
from short_stream import SETTINGS, states
from support import fingerprint


@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    half_life=st.sampled_from([None, 20.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15, deadline=None)
def test_raised_columns_are_as_if_every_row_had_come_raised(sizes, half_life, seed):
    given_settings = replace(SETTINGS, half_life=half_life)
    *_, (state, _) = states(given_settings, sizes)
    before = fingerprint(state)
    rng = np.random.default_rng(seed)
    raises = [rng.random(9) * (rng.random(9) < 0.5), np.zeros(6)]
    raised = state.shift(raises, given_settings)
    assert fingerprint(state) == before
    held = raised.reservoir
    faded = held.shares[:, np.newaxis] * held.counted.dense()
    for v, view in enumerate(raised.statistics.views):
        X_v = state.reservoir.blocks[v] + raises[v]
        np.testing.assert_allclose(held.blocks[v], X_v)
        np.testing.assert_allclose(view.B, X_v.T @ faded, atol=1e-9)
        np.testing.assert_allclose(view.sums, held.shares @ X_v, atol=1e-9)
        np.testing.assert_allclose(view.squares, held.shares @ X_v**2, atol=1e-9)
        np.testing.assert_allclose(raised.window.rows()[v], state.window.rows()[v] + raises[v])
        assert view.energy == pytest.approx(held.shares @ (X_v**2).sum(axis=1))
        assert view.filled_rows == pytest.approx(held.shares @ X_v.any(axis=1))
        np.testing.assert_array_equal(view.masses, state.statistics.views[v].masses)
    np.testing.assert_allclose(raised.B_sq_norms, B_sq_norms(raised.statistics, given_settings))


def test_nothing_to_raise_is_the_state_itself():
    *_, (state, _) = states(SETTINGS, [10])
    assert state.shift([np.zeros(9), np.zeros(6)], SETTINGS) is state
