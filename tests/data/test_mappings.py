"""Rows by name: a list of mappings is a view wherever views are taken."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omvfs import Views
from omvfs.baselines import Variance
from omvfs.data.read import as_views, rechunk
from support import dense

ROW = st.dictionaries(st.text(max_size=2), st.integers(0, 3).map(float), max_size=4)
ROWS = st.lists(ROW, min_size=1, max_size=6).filter(any)


def frame_of(rows):
    return pd.DataFrame(rows).fillna(0.0)


@given(ROWS)
def test_they_are_the_frame_of_the_same_columns(rows):
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


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"a": "1"}], "'text' has str as a value in row 0; expected numbers"),
        ([{"a": 1.0}, {"b": None}], "NoneType as a value in row 1"),
        ([{1: 1.0}], "with the name 1; expected names that are str"),
    ],
)
def test_what_is_no_number_by_name_is_refused(rows, sentence):
    with pytest.raises(TypeError, match=sentence):
        as_views({"text": rows})


def test_values_are_checked_like_all_others():
    with pytest.raises(ValueError, match="contains NaN: view 'text', row 0, column 0"):
        as_views({"text": [{"a": np.nan}]})
    with pytest.raises(ValueError, match=r"-1 at row 1.*feature 'b'"):
        as_views({"text": [{"a": 1.0}, {"b": -1.0}]})
    with pytest.raises(ValueError, match="'text' has 0 features"):
        as_views({"text": [{}, {}]})


def test_the_order_of_names_does_not_matter_to_those_who_have_learned_them():
    X = [{"a": 1.0, "b": 5.0}, {"b": 1.0, "c": 2.0}]
    selector = Variance(n_features_per_view=1).fit({"text": X})
    new = [{"c": 4.0, "b": 3.0}, {"a": 1.0}]
    np.testing.assert_array_equal(dense(selector.transform({"text": new})), [[3.0], [0.0]])
    np.testing.assert_array_equal(dense(selector.selection().transform({"text": new})), [[3], [0]])
    with pytest.raises(ValueError, match=r"such as 'd'.*new_features='grow'"):
        selector.transform({"text": [{"d": 1.0}]})


@given(st.lists(ROWS, min_size=1, max_size=4), st.integers(1, 5))
def test_rechunk_ignores_delivery(batches, size):
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


def test_batches_of_other_names_are_put_together_by_name():
    a, b = Views({"text": [{"x": 1.0}]}), Views({"text": [{"y": 2.0, "x": 3.0}]})
    both = Views.concat([a, b], new_features="grow")
    assert both.feature_names["text"].tolist() == ["x", "y"]
    np.testing.assert_array_equal(both["text"].toarray(), [[1.0, 0.0], [3.0, 2.0]])
