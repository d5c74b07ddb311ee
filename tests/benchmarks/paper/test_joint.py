"""Judging one ranking over all views."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from omvfs.datasets import make_planted
from paper.joint import STARTS, evaluate_joint_ranking, in_unit_range


@functools.cache
def planted():
    data = make_planted(200, n_features=(120, 80), n_informative=(30, 20), random_state=0)
    return in_unit_range(data.views), data.labels, np.concatenate(list(data.informative.values()))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_every_feature_goes_from_0_to_1_in_the_kind_it_came(kind):
    X = np.random.default_rng(0).normal(size=(30, 7))
    X[:, 2] = 4.0
    X[X > 1] = 0
    found = in_unit_range({"a": kind(X)})["a"]
    assert sp.issparse(found) == (kind is sp.csr_array)
    found = found.toarray() if sp.issparse(found) else found
    varied = np.ptp(X, axis=0) > 0
    np.testing.assert_array_equal(found.min(axis=0), 0)
    np.testing.assert_array_equal(found.max(axis=0), varied)
    spread = np.ptp(X, axis=0)
    by_hand = (X - X.min(axis=0))[:, varied] / spread[varied]
    np.testing.assert_allclose(found[:, varied], by_hand, atol=1e-6)


def test_it_is_k_means_on_the_best_features_of_all_views():
    views, labels, _ = planted()
    scores = np.random.default_rng(0).permutation(200).astype(float)
    (row,) = evaluate_joint_ranking(views, labels, scores, [15], seeds=[4])
    X = np.hstack([block.toarray() for block in views.values()])[:, scores >= 170]
    assert X.shape[1] == row["p"] == 30
    n_clusters = len(np.unique(labels))
    found = KMeans(n_clusters, n_init=STARTS, random_state=4).fit_predict(X)
    nmi = normalized_mutual_info_score(labels, found, average_method="max")
    assert row["NMI max"] == pytest.approx(nmi)


@pytest.mark.parametrize("scores", [np.ones(199), np.r_[np.nan, np.ones(199)]])
def test_scores_must_be_a_number_for_every_feature(scores):
    views, labels, _ = planted()
    with pytest.raises(ValueError, match=r"expected \(200,\) numbers"):
        evaluate_joint_ranking(views, labels, scores)
