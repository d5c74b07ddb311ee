"""The consensus clusters: found, weighed by view, and followed as they drift."""

import numpy as np
import pytest

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy, normalized_mutual_information
from support import recovered


def planted(**params):
    return make_planted(
        2000, n_features=(300, 200), n_informative=(40, 30), row_length=30, **params
    )


@pytest.mark.parametrize(("dtype", "missing"), [(np.float32, 0.0), (np.float64, 0.3)])
def test_consensus_clusters_are_the_planted_classes(dtype, missing):
    data = planted(random_state=0, dtype=dtype, missing=missing)
    model = OMVFS(5, random_state=0).fit(data.views)
    assert clustering_accuracy(data.labels, model.labels_) > (0.8 if missing else 0.95)
    # A row is put into its cluster by itself.
    rows = Views(data.views)
    apart = [model.predict(rows[start : start + 300]) for start in range(0, 2000, 300)]
    np.testing.assert_array_equal(np.concatenate(apart), model.labels_)
    if not missing:
        shares = np.bincount(model.labels_, minlength=5) / 2000
        np.testing.assert_allclose(model.cluster_shares_, shares, atol=0.03)


def test_a_view_of_noise_hardly_weighs():
    data = planted(random_state=0)
    noise = np.random.default_rng(0).random((2000, 50))
    model = OMVFS(5, random_state=0).fit({**data.views, "noise": noise})
    weights = model.view_weights_
    assert weights["noise"] < 0.1 < 0.5 < weights["view_0"]
    assert max(weights.values()) == 1
    given = {"view_0": 1.0, "view_1": "auto", "noise": 2.0}
    own = OMVFS(5, view_weight=given, random_state=0).fit({**data.views, "noise": noise})
    assert own.view_weights_ == {**weights, "view_0": 1.0, "noise": 2.0}


def test_forgetting_follows_a_drift_and_costs_little_without_one():
    def found(data, half_life):
        model = OMVFS(5, half_life=half_life, random_state=0).fit(data.views)
        return np.mean(list(recovered(data, model.view_scores_).values()))

    drifting = planted(drift_at=(1000,), random_state=0)
    assert found(drifting, 200) > max(0.7, found(drifting, None) + 0.2)
    assert found(planted(random_state=0), 1300) > 0.8


def test_features_are_found_though_most_of_the_sample_has_faded():
    data = planted(random_state=0)
    model = OMVFS(5, half_life=50, sample_size=500, random_state=0).fit(data.views)
    assert np.mean(list(recovered(data, model.view_scores_).values())) > 0.5


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
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    near = np.argsort(-cosines, axis=1)[:, :20]
    assert np.bincount(near.ravel()).max() > 0.3 * len(X)
    model = OMVFS(8, random_state=0).fit({"genes": X})
    assert normalized_mutual_information(types, model.labels_) > 0.8
