"""Preparation: what a step makes of rows as they come, and what it remembers."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, normalize

from omvfs import as_views
from omvfs.pipeline.preparation import STEPS, Preparation
from support import KINDS, counts, dense

X = counts(np.random.default_rng(0), 40, 6)
X[:, 3] = 0
X[7] = 0


def prepared(kind, *steps, cuts=(0, 40)):
    """Return the last chunk of a stream, and the preparation after it."""
    preparation = Preparation(steps)
    for start, stop in itertools.pairwise(cuts):
        views, preparation = preparation.apply(as_views({"x": kind(X[start:stop])}))
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
    last, preparation = prepared(kind, step, cuts=(0, 1, 17, 40))
    np.testing.assert_allclose(last, whole[17:])
    again = Preparation.of(preparation.steps, preparation.known)
    more = as_views({"x": kind(X[:5])})
    np.testing.assert_array_equal(
        dense(again.apply(more)[0]["x"]), dense(preparation.apply(more)[0]["x"])
    )


def test_rows_and_names_are_left_alone():
    views = as_views({"x": X.copy()})
    names = [f"f{j}" for j in range(6)]
    named = type(views)({"x": X.copy()}, feature_names={"x": names})
    after, _ = Preparation(("tfidf", "l2")).apply(named)
    assert list(after.feature_names["x"]) == names
    np.testing.assert_array_equal(named["x"], X)
    assert Preparation().apply(views)[0] is views


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"preparation 'l3'; expected 'l2'"):
        Preparation(("l3",))
    with pytest.raises(ValueError, match=r"View 'x': log1p needs values above -1; got -2"):
        Preparation(("log1p",)).apply(as_views({"x": X - 2}, negative="allow"))


def test_a_step_can_be_for_one_view():
    views = as_views({"x": X.copy(), "a:b": X.copy()})
    after, preparation = Preparation(("a:b:scale", "x:l2")).apply(views)
    np.testing.assert_allclose(after["x"], normalize(X))
    np.testing.assert_allclose(after["a:b"], MaxAbsScaler().fit_transform(X))
    assert set(preparation.known) == {"0/a:b/largest"}
    with pytest.raises(ValueError, match=r"'y:l2'; the views are 'x', 'a:b'"):
        Preparation(("y:l2",)).apply(views)
    with pytest.raises(ValueError, match="Got preparation 'x:l3'"):
        Preparation(("x:l3",))
