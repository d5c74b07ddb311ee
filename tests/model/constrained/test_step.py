"""One chunk after another: what the statistics hold, and what a step leaves alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.arrays import column_sq_norms
from omvfs.model.constrained import step
from omvfs.model.state import B_sq_norms, Scales, State
from short_stream import SETTINGS, begin, chunk, kinds, learned, states
from support import dense, fingerprint

PLAIN = replace(SETTINGS, sample_size=0, graph="none", view_weight=(None,))


@kinds
@pytest.mark.parametrize("scale_columns", [False, True])
@given(
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=6),
    # Not so short that a row has no say any more.
    half_life=st.sampled_from([None, 60.0]),
    window=st.sampled_from([1, 2, None]),
    weights=st.sampled_from([(None, None), (1.0, 9.0)]),
)
@settings(max_examples=8, deadline=None)
def test_a_and_b_are_the_sums_over_the_rows_as_they_are_counted(
    kind, scale_columns, sizes, half_life, window, weights
):
    given_settings = replace(
        SETTINGS,
        scale_columns=scale_columns,
        half_life=half_life,
        window=window,
        view_weight=weights,
    )
    for t, (state, info) in enumerate(states(given_settings, sizes, kind)):
        held, known = state.reservoir, state.statistics  # of all rows
        assert len(held) == sum(sizes[: t + 1]) == known.n_rows
        assert t > 0 or not info.reclustered
        U = held.counted.dense()
        faded = held.shares[:, np.newaxis] * U
        # Rows that came in the chunks after its own.
        ages = np.repeat(sum(sizes[: t + 1]) - np.cumsum(sizes[: t + 1]), sizes[: t + 1])
        left = np.ones(len(ages)) if half_life is None else 0.5 ** (ages / half_life)
        np.testing.assert_allclose(held.shares, left)
        assert known.decayed_n_rows == pytest.approx(left.sum())
        for X_v, view in zip(held.blocks, known.views, strict=True):
            assert view.decayed_n_rows == known.decayed_n_rows
            np.testing.assert_allclose(np.diag(view.masses), faded.T @ U, atol=1e-9)
            np.testing.assert_allclose(view.weight_sums, faded.sum(axis=0), atol=1e-9)
            np.testing.assert_allclose(view.B, dense(X_v).T @ faded, atol=1e-9)
            np.testing.assert_allclose(view.sums, held.shares @ dense(X_v), atol=1e-9)
            np.testing.assert_allclose(view.squares, held.shares @ dense(X_v) ** 2, atol=1e-9)
            squares = (dense(X_v) ** 2).sum(axis=1)
            assert view.energy == pytest.approx(held.shares @ squares)
            assert view.filled_rows == pytest.approx(held.shares @ (squares > 0))
        # Squared norms are kept up to date; weighed, they are those of B as the model takes it.
        np.testing.assert_allclose(state.B_sq_norms, B_sq_norms(known, given_settings))
        scales = Scales.of(known, given_settings)
        weighed = column_sq_norms(scales.features(known.B))
        np.testing.assert_allclose(scales.weighed(state.B_sq_norms), weighed)


@kinds
def test_an_update_committed_is_known_and_rolled_back_is_not(kind):
    # Columns 2 and 5 come late, column 8 never.
    state = other = begin(SETTINGS)
    for seed in range(10):
        X = [dense(X_v) for X_v in chunk(seed, 12)]
        X[0][:, [8, 2, 5] if seed < 4 else [8]] = 0
        X = [kind(X_v) for X_v in X]
        before = fingerprint(state)
        update = step.step(state, X, SETTINGS)
        assert fingerprint(state) == before
        other, _ = learned(other, X, SETTINGS)
        for _ in range(2):
            assert fingerprint(update.commit()) == fingerprint(other)
        for _ in range(2):
            update.rollback()
            assert fingerprint(state) == before
        state = update.commit()


@pytest.mark.parametrize(("dtype", "n_chunks"), [(np.float32, 200), (np.float64, 1100)])
def test_a_cluster_that_fades_away_takes_nothing_along(dtype, n_chunks):
    forgetful = replace(PLAIN, half_life=8.0, sparsity=(0.1,))
    state = State.empty([6], np.dtype(dtype), forgetful, np.random.default_rng(0))
    labels = np.arange(12) % 3
    X = (np.arange(6) // 2 == labels[:, np.newaxis]).astype(dtype)
    state, _ = learned(state, [X], forgetful)
    for _ in range(n_chunks):
        state, _ = learned(state, [X[labels < 2]], forgetful)
    masses = np.sort(state.statistics.masses)
    np.testing.assert_allclose(masses[1:], 16, rtol=1e-3)
    assert masses[0] < 1e-30


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
    assert state.shift([np.zeros(9), np.zeros(6)], given_settings) is state
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
