"""Are the selected features any good, and how many are needed?"""

import copy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from omvfs import OMVFS
from omvfs.baselines import ColumnSum
from omvfs.datasets import make_planted
from omvfs.results import Curve
from streams import learned, two_views


@pytest.fixture(scope="module")
def planted():
    return make_planted(800, n_features=(300, 40), n_informative=(60, 20), random_state=0)


@pytest.fixture(scope="module")
def fitted(planted):
    return OMVFS(5, random_state=0).fit(planted.views)


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


def best(S, Q, n):
    """Return the variance between clusters."""
    means = S / np.maximum(n, 1)
    return np.square(means - S.sum(axis=1, keepdims=True) / n.sum()) @ n / n.sum()


def test_planted_features_reproduce_the_clusters_and_noise_does_not(model, planted):
    quality = model.selection_quality_
    assert quality.at(60) > 0.8 > 0.5 > quality.at(1)
    assert 4 <= model.suggest_n_features() <= 60
    # Worst first: none of the informative features is among them.
    worst = model.set_params(criterion=lambda S, Q, n: -best(S, Q, n))
    assert worst.selection_quality_.at(20) < 0.3


def test_it_is_of_all_views_and_of_each(model):
    quality = model.selection_quality_
    assert list(quality.views) == ["view_0", "view_1"]
    assert list(quality.sizes) == sorted({*quality.sizes})
    assert quality.sizes[-1] == 300
    for curve in (quality, *quality.views.values()):
        assert len(curve.agreement) == len(curve.spread) == len(curve.sizes)
        assert (curve.agreement >= 0).all()
        assert (curve.agreement <= 1).all()
        assert (curve.spread >= 0).all()
    # A view of 40 features has no more to give at 60 than at 40.
    own = quality.views["view_1"]
    assert own.at(60) == own.at(300) == own.at(40)
    assert model.suggest_n_features("view_1") == own.levels_off_at <= 40
    assert len(str(quality).splitlines()) == 1 + len(quality.sizes)


def test_asking_changes_nothing_and_is_answered_alike(model):
    before, scores = learned(model), model.scores_
    first = model.selection_quality_.agreement
    assert learned(model) == before
    again = OMVFS.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.selection_quality_.agreement, first)
    np.testing.assert_array_equal(again.scores_, scores)


def test_auto_selects_as_many_features_as_are_enough(model, planted):
    enough = model.suggest_n_features()
    before = model.scores_
    model.set_params(n_features_per_view="auto")
    support = model.view_support_
    assert support["view_0"].sum() == enough
    assert support["view_1"].sum() == min(enough, 40)
    np.testing.assert_array_equal(model.scores_, before)
    assert model.transform(planted.views).shape[1] == model.get_support().sum()
    model.set_params(n_features_per_view={"view_0": 7, "view_1": "auto"})
    assert [mask.sum() for mask in model.view_support_.values()] == [7, min(enough, 40)]
    loaded = OMVFS.from_bytes(model.set_params(n_features_per_view="auto").to_bytes())
    np.testing.assert_array_equal(loaded.get_support(), model.get_support())


@pytest.mark.parametrize("params", [{"sample_size": 3}, {"n_clusters": 40}])
def test_too_few_rows_cannot_judge(params):
    model = OMVFS(**{"n_clusters": 3, "random_state": 0, **params}).fit(two_views(0, 60))
    assert not hasattr(model, "selection_quality_")
    with pytest.raises(ValueError, match=r"Got \d+ rows to judge .* two for each cluster"):
        model.suggest_n_features()
    with pytest.raises(ValueError, match="give a number of features"):
        model.set_params(n_features_per_view="auto").get_support()


def test_wrong_questions_are_answered_with_a_remedy(model):
    with pytest.raises(NotFittedError):
        OMVFS().suggest_n_features()
    with pytest.raises(ValueError, match="Got view 'tags'; the views are 'view_0', 'view_1'"):
        model.suggest_n_features("tags")
    with pytest.raises(ValueError, match=r"Got n_features_per_view='all'.*'auto', or None"):
        OMVFS(n_features_per_view="all").fit(two_views(0, 60))
    # Others have no clusters to reproduce.
    with pytest.raises(ValueError, match="Got n_features_per_view='auto'"):
        ColumnSum(n_features_per_view="auto").fit(two_views(0, 60)).get_support()


def test_a_curve_levels_off_where_more_features_gain_less_than_the_spread():
    sizes = np.array([10, 20, 40, 80])
    rising = np.array([0.2, 0.5, 0.58, 0.6])
    assert [
        Curve(sizes, rising, np.full(4, spread)).levels_off_at for spread in (0.0, 0.03, 0.15, 1.0)
    ] == [80, 40, 20, 10]
