"""Criteria that judge features as a set: signal, and auto, which weighs it by what it is worth."""

import numpy as np
import pytest

from omvfs import OMVFS
from omvfs.datasets import make_planted
from streams import every_dtype, learned, two_views

SETS = ["signal", "auto"]


@pytest.fixture(scope="module")
def planted():
    return make_planted(600, n_features=(300, 200), n_informative=(30, 20), random_state=0)


@pytest.mark.parametrize("criterion", SETS)
def test_planted_features_are_found(planted, criterion):
    model = OMVFS(5, criterion=criterion, random_state=0).fit(planted.views)
    for view, truth in planted.informative.items():
        assert truth[model.top_features(view, truth.sum())].mean() > 0.9


@every_dtype
@pytest.mark.parametrize("criterion", SETS)
def test_they_rank_and_change_nothing(criterion, dtype):
    X = two_views(0, 90, dtype)
    model = OMVFS(3, random_state=0).fit(X)
    before, states = model.scores_, learned(model)
    model.set_params(criterion=criterion)
    found = model.scores_
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    np.testing.assert_array_equal(found == 0, before == 0)
    np.testing.assert_array_equal(model.scores_, found)
    assert learned(model) == states
    np.testing.assert_array_equal(model.set_params(criterion="separation").scores_, before)


@pytest.mark.parametrize("params", [{"memory": 0}, {"solver": "paper"}])
@pytest.mark.parametrize("criterion", SETS)
def test_without_rows_balanced_stands_in(criterion, params):
    X = two_views(0, 60)
    found, expected = (
        OMVFS(3, criterion=each, random_state=0, **params).fit(X).scores_
        for each in (criterion, "balanced")
    )
    np.testing.assert_array_equal(found, expected)


def test_auto_is_between_both_and_with_too_few_rows_the_first():
    X = two_views(0, 90)
    model = OMVFS(3, random_state=0).fit(X)
    ranks = {
        criterion: model.set_params(criterion=criterion).ranking_
        for criterion in ("separation", "signal", "auto")
    }
    first, second, both = ranks.values()
    best = both == 1
    assert (np.minimum(first, second)[best] <= 2).all()
    few = OMVFS(10, random_state=0).fit(X)
    np.testing.assert_array_equal(
        few.set_params(criterion="auto").ranking_, few.set_params(criterion="separation").ranking_
    )


def test_auto_leans_to_the_rule_whose_features_reproduce_more(planted):
    model = OMVFS(5, random_state=0).fit(planted.views)
    agreement = {
        criterion: model.set_params(criterion=criterion).selection_quality_.at(20)
        for criterion in ("separation", "signal", "auto")
    }
    assert agreement["auto"] >= min(agreement["separation"], agreement["signal"]) - 0.02


@pytest.mark.parametrize("criterion", ["separation", *SETS])
def test_what_a_feature_repeats_is_the_nearest_of_the_better_ones(criterion):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900)
    X = 0.2 * abs(rng.normal(size=(900, 40)))
    for j in range(9):
        X[:, j] += labels == j // 3
    for j in range(3):  # near copies
        X[:, 20 + j] = X[:, 0] * (1 - 0.03 * j) + 0.02 * abs(rng.normal(size=900))
    model = OMVFS(3, criterion=criterion, random_state=0, n_init=5).fit({"a": X})
    repeats, ranking = model.feature_notes()["a"].repeats, model.view_ranking_["a"]
    squares = np.corrcoef(X.T) ** 2
    for j in range(40):
        better = np.flatnonzero(ranking < ranking[j])
        nearest = better[squares[j, better].argmax()] if len(better) else -1
        told = len(better) and squares[j, nearest] >= 0.5
        assert repeats[j] == (nearest if told else -1)
