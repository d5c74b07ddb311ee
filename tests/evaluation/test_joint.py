"""Judging one ranking over all views."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from omvfs.datasets import make_planted
from omvfs.evaluation.joint import PERCENTS, STARTS, evaluate_joint_ranking, in_unit_range


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


def test_there_is_a_row_for_every_percentage_and_seed():
    views, labels, scores = planted()
    rows = evaluate_joint_ranking(views, labels, scores, [1, 10, None], seeds=[7, 3])
    assert [(row["percent"], row["p"], row["seed"]) for row in rows] == [
        (percent, p, seed) for percent, p in ((1, 2), (10, 20), (None, 200)) for seed in (7, 3)
    ]


def test_at_least_one_feature_is_kept():
    views = {"a": np.random.default_rng(0).random((20, 3))}
    (row,) = evaluate_joint_ranking(views, [0, 1] * 10, [1.0, 2.0, 3.0], [5], seeds=1)
    assert row["p"] == 1


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


def test_sparse_features_and_full_ones_give_the_same():
    views, labels, scores = planted()
    dense = {view: X.toarray() for view, X in views.items()}
    kept = [row["NMI max"] for row in evaluate_joint_ranking(views, labels, scores, [5], seeds=2)]
    same = [row["NMI max"] for row in evaluate_joint_ranking(dense, labels, scores, [5], seeds=2)]
    assert kept == pytest.approx(same)


def test_informative_features_beat_the_others():
    views, labels, scores = planted()
    good, bad = (
        np.mean([r["NMI max"] for r in evaluate_joint_ranking(views, labels, s, [20], seeds=3)])
        for s in (scores, ~scores)
    )
    assert good > bad + 0.3


def test_the_percentages_are_those_of_the_protocol():
    assert list(PERCENTS) == list(range(5, 45, 5))


@pytest.mark.parametrize("scores", [np.ones(199), np.r_[np.nan, np.ones(199)]])
def test_scores_must_be_a_number_for_every_feature(scores):
    views, labels, _ = planted()
    with pytest.raises(ValueError, match=r"expected \(200,\) numbers"):
        evaluate_joint_ranking(views, labels, scores)
