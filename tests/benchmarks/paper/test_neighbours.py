"""The nearest rows are those of all similarities at once, the first among equals."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paper import graphs
from paper.graphs import nearest_by_cosine, neighbour_graph
from support import KINDS, dense

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@st.composite
def counts(draw):
    """Rows of small counts, so that ties are common; some empty, some equal, some huge or tiny."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, width = draw(st.integers(2, 30)), draw(st.integers(1, 12))
    X = rng.integers(1, 4, (n, width)) * (rng.random((n, width)) < draw(st.floats(0, 1)))
    X = X[rng.integers(n, size=n)] if draw(st.booleans()) else X
    X[rng.random(n) < draw(st.sampled_from([0, 0.2]))] = 0
    large = draw(st.sampled_from([1.0, 1e-30, 1e30]))
    return X * np.where(rng.random(n) < 0.3, large, 1.0)[:, np.newaxis]


def cosines(X):
    """All similarities at once, in double precision."""
    largest = X.max(axis=1, keepdims=True)
    X = X / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(norms > 0, norms, 1)
    return unit @ unit.T


def nearest(X, k):
    """The k nearest other rows of every row, one after another, the first among equals."""
    S = cosines(X)
    np.fill_diagonal(S, 0)
    found = np.zeros(S.shape, bool)
    for i, row in enumerate(np.round(S, 10)):
        best = sorted(range(len(row)), key=lambda j: (-row[j], j))[:k]
        found[i, [j for j in best if row[j] > 0]] = True
    return np.where(found, S, 0)


@given(X=counts(), k=st.integers(1, 40), entries=st.sampled_from([1, 40, 1 << 21]))
@example(X=np.ones((5, 3)), k=2, entries=1)
@settings(max_examples=80, deadline=None)
def test_neighbours_are_the_nearest_of_all_rows_whatever_is_held_at_a_time(X, k, entries):
    expected = nearest(X, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "_STRIP_ENTRIES", entries)
        for kind in (np.asarray, sp.csr_array):
            found = nearest_by_cosine(kind(X), k).toarray()
            np.testing.assert_array_equal(found > 0, expected > 0)
            np.testing.assert_allclose(found, expected, atol=1e-12)
            joined = neighbour_graph(kind(X), k, "cosine", None).toarray()
            np.testing.assert_allclose(joined, np.maximum(expected, expected.T), atol=1e-12)


@every_kind
def test_neighbours_take_the_first_among_equals_and_leave_empty_rows_alone(kind):
    X = np.tile([[1.0, 0.0]], (4, 1))  # every row is exactly as near as any other
    chosen = dense(nearest_by_cosine(kind(X), 2))
    np.testing.assert_array_equal(chosen, [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 0, 0]])
    X = np.array([[1.0, 0, 0], [2, 0, 0], [0, 0, 0], [0, 1, 0]])
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 1
    np.testing.assert_allclose(dense(neighbour_graph(kind(X), 3, "cosine", None)), expected)
    assert nearest_by_cosine(kind(X.astype(np.float32)), 3).dtype == np.float32
