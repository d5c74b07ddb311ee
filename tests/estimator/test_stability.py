"""How much of a selection stays is told once, within 0 and 1, and asking it changes nothing."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.results import TooFewRowsError
from streams import two_views
from support import fingerprint

QUICK = {"random_state": 0, "batch_size": 20}
SIZES = {"view_0": 30, "view_1": 20}


def planted(n_rows=800, **params):
    asked = {"n_features": (300, 200), "n_informative": (30, 20), "random_state": 0}
    return make_planted(n_rows, **{**asked, **params})


def test_planted_features_stay_and_noise_does_not():
    rows = planted()
    strong = OMVFS(5, n_features_per_view=SIZES, random_state=0).fit(rows.views)
    found = strong.stability()
    assert found.stays.share > 0.85
    assert found.clusters > 0.8
    for view, truth in rows.informative.items():
        frequencies = found.views[view].frequencies
        assert frequencies[truth].mean() > 0.8
        assert frequencies.sum() == pytest.approx(SIZES[view])
    noise = {v: np.random.default_rng(1).random(X.shape) for v, X in rows.views.items()}
    weak = OMVFS(5, n_features_per_view=SIZES, random_state=0).fit(noise)
    assert weak.stability().stays.share < 0.5


def test_what_is_said_to_stay_does_under_other_samples():
    # Three parts of a stream, each as large as a sample, know nothing of each other.
    rows = planted(2400, row_length=12, concentration=0.7).views
    models = [
        OMVFS(5, n_features_per_view=SIZES, random_state=part).fit(
            {view: X[800 * part : 800 * (part + 1)] for view, X in rows.items()}
        )
        for part in range(3)
    ]
    chosen = [np.flatnonzero(model.get_support()) for model in models]
    truth = np.mean([len(np.intersect1d(a, b)) / 50 for a, b in combinations(chosen, 2)])
    said = [model.stability().stays for model in models]
    assert 0.4 < truth < 0.9
    assert np.mean([each.share for each in said]) == pytest.approx(truth, abs=0.1)
    assert all(each.low <= truth <= each.high for each in said)


def test_of_two_features_that_are_the_same_either_stays():
    X = two_views(0, 900)
    noise = 1 + 0.1 * np.random.default_rng(0).random(X["text"].shape)
    X["text"] = np.hstack([X["text"], X["text"] * noise])
    model = OMVFS(3, n_features_per_view={"text": 6, "image": 3}, **QUICK).fit(X)
    found = model.stability()
    assert found.as_one > found.stays.share
    pairs = found.views["text"].either
    assert pairs
    assert all(len({j % 12 for j in each}) == 1 for each in pairs)


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_asking_changes_nothing_and_is_the_same_every_time(n_clusters):
    rows = Views(two_views(0, 60), present={"text": np.arange(60) % 3 > 0})
    sizes = {"text": 0.5, "image": None}
    model = OMVFS(n_clusters, n_features_per_view=sizes, sample_size=40, **QUICK).fit(rows)
    before, scores, found = fingerprint(model._known), model.scores_, model.stability(4)
    assert fingerprint(model._known) == before
    np.testing.assert_array_equal(model.scores_, scores)
    for again in (model.stability(4), OMVFS.from_bytes(model.to_bytes()).stability(4)):
        assert (again.stays, again.clusters) == (found.stays, found.clusters)
        for view, own in found.views.items():
            np.testing.assert_array_equal(own.frequencies, again.views[view].frequencies)
            assert own.frequencies.sum() == pytest.approx(model.view_support_[view].sum())


@pytest.mark.parametrize("criterion", ["separation", "coverage", "norm", lambda S, Q, n: Q])
def test_there_is_a_verdict_by_every_criterion_with_the_same_number(criterion):
    X = two_views(0, 1000)
    model = OMVFS(3, n_features_per_view=4, criterion=criterion, **QUICK).fit(X)
    said, found = model.verdict(), model.stability()
    assert said.holds
    assert said.stability.stays == found.stays
    assert 0 <= found.stays.low <= found.stays.share <= found.stays.high <= 1
    counts = f"{round(8 * found.stays.share)} of 8 selected features are chosen again"
    assert counts in str(said)
    assert all(0 <= share <= 1 for share in said.other_numbers.values())


def test_it_prints_as_a_table_and_what_cannot_be_told_is_refused():
    views = two_views(0, 60)
    model = OMVFS(3, n_features_per_view=4, **QUICK).fit(views)
    lines = str(model.stability(4)).splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["view", "all", "text", "image"]
    assert len({len(line) for line in lines[:4]}) == 1
    with pytest.raises(ValueError, match="n_resamples=1; expected a whole number of at least 4"):
        model.stability(1)
    few = OMVFS(3, sample_size=5, **QUICK).fit(views)
    with pytest.raises(TooFewRowsError, match=r"Got 5 rows to draw from.*at least 6"):
        few.stability()


def grouped(seed, n_rows, width):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    means = 3 * rng.standard_normal((3, width))
    return np.abs(means[labels] + rng.standard_normal((n_rows, width))), labels


def test_a_view_that_no_row_has_neither_weighs_nor_stops_what_is_told():
    a, _ = grouped(0, 60, 10)
    both = {"a": a, "b": np.full((60, 4), np.nan)}
    model, alone = OMVFS(3, random_state=0).fit(both), OMVFS(3, random_state=0).fit({"a": a})
    assert (model.labels_ == alone.labels_).all()
    table = model.to_frame()
    assert (table[table["view"] == "b"]["share_of_rows"] == 0).all()
    assert str(model.verdict()).startswith("a (")
    assert not model.verdict().views["b"].holds


def test_what_cannot_be_tested_is_said_so():
    for X in (np.ones((1, 5)), {"a": grouped(0, 3, 5)[0], "b": grouped(1, 3, 3)[0]}):
        assert "cannot be tested" in str(OMVFS(1, random_state=0).fit(X).verdict())
    few = OMVFS(3, random_state=0).fit(np.random.default_rng(0).normal(size=(300, 3)))
    assert "cannot be tested" in str(few.verdict())


def test_a_view_that_is_selected_whole_stays_whole():
    X, _ = grouped(0, 300, 1500)
    model = OMVFS(3, n_features_per_view=None, random_state=0).fit(X)
    found = model.stability()
    assert (found.views["X"].frequencies == 1).all()
    assert found.stays == (1.0, 1.0, 1.0)
    assert set(model.verdict().other_numbers.values()) == {1.0}


def test_a_callable_gets_all_columns_whenever_it_is_called():
    weights = np.linspace(1, 2, 1500)
    model = OMVFS(3, criterion=lambda S, Q, n: Q * weights, random_state=0)
    found = model.fit(grouped(0, 300, 1500)[0]).verdict().stability
    assert (found.n_selected, found.stays) == (100, model.stability().stays)


@pytest.mark.parametrize("scale", [1e-90, 1e76])
def test_the_unit_of_rows_does_not_change_their_quality(scale):
    X, _ = grouped(0, 300, 10)
    plain, other = (OMVFS(3, prepare=None, random_state=0).fit(each) for each in (X, scale * X))
    np.testing.assert_allclose(
        other.selection_quality_.agreement, plain.selection_quality_.agreement
    )


def test_small_clusters_are_counted_and_the_remedy_is_one():
    X, _ = grouped(0, 300, 20)
    said = str(OMVFS(30, random_state=0).fit(X).verdict())
    assert " more have fewer than 20 of the 300 sampled rows" in said
    assert "only more rows can tell" in said
    said = str(OMVFS(30, sample_size=200, random_state=0).fit(X).verdict())
    assert "a larger sample_size (--sample-size) can tell" in said


def test_what_has_learned_nothing_says_so():
    for ask in (lambda model: model.explain("a", 0), lambda model: model.stability()):
        with pytest.raises(NotFittedError):
            ask(OMVFS())
