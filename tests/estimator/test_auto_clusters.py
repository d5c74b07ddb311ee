"""The number of clusters may be left to the rows; all else follows it."""

from itertools import permutations

import numpy as np
import pytest

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from streams import lacking, presence, two_views
from support import fingerprint

QUICK = {"random_state": 0, "batch_size": 20}


def classes(n_rows, n_classes, seed=0):
    """Return rows of so many classes, all of them clear."""
    rng = np.random.default_rng(seed)
    labels, views = rng.integers(n_classes, size=n_rows), {}
    for name, width in (("text", 30), ("image", 24)):
        own = np.arange(width) % n_classes == labels[:, np.newaxis]
        views[name] = rng.random((n_rows, width)) * (0.02 + own)
    return views


@pytest.mark.parametrize("n_classes", [3, 8])
def test_as_many_clusters_are_found_as_were_planted(n_classes):
    planted = make_planted(
        600, n_features=(300, 200), n_informative=(60, 60), n_classes=n_classes, random_state=1
    )
    model = OMVFS("auto", random_state=0).fit(planted.views)
    assert model.n_clusters_ == n_classes == len(model.cluster_shares_)
    assert set(model.labels_) == set(range(n_classes))
    assert list(model.cluster_features()) == list(range(n_classes))
    assert len(model.explain("view_0", 0).means) == n_classes
    assert model.selection_quality_.agreement.max() > 0.8


@pytest.mark.parametrize("params", [{}, {"half_life": 50.0, "sample_size": 30}], ids=str)
def test_parts_of_different_numbers_merge_to_the_same_bits_in_any_order_and_tree(params):
    rows = classes(1, 2), classes(60, 6), lacking(classes(40, 4, seed=1), presence(0, 40))
    steps = {"prepare": None}  # of so few rows, the first tell different ones
    parts = [OMVFS("auto", **QUICK, **steps, **params).fit(each) for each in rows]
    assert parts[0].n_clusters_ == 1 < parts[1].n_clusters_
    merged = [a.merge(b, c) for a, b, c in list(permutations(parts))[::3]]
    merged.append(parts[2].merge(parts[0]).merge(parts[1]))
    merged.append(parts[1].merge(parts[0].merge(parts[2])))
    first = fingerprint(merged[0]._known.state)
    assert all(fingerprint(each._known.state) == first for each in merged)
    K = merged[0].n_clusters_
    assert set(merged[0].predict(rows[1])) <= set(range(K))
    assert np.isfinite(merged[0].scores_).all()


def test_few_rows_or_none_with_a_value_are_enough_to_begin():
    for sizes in ([1] * 8, [1], [40, 1]):
        views = Views(two_views(0, sum(sizes)))
        model, at = OMVFS("auto", **QUICK), 0
        for n in sizes:
            model.partial_fit(views[at : at + n])
            at += n
        # Four rows a cluster at least, but for the smallest number that is tried.
        assert 1 <= model.n_clusters_ <= max(2, sum(sizes) // 4)
        assert np.isfinite(model.scores_).all()
    empty = {name: np.zeros_like(X) for name, X in two_views(0, 40).items()}
    model = OMVFS("auto", **QUICK).fit(empty)
    assert not model.scores_.any()
    assert np.isfinite(model.partial_fit(two_views(0, 60)).scores_).all()


def test_what_cannot_be_told_is_refused():
    views = two_views(0, 40)
    with pytest.raises(ValueError, match=r"n_clusters='many'; expected a whole number .* 'auto'"):
        OMVFS("many").fit(views)
    model = OMVFS("auto", **QUICK).fit(views)
    before = fingerprint(model._known)
    with pytest.raises(ValueError, match=r"n_clusters=3, but .* n_clusters='auto'"):
        model.set_params(n_clusters=3).partial_fit(views)
    assert fingerprint(model._known) == before
    with pytest.raises(ValueError, match=r"n_clusters=3.*n_clusters='auto'"):
        model.set_params(n_clusters="auto").merge(OMVFS(3, **QUICK).fit(two_views(1, 40)))
