"""Preparation: what a step makes of rows as they come, and what it counts."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, normalize

from omvfs import as_views
from omvfs.prepare import STEPS, Preparation, steps_of
from support import KINDS, counts, dense, fingerprint

X = counts(np.random.default_rng(0), 40, 6)
X[:, 3] = 0
X[7] = 0


def prepared(kind, *steps, cuts=(0, 40)):
    """Return the last chunk of a stream, and the preparation after it."""
    preparation = Preparation.of(steps, ["x"])
    for start, stop in itertools.pairwise(cuts):
        views, preparation = preparation.learn(as_views({"x": kind(X[start:stop])}))
    return dense(views["x"]), preparation


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_step_on_all_rows_is_what_scikit_learn_makes_of_them(kind):
    np.testing.assert_allclose(prepared(kind, "l2")[0], normalize(X))
    np.testing.assert_allclose(prepared(kind, "log1p")[0], np.log1p(X))
    expected = TfidfTransformer(norm=None).fit_transform(sp.csr_array(X))
    np.testing.assert_allclose(prepared(kind, "tfidf")[0], dense(expected))
    np.testing.assert_allclose(prepared(kind, "scale")[0], MaxAbsScaler().fit_transform(X))
    both = prepared(kind, "log1p", "l2")[0]
    np.testing.assert_allclose(both, normalize(np.log1p(X)))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("step", STEPS)
def test_the_last_chunk_of_a_stream_knows_all_rows(kind, step):
    whole = prepared(kind, step)[0]
    last, _ = prepared(kind, step, cuts=(0, 1, 17, 40))
    np.testing.assert_allclose(last, whole[17:])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("steps", [*([step] for step in STEPS), ["tfidf", "scale"]], ids=str)
def test_rows_that_are_asked_about_are_prepared_and_not_counted(kind, steps):
    whole, preparation = prepared(kind, *steps)
    before = fingerprint(preparation)
    again = preparation.apply(as_views({"x": kind(X[:5])}))
    np.testing.assert_array_equal(dense(again["x"]), whole[:5])
    assert fingerprint(preparation) == before


def test_rows_and_names_are_left_alone():
    views = as_views({"x": X.copy()})
    names = [f"f{j}" for j in range(6)]
    named = type(views)({"x": X.copy()}, feature_names={"x": names})
    after, _ = Preparation.of(["tfidf", "l2"], ["x"]).learn(named)
    assert list(after.feature_names["x"]) == names
    np.testing.assert_array_equal(named["x"], X)
    assert Preparation.of(None, ["x"]).learn(views)[0] is views


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_columns_too_small_to_be_divided_by_stay_as_they_are(kind):
    tiny = np.array([[5e-324, 2.0], [0.0, 4.0]])
    after, _ = Preparation.of("scale", ["x"]).learn(as_views({"x": kind(tiny)}))
    np.testing.assert_array_equal(dense(after["x"]), [[5e-324, 0.5], [0.0, 1.0]])


def test_what_becomes_too_large_is_told():
    large = as_views({"x": np.array([[1e154, 0.0], [0.0, 1.0]])})
    with pytest.raises(ValueError, match=r"too large.*'x' holds .* at row 0, column 0"):
        Preparation.of("tfidf", ["x"]).learn(large)


EQUAL = [
    (None, []),
    ("l2", ["l2"]),
    (("tfidf", "l2"), ["tfidf", "l2"]),
    ({"x": "l2", "a:b": None}, ["x:l2"]),
    ({"a:b": ["tfidf", "l2"], "x": "l2"}, ["a:b:tfidf", "l2"]),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=[str(one) for one, _ in EQUAL])
def test_steps_are_asked_for_in_one_way_or_another(one, other):
    views = ["x", "a:b"]
    assert Preparation.of(one, views) == Preparation.of(other, views)


def test_a_step_can_be_for_one_view():
    views = as_views({"x": X.copy(), "a:b": X.copy()})
    after, preparation = Preparation.of(["a:b:scale", "x:l2"], views.names).learn(views)
    np.testing.assert_allclose(after["x"], normalize(X))
    np.testing.assert_allclose(after["a:b"], MaxAbsScaler().fit_transform(X))
    assert preparation.steps == (("l2",), ("scale",))


BAD = ["l3", ["l2", "x:l3"], ["l2", 3], 3, True, {"x": "l3"}, {"x": ["x:l2"]}, {3: "l2"}, slice(3)]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_what_is_no_step_is_refused(bad):
    with pytest.raises(ValueError, match=r"Got prepare=.*; expected 'l2', 'log1p', 'tfidf'"):
        steps_of("prepare", bad)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"View 'x': log1p needs values above -1; got -2"):
        Preparation.of("log1p", ["x"]).learn(as_views({"x": X - 2}, negative="allow"))
    with pytest.raises(ValueError, match=r"prepare for view 'y'; the views are 'x', 'a:b'"):
        Preparation.of(["y:l2"], ["x", "a:b"])
