"""What holds for methods that score features by the rows of a factor matrix."""

import numpy as np
from sklearn.preprocessing import normalize

from omvfs.baselines.factors import indicator
from omvfs.baselines.ndfs import NDFS
from omvfs.evaluation import clustering_accuracy
from support import KINDS, clustered, counts


def only(by_view):
    (value,) = by_view.values()
    return value


def test_clear_clusters_are_found_and_noise_is_ranked_last():
    rng = np.random.default_rng(0)
    X, labels = clustered(rng, 150, 12)
    X = normalize(np.hstack([X, 0.2 * counts(rng, 150, 6)]))
    selector = NDFS(3, random_state=0).fit(X)
    assert clustering_accuracy(labels, only(selector.embeddings_).argmax(axis=1)) > 0.95
    assert set(np.argsort(selector.ranking_)[:12]) == set(range(12))


def test_the_start_has_no_empty_clusters():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(3), [5, 1, 2], axis=0)
    for n_clusters, expected in [(1, 1), (3, 3), (100, 3)]:
        for kind in KINDS.values():
            U = indicator(kind(X), n_clusters, rng)
            assert U.shape == (8, expected)
            assert set(U.ravel()) <= {0.0, 1.0}
            assert (U.sum(axis=1) == 1).all()
            assert U.any(axis=0).all()
