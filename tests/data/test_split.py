"""One 2-D X becomes views by widths, columns or names."""

import numpy as np
import pandas as pd
import pytest

from batches import assert_sound
from omvfs.data.views import Views, as_views
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
