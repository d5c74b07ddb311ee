"""One X becomes views, by widths, columns or names; rows by name; chunks; suspect columns."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder

from batches import assert_same, assert_sound, deliveries, quick
from omvfs.baselines import ColumnSum, Variance
from omvfs.data.read import as_views, columns_by_view, find_suspects, rechunk, select_columns
from omvfs.data.views import Views
from support import KINDS, counts, dense


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_x_is_split_by_columns(kind):
    X = counts(np.random.default_rng(0), 6, 5)
    for views, expected in [
        ([2, 3], {"view_0": [0, 1], "view_1": [2, 3, 4]}),
        (np.array([5]), {"view_0": [0, 1, 2, 3, 4]}),
        ({"a": slice(3), "b": slice(-2, None)}, {"a": [0, 1, 2], "b": [3, 4]}),
        ({"a": [4, 0], "b": range(1, 4)}, {"a": [4, 0], "b": [1, 2, 3]}),
        ({"a": [True, False] * 2 + [True], "b": [1, 3]}, {"a": [0, 2, 4], "b": [1, 3]}),
        (
            {"a": lambda X: slice(0, X.shape[1] - 1), "b": lambda X: [4]},
            {"a": [0, 1, 2, 3], "b": [4]},
        ),
    ]:
        got = as_views(KINDS[kind](X), views=views)
        assert_sound(got)
        assert got.names == tuple(expected)
        for name, columns in expected.items():
            np.testing.assert_array_equal(dense(got[name]), X[:, columns])


def test_a_bad_split_is_refused():
    for views, message in [
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
        ({"a": [0, 1], "b": [3]}, r"Got 2 of 5 columns in no view: '2', '4'"),
        ({"a": [0, 1, 2], "b": [2, 3, 4]}, "Column '2' is in views 'a', 'b'"),
        ({"a": [0, 1, 1], "b": [2, 3, 4]}, "Column '1' is in views 'a' at once, or twice in one"),
        ({"a": lambda X: [X.shape[1]]}, r"View 'a' has columns \[5\], but X has 5 features"),
        ({"a": lambda X: []}, r"View 'a' has columns \[\]; expected at least one index"),
        ("prefix", 'views="prefix", but X has no column names.*set_output'),
        *(
            (odd, f"Got views='{odd}'; expected 'prefix', 'prefix:_' or 'prefix:_:2'.*, widths, or")
            for odd in ("suffix", "prefix:", "prefix:_:", "prefix:_:0", "prefix:_:two", "prefix_2")
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            as_views(np.ones((2, 5)), views=views)
    for X in ([np.eye(2)], {"a": np.eye(2)}, Views([np.eye(2)])):
        with pytest.raises(ValueError, match="already is a collection of views"):
            as_views(X, views=[1, 1])
    with pytest.raises(ValueError, match="View 'v' has columns that X lacks: 'z'"):
        as_views(pd.DataFrame({"a": [1.0], "b": [0.0], "c": [5.0]}), views={"v": ["a", "z"]})


def test_views_by_name_may_differ_in_width_from_fold_to_fold():
    chance = np.random.default_rng(0)
    places = pd.Series(chance.integers(40, size=60)).map("place{}".format)
    frame = pd.DataFrame({"place": places, "width": chance.random(60), "height": chance.random(60)})
    columns = ColumnTransformer(
        [
            ("place", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["place"]),
            ("size", MaxAbsScaler(), ["width", "height"]),
        ]
    ).set_output(transform="pandas")
    by_pattern = {view: make_column_selector(pattern=f"^{view}__") for view in ("place", "size")}
    for split in ("prefix", by_pattern):
        pipe = make_pipeline(columns, ColumnSum(views=split))
        grid = {"columnsum__n_features_per_view": [1, 2]}
        search = GridSearchCV(pipe, grid, cv=KFold(3), error_score="raise").fit(frame)
        made, selector = search.best_estimator_
        assert list(selector.schema_.names) == ["place", "size"]
        chosen = made.get_feature_names_out()[selector.get_support()]
        assert list(selector.get_feature_names_out()) == list(chosen)


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


def test_columns_without_a_prefix_are_named():
    for odd in ("a", "text__", "__a", "text_a"):
        said = rf"not called \"view__feature\": '{odd}'\. Leave them out"
        with pytest.raises(ValueError, match=said):
            as_views(named([*NAMES, odd]), views="prefix")


PROFILE = ["Cells_AreaShape_Area", "Nuclei_Texture_Contrast_DNA_3_0", "Cells_Texture_Gabor_ER"]


def test_a_split_may_say_what_stands_between_and_of_how_many_parts_a_view_is():
    for split, expected in [
        ("prefix:_", {"Cells": [0, 2], "Nuclei": [1]}),
        ("prefix:_:2", {"Cells_AreaShape": [0], "Nuclei_Texture": [1], "Cells_Texture": [2]}),
        ("prefix:Area", {"Cells_": [0]}),
    ]:
        frame = named(PROFILE[: 1 if split == "prefix:Area" else 3])
        views = as_views(frame, views=split)
        # Names stay whole: they are those of the columns.
        assert {view: list(own) for view, own in views.feature_names.items()} == {
            view: [PROFILE[j] for j in own] for view, own in expected.items()
        }
    with pytest.raises(
        ValueError, match=r"not called \"view_part_feature\": 'Cells_Count'\. Leave"
    ):
        as_views(named([*PROFILE, "Cells_Count"]), views="prefix:_:2")
    split = ColumnSum(views="prefix:_", n_features_per_view=1).fit(named(PROFILE))
    assert set(split.get_feature_names_out()) < set(PROFILE)


BY_TYPE = {
    "text": make_column_selector(dtype_include="float64"),
    "image": make_column_selector(dtype_include="float32"),
}


@pytest.mark.parametrize("split", ["prefix", BY_TYPE], ids=["prefix", "selectors"])
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
    with pytest.raises(TypeError, match="Got object; expected an array"):
        selector.transform(object())
    with pytest.raises(ValueError, match=r"contains NaN: view '.*', row 0"):
        selector.transform(frame * np.nan)
    selector.partial_fit(frame)
    assert selector.n_samples_seen_ == 60


# Chunks


@quick
@given(deliveries(), st.integers(1, 14))
def test_any_delivery_of_rows_becomes_the_same_chunks(delivery, batch_size):
    views, pieces = delivery
    whole = list(rechunk([views], batch_size))
    parts = list(rechunk([dict(piece.blocks) for piece in pieces], batch_size))
    assert [len(chunk) for chunk in whole[:-1]] == [batch_size] * (len(whole) - 1)
    assert 1 <= len(whole[-1]) <= batch_size
    assert_same(Views.concat(whole), views)
    for got, expected in zip(parts, whole, strict=True):
        assert_same(got, expected)


def test_rechunk_lets_the_source_reuse_its_buffer():
    def source() -> Iterator[np.ndarray]:
        buffer = np.empty((2, 1))
        for start in range(0, 6, 2):
            buffer[:, 0] = start, start + 1
            yield buffer

    got = [chunk["X"].ravel().tolist() for chunk in rechunk(source(), 3)]
    assert got == [[0, 1, 2], [3, 4, 5]]


def test_rechunk_passes_on_its_options():
    chunks = list(rechunk([np.array([[-1.0, 2.0, 3.0]])] * 3, 2, views=[1, 2], negative="clip"))
    assert [chunk["view_0"].tolist() for chunk in chunks] == [[[0], [0]], [[0]]]
    (chunk,) = rechunk([named(NAMES)[:7], named(NAMES)[7:]], 30, views="prefix")
    assert (len(chunk), chunk.widths) == (30, {"text": 3, "image": 2})


@pytest.mark.parametrize(("batch_size", "error"), [(0, ValueError), (1.5, TypeError)])
def test_rechunk_refuses_a_bad_batch_size_at_once(batch_size, error):
    with pytest.raises(error):
        rechunk([], batch_size)


# Rows by name

ROW = st.dictionaries(st.text(max_size=2), st.integers(0, 3).map(float), max_size=4)
ROWS = st.lists(ROW, min_size=1, max_size=6).filter(any)


@given(ROWS)
def test_rows_by_name_are_the_matrix_of_all_names(rows):
    read = as_views({"text": rows})
    names = list(dict.fromkeys(name for row in rows for name in row))
    assert read.feature_names["text"].tolist() == names
    expected = [[row.get(name, 0.0) for name in names] for row in rows]
    np.testing.assert_array_equal(read["text"].toarray(), expected)
    assert read["text"].has_canonical_format
    # One X alone is a view too.
    np.testing.assert_array_equal(dense(as_views(rows)["X"]), expected)


def test_a_row_that_is_none_lacks_the_view_and_an_empty_one_does_not():
    X = {"text": [{"a": 1.0}, {}, None], "image": np.ones((3, 1))}
    assert as_views(X, missing="allow").present["text"].tolist() == [True, True, False]
    with pytest.raises(ValueError, match="1 of 3 rows lack view 'text'"):
        as_views(X)
    with pytest.raises(ValueError, match="Row 1 lacks every view"):
        as_views([{"a": 1.0}, None], missing="allow")


def test_values_by_name_are_checked_like_all_others():
    for rows, error, said in [
        ([{"a": "1"}], TypeError, "'text' has str as a value in row 0; expected numbers"),
        ([{"a": 1.0}, {"b": None}], TypeError, "NoneType as a value in row 1"),
        ([{1: 1.0}], TypeError, "with the name 1; expected names that are str"),
        ([{"a": np.nan}], ValueError, "contains NaN: view 'text', row 0, column 0"),
        ([{"a": 1.0}, {"b": -1.0}], ValueError, r"-1 at row 1.*feature 'b'"),
        ([{}, {}], ValueError, "'text' has 0 features"),
        ([{"a": 1}, {"b": 10**400}], ValueError, r"'text' has int beyond 1.8e\+308 .*row 1 .*'b'"),
        ([{"a": Fraction(-(10**400), 3)}], ValueError, r"has Fraction beyond -1.8e\+308 .*row 0"),
    ]:
        with pytest.raises(error, match=said):
            as_views({"text": rows})


def test_the_order_of_names_does_not_matter_to_those_who_have_learned_them():
    X = [{"a": 1.0, "b": 5.0}, {"b": 1.0, "c": 2.0}]
    selector = Variance(n_features_per_view=1).fit({"text": X})
    new = [{"c": 4.0, "b": 3.0}, {"a": 1.0}]
    np.testing.assert_array_equal(dense(selector.transform({"text": new})), [[3.0], [0.0]])
    np.testing.assert_array_equal(dense(selector.selection().transform({"text": new})), [[3], [0]])
    with pytest.raises(ValueError, match=r"such as 'd'.*new_features='grow'"):
        selector.transform({"text": [{"d": 1.0}]})


@given(st.lists(ROWS, min_size=1, max_size=4), st.integers(1, 5))
def test_any_delivery_of_rows_by_name_becomes_the_same_chunks(batches, size):
    def chunks(given):
        return [
            (chunk.feature_names["X"].tolist(), dense(chunk["X"]))
            for chunk in rechunk(given, size, new_features="grow")
        ]

    whole = [row for batch in batches for row in batch]
    one_by_one = chunks([[row] for row in whole])
    for (names, X), (expected, Y) in zip(chunks(batches), one_by_one, strict=True):
        assert set(names) >= set(expected)
        order = [names.index(name) for name in expected]
        np.testing.assert_array_equal(X[:, order], Y)
        assert np.count_nonzero(X) == np.count_nonzero(Y)


# Columns that outweigh all others

every_form = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def together(n=60, width=12):
    """Return rows in two groups, which all columns tell."""
    X = np.random.default_rng(0).random((n, width))
    X[::2] += 1
    return X


def of_share(X, share):
    """Return rows of which the first column, of no group, has a share of the variance."""
    X = X.copy()
    rest = np.sum((X[:, 1:] - X[:, 1:].mean(axis=0)) ** 2)
    X[:, 0] = np.arange(len(X)) // 2 % 2 * 2 * np.sqrt(share / (1 - share) * rest / len(X))
    return X


@every_form
def test_a_column_that_hides_how_the_others_vary_together_is_found(kind):
    for width, share, told in [
        (12, 0.45, 0),
        (12, 0.55, 1),
        (3, 0.85, 0),
        (3, 0.95, 1),
        (8, 0.6, 0),
    ]:
        X = of_share(together(width=width), share)
        found = find_suspects(Views({"rows": kind(X)}))
        assert [(each.column, pytest.approx(each.share)) for each in found] == [(0, share)] * told
        # Of fewer rows there is no telling.
        assert find_suspects(Views({"rows": kind(X[:19])})) == []


@every_form
@pytest.mark.parametrize("n", [30, 300])
def test_a_column_beside_which_there_is_only_chance_is_not(kind, n):
    chance = np.random.default_rng(0).random((n, 12))
    X = of_share(chance, 0.95)
    # Alone, or beside columns that do not vary, it holds all.
    for own in (X, X[:, :1], np.hstack([X[:, :1], np.full((n, 9), 0.1)])):
        assert find_suspects(Views({"rows": kind(own)})) == []
    # One that is large in all rows alike tells none of them apart.
    X = together(n)
    X[:, 3] = 1000.0
    assert find_suspects(Views({"rows": kind(X)})) == []


def test_rows_that_lack_a_view_are_no_group_of_it():
    X = of_share(np.random.default_rng(0).random((60, 12)) + 5, 0.95)
    has = np.arange(60) < 50
    X[~has] = 0.0
    views = Views({"a": X, "b": together()}, present={"a": has})
    assert find_suspects(views) == []


def test_more_columns_than_can_be_numbered_are_refused_before_memory_is_taken():
    places = np.arange(2), np.array([0, 2**31], np.int64)
    X = sp.csr_array((np.ones(2), places), shape=(2, 2**31 + 1))
    with pytest.raises(ValueError, match=r"'X' has 2,147,483,649 features; expected fewer"):
        as_views(X)


def test_columns_are_taken_by_mask_and_number_and_views_by_width():
    views = as_views({"text": np.eye(2), "image": np.ones((2, 3))})
    chosen = select_columns(views, {"text": [False, True], "image": [2, 0]})
    assert chosen["text"].tolist() == [[0.0], [1.0]]
    found = columns_by_view([3, 2], np.ones((1, 5)), 5)
    assert found == {"view_0": slice(0, 3), "view_1": slice(3, 5)}
