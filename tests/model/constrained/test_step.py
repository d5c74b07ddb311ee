"""One chunk after another: what A and B hold, the window, the columns left out of a solve."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.columns import on_own_columns
from omvfs.model.constrained import recluster as settling
from omvfs.model.constrained import step as online
from omvfs.model.constrained.alternate import History, solve, unit_directions
from omvfs.model.constrained.directions import lengths_of
from omvfs.model.graph.term import graph_term
from omvfs.model.indicator import Indicator
from omvfs.model.state import Settings, State
from omvfs.model.stream.offset import raise_columns
from omvfs.model.stream.window import Window
from support import clustered, counts, dense, fingerprint

SETTINGS = Settings(
    n_clusters=3,
    solver="constrained",
    graph="neighbors",
    graph_weight=(1.0, 0.5),
    sparsity=(0.1, 0.2),
    orthogonality=0.0,
    n_neighbors=5,
    window=2,
    memory=1000,
    forgetting=1.0,
    scale_columns=False,
    n_init=2,
    max_iter=10,
    tol=0.0,
)
kinds = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def begin(settings, dtype=np.float64, widths=(9, 6)):
    rng = np.random.default_rng(0)
    return State.start(list(widths), np.dtype(dtype), settings, rng, raises=True)


def chunk(seed, n, kind=np.asarray, dtype=np.float64, widths=(9, 6)):
    rng = np.random.default_rng(seed)
    return [kind(clustered(rng, n, width)[0].astype(dtype)) for width in widths]


def states(settings, sizes, kind=np.asarray, dtype=np.float64):
    state = begin(settings, dtype)
    for seed, n in enumerate(sizes):
        state, info = online.step(state, chunk(seed, n, kind, dtype), settings)
        yield state, info


@kinds
@pytest.mark.parametrize("scale_columns", [False, True])
@given(
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=6),
    forgetting=st.sampled_from([1.0, 0.6]),
    window=st.sampled_from([1, 2, None]),
)
@settings(max_examples=12, deadline=None)
def test_a_and_b_are_the_sums_over_the_rows_as_they_are_counted(
    kind, scale_columns, sizes, forgetting, window
):
    given_settings = replace(
        SETTINGS, scale_columns=scale_columns, forgetting=forgetting, window=window
    )
    for t, (state, info) in enumerate(states(given_settings, sizes, kind)):
        held = state.memory  # of all rows
        assert len(held) == sum(sizes[: t + 1]) == state.n_rows
        assert t > 0 or not info.settled
        U = held.counted.dense()
        faded = held.keep[:, np.newaxis] * U
        np.testing.assert_allclose(np.diag(state.A), faded.T @ U, atol=1e-9)
        np.testing.assert_allclose(state.weight_sums, faded.sum(axis=0), atol=1e-9)
        ages = np.repeat(np.arange(t + 1)[::-1], sizes[: t + 1])
        np.testing.assert_allclose(held.keep, forgetting**ages)
        assert state.count == pytest.approx(np.sum(forgetting**ages))
        for X_v, B_v, sums, squares in zip(
            held.blocks, state.B, state.sums, state.squares, strict=True
        ):
            np.testing.assert_allclose(B_v, dense(X_v).T @ faded, atol=1e-9)
            np.testing.assert_allclose(sums, held.keep @ dense(X_v), atol=1e-9)
            np.testing.assert_allclose(squares, held.keep @ dense(X_v) ** 2, atol=1e-9)


def test_the_clusters_settle_as_the_stream_grows():
    settled = [info.settled for _, info in states(SETTINGS, [10] * 17)]
    # At 4 times the rows of the last time.
    assert [10 * (t + 1) for t, it_was in enumerate(settled) if it_was] == [40, 160]


def test_a_full_memory_is_settled_and_then_seldom():
    small = replace(SETTINGS, memory=30)
    settled = [info.settled for _, info in states(small, [10] * 193)]
    # When it is full, and at 64 times that.
    assert [10 * (t + 1) for t, it_was in enumerate(settled) if it_was] == [30, 1920]


def test_what_is_asked_is_settled_and_the_stream_is_not():
    *_, (state, _) = states(SETTINGS, [10] * 3)
    before = fingerprint(state)
    asked = settling.settled(state, SETTINGS)
    assert (state.settled_at, asked.settled_at) == (10, 30)
    assert fingerprint(state) == before
    assert fingerprint(asked) == fingerprint(settling.settled(state, SETTINGS))


@kinds
@pytest.mark.parametrize("scale_columns", [False, True])
@pytest.mark.parametrize("forgetting", [1.0, 0.6])
def test_lengths_are_kept_up_to_date(kind, scale_columns, forgetting):
    given_settings = replace(SETTINGS, scale_columns=scale_columns, forgetting=forgetting)
    for state, _ in states(given_settings, [12, 9, 20, 1, 30, 40], kind):
        np.testing.assert_allclose(state.lengths, lengths_of(state, given_settings))


@kinds
def test_totals_put_into_place_are_a_step(kind):
    # Columns 2 and 5 come late, column 8 never.
    state = other = begin(SETTINGS)
    for seed in range(10):
        X = [dense(X_v) for X_v in chunk(seed, 12)]
        X[0][:, [8, 2, 5] if seed < 4 else [8]] = 0
        X = [kind(X_v) for X_v in X]
        other, _ = online.step(other, X, SETTINGS)
        state, _, change = online.advance(state, X, SETTINGS)
        if change is not None:
            change.after.put_into(state)
        assert fingerprint(state) == fingerprint(other)


@kinds
@given(seed=st.integers(0, 100), capacity=st.integers(3, 20))
@settings(max_examples=10, deadline=None)
def test_settling_moves_what_is_gone_and_loses_nothing(kind, seed, capacity):
    given_settings = replace(SETTINGS, memory=capacity)
    state = begin(given_settings)
    for i, n in enumerate([15, 20]):
        state, _ = online.step(state, chunk(seed + i, n, kind), given_settings)
    draft = replace(state)
    settling.settle(draft, given_settings)
    old, new = state.memory.counted, draft.memory.counted
    assert len(state.memory) == capacity
    # Rows held are counted anew; the rest only moves between clusters.
    for before, after, was, now in [
        (state.A, draft.A, old.masses, new.masses),
        (state.weight_sums, draft.weight_sums, old.weights, new.weights),
    ]:
        assert after.sum() == pytest.approx(before.sum() - was.sum() + now.sum())
    for before, after, X_v in zip(state.B, draft.B, state.memory.blocks, strict=True):
        X_v = dense(X_v)
        moved = before.sum(axis=1) - X_v.T @ old.weights + X_v.T @ new.weights
        np.testing.assert_allclose(after.sum(axis=1), moved, atol=1e-9)
    for array in (draft.A, *draft.B, draft.weight_sums):
        assert (array >= 0).all()


def test_settling_the_same_clusters_keeps_their_numbers_and_sums():
    *_, (state, _) = states(replace(SETTINGS, memory=30), [30, 30, 30])
    draft = replace(state)
    settling.settle(draft, SETTINGS)
    settled = replace(draft)
    settling.settle(settled, SETTINGS)
    np.testing.assert_array_equal(settled.memory.counted.labels, draft.memory.counted.labels)
    np.testing.assert_allclose(settled.A, draft.A, rtol=0.05)


def test_clusters_are_numbered_to_agree_with_the_old():
    rng = np.random.default_rng(0)
    old = Indicator(rng.integers(4, size=50), rng.random(50), 4)
    for _ in range(5):
        numbers = rng.permutation(4)
        renumbered = Indicator(numbers[old.labels], old.weights, 4)
        np.testing.assert_array_equal(settling._matched(renumbered, old).labels, old.labels)


@kinds
@pytest.mark.parametrize("graph", ["neighbors", "gaussian", "none"])
def test_a_step_leaves_its_arguments_alone(kind, graph):
    given_settings = replace(SETTINGS, graph=graph)
    state = begin(given_settings)
    for seed in range(4):
        X = chunk(seed, 12, kind)
        before = fingerprint(state), fingerprint(X)
        following, _ = online.step(state, X, given_settings)
        assert (fingerprint(state), fingerprint(X)) == before
        state = following


# Columns that the window does not have


@given(seed=st.integers(0, 2**32), n=st.integers(2, 20), graph=st.booleans())
@settings(max_examples=40, deadline=None)
def test_solving_without_empty_columns_is_solving_with_all(seed, n, graph):
    rng = np.random.default_rng(seed)
    D, K = 12, 3
    here = rng.random(D) < 0.6
    here[:2] = True
    X = sp.csr_array(counts(rng, n, D) * here)
    A, B = 5 * rng.random(K), 3 * rng.random((D, K))
    directions = unit_directions([rng.random((D, K))])
    given_settings = replace(
        SETTINGS, graph="gaussian" if graph else "none", graph_weight=(0.5,), sparsity=(0.0,)
    )
    options = {"beta": [0.0], "max_iter": 5}
    every = solve(
        [X],
        directions,
        History(A, [B], np.zeros(K)),
        n // 2,
        graph_term([X], given_settings),
        **options,
    )
    columns, small = on_own_columns(X)
    assert set(columns) <= set(np.flatnonzero(here))

    np.testing.assert_array_equal(small.toarray(), X.toarray()[:, columns])
    gone = np.setdiff1d(np.arange(D), columns)
    some = solve(
        [small],
        [directions[0][columns]],
        History(A, [B[columns]], np.sum(B[gone] ** 2, axis=0)),
        n // 2,
        graph_term([small], given_settings),
        **options,
    )
    assert some.n_iter == every.n_iter
    np.testing.assert_array_equal(some.U.labels, every.U.labels)
    np.testing.assert_allclose(some.U.weights, every.U.weights, atol=1e-9)
    np.testing.assert_allclose(some.V[0], every.V[0][columns], atol=1e-9)
    assert some.graph == pytest.approx(every.graph, abs=1e-9)


def test_solve_fits_u_to_the_window_and_v_to_everything():
    X, _ = clustered(np.random.default_rng(0), 30, 9)
    rng = np.random.default_rng(1)
    history = History(np.ones(3), [rng.random((9, 3))], np.zeros(3))
    start = unit_directions([rng.random((9, 3))])
    found = solve([X], start, history, 10, lambda U: (None, 0.0), beta=[0.0], max_iter=50)
    U = found.U.take(slice(20, 30))
    A, B = history.A + U.masses, history.B[0] + X[20:].T @ U.dense()
    np.testing.assert_allclose(found.V[0], B / np.sqrt(A), atol=1e-12)
    assert len(found.U.labels) == 30
    assert 1 < found.n_iter < 50


def test_solve_finds_planted_clusters_and_stops():
    X, labels = clustered(np.random.default_rng(0), 60, 12)
    start = unit_directions([X[[np.flatnonzero(labels == k)[0] for k in range(3)]].T])
    none = History.none([X], 3)
    found = solve([X], start, none, 60, lambda U: (None, 0.0), beta=[0.1], max_iter=50)
    np.testing.assert_array_equal(found.U.labels, labels)
    assert found.n_iter < 10


# The window


@kinds
@given(
    size=st.sampled_from([1, 2, 3, None]),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    at_hand=st.integers(0, 12),
)
@settings(max_examples=50, deadline=None)
def test_the_window_holds_the_last_chunks(kind, size, sizes, at_hand):
    rng = np.random.default_rng(0)
    window = Window(size, at_hand=at_hand)
    chunks, Us = [], []
    for n in sizes:
        chunks.append([counts(rng, n, 4), counts(rng, n, 2)])
        Us.append(rng.random((n, 3)))
        before = len(window)
        longer = window.append([kind(X) for X in chunks[-1]], U=Us[-1])
        assert len(window) == before
        window = longer
        last = slice(None) if size is None else slice(-size, None)
        assert len(window) >= len(chunks[last])
        if at_hand:
            for v, rows in enumerate(window.last(at_hand)):
                everything = np.vstack([c[v] for c in chunks])
                np.testing.assert_array_equal(dense(rows), everything[-at_hand:])
        # No chunk too many: without the first held, something would be missing.
        held = sum(len(U) for U in window.U[1:])
        assert len(window) == len(chunks[last]) or held < at_hand
        for v, rows in enumerate(window.rows()):
            np.testing.assert_array_equal(dense(rows), np.vstack([c[v] for c in chunks[last]]))
        np.testing.assert_array_equal(window.indicator(), np.vstack(Us[last]))
    other = rng.random(window.indicator().shape)
    changed = window.with_indicator(other)
    np.testing.assert_array_equal(changed.indicator(), other)
    assert [len(U) for U in changed.U] == [len(U) for U in window.U]
    np.testing.assert_array_equal(window.indicator(), np.vstack(Us[last]))


# Raised columns


@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    forgetting=st.sampled_from([1.0, 0.6]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15, deadline=None)
def test_raised_columns_are_as_if_every_row_had_come_raised(sizes, forgetting, seed):
    given_settings = replace(SETTINGS, forgetting=forgetting)
    *_, (state, _) = states(given_settings, sizes)
    before = fingerprint(state)
    rng = np.random.default_rng(seed)
    raises = [rng.random(9) * (rng.random(9) < 0.5), np.zeros(6)]
    raised = raise_columns(state, raises)
    assert fingerprint(state) == before
    held = raised.memory
    faded = held.keep[:, np.newaxis] * held.counted.dense()
    for v in range(2):
        X_v = state.memory.blocks[v] + raises[v]
        np.testing.assert_allclose(held.blocks[v], X_v)
        np.testing.assert_allclose(raised.B[v], X_v.T @ faded, atol=1e-9)
        np.testing.assert_allclose(raised.sums[v], held.keep @ X_v, atol=1e-9)
        np.testing.assert_allclose(raised.squares[v], held.keep @ X_v**2, atol=1e-9)
        np.testing.assert_allclose(raised.window.rows()[v], state.window.rows()[v] + raises[v])
    np.testing.assert_array_equal(raised.A, state.A)


@pytest.mark.parametrize(("dtype", "n_chunks"), [(np.float32, 200), (np.float64, 1100)])
@pytest.mark.parametrize("sparsity", [0.0, 0.1])
def test_a_cluster_that_fades_away_takes_nothing_along(dtype, n_chunks, sparsity):
    forgetful = replace(SETTINGS, forgetting=0.5, sparsity=(sparsity,), memory=0, graph="none")
    state = State.start([6], np.dtype(dtype), forgetful, np.random.default_rng(0))
    labels = np.arange(12) % 3
    X = (np.arange(6) // 2 == labels[:, np.newaxis]).astype(dtype)
    state, _ = online.step(state, [X], forgetful)
    for _ in range(n_chunks):
        state, _ = online.step(state, [X[labels < 2]], forgetful)
    masses = np.sort(state.A)
    np.testing.assert_allclose(masses[1:], 16, rtol=1e-3)
    assert masses[0] < 1e-30


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float32, 1e-20), (np.float64, 1e-90), (np.float64, 1e-150)]
)
def test_rows_of_small_numbers_are_placed_like_others(dtype, size):
    plain = replace(SETTINGS, sparsity=(0.0,), memory=0, graph="none")
    labels = np.arange(30) % 3
    X = (np.arange(6) // 2 == labels[:, np.newaxis]).astype(dtype) * dtype(size)
    state = State.start([6], np.dtype(dtype), plain, np.random.default_rng(0))
    for _ in range(3):
        state, _ = online.step(state, [X], plain)
    found = state.window.U[-1].argmax(axis=1)
    # One cluster a class, and one class a cluster.
    assert len(set(found)) == len(set(zip(labels, found, strict=True))) == 3


def test_a_first_chunk_of_zeros_decides_nothing():
    plain = replace(SETTINGS, memory=0)
    state = begin(plain)
    nothing = [0 * X_v for X_v in chunk(0, 10)]
    state, _ = online.step(state, nothing, plain)
    assert not state.A.any()
    state, _ = online.step(state, chunk(1, 20), plain)
    assert state.A.any()
