"""One 2-D X becomes views by widths, columns or names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector

from batches import assert_sound
from omvfs.baselines import ColumnSum
from omvfs.data.read import as_views, rechunk
from omvfs.data.views import Views
from stand_ins import Untouchable
from support import KINDS, counts, dense


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    ("views", "expected"),
    [
        ([2, 3], {"view_0": [0, 1], "view_1": [2, 3, 4]}),
        (np.array([5]), {"view_0": [0, 1, 2, 3, 4]}),
        ({"a": slice(3), "b": slice(-2, None)}, {"a": [0, 1, 2], "b": [3, 4]}),
        ({"a": [4, 0], "b": range(1, 3)}, {"a": [4, 0], "b": [1, 2]}),
        ({"a": [True, False, False, True, False]}, {"a": [0, 3]}),
    ],
)
def test_one_x_is_split_by_columns(kind, views, expected):
    X = counts(np.random.default_rng(0), 6, 5)
    got = as_views(KINDS[kind](X), views=views, remainder="drop")
    assert_sound(got)
    assert got.names == tuple(expected)
    for name, columns in expected.items():
        np.testing.assert_array_equal(dense(got[name]), X[:, columns])


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([2, 2], r"Got views=\[2, 2\], 4 features in all; X has 5"),
        ([6, -1], "positive widths"),
        ([], "X has 5"),
        ({"a": [0, 5]}, r"View 'a' has columns \[0, 5\], but X has 5 features"),
        ({"a": [-6]}, "X has 5 features"),
        ({"a": slice(0, 6)}, "X has 5 features"),
        ({"a": slice(5, None)}, "expected at least one index"),
        ({"a": []}, "expected at least one index"),
        ({"a": 3}, "expected at least one index"),
        ({"a": [True, False]}, "a mask of 5 entries"),
        ({"a": ["f0"]}, "View 'a' has columns by name, but X has no column names"),
        ({"a": [0, 1], "b": [3]}, r"Got 2 of 5 columns in no view: '2', '4'.*remainder='drop'"),
        ({"a": [0, 1, 2], "b": [2, 3, 4]}, "Column '2' is in views 'a', 'b'"),
        ({"a": [0, 1, 1], "b": [2, 3, 4]}, "Column '1' is in views 'a' at once, or twice in one"),
        ({"a": lambda X: [X.shape[1]]}, r"View 'a' has columns \[5\], but X has 5 features"),
        ({"a": lambda X: []}, r"View 'a' has columns \[\]; expected at least one index"),
        ("prefix", 'views="prefix", but X has no column names.*ViewTransformer'),
        ("suffix", "Got views='suffix'; expected 'prefix', widths, or columns by view name"),
    ],
)
def test_a_bad_split_is_refused(views, message):
    with pytest.raises(ValueError, match=message):
        as_views(np.ones((2, 5)), views=views)


def test_views_cannot_be_split_again():
    for X in ([np.eye(2)], {"a": np.eye(2)}, Views([np.eye(2)])):
        with pytest.raises(ValueError, match="already is a collection of views"):
            as_views(X, views=[1, 1])


def test_unknown_column_names_are_listed():
    with pytest.raises(ValueError, match="View 'v' has columns that X lacks: 'z'"):
        as_views(pd.DataFrame({"a": [1.0], "b": [0.0], "c": [5.0]}), views={"v": ["a", "z"]})


def named(names, kind=pd.DataFrame, n_rows=30):
    X = counts(np.random.default_rng(0), n_rows, len(names))
    return kind({name: X[:, j] for j, name in enumerate(names)})


NAMES = ["text__b", "image__x", "text__a", "image__y__z", "text__c_"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_prefixes_of_column_names_make_views(kind):
    frame = named(NAMES, kind)
    views = as_views(frame, views="prefix")
    assert {view: list(own) for view, own in views.feature_names.items()} == {
        "text": ["b", "a", "c_"],
        "image": ["x", "y__z"],
    }
    np.testing.assert_array_equal(views["image"], np.asarray(frame)[:, [1, 3]])


@pytest.mark.parametrize("odd", ["a", "text__", "__a", "text_a"])
def test_columns_without_a_prefix_are_named(odd):
    with pytest.raises(
        ValueError, match=rf"not called \"view__feature\": '{odd}'\. Leave them out"
    ):
        as_views(named([*NAMES, odd]), views="prefix")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_callables_find_columns_of_any_x(kind):
    X = counts(np.random.default_rng(0), 6, 5)
    split = {"a": lambda X: slice(0, X.shape[1] - 1), "b": lambda X: [X.shape[1] - 1]}
    got = as_views(KINDS[kind](X), views=split)
    np.testing.assert_array_equal(dense(got["a"]), X[:, :4])
    np.testing.assert_array_equal(dense(got["b"]), X[:, 4:])


def test_column_selectors_find_columns_of_a_frame():
    frame = named(NAMES).astype({"image__x": "float32", "image__y__z": "float32"})
    by_pattern = {
        "text": make_column_selector(pattern="^text__"),
        "image": make_column_selector(pattern="^image__"),
    }
    by_type = {
        "text": make_column_selector(dtype_include="float64"),
        "image": make_column_selector(dtype_include="float32"),
    }
    expected = as_views(frame, views="prefix")
    for split in (by_pattern, by_type):
        got = as_views(frame, views=split)
        assert got.schema == expected.schema
        for view in ("text", "image"):
            np.testing.assert_array_equal(got[view], expected[view])


def test_a_feature_keeps_a_name_that_is_not_its_views():
    views = as_views(named(NAMES), views={"text": [0, 2], "other": [1], "both": [3, 4]})
    assert [list(own) for own in views.feature_names.values()] == [
        ["b", "a"],
        ["image__x"],
        ["image__y__z", "text__c_"],
    ]


SPLITS = {
    "prefix": "prefix",
    "selectors": {
        "text": make_column_selector(dtype_include="float64"),
        "image": make_column_selector(dtype_include="float32"),
    },
}


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_columns_found_in_fit_are_those_of_later_rows(split):
    frame = named(NAMES).astype({"image__x": "float32", "image__y__z": "float32"})
    selector = clone(ColumnSum(views=split, n_features_per_view=1)).fit(frame)
    names = list(selector.get_feature_names_out())
    assert set(names) < set(NAMES)
    assert [NAMES[j] for j in selector.get_support(indices=True)] == sorted(names, key=NAMES.index)
    expected = np.asarray(frame[names])
    np.testing.assert_array_equal(selector.transform(frame), expected)
    # Of another type, a selector by type would find other columns.
    np.testing.assert_allclose(selector.transform(frame.astype("float32")), expected, rtol=1e-6)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(selector.transform(np.asarray(frame)), expected)
    for other in (
        frame[NAMES[::-1]],
        frame.rename(columns={"text__a": "text__d"}),
        frame[NAMES[:3]],
    ):
        with pytest.raises(ValueError, match="feature names should match"):
            selector.transform(other)
    with pytest.raises(TypeError, match=r"Got stand_ins\.Untouchable"):
        selector.transform(Untouchable())
    with pytest.raises(ValueError, match="lack view 'text', such as row 0"):
        selector.transform(frame * np.nan)
    selector.partial_fit(frame)
    assert selector.n_samples_seen_ == 60


def test_rechunk_splits_by_prefix():
    frame = named(NAMES)
    chunks = list(rechunk([frame[:7], frame[7:]], 10, views="prefix"))
    assert [len(chunk) for chunk in chunks] == [10, 10, 10]
    assert chunks[0].widths == {"text": 3, "image": 2}


PARTS = {
    "te_": pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["i", "j"]),
    "image__1": pd.DataFrame({"a": [5.0, 6.0], 7: [8.0, 9.0]}, index=["i", "j"]),
}
