"""How many features are enough is judged on rows that they were not selected by."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from omvfs.datasets import Planted
from omvfs.model.holdout import budget, explained_variances, selection_quality
from omvfs.model.learning import Answers
from omvfs.model.stability import selections, stability_index

Learn = Callable[..., Answers]

SIZES = (1, 5, 20, 60)


def test_more_informative_features_foretell_more(answers: Answers) -> None:
    mean = selection_quality(answers, SIZES).mean(axis=0)
    assert mean.shape == (3, len(SIZES))
    assert np.all(mean[:, 2] > mean[:, 0] + 0.1)
    assert mean[0, 2] > 0.6
    # Both views know more than either.
    assert mean[0, 2] >= mean[1:, 2].max()


def test_the_best_of_many_features_foretell_nothing_of_random_clusters(answers: Answers) -> None:
    random = Answers(answers.state, answers.settings)
    labels = np.random.default_rng(0).integers(0, 4, len(answers.state.sample))
    random.__dict__["clustering"] = replace(answers.clustering, labels=labels)
    assert selection_quality(random, SIZES).mean() < 0.02


def test_sizes_by_view_are_those_of_all_views_where_they_are_equal(answers: Answers) -> None:
    equal = selection_quality(answers, [20], n_halvings=1)
    np.testing.assert_array_equal(selection_quality(answers, [(20, 20)], n_halvings=1), equal)


def test_rows_that_lack_a_view_are_judged_by_the_others(planted: Planted, learn: Learn) -> None:
    X = [X_v.copy() for X_v in planted.views.values()]
    present = np.random.default_rng(0).random((X[0].shape[0], 2)) < 0.7
    present[~present.any(axis=1), 0] = True
    for v, X_v in enumerate(X):
        X[v] = X_v.multiply(present[:, [v]]).tocsr()
    mean = selection_quality(learn(X, 4, present), [20]).mean(axis=0)
    assert np.all(mean > 0.3)


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
    masks = selections(answers, [30, 15], 4)
    assert [mask.sum(axis=1).tolist() for mask in masks] == [[30] * 4, [15] * 4]
    assert stability_index(masks[0]).value > 0.5
    noise = learn([np.random.default_rng(0).random((800, 60))], 4)
    assert stability_index(selections(noise, [20], 4)[0]).value < 0.5


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
