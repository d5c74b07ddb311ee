"""Why a feature was chosen and what a cluster is about: true, and consistent with the ranking."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from omvfs import OMVFS
from omvfs.datasets import make_planted
from streams import learned, taken, two_views
from support import clustered


@pytest.fixture(scope="module")
def data():
    return make_planted(1000, n_features=(200, 150), n_informative=(40, 30), random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return OMVFS(5, n_features_per_view=30, random_state=0).fit(data.views)


@pytest.fixture(scope="module")
def class_of(data, model):
    """Return the class whose rows each cluster mostly has."""
    found = model.predict(data.views)
    return [np.bincount(data.labels[found == k]).argmax() for k in range(5)]


def test_informative_features_stand_for_their_class(data, model, class_of):
    assert len(set(class_of)) == 5
    for view, notes in model.feature_notes().items():
        own = np.flatnonzero(data.informative[view])
        found = np.array(class_of)[notes.cluster[own]]
        assert (found == data.feature_class[view][own]).mean() > 0.95
        for j in own[:3].tolist():
            why = model.explain(view, j)
            assert why.cluster == notes.cluster[j]
            assert why.strengths[why.cluster] > 2
            assert why.selected == model.view_support_[view][j]


def test_a_cluster_is_about_the_words_of_its_class(data, model, class_of):
    about = model.cluster_features(n=5)
    assert sorted(about) == list(range(5))
    for k, features in about.items():
        assert features == model.cluster_features(k, n=5)
        assert len(features) == 5
        for each in features:
            assert data.feature_class[each.view][each.feature] == class_of[k]
            assert model.view_support_[each.view][each.feature]
            assert each.strength == model.explain(each.view, each.feature).strengths[k]
        heights = [each.correlation for each in features]
        assert heights == sorted(heights, reverse=True)
    assert {each.view for own in about.values() for each in own} == set(data.views)
    whole = model.cluster_features(n=1000)
    for view in data.views:
        own = {k: [each for each in found if each.view == view] for k, found in whole.items()}
        assert model.cluster_features(n=1000, view=view) == own
    np.testing.assert_allclose(model.cluster_shares_.sum(), 1)
    np.testing.assert_allclose(model.cluster_shares_, 0.2, atol=0.05)


def test_an_even_feature_stands_for_no_cluster_however_frequent():
    rng = np.random.default_rng(0)
    X = np.c_[clustered(rng, 300, 9)[0], np.full(300, 0.5)]
    model = OMVFS(3, n_features_per_view=None, random_state=0).fit({"only": X})
    why = model.explain("only", 9)
    np.testing.assert_allclose(why.strengths, 1, rtol=1e-9)
    assert why.cluster is None
    assert why.share_of_rows == 1
    assert why.repeats is None
    assert "no cluster more than another" in str(why)
    listed = [each.feature for own in model.cluster_features(n=50).values() for each in own]
    assert 9 not in listed
    assert set(listed) == set(range(9))


@pytest.mark.parametrize(
    ("make", "dtype", "params"),
    [
        (OMVFS, np.float32, {}),
        (OMVFS, np.float64, {"scale_columns": True, "diversity": 0.0}),
        (OMVFS, np.float32, {"half_life": 600}),
        (OMVFS, np.float64, {"sample_size": 0}),
    ],
)
def test_it_agrees_with_the_ranking_and_changes_nothing(make, dtype, params):
    X = two_views(3, 60, dtype, sp.csr_array)
    params = taken(make, n_features_per_view=4, batch_size=20, random_state=0, **params)
    model = make(3, **params).fit(X)
    before, scores, ranking = learned(model), model.view_scores_, model.view_ranking_
    support, notes = model.view_support_, model.feature_notes()
    no_rows = model.sample_size == 0
    model.cluster_features()
    assert (model.cluster_shares_ is None) == no_rows
    for view, n_features in (("text", 12), ("image", 7)):
        for j in range(n_features):
            why = model.explain(view, j)
            assert (why.view, why.feature, why.number) == (view, j, j)
            assert (why.rank, why.score) == (ranking[view][j], scores[view][j])
            assert why.selected == support[view][j]
            assert (-1 if why.cluster is None else why.cluster) == notes[view].cluster[j]
            assert (why.share_of_rows is None) == no_rows
            assert (why.ranks["separation"] is None) == no_rows
            if no_rows or model.diversity == 0:
                assert why.repeats is why.correlation is None
                assert why.displaced == ()
            if not no_rows:
                assert why.share_of_rows == notes[view].share_of_rows[j]
            told = why.correlation is not None and why.correlation**2 >= 0.5
            assert notes[view].repeats[j] == (why.repeats if told else -1)
            assert f"rank {why.rank} of {n_features}" in repr(why)
    assert learned(model) == before


def test_ranks_by_each_rule_are_those_of_the_model_with_that_rule():
    model = OMVFS(3, n_features_per_view=3, batch_size=20, scale_columns=True, random_state=0)
    model.fit(two_views(1, 60))
    for rule in ("separation", "balanced", "information", "contrast", "norm"):
        plain = clone(model).set_params(criterion=rule, diversity=0.0).fit(two_views(1, 60))
        ranks = [model.explain("text", j).ranks[rule] for j in range(12)]
        assert ranks == plain.view_ranking_["text"].tolist()


def test_repeats_is_what_corrcoef_says():
    rng = np.random.default_rng(0)
    X = clustered(rng, 80, 9)[0]
    X = np.c_[X, X[:, :3] + 0.05 * rng.random((80, 3))]
    model = OMVFS(3, n_features_per_view=6, random_state=0).fit({"only": X})
    r, ranking = np.corrcoef(X.T), model.view_ranking_["only"]
    for j in range(12):
        better = np.flatnonzero(ranking < ranking[j])
        why = model.explain("only", j)
        if len(better):
            best = better[np.argmax(np.abs(r[j, better]))]
            assert (why.repeats, why.correlation) == (best, pytest.approx(r[j, best]))
        else:
            assert why.repeats is None
        for other in why.displaced:
            assert model.explain("only", other).repeats == j
            assert ranking[other] > ranking[j]
    for j in range(3):
        twins = sorted((j, j + 9), key=lambda i: ranking[i])
        assert model.explain("only", twins[0]).displaced.count(twins[1]) == 1
        assert model.feature_notes()["only"].repeats[twins[1]] == twins[0]


def test_when_the_stream_has_drifted_it_agrees_with_the_ranking():
    shape = {"n_features": (200, 150), "n_informative": (40, 30), "row_length": 40}
    data = make_planted(3000, n_classes=4, drift_at=(1000, 2000), random_state=0, **shape)
    own = {"sample_size": 600, "n_init": 4, "n_features_per_view": 30, "random_state": 0}
    model = OMVFS(4, criterion="auto", **own).fit(data.views)
    assert model._known.queries.drifted
    ranking, plain = model.view_ranking_["view_0"], clone(model).set_params(recency=0.0)
    reasons = [model.explain("view_0", j) for j in range(200)]
    assert [why.rank for why in reasons] == ranking.tolist()
    recent = np.array([why.is_recent for why in reasons])
    assert 0 < recent.sum() < 200
    assert "most recent rows" in str(reasons[recent.argmax()])
    calm = plain.fit(data.views)
    assert not any(calm.explain("view_0", j).is_recent for j in range(20))
    # When it has drifted, features are not taken as a set.
    own = model.set_params(diversity=0.0).view_scores_["view_0"]
    of_all = calm.set_params(diversity=0.0, criterion="separation").view_scores_["view_0"]
    np.testing.assert_array_equal(recent, own > of_all)


def test_a_wrong_question_says_what_was_expected():
    blocks, model = two_views(0, 60), OMVFS(3, random_state=0)
    with pytest.raises(NotFittedError):
        model.explain("text", 0)
    text = pd.DataFrame(blocks["text"], columns=[f"text{j}" for j in range(12)])
    model.fit({"text": text, "image": blocks["image"]})
    for view, feature, error, message in (
        ("txt", 0, ValueError, "Got view 'txt'; the views are 'text', 'image'."),
        (0, 0, ValueError, "Got view 0; the views are 'text', 'image'"),
        ("text", "txt3", ValueError, "View 'text' has no feature 'txt3'; .*Did you mean 'text3'"),
        ("text", 12, ValueError, "View 'text' has 12 features; got 12, .* from 0 to 11"),
        ("text", 1.0, TypeError, "view 'text' as float; expected a name or a number from 0"),
        ("text", True, TypeError, "view 'text' as bool"),
        ("image", "x", ValueError, "view 'image' have no names; got 'x', expected a number"),
    ):
        with pytest.raises(error, match=message):
            model.explain(view, feature)
    assert model.explain("text", np.int64(7)).feature == "text7"
    for k in (3, -1, 1.0, True, "0"):
        with pytest.raises(ValueError, match="expected a cluster from 0 to 2"):
            model.cluster_features(k)
    with pytest.raises(ValueError, match="Got n=0; expected a whole number of at least 1"):
        model.cluster_features(0, n=0)
