"""The number of clusters may be left to the rows; all else follows it."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from omvfs.model.constrained.recluster import recluster
from omvfs.model.statistics import Statistics
from streams import lacking, presence, two_views
from support import dense, fingerprint

QUICK = {"n_init": 4, "max_iter": 3, "random_state": 0, "batch_size": 20}
few = settings(max_examples=6, deadline=None)


def chunks(views, size=20):
    whole = views if isinstance(views, Views) else Views(views)
    return [whole[i : i + size] for i in range(0, len(whole), size)]


def growing(n_before=60, n_after=240, seed=0):
    """Return rows of two classes, then of six, all of them clear."""
    rng = np.random.default_rng(seed)
    labels = np.r_[rng.integers(2, size=n_before), rng.integers(6, size=n_after)]
    views = {}
    for name, width in (("text", 30), ("image", 24)):
        own = np.arange(width) % 6 == labels[:, np.newaxis]
        views[name] = rng.random((len(labels), width)) * (0.02 + own)
    return views, labels


def states_along(model, views, size=20):
    for chunk in chunks(views, size):
        model.partial_fit(chunk)
        yield model._known.state


@pytest.mark.parametrize("n_classes", [3, 8])
def test_as_many_clusters_are_found_as_were_planted(n_classes):
    planted = make_planted(
        600, n_features=(300, 200), n_informative=(60, 60), n_classes=n_classes, random_state=1
    )
    model = OMVFS("auto", random_state=0).fit(planted.views)
    assert model.n_clusters_ == n_classes == model.n_clusters_curve_.best
    assert {V.shape[1] for V in model.V_.values()} == {n_classes}
    assert len(model.cluster_shares_) == n_classes
    assert set(model.labels_) == set(range(n_classes))
    assert list(model.cluster_features()) == list(range(n_classes))
    assert len(model.explain("view_0", 0).strengths) == n_classes
    assert model.selection_quality_.agreement.max() > 0.8


def test_the_curve_tells_what_was_tried_and_a_given_number_has_none():
    model = OMVFS("auto", **QUICK).fit(two_views(0, 100))
    curve = model.n_clusters_curve_
    assert curve.n_clusters.tolist() == [2, 3, 4, 5, 6, 7, 8, 10]
    assert model.n_clusters_ == curve.best <= curve.n_clusters[curve.criterion.argmax()]
    assert curve.criterion.shape == curve.spread.shape == curve.n_clusters.shape
    assert (np.abs(curve.halves) <= 1).all()
    assert str(curve).count("<") == 1
    again = OMVFS("auto", **QUICK).fit(two_views(0, 100)).n_clusters_curve_
    np.testing.assert_array_equal(curve.criterion, again.criterion)
    given = OMVFS(3, **QUICK).fit(two_views(0, 60))
    assert given.n_clusters_ == 3
    with pytest.raises(AttributeError, match="n_clusters='auto'"):
        given.n_clusters_curve_  # noqa: B018


@given(st.integers(0, 30))
@few
def test_sums_are_those_of_the_clusters_if_the_reservoir_holds_all_rows(seed):
    views, _ = growing(seed=seed)
    for state in states_along(OMVFS("auto", **QUICK), views):
        held = state.reservoir
        if state.reclustered_at != state.statistics.n_rows:
            continue
        expected = Statistics.of_clusters(held.blocks, held.counted, held.shares)
        for found, own in zip(state.statistics.views, expected.views, strict=True):
            np.testing.assert_allclose(found.B, own.B, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found.masses, own.masses, rtol=1e-9)
            np.testing.assert_allclose(found.weight_sums, own.weight_sums, rtol=1e-9)


@given(st.integers(0, 30), st.integers(1, 7), st.integers(1, 7))
@few
def test_rows_that_are_gone_move_to_another_number_of_clusters_as_the_others_do(seed, before, now):
    model = OMVFS(before, **QUICK, sample_size=40).fit(two_views(seed, 160))
    state, asked = model._known.state, model._known.settings.with_clusters(now)
    moved = recluster(state, asked)
    assert moved.n_clusters == now == moved.reservoir.counted.n_clusters
    old, new = state.reservoir, moved.reservoir
    for v, X in enumerate(old.blocks):
        # What rows that are gone have left, cluster by cluster, and of all clusters together.
        was = dense(X).T @ old.counted.dense()
        gone = np.maximum(state.statistics.views[v].B - was, 0)
        rest = moved.statistics.views[v].B - dense(X).T @ new.counted.dense()
        np.testing.assert_allclose(rest.sum(axis=1), gone.sum(axis=1), rtol=1e-6, atol=1e-9)
        shares = np.zeros((before, now))
        np.add.at(shares, (old.counted.labels, new.counted.labels), old.counted.weights**2)
        seen = shares.sum(axis=1) > 0
        if seen.all():
            shares /= shares.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(rest, gone @ shares, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("params", [{}, {"half_life": 50.0, "sample_size": 30}], ids=str)
@given(st.integers(0, 30))
@settings(max_examples=1, deadline=None)
def test_parts_of_different_numbers_merge_to_the_same_bits_in_any_order_and_tree(params, seed):
    three_rows, six = growing(3, 0, seed)[0], growing(0, 120, seed)[0]
    parts = [
        OMVFS("auto", **QUICK, **params).fit(three_rows),
        OMVFS("auto", **QUICK, **params).fit(six),
        OMVFS("auto", **QUICK, **params).fit(
            lacking(growing(20, 60, seed + 1)[0], presence(seed, 80))
        ),
    ]
    assert parts[0]._known.state.n_clusters == 1 < parts[1]._known.state.n_clusters
    merged = [a.merge(b, c) for a, b, c in list(permutations(parts))[::3]]
    merged.append(parts[2].merge(parts[0]).merge(parts[1]))
    merged.append(parts[1].merge(parts[0].merge(parts[2])))
    first = fingerprint(merged[0]._known.state)
    assert all(fingerprint(each._known.state) == first for each in merged)
    K = merged[0].n_clusters_
    assert {V.shape[1] for V in merged[0].V_.values()} == {K}
    assert set(merged[0].predict(six)) <= set(range(K))
    assert np.isfinite(merged[0].scores_).all()


def test_few_rows_or_none_with_a_value_are_enough_to_begin():
    for sizes in ([1] * 8, [3, 1, 1], [1], [40, 1]):
        views = Views(two_views(0, sum(sizes)))
        model, at = OMVFS("auto", **QUICK), 0
        for n in sizes:
            model.partial_fit(views[at : at + n])
            at += n
        assert 1 <= model.n_clusters_ <= max(2, sum(sizes) ** 0.5)
        assert np.isfinite(model.scores_).all()
    empty = {name: np.zeros_like(X) for name, X in two_views(0, 40).items()}
    model = OMVFS("auto", **QUICK).fit(empty)
    assert model.n_clusters_ == 2
    assert np.isfinite(model.partial_fit(two_views(0, 60)).scores_).all()


def test_what_cannot_be_told_is_refused():
    views = two_views(0, 40)
    with pytest.raises(ValueError, match=r"n_clusters='auto' with sample_size=0; expected"):
        OMVFS("auto", sample_size=0).fit(views)
    with pytest.raises(ValueError, match=r"n_clusters='many'; expected a whole number .* 'auto'"):
        OMVFS("many").fit(views)
    model = OMVFS("auto", **QUICK).fit(views)
    before = fingerprint(model._known)
    with pytest.raises(ValueError, match=r"n_clusters=3, but .* n_clusters='auto'"):
        model.set_params(n_clusters=3).partial_fit(views)
    assert fingerprint(model._known) == before
    with pytest.raises(ValueError, match=r"n_clusters=3.*n_clusters='auto'"):
        model.set_params(n_clusters="auto").merge(OMVFS(3, **QUICK).fit(two_views(1, 40)))
