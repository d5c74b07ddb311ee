"""What other samples of the rows would select, and how well selections predict clusters."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from omvfs.datasets import Planted
from omvfs.model.learning import Answers
from omvfs.model.resampling import (
    alike,
    as_one,
    budget,
    draw,
    explained_variances,
    interval,
    on_rows,
    overlaps,
    selection_agreement,
    selections,
)

Learn = Callable[..., Answers]

SIZES = (1, 5, 20, 60)


def quality(answers: Answers, sizes, n: int = 4):
    return selection_agreement(answers, draw(answers, n), sizes)


def test_more_informative_features_predict_more(answers: Answers) -> None:
    mean = quality(answers, SIZES).mean(axis=0)
    assert mean.shape == (3, len(SIZES))
    assert np.all(mean[:, 2] > mean[:, 0] + 0.1)
    assert mean[0, 2] > 0.6
    # Both views know more than either.
    assert mean[0, 2] >= mean[1:, 2].max()


def test_what_is_predicted_is_the_cluster_a_row_lies_along_most(answers: Answers) -> None:
    (one,), size, known = draw(answers, 1), 7, answers.clustering
    (found,) = selection_agreement(answers, [one], [size])
    cosines = np.zeros((2, len(one.others), known.n_clusters))
    for v, X in enumerate(answers.rows):
        X = X.toarray()[:, one.best[v][:size]]
        for k in range(known.n_clusters):
            own = one.rows[known.labels[one.rows] == k]
            total = X[own].sum(axis=0)
            for place, i in enumerate(one.others):
                lengths = np.linalg.norm(total) * np.linalg.norm(X[i])
                cosines[v, place, k] = X[i] @ total / lengths if lengths else 0
    fits = [np.tensordot(answers.weights, cosines, axes=1), *cosines]
    for fit, agreement in zip(fits, found[:, 0], strict=True):
        given = np.where(fit.any(axis=1), fit.argmax(axis=1), known.n_clusters)
        expected = adjusted_mutual_info_score(known.labels[one.others], given)
        assert agreement == pytest.approx(max(expected, 0), abs=1e-6)


def test_the_best_of_many_features_predict_nothing_of_random_clusters(answers: Answers) -> None:
    random = Answers(answers.state, answers.settings)
    labels = np.random.default_rng(0).integers(0, 4, len(answers.state.sample))
    random.__dict__["clustering"] = replace(answers.clustering, labels=labels)
    assert quality(random, SIZES).mean() < 0.02


def test_sizes_by_view_are_those_of_all_views_where_they_are_equal(answers: Answers) -> None:
    equal = quality(answers, [20], 1)
    np.testing.assert_array_equal(quality(answers, [(20, 20)], 1), equal)


def test_rows_that_lack_a_view_are_judged_by_the_others(planted: Planted, learn: Learn) -> None:
    X = [X_v.copy() for X_v in planted.views.values()]
    present = np.random.default_rng(0).random((X[0].shape[0], 2)) < 0.7
    present[~present.any(axis=1), 0] = True
    for v, X_v in enumerate(X):
        X[v] = X_v.multiply(present[:, [v]]).tocsr()
    mean = quality(learn(X, 4, present), [20]).mean(axis=0)
    assert np.all(mean > 0.3)


def test_a_half_is_ranked_as_if_its_rows_were_all(answers: Answers, learn: Learn) -> None:
    # By embeddings of its own; those of the whole sample differ a little.
    rows = np.arange(0, len(answers.state.sample), 2)
    half = on_rows(answers, rows, answers.rows, seed=0)
    alone = learn([X[rows] for X in answers.rows], 4)
    for ours, theirs in zip(half.scores(), alone.scores(), strict=True):
        best = [set(np.argsort(-each)[:20].tolist()) for each in (ours, theirs)]
        assert len(best[0] & best[1]) >= 15


def test_a_larger_budget_has_all_that_a_smaller_one_has(answers: Answers) -> None:
    explained = explained_variances(answers)
    counts = np.array([budget(answers.scores(), explained, n) for n in range(2, 401)])
    assert counts.sum(axis=1).tolist() == list(range(2, 401))
    assert counts.min() >= 1
    assert np.all(np.diff(counts, axis=0) >= 0)


def test_units_of_a_view_do_not_change_what_it_gets(planted: Planted, learn: Learn) -> None:
    X = list(planted.views.values())
    both = [learn([factor * X[0], X[1]], 4) for factor in (1.0, 1024.0)]
    counts = [budget(each.scores(), explained_variances(each), 60).tolist() for each in both]
    assert counts[0] == counts[1]


def test_a_view_of_noise_gets_few_of_the_budget(planted: Planted, learn: Learn) -> None:
    rng = np.random.default_rng(0)
    X = next(iter(planted.views.values()))
    answers = learn([X, rng.random((X.shape[0], 100))], 4)
    counts = budget(answers.scores(), explained_variances(answers), 40)
    assert counts[1] <= 4


def test_selections_by_halves_agree_where_features_are_informative(
    answers: Answers, learn: Learn
) -> None:
    widths = [X.shape[1] for X in answers.rows]
    masks = selections(draw(answers, 4), widths, [30, 15])
    assert [mask.sum(axis=1).tolist() for mask in masks] == [[30] * 4, [15] * 4]
    assert overlaps(masks[0]).mean() > 0.5
    noise = learn([np.random.default_rng(0).random((800, 60))], 4)
    assert overlaps(selections(draw(noise, 4), [60], [20])[0]).mean() < 0.6


@pytest.mark.parametrize("seed", range(3))
def test_overlaps_are_of_pairs_of_different_halvings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = np.array([rng.permutation(np.arange(12) < 5) for _ in range(6)])
    groups = rng.integers(0, 12, 12)
    expected, together = [], []
    for i in range(6):
        for j in range(i + 1, 6):
            if i // 2 == j // 2:
                continue
            a, b = (set(np.flatnonzero(masks[k]).tolist()) for k in (i, j))
            expected.append(len(a & b) / 5)
            kinds_a, kinds_b = ({int(groups[x]) for x in own} for own in (a, b))
            there = [int(groups[x]) in kinds_b for x in a], [int(groups[x]) in kinds_a for x in b]
            together.append((np.mean(there[0]) + np.mean(there[1])) / 2)
    assert sorted(overlaps(masks)) == pytest.approx(sorted(expected))
    found = as_one(masks, np.arange(12), groups)
    assert sorted(found) == pytest.approx(sorted(together))
    # Nothing is alike but itself: features are counted as they are.
    assert sorted(as_one(masks, np.arange(12), np.arange(12))) == pytest.approx(sorted(expected))


def test_intervals_are_within_0_and_1() -> None:
    for shares in ([1.0, 1.0], [0.0, 0.02, 0.1], [0.5, 1.0, 0.9]):
        mean, low, high = interval(np.array(shares))
        assert 0 <= low <= mean <= high <= 1


def test_columns_are_alike_in_chains() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal(4000)
    b = a + 0.4 * rng.standard_normal(4000)
    c = b + 0.4 * rng.standard_normal(4000)
    X = np.column_stack([a, rng.standard_normal(4000), b, -c, np.ones(4000)])
    r = np.corrcoef(X[:, :4].T)
    assert abs(r[0, 2]) > 0.9 > abs(r[0, 3])
    groups = alike(X, np.arange(5)).tolist()
    assert groups[0] == groups[2] == groups[3]
    assert len(set(groups)) == 3


@pytest.mark.parametrize("seed", [0, 1])
def test_the_budget_is_the_same_whatever_the_order_of_columns(answers: Answers, seed: int) -> None:
    rng = np.random.default_rng(seed)
    explained = explained_variances(answers)
    orders = [rng.permutation(len(own)) for own in answers.scores()]
    mixed = [
        [own[order] for own, order in zip(each, orders, strict=True)]
        for each in (answers.scores(), explained)
    ]
    assert budget(*mixed, 50).tolist() == budget(answers.scores(), explained, 50).tolist()
