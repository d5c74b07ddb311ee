"""The parts of an explanation add up to the score, and name what was planted."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.datasets import Planted
from omvfs.model.explanation import carried, notes, standing_for
from omvfs.model.learning import Answers
from omvfs.model.sums import ViewSums

Learn = Callable[..., Answers]


def explanation(answers: Answers, v: int, j: int) -> SimpleNamespace:
    return SimpleNamespace(**{name: own[j] for name, own in notes(answers, v).items()})


@pytest.mark.parametrize("v", [0, 1])
def test_parts_add_up(answers: Answers, planted: Planted, v: int) -> None:
    X = list(planted.views.values())[v].toarray()
    order = np.argsort(-answers.scores()[v], kind="stable")
    for rank in (1, 2, 10, 50):
        j = int(order[rank - 1])
        found = explanation(answers, v, j)
        assert found.score == pytest.approx(found.explained * found.spread * found.novelty)
        assert found.novelty == pytest.approx((1 - found.r**2) ** 4)
        assert found.explained * found.spread == pytest.approx(answers.separations[v][j])
        assert 0 <= found.explained <= 1
        typical = np.sqrt(X.var(axis=0)[X.var(axis=0) > 0].mean())
        assert found.spread == pytest.approx(X[:, j].std() / typical, rel=1e-6)
        # Every row of this stream is counted, and those of the sample are looked at.
        sampled, labels = answers.rows[v].toarray()[:, j], answers.clustering.labels
        inside = labels == found.cluster
        assert found.share_of_rows == pytest.approx((sampled != 0).mean())
        assert found.share_in == pytest.approx((sampled[inside] != 0).mean())
        assert found.share_out == pytest.approx((sampled[~inside] != 0).mean())
        assert found.mean_in > found.mean_out
        sums = answers.reclustered.views[v]
        N, n = sums.n.sum(), sums.n[found.cluster]
        assert found.mean_in * n + found.mean_out * (N - n) == pytest.approx(X[:, j].sum())


def test_a_copy_repeats_the_column_it_is_of(planted: Planted, learn: Learn) -> None:
    X = next(iter(planted.views.values())).toarray()
    best = int(np.argmax(learn([X], 4).scores()[0]))
    answers = learn([np.column_stack([X, X[:, best]])], 4)
    found = explanation(answers, 0, X.shape[1])
    assert (found.repeats, found.r) == (best, pytest.approx(1, abs=1e-4))
    assert found.score == pytest.approx(0, abs=1e-9)
    assert found.explained > 0


def test_features_that_stand_for_a_cluster_are_of_one_class(
    answers: Answers, planted: Planted
) -> None:
    view = next(iter(planted.views))
    of_class = planted.feature_class[view]
    classes = []
    for k in range(4):
        features, parts = standing_for(answers, 0, k, 5)
        assert np.all(np.diff(parts) <= 0)
        assert np.all(parts <= answers.scores()[0][features])
        assert np.all(explanation(answers, 0, int(features[0])).cluster == k)
        kinds, counts = np.unique(of_class[features], return_counts=True)
        assert counts.max() >= 4
        classes.append(int(kinds[counts.argmax()]))
    assert sorted(classes) == [0, 1, 2, 3]


def test_a_constant_feature_stands_for_nothing(planted: Planted, learn: Learn) -> None:
    X = next(iter(planted.views.values())).toarray()
    answers = learn([np.column_stack([X, np.full(len(X), 0.1)])], 4)
    found = explanation(answers, 0, X.shape[1])
    assert (found.cluster, found.score) == (-1, pytest.approx(0, abs=1e-9))


def test_units_do_not_change_shares(planted: Planted, learn: Learn) -> None:
    X = next(iter(planted.views.values())).toarray().astype(float)
    plain, scaled = (explanation(learn([factor * X], 4), 0, 3) for factor in (1.0, 8.0))
    assert scaled.explained == pytest.approx(plain.explained)
    assert scaled.score == pytest.approx(plain.score)
    assert scaled.mean_in == pytest.approx(8 * plain.mean_in)


def test_shares_of_rows_do_not_count_zeros_that_are_written_down(
    planted: Planted, learn: Learn
) -> None:
    X = next(iter(planted.views.values())).toarray()
    everywhere = sp.csr_array(np.ones_like(X))
    everywhere.data = X.ravel()
    written, plain = (notes(learn([each], 4), 0) for each in (everywhere, X))
    for name in ("share_of_rows", "share_in", "share_out"):
        np.testing.assert_allclose(written[name], plain[name])


def test_a_cluster_without_rows_carries_nothing() -> None:
    sums = ViewSums.from_rows(np.array([[1.0], [5.0]]), np.array([0, 2]), 3)
    assert carried(sums).tolist() == [[0.5, 0, 0.5]]
