"""How much of a selection stays is told as published, and asking it changes nothing."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.model.stability import stability_index
from omvfs.results import TooFewRowsError
from streams import two_views
from support import fingerprint

QUICK = {"random_state": 0, "batch_size": 20}
small = settings(max_examples=40, deadline=None)


def slow_index(selected):
    """Φ and its variance, feature by feature and selection by selection, as printed."""
    M, d = selected.shape
    p = [sum(float(selected[i, f]) for i in range(M)) / M for f in range(d)]
    k = [sum(float(x) for x in selected[i]) for i in range(M)]
    mean = sum(k) / M
    chance = (mean / d) * (1 - mean / d)
    phi = 1 - sum(M / (M - 1) * q * (1 - q) for q in p) / d / chance
    each = []
    for i in range(M):
        overlap = sum(float(selected[i, f]) * p[f] for f in range(d)) / d
        rest = 2 * k[i] * mean / d**2 - k[i] / d - mean / d + 1
        each.append((overlap - k[i] * mean / d**2 + phi / 2 * rest) / chance)
    middle = sum(each) / M
    return phi, 4 / M**2 * sum((one - middle) ** 2 for one in each)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 12))
@small
def test_the_index_is_the_published_one(seed, M, d):
    selected = np.random.default_rng(seed).random((M, d)) < 0.5
    if selected.all() or not selected.any():
        return
    phi, variance = slow_index(selected)
    found = stability_index(selected)
    assert found.value == pytest.approx(phi, abs=1e-12)
    assert (found.high - found.low) / 2 == pytest.approx(1.959964 * variance**0.5, abs=1e-9)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 12), st.data())
@small
def test_of_selections_of_one_size_it_is_the_mean_overlap_beyond_chance(seed, M, d, data):
    # Kuncheva's index of every pair; the authors prove that theirs comes to it.
    k, rng = data.draw(st.integers(1, d - 1)), np.random.default_rng(seed)
    selected = np.zeros((M, d), bool)
    for mask in selected:
        mask[rng.permutation(d)[:k]] = True
    chance = k**2 / d
    pairs = [((a & b).sum() - chance) / (k - chance) for a, b in combinations(selected, 2)]
    assert stability_index(selected).value == pytest.approx(np.mean(pairs), abs=1e-12)


def test_selections_by_chance_have_none_and_there_is_none_to_lose_of_all():
    rng = np.random.default_rng(0)
    found = stability_index(rng.random((30, 2000)) < 0.1)
    assert found.low < 0 < found.high
    assert abs(found.value) < 0.01
    assert stability_index(np.ones((3, 4), bool)) == (1.0, 1.0, 1.0)


def test_planted_features_stay_and_noise_does_not():
    planted = make_planted(800, n_features=(300, 200), n_informative=(30, 20), random_state=0)
    sizes = {"view_0": 30, "view_1": 20}
    strong = OMVFS(5, n_features_per_view=sizes, random_state=0).fit(planted.views)
    found = strong.stability(6)
    assert found.index.value > 0.8
    for view, truth in planted.informative.items():
        frequencies = found.views[view].frequencies
        assert frequencies[truth].mean() > 0.8
        assert frequencies.sum() == pytest.approx(sizes[view])
    noise = {v: np.random.default_rng(1).random(X.shape) for v, X in planted.views.items()}
    weak = OMVFS(5, n_features_per_view=sizes, random_state=0).fit(noise)
    assert weak.stability(6).index.value < 0.3


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_asking_changes_nothing_and_is_the_same_every_time(n_clusters):
    rows = Views(two_views(0, 60), present={"text": np.arange(60) % 3 > 0})
    sizes = {"text": 0.5, "image": None}
    model = OMVFS(n_clusters, n_features_per_view=sizes, sample_size=40, **QUICK).fit(rows)
    before, scores, found = fingerprint(model._known), model.scores_, model.stability(4)
    assert fingerprint(model._known) == before
    np.testing.assert_array_equal(model.scores_, scores)
    for again in (model.stability(4), OMVFS.from_bytes(model.to_bytes()).stability(4)):
        assert again.index == found.index
        for view, own in found.views.items():
            np.testing.assert_array_equal(own.frequencies, again.views[view].frequencies)
            assert own.frequencies.sum() == pytest.approx(model.view_support_[view].sum())


def test_it_prints_as_a_table_and_what_cannot_be_told_is_refused():
    views = two_views(0, 60)
    model = OMVFS(3, n_features_per_view=4, **QUICK).fit(views)
    lines = str(model.stability(3)).splitlines()
    assert [line.split()[0] for line in lines] == ["view", "all", "text", "image"]
    assert len({len(line) for line in lines}) == 1
    with pytest.raises(ValueError, match="n_resamples=1; expected a whole number of at least 2"):
        model.stability(1)
    few = OMVFS(3, sample_size=5, **QUICK).fit(views)
    with pytest.raises(TooFewRowsError, match=r"Got 5 rows to draw from.*at least 6"):
        few.stability()
