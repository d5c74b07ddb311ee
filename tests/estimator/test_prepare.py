"""Rows are prepared by the estimator: learned from, asked about, kept and forgotten with it."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, normalize

from omvfs import OMVFS, as_views
from omvfs.prepare import Preparation
from omvfs.selection import Selection
from support import clustered, counts, dense, fingerprint

PREPARE = {"text": ["tfidf", "l2"], "image": ["scale", "l2"]}


def rows(n=90, seed=0):
    rng = np.random.default_rng(seed)
    text, image = counts(rng, n, 12), clustered(rng, n, 6)[0]
    return {"text": sp.csr_array(text), "image": image * 10.0 ** np.arange(6)}


def model(**params):
    return OMVFS(**{"n_clusters": 3, "batch_size": 30, "random_state": 0, **params})


def test_learning_from_raw_rows_is_learning_from_prepared_ones():
    plain, own = model(), model(prepare=PREPARE)
    preparation = Preparation.of(PREPARE, ["text", "image"])
    for seed in range(4):
        prepared, preparation = preparation.learn(as_views(rows(seed=seed)))
        plain.partial_fit(prepared)
        own.partial_fit(rows(seed=seed))
    assert fingerprint(own._fitted.state) == fingerprint(plain._fitted.state)
    np.testing.assert_array_equal(own.scores_, plain.scores_)
    asked = rows(seed=9)
    seen = preparation.apply(as_views(asked))
    np.testing.assert_array_equal(own.predict(asked), plain.predict(seen))
    assert own.explained_share(asked) == plain.explained_share(seen)
    assert own.score(asked) == plain.score(seen)


def test_prepared_rows_are_what_scikit_learn_makes_of_them():
    X = rows()["image"]
    fitted = model(prepare=["scale", "l2"], batch_size=90, n_features_per_view=None).fit(X)
    expected = normalize(MaxAbsScaler().fit_transform(X))
    np.testing.assert_allclose(fitted.transform(X), expected)


def test_transform_prepares_rows_before_it_selects():
    X = pd.DataFrame(rows()["image"], columns=list("abcdef"))
    fitted = model(prepare=["scale", "l2"], batch_size=90, n_features_per_view=2).fit(X)
    expected = normalize(MaxAbsScaler().fit_transform(X))[:, fitted.get_support()]
    np.testing.assert_allclose(fitted.transform(X), expected)
    np.testing.assert_allclose(fitted.transform_views(X)["X"], expected)
    framed = fitted.set_output(transform="pandas").transform(X)
    assert list(framed.columns) == list(X.columns[fitted.get_support()])
    np.testing.assert_allclose(framed, expected)


def split_rows(n=60):
    X = np.hstack([rows(n)["text"].toarray(), rows(n)["image"] / 10.0 ** np.arange(6)])
    names = [f"f{j}" for j in range(18)]
    views = {"b": [*names[17:8:-2], names[1]], "a": names[:1] + names[2:9]}
    return pd.DataFrame(X, columns=names), views


STEPS = ["l2", "scale", ["tfidf", "l2"], ["log1p", "tfidf", "scale"], {"a": "l2", "b": None}]


@pytest.mark.parametrize("prepare", STEPS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_frozen_selection_prepares_as_the_model_does(prepare, dtype, tmp_path):
    X, views = split_rows()
    X = X.astype(dtype)
    kept = model(prepare=prepare, n_features_per_view=3, views=views, remainder="drop").fit(X)
    frozen, wanted = kept.selection(), kept.transform(X[:9])
    frozen.save(tmp_path / "selection.json")
    kept.partial_fit(X[30:])
    back = Selection.load(tmp_path / "selection.json")
    assert back == frozen
    for each in (frozen, back):
        for given in (X[:9], X[:9].to_numpy(), X[:9][X.columns[::-1]].assign(more=dtype(1))):
            got = each.transform(given)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_frozen_selection_of_views_needs_all_columns_of_rows_of_unit_norm():
    blocks = rows()
    named = {**blocks, "image": pd.DataFrame(blocks["image"], columns=list("abcdef"))}
    for prepare in ("scale", ["scale", "l2"]):
        kept = model(prepare={"text": ["tfidf", "l2"], "image": prepare}, n_features_per_view=2)
        frozen = kept.fit(named).selection()
        np.testing.assert_array_equal(dense(frozen.transform(named)), dense(kept.transform(named)))
        few = {**named, "image": named["image"][kept.top_features("image", 2)]}
        if prepare == "scale":
            np.testing.assert_array_equal(
                dense(frozen.transform(few)), dense(kept.transform(named))
            )
            continue
        with pytest.raises(ValueError, match=r"'image' lacks 4 of the 6 features that are needed"):
            frozen.transform(few)


def test_a_frozen_selection_takes_negative_values_as_the_model_does():
    blocks = rows()
    bad = {**blocks, "image": blocks["image"] - 3}
    clipping = model(prepare="l2", negative="clip").fit(blocks)
    np.testing.assert_array_equal(
        dense(clipping.selection().transform(bad)), dense(clipping.transform(bad))
    )
    for each in (strict := model(prepare="l2").fit(blocks)), strict.selection():
        with pytest.raises(ValueError, match="negative"):
            each.transform(bad)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"steps": ["l3", "l2"]}, "prepared by"),
        ({"steps": []}, "prepared by"),
        ({"steps": ["tfidf"]}, ""),
        ({"dtype": "int64"}, "prepared in"),
        ({"negative": "shift"}, "negative values"),
        ({"needed": None}, ""),
        ({"counted": [{"df": [1] * 12, "n": [-1]}, {}]}, "below 0"),
        ({"counted": [{"df": [9] * 12, "n": [3]}, {}]}, "more rows than there are"),
        ({"counted": [{"df": [1.5] * 12, "n": [3]}, {}]}, "no numbers of its columns"),
        ({"counted": [{"df": [1] * 11, "n": [3]}, {}]}, "no numbers of its columns"),
        ({"counted": [{"largest": [1.0] * 12}, {}]}, "has counted"),
        ({"counted": [{}, {}, {}]}, ""),
        ({"counted": 3}, ""),
    ],
    ids=str,
)
def test_a_selection_that_prepares_strangely_is_refused(other, said, tmp_path):
    path = tmp_path / "selection.json"
    model(prepare=PREPARE, n_features_per_view=3).fit(rows()).selection().save(path)
    held = json.loads(path.read_text())
    held["views"][0]["prepared"] |= other
    path.write_text(json.dumps(held))
    with pytest.raises(ValueError, match=rf"holds no selection: .*{said}"):
        Selection.load(path)


def test_other_steps_are_no_continuation():
    fitted = model(prepare=PREPARE).fit(rows())
    before = fingerprint(fitted._journal)
    with pytest.raises(ValueError, match=r"prepare='l2', but the rows so far were prepared"):
        fitted.set_params(prepare="l2").partial_fit(rows(seed=1))
    assert fingerprint(fitted._journal) == before
    same = ["text:tfidf", "image:scale", "l2"]
    fitted.set_params(prepare=same).partial_fit(rows(seed=1))


def test_what_is_counted_is_rolled_back_with_a_chunk_that_fails():
    fitted = model(prepare=["tfidf", "scale", "log1p"], negative="shift").partial_fit(rows())
    before = fingerprint(fitted._journal)
    bad = rows(seed=1)
    bad["image"][3, 2] = -1e9
    with pytest.raises(ValueError, match=r"View 'image': log1p needs values above -1"):
        fitted.partial_fit(bad)
    assert fingerprint(fitted._journal) == before
    # Refused by the solver, when all is prepared.
    with pytest.raises(ValueError, match="Got start_U"):
        fitted.partial_fit(rows(seed=1), start_U=np.ones((2, 2)))
    assert fingerprint(fitted._journal) == before


def test_asking_counts_nothing():
    fitted = model(prepare=PREPARE).fit(rows())
    before = fingerprint(fitted._journal)
    fitted.predict(rows(seed=1)), fitted.score(rows(seed=2)), fitted.transform(rows(seed=3))
    assert fingerprint(fitted._journal) == before


def test_a_view_that_is_not_there_is_told_before_anything_is_learned():
    for prepare in ({"sound": "l2"}, ["sound:l2"]):
        fresh = model(prepare=prepare)
        with pytest.raises(ValueError, match=r"prepare for view 'sound'; the views are 'text'"):
            fresh.fit(rows())
        assert not hasattr(fresh, "schema_")


BAD = {
    "more rows than there are": ("0/0/df", lambda a: a + 91, "counts rows"),
    "fewer than none": ("0/0/df", lambda a: a - 91, "counts rows"),
    "other rows": ("0/0/n", lambda a: a + 1, "counts rows"),
    "other features": ("0/0/df", lambda a: a[1:], "counts rows"),
    "no whole numbers": ("0/0/df", lambda a: a.astype(float), "counts rows"),
    "not finite": ("1/0/largest", lambda a: a * np.nan, "not finite"),
    "negative": ("1/0/largest", lambda a: -1 - a, "below 0"),
    "another precision": ("1/0/largest", lambda a: a.astype(np.float32), "expected float64"),
}
