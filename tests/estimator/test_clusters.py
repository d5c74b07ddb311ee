"""The consensus clusters: found, followed as they drift, and what they explain."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from omvfs import OMVFS, fitted
from omvfs.baselines.neighbours import neighbours
from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy, normalized_mutual_information
from streams import few
from support import counts, recovered


def planted(**params):
    return make_planted(
        2000, n_features=(300, 200), n_informative=(40, 30), row_length=30, **params
    )


@pytest.mark.parametrize(("dtype", "missing"), [(np.float32, 0.0), (np.float64, 0.3)])
def test_consensus_clusters_are_the_planted_classes(dtype, missing, monkeypatch):
    data = planted(random_state=0, dtype=dtype, missing=missing)
    model = OMVFS(5, random_state=0).fit(data.views)
    whole = model.predict(data.views)
    if not missing:
        assert clustering_accuracy(data.labels, whole) > 0.95
        assert clustering_accuracy(data.labels[-400:], model.window_labels_) > 0.95
    # Rows are placed part by part as all at once.
    monkeypatch.setattr(fitted, "_PLACED_AT_ONCE", 300)
    np.testing.assert_array_equal(model.predict(data.views), whole)


@given(seed=st.integers(0, 1000), n_clusters=st.integers(1, 5), rank_one=st.booleans())
@few
def test_the_explained_share_is_between_0_and_1(seed, n_clusters, rank_one):
    rng = np.random.default_rng(seed)
    X = counts(rng, 20, 6)
    if rank_one:
        X = rng.random((20, 1)) @ rng.random((1, 6))
    model = OMVFS(n_clusters, sparsity=0.0, random_state=0).fit(X)
    assert 0 <= model.explained_share(X) <= 1
    if rank_one:
        assert model.explained_share(X) == pytest.approx(1)
    assert model.explained_share(np.zeros((2, 6))) == 0


def test_forgetting_follows_a_drift_and_costs_little_without_one():
    def found(data, half_life):
        model = OMVFS(5, half_life=half_life, random_state=0).fit(data.views)
        return np.mean(list(recovered(data, model.view_scores_).values()))

    drifting = planted(drift_at=(1000,), random_state=0)
    assert found(drifting, 200) > max(0.7, found(drifting, None) + 0.2)
    assert found(planted(random_state=0), 1300) > 0.8


# Rows that are all much alike, as log counts of cells are: a few of them are next to all.


@pytest.fixture(scope="module")
def cells():
    """Return log counts of cells of several types and depths, and the types."""
    n, width, n_types, rng = 1_200, 3_000, 8, np.random.default_rng(0)
    means = np.tile(rng.lognormal(-1.5, 1.0, width), (n_types, 1))
    telling = rng.choice(width, width // 12, replace=False)
    means[rng.integers(n_types, size=len(telling)), telling] *= rng.uniform(3, 8, len(telling))
    types = rng.integers(n_types, size=n)
    rates = means[types] * rng.lognormal(0, 0.4, (n, 1)) * rng.gamma(4.0, 0.25, (n, width))
    counts = rng.poisson(rates)
    return np.log1p(counts * (1e4 / counts.sum(axis=1, keepdims=True))), types


def test_clusters_do_not_follow_hubs(cells):
    X, types = cells
    degrees = np.diff(neighbours(sp.csr_array(X), 20).indptr)
    assert degrees.max() > 0.5 * len(degrees)
    model = OMVFS(8, recency=0.0, random_state=0).fit({"genes": X})
    found = model.predict({"genes": X})
    assert normalized_mutual_information(types, found) > 0.8
    # Votes that take rows from their clusters are not heard: a row is where it fits best.
    queries = model._known.queries
    assert not queries._electorate[1].any()
    np.testing.assert_array_equal(found, (X @ queries.directions[0]).argmax(axis=1))
