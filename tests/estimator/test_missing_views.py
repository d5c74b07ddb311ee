"""Rows may lack views: they count where they are there, and nowhere else."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omvfs import OMVFS, Views, as_views
from omvfs.baselines import Variance
from omvfs.datasets import make_planted
from streams import WAYS, lacking, presence, two_views
from support import KINDS, fingerprint, recovered

FEW = settings(max_examples=3, deadline=None)
QUICK = {"random_state": 0, "batch_size": 10, "prepare": None}


@given(st.integers(0, 50), st.sampled_from(WAYS))
@FEW
@example(0, {})
def test_rows_that_have_all_views_are_learned_from_as_ever(seed, params):
    views = two_views(seed, 45)
    told = Views(views, present={"text": np.ones(45, bool)})
    params = {"n_clusters": 3, **QUICK, **params}
    one, other = (OMVFS(**params).fit(rows)._known.state for rows in (told, views))
    assert fingerprint(one) == fingerprint(other)


@given(st.integers(0, 50), st.sampled_from(list(KINDS)))
@FEW
def test_rows_that_lack_a_view_may_be_nan_or_hold_anything(seed, kind):
    views, present = two_views(seed, 45), presence(seed, 45)
    told = OMVFS(3, **QUICK).fit(lacking(views, present, KINDS[kind]))
    other = {name: X + (~present[:, [v]]) for v, (name, X) in enumerate(views.items())}
    anything = OMVFS(3, **QUICK).fit(lacking(other, present, KINDS[kind]))
    assert fingerprint(told._known.state) == fingerprint(anything._known.state)
    nan = {name: np.where(present[:, [v]], X, np.nan) for v, (name, X) in enumerate(views.items())}
    found, dense_rows = OMVFS(3, **QUICK).fit(nan), lacking(views, present)
    plain = OMVFS(3, **QUICK).fit(dense_rows)
    assert fingerprint(found._known.state) == fingerprint(plain._known.state)
    np.testing.assert_array_equal(plain.predict(nan), found.predict(dense_rows))


@given(st.integers(0, 50))
@FEW
def test_the_sums_of_a_view_are_over_the_rows_that_have_it(seed):
    """All rows are in the sample, so that their clusters are known."""
    views, present = two_views(seed, 60), presence(seed, 60)
    model = OMVFS(3, **QUICK).fit(lacking(views, present))
    state = model._known.answers.reclustered
    assert len(state.sample) == 60
    for v, X in enumerate(views.values()):
        has = present[:, v]
        for k in range(3):
            own = X[has & (state.sample.labels == k)]
            np.testing.assert_allclose(state.views[v].S[:, k], own.sum(axis=0), atol=1e-12)
            assert state.views[v].n[k] == pytest.approx(len(own))
        np.testing.assert_allclose(state.views[v].Q, (X[has] ** 2).sum(axis=0))


def test_a_view_may_come_later():
    views, none = two_views(0, 60), np.zeros(40, bool)
    first = Views({name: X[:40] for name, X in views.items()}, present={"image": none})
    model = OMVFS(3, **QUICK).fit(first)
    assert model.view_scores_["text"].any()
    assert not model.view_scores_["image"].any()
    model.partial_fit({name: X[40:] for name, X in views.items()})
    assert model.view_scores_["image"].any()


def test_what_lacks_too_much_is_refused():
    views = two_views(0, 30)
    views["image"][4, 2] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN: view 'image', row 4, column 2"):
        OMVFS(3, **QUICK).fit(views)
    views["image"][4], views["text"][4] = np.nan, np.nan
    with pytest.raises(ValueError, match=r"Row 4 lacks every view"):
        OMVFS(3, **QUICK).fit(views)
    with pytest.raises(ValueError, match="NaN"):
        OMVFS(3, **QUICK).fit(np.full((20, 4), np.nan))
    rows = lacking(two_views(0, 60), presence(0, 60))
    model = OMVFS(3, **QUICK).fit(rows[:30])
    before = fingerprint(model._known.state)
    with pytest.raises(ValueError, match="lacks every view"):
        model.partial_fit(views)
    assert fingerprint(model._known.state) == before
    with pytest.raises(ValueError, match=r"of 60 rows lack view 'text'.*use OMVFS"):
        Variance().fit(rows)
    with pytest.raises(ValueError, match="lack view"):
        as_views(rows)


def test_what_is_selected_is_nan_where_the_row_lacks_the_view():
    views, present = two_views(0, 30), presence(0, 30)
    rows = lacking(views, present)
    model = OMVFS(3, **QUICK, n_features_per_view=2).fit(rows)
    chosen = model.transform(rows)
    assert np.array_equal(np.isnan(chosen[:, 0]), ~present[:, 0])
    assert np.array_equal(np.isnan(chosen[:, -1]), ~present[:, 1])
    assert (
        np.isnan(model.transform_views(rows)["image"]).any(axis=1).sum() == (~present[:, 1]).sum()
    )
    sparse = lacking(views, present, KINDS["csr_array"])
    assert np.isfinite(model.transform(sparse).data).all()


def test_views_keep_who_has_what_through_all_they_do():
    views, present = two_views(0, 30), presence(0, 30)
    rows = lacking(views, present)
    np.testing.assert_array_equal(rows.presence, present)
    np.testing.assert_array_equal(rows[5:15].presence, present[5:15])
    np.testing.assert_array_equal(Views.concat([rows[:7], rows[7:]]).presence, present)
    np.testing.assert_array_equal(rows.only(["image"]).has("image"), present[:, 1])
    apart = [rows.only(["text"]), rows.only(["image"])]
    np.testing.assert_array_equal(Views.beside(apart).presence, present)
    whole = [Views(views)[:3], rows[3:]]
    np.testing.assert_array_equal(Views.concat(whole).presence[3:], present[3:])
    assert Views.concat(whole).presence[:3].all()
    assert "without text" in repr(rows)


@pytest.fixture(scope="module")
def planted():
    return make_planted(
        1_200,
        n_features=(2_000, 1_000),
        n_informative=(100, 60),
        row_length=(70, 50),
        random_state=0,
    )


def found_in(planted, rows):
    """Return the share of planted features among as many of the best."""
    model = OMVFS(5, random_state=0)
    for start in range(0, len(rows), 200):
        model.partial_fit(rows[start : start + 200])
    return np.mean(list(recovered(planted, model.view_scores_).values()))


def test_planted_features_are_found_though_half_of_the_rows_lack_a_view(planted):
    """On the average of some draws: filled with zeros, one draw in many is as good by luck."""
    names, found = list(planted.views), []
    for seed in range(3):
        present = presence(seed, 1_200)
        told = {view: present[:, v] for v, view in enumerate(names)}
        known = Views(planted.views, present=told)
        zeros = Views({view: known[view] for view in names})
        dropped = Views(planted.views)[np.flatnonzero(present.all(axis=1))]
        found.append([found_in(planted, rows) for rows in (known, zeros, dropped)])
    of_known, of_zeros, of_dropped = np.mean(found, axis=0)
    assert of_known >= 0.85 * found_in(planted, Views(planted.views))
    assert of_known > of_zeros + 0.2, found
    assert of_known > of_dropped - 0.05, found


def test_features_repeat_others_on_the_rows_that_have_the_view_alone():
    rng = np.random.default_rng(0)
    X = rng.random((400, 6)) + 1
    has = rng.random(400) < 0.5
    model = OMVFS(3, **QUICK).fit(Views({"a": X, "b": X[:, :3]}, present={"a": has}))
    alone = np.corrcoef(X[has].T)
    for j in range(6):
        found = model.explain("a", j)
        if found.repeats is not None:
            assert found.r == pytest.approx(alone[j, found.repeats], abs=1e-6)
