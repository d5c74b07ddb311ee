"""How much of a selection stays is told once, within 0 and 1, and asking it changes nothing."""

from itertools import combinations

import numpy as np
import pytest

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
