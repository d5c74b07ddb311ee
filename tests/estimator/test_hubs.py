"""Rows that are all much alike, as log counts of cells are: a few of them are next to all."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from omvfs.evaluation import normalized_mutual_information
from omvfs.model.graph.neighbours import neighbours


def cells(n, width, n_types, seed):
    """Return log counts of cells of several types and depths, and the types."""
    rng = np.random.default_rng(seed)
    means = np.tile(rng.lognormal(-1.5, 1.0, width), (n_types, 1))
    telling = rng.choice(width, width // 12, replace=False)
    means[rng.integers(n_types, size=len(telling)), telling] *= rng.uniform(3, 8, len(telling))
    types = rng.integers(n_types, size=n)
    rates = means[types] * rng.lognormal(0, 0.4, (n, 1)) * rng.gamma(4.0, 0.25, (n, width))
    counts = rng.poisson(rates)
    return np.log1p(counts * (1e4 / counts.sum(axis=1, keepdims=True))), types


@pytest.fixture(scope="module")
def rows():
    return cells(1_200, 3_000, 8, seed=0)


def test_there_are_hubs(rows):
    degrees = np.diff(neighbours(sp.csr_array(rows[0]), 20).indptr)
    assert degrees.max() > 0.5 * len(degrees)


@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray], ids=["CSR", "array"])
def test_clusters_do_not_follow_hubs(rows, kind):
    X, types = rows
    model = OMVFS(8, recency=0.0, random_state=0).fit({"genes": kind(X)})
    assert normalized_mutual_information(types, model.predict({"genes": kind(X)})) > 0.8


def test_votes_that_take_rows_from_their_clusters_are_not_heard(rows):
    X, _ = rows
    model = OMVFS(8, recency=0.0, random_state=0).fit({"genes": X})
    queries = model._fitted.queries
    assert not queries._electorate[1].any()
    # Without them a row is where it fits best.
    fit = X @ queries.directions[0]
    np.testing.assert_array_equal(model.predict({"genes": X}), fit.argmax(axis=1))
