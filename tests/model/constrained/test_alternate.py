"""Half-steps in turn: on the columns that rows have, with what others left."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.arrays import dense
from omvfs.model.columns import on_own_columns
from omvfs.model.constrained.alternate import PriorStatistics, solve, unit_directions
from omvfs.model.graph.term import graph_term
from short_stream import SETTINGS
from support import clustered, counts


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
        PriorStatistics(A, [B], np.zeros(K)),
        graph_term([X], given_settings),
        **options,
    )
    columns, small = on_own_columns(X)
    assert set(columns) <= set(np.flatnonzero(here))

    np.testing.assert_array_equal(dense(small), X.toarray()[:, columns])
    gone = np.setdiff1d(np.arange(D), columns)
    some = solve(
        [small],
        [directions[0][columns]],
        PriorStatistics(A, [B[columns]], np.sum(B[gone] ** 2, axis=0)),
        graph_term([small], given_settings),
        **options,
    )
    assert some.n_iter == every.n_iter
    np.testing.assert_array_equal(some.U.labels, every.U.labels)
    np.testing.assert_allclose(some.U.weights, every.U.weights, atol=1e-9)
    np.testing.assert_allclose(some.V[0], every.V[0][columns], atol=1e-9)
    assert some.graph == pytest.approx(every.graph, abs=1e-9)


def test_solve_fits_u_to_the_rows_and_v_to_everything():
    X, _ = clustered(np.random.default_rng(0), 30, 9)
    rng = np.random.default_rng(1)
    prior = PriorStatistics(np.ones(3), [rng.random((9, 3))], np.zeros(3))
    start = unit_directions([rng.random((9, 3))])
    found = solve([X], start, prior, lambda U: (None, 0.0), beta=[0.0], max_iter=50)
    A, B = prior.A + found.U.masses, prior.B[0] + X.T @ found.U.dense()
    np.testing.assert_allclose(found.V[0], B / np.sqrt(A), atol=1e-12)
    assert len(found.U.labels) == 30
    assert 1 < found.n_iter < 50


def test_solve_finds_planted_clusters_and_stops():
    X, labels = clustered(np.random.default_rng(0), 60, 12)
    start = unit_directions([X[[np.flatnonzero(labels == k)[0] for k in range(3)]].T])
    none = PriorStatistics.none([X], 3)
    found = solve([X], start, none, lambda U: (None, 0.0), beta=[0.1], max_iter=50)
    np.testing.assert_array_equal(found.U.labels, labels)
    assert found.n_iter < 10
