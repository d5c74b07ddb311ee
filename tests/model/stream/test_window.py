"""The window holds the last chunks, and as many recent rows as are asked for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.stream.window import Window
from short_stream import kinds
from support import counts, dense


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


@given(
    sizes=st.lists(st.lists(st.integers(1, 4), max_size=4), min_size=3, max_size=3),
    size=st.sampled_from([1, 2, 3, None]),
    at_hand=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_windows_that_follow_each_other_are_one_in_any_grouping(sizes, size, at_hand):
    windows, whole, n = [], Window(size, at_hand=at_hand), 0
    for some in sizes:
        window = Window(size, at_hand=at_hand)
        for m in some:
            X = np.arange(n, n + m, dtype=float)[:, np.newaxis]
            window, whole, n = window.append([X], X), whole.append([X], X), n + m
        windows.append(window)
    a, b, c = windows
    held = [X[0].ravel().tolist() for X in whole.chunks]
    for other in ((a + b) + c, a + (b + c)):
        assert [X[0].ravel().tolist() for X in other.chunks] == held
    assert whole.n_rows == sum(map(len, held))
