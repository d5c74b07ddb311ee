"""Rows are prepared by the estimator: learned from, asked about, kept and forgotten with it."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from faults import everything
from omvfs import OMVFS, OMVFSPaper, as_views, merge
from omvfs.codec import CheckpointError
from omvfs.prepare import STEPS, Preparation, bits_of, check_views, hash_bits, steps_of
from omvfs.selection import Selection
from streams import learned
from support import KINDS, clustered, counts, dense, fingerprint

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
    assert fingerprint(own._known.state) == fingerprint(plain._known.state)
    np.testing.assert_array_equal(own.scores_, plain.scores_)
    asked = rows(seed=9)
    seen = preparation.apply(as_views(asked))
    np.testing.assert_array_equal(own.predict(asked), plain.predict(seen))
    assert own.score(asked) == plain.score(seen)


def split_rows(n=60):
    X = np.hstack([rows(n)["text"].toarray(), rows(n)["image"] / 10.0 ** np.arange(6)])
    names = [f"f{j}" for j in range(18)]
    views = {"b": [*names[17:8:-2], names[1]], "a": names[:1] + names[2:9] + names[10:17:2]}
    return pd.DataFrame(X, columns=names), views


@pytest.mark.parametrize(
    ("prepare", "dtype"),
    [
        ("l2", np.float32),
        ("scale", np.float64),
        (["log1p", "tfidf", "scale"], np.float32),
        ({"a": "l2", "b": None}, np.float64),
    ],
    ids=str,
)
def test_a_frozen_selection_prepares_as_the_model_does(prepare, dtype, tmp_path):
    X, views = split_rows()
    X = X.astype(dtype)
    kept = model(prepare=prepare, n_features_per_view=3, views=views).fit(X)
    frozen, wanted = kept.selection(), kept.transform(X[:9])
    frozen.save(tmp_path / "selection.omvfs")
    kept.partial_fit(X[30:])
    back = Selection.load(tmp_path / "selection.omvfs")
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


def test_a_selection_that_prepares_strangely_is_refused(tmp_path):
    path = tmp_path / "selection.omvfs"
    sound = model(prepare=PREPARE, n_features_per_view=3).fit(rows()).selection()
    first, *others = sound.chosen
    ones, n = np.ones(12, int), np.ones(1, int)
    for other in (
        {"steps": ("l3", "l2")},
        {"steps": ()},
        {"dtype": "int64"},
        {"counted": ({"df": ones, "n": n},)},
        {"counted": ({"df": ones[:3], "n": n}, {})},
        {"counted": ({"mean": 1.0 * ones}, {})},
    ):
        strange = replace(first, preparing=replace(first.preparing, **other))
        replace(sound, chosen=(strange, *others)).save(path)
        with pytest.raises(CheckpointError, match="holds no selection"):
            Selection.load(path)


def test_other_steps_are_no_continuation():
    fitted = model(prepare=PREPARE).fit(rows())
    before = learned(fitted)
    with pytest.raises(ValueError, match=r"prepare='l2', but the rows so far were prepared"):
        fitted.set_params(prepare="l2").partial_fit(rows(seed=1))
    assert learned(fitted) == before
    same = ["text:tfidf", "image:scale", "l2"]
    fitted.set_params(prepare=same).partial_fit(rows(seed=1))


def test_what_is_counted_is_rolled_back_with_a_chunk_that_fails():
    fitted = model(prepare=["tfidf", "scale", "log1p"]).partial_fit(rows())
    before = everything(fitted)
    bad = rows(seed=1)
    bad["image"][3, 2] = -1e9
    with pytest.raises(ValueError, match=r"View 'image': log1p needs values above -1"):
        fitted.partial_fit(bad)
    assert everything(fitted) == before


# What the first rows tell

UNITS = np.array([1, 1, 1000, 1, 50, 1e6])


def unlike(n=400, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 6)) * UNITS


def test_gaps_do_not_hide_what_rows_are():
    X = unlike()
    X[np.arange(400), np.random.default_rng(1).integers(0, 6, 400)] = np.nan
    for Y in (X, np.where(np.arange(6) == 2, np.nan, unlike())):
        found = OMVFS(2, random_state=0).fit(pd.DataFrame(Y, columns=list("abcdef")))
        assert found.prepared_ == {"X": ("standardize",)}


@pytest.mark.parametrize("asked", ["auto", {"b": "scale"}], ids=str)
def test_the_first_rows_of_a_view_tell_its_steps_whenever_they_come(asked, tmp_path):
    A, B = np.random.default_rng(1).normal(size=(400, 5)), unlike()
    late = np.where(np.arange(400)[:, np.newaxis] < 250, np.nan, B)
    fitted = OMVFS(2, prepare=asked, random_state=0).fit({"a": A, "b": late})
    assert fitted.prepared_ == {"a": (), "b": ("scale",)}
    few = fitted._known.preparation.counted[1][0]["count"]
    np.testing.assert_array_equal(few, 150)
    # A part that has no row of it merges with one that has, in any order.
    parts = [OMVFS(2, prepare=asked, random_state=0) for _ in range(2)]
    parts[0].fit({"a": A[:200], "b": late[:200]})
    parts[0].save(tmp_path / "part.omvfs")
    parts = [OMVFS.load(tmp_path / "part.omvfs"), parts[1].fit({"a": A[200:], "b": B[200:]})]
    for both in (parts, parts[::-1]):
        merged = merge(both)
        assert merged.prepared_ == {"a": (), "b": ("scale",)}
        assert merged.partial_fit({"a": A[:9], "b": B[:9]}).n_samples_seen_ == 409


def test_what_is_given_back_goes_by_what_is_asked_for_now():
    X = unlike()
    fitted = OMVFS(2, n_features_per_view=None, random_state=0).fit(X)
    assert fitted.prepared_ == {"X": ("scale",)}
    for asked in ("auto", None):
        fitted.set_params(prepare=asked)
        for each in (fitted, fitted.selection()):
            np.testing.assert_array_equal(each.transform(X), X)
    fitted.set_params(prepare=fitted.prepared_)
    np.testing.assert_allclose(fitted.transform(X).std(axis=0), 1, rtol=1e-6)


def test_means_are_explained_in_the_units_that_rows_came_in():
    rng = np.random.default_rng(0)
    X = unlike() + [0, 0, 5e4, 0, 0, 1e9] + np.repeat([0, 1], 200)[:, np.newaxis] * 4 * UNITS
    X = X[rng.permutation(400)]
    for kind in (np.asarray, sp.csr_array):
        fitted = OMVFS(2, batch_size=400, random_state=0, prepare="scale").fit(kind(X))
        told = [fitted.explain("X", j).mean for j in range(6)]
        np.testing.assert_allclose(told, X.mean(axis=0), rtol=1e-5)


def test_frames_that_are_split_are_frames():
    names = ["p__a", "q__b", "p__c", "q__d", "p__e", "q__f"]
    frame = pd.DataFrame(unlike() + 100, columns=names)
    frame.iloc[3, 1] = np.nan
    found = OMVFS(2, views="prefix", random_state=0).fit(frame)
    assert found.prepared_ == {"p": ("standardize",), "q": ("standardize",)}


def test_the_printed_method_takes_no_steps_below_zero():
    with pytest.raises(ValueError, match="nothing below 0, as 'standardize' gives"):
        OMVFSPaper(2, prepare="standardize").fit(np.abs(unlike()))


# The steps themselves

X = counts(np.random.default_rng(0), 40, 6)
X[:, 3] = 0
X[7] = 0
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def in_deviations(X):
    return X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


def prepared(kind, *steps, cuts=(0, 40)):
    """Return the last chunk of a stream, and the preparation after it."""
    preparation = Preparation.of(steps, ["x"])
    for start, stop in itertools.pairwise(cuts):
        views, preparation = preparation.learn(as_views({"x": kind(X[start:stop])}))
    return dense(views["x"]), preparation


@every_kind
def test_a_step_on_all_rows_is_what_scikit_learn_makes_of_them(kind):
    np.testing.assert_allclose(prepared(kind, "l2")[0], normalize(X))
    np.testing.assert_allclose(prepared(kind, "log1p")[0], np.log1p(X))
    expected = TfidfTransformer(norm=None).fit_transform(sp.csr_array(X))
    np.testing.assert_allclose(prepared(kind, "tfidf")[0], dense(expected))
    np.testing.assert_allclose(prepared(kind, "scale")[0], in_deviations(X))
    both = prepared(kind, "log1p", "l2")[0]
    np.testing.assert_allclose(both, normalize(np.log1p(X)))


@every_kind
@pytest.mark.parametrize("steps", [*([step] for step in STEPS), ["tfidf", "scale"]], ids=str)
def test_the_last_chunk_knows_all_rows_and_rows_that_are_asked_about_are_not_counted(kind, steps):
    whole, preparation = prepared(kind, *steps)
    if len(steps) == 1:
        last, _ = prepared(kind, *steps, cuts=(0, 1, 17, 40))
        np.testing.assert_allclose(last, whole[17:])
    before = fingerprint(preparation)
    again = preparation.apply(as_views({"x": kind(X[:5])}))
    np.testing.assert_array_equal(dense(again["x"]), whole[:5])
    assert fingerprint(preparation) == before


def test_steps_are_asked_for_in_one_way_or_another_for_all_views_or_one():
    views = as_views({"x": X.copy(), "a:b": X.copy()})
    for one, other in (
        (None, []),
        ("l2", ["l2"]),
        (("tfidf", "l2"), ["tfidf", "l2"]),
        ({"x": "l2", "a:b": None}, ["x:l2"]),
        ({"a:b": ["tfidf", "l2"], "x": "l2"}, ["a:b:tfidf", "l2"]),
    ):
        assert Preparation.of(one, views.names) == Preparation.of(other, views.names)
    after, preparation = Preparation.of(["a:b:scale", "x:l2"], views.names).learn(views)
    np.testing.assert_allclose(after["x"], normalize(X))
    np.testing.assert_allclose(after["a:b"], in_deviations(X))
    assert preparation.steps == (("l2",), ("scale",))


def test_a_mean_of_many_deviations_counts_as_ten_and_does_not_move():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 5))
    means, units = np.array([0.0, 3.0, 1e3, -1e6, 5.0]), np.array([1, 1e-3, 1e4, 1, 0])
    preparation = Preparation.of("scale", ["x"])
    found = []
    for start in (0, 200):
        chunk = as_views({"x": Z[start : start + 200] * units + means}, negative="allow")
        views, preparation = preparation.learn(chunk)
        found.append(views["x"])
    rows = Z * units + means
    mean, deviation = rows[:, :4].mean(axis=0), rows[:, :4].std(axis=0)
    expected = (rows[200:, :4] - mean) / deviation + np.clip(mean / deviation, -10, 10)
    np.testing.assert_allclose(found[1][:, :4], expected, rtol=1e-6)
    np.testing.assert_allclose(np.vstack(found)[:, 4], 10)
    np.testing.assert_allclose(found[0].mean(axis=0), found[1].mean(axis=0), atol=0.9)


def test_what_is_no_step_or_cannot_be_is_refused():
    for bad in ("l3", ["l2", "x:l3"], ["l2", 3], 3, True, {"x": "l3"}, {"x": ["x:l2"]}, {3: "l2"}):
        with pytest.raises(
            ValueError, match=r"Got prepare=.*; expected 'auto', 'l2', 'log1p', 'tfidf'"
        ):
            steps_of("prepare", bad)
    with pytest.raises(ValueError, match=r"View 'x': log1p needs values above -1; got -2"):
        Preparation.of("log1p", ["x"]).learn(as_views({"x": X - 2}, negative="allow"))
    with pytest.raises(ValueError, match=r"prepare for view 'y'; the views are 'x', 'a:b'"):
        check_views(["y:l2"], ["x", "a:b"])
    large = as_views({"x": np.array([[1e154, 0.0], [0.0, 1.0]])})
    with pytest.raises(ValueError, match=r"too large.*'x' holds .* at row 0, column 0"):
        Preparation.of("tfidf", ["x"]).learn(large)


def test_steps_are_learned_with_the_rows_and_applied_to_others():
    first = as_views({"text": np.array([[3.0, 4.0], [6.0, 0.0]])})
    prepared, after = Preparation.of(["scale", "l2"], ["text"]).learn(first)
    np.testing.assert_allclose(prepared["text"], [[0.707, 0.707], [1, 0]], atol=5e-4)
    np.testing.assert_allclose(after.counted[0][0]["about_mean"], [4.5, 8.0])
    later = after.apply(as_views({"text": np.array([[3.0, 8.0]])}))["text"]
    np.testing.assert_allclose(later, [[0.447, 0.894]], atol=5e-4)


def test_hashing_has_bits_within_bounds_and_by_view():
    assert [hash_bits(step) for step in ("hash:20", "l2", "hash:99")] == [20, None, None]
    assert bits_of(["text:hash:20", "l2"], ["text", "image"]) == (20, None)
