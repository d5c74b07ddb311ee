"""What is a collection of views, how they are named, and whether they fit."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from omvfs.data.read import as_views
from omvfs.data.views import Views
from support import KINDS


def test_a_dict_of_dok_is_views_and_a_dok_is_one_view():
    X = sp.dok_matrix(np.eye(2))
    assert isinstance(X, dict)
    assert as_views(X).names == ("X",)
    assert as_views({"a": X, "b": X}).names == ("a", "b")


@pytest.mark.parametrize(
    "X", [[[1, 2], [3, 4]], ([1, 2], [3, 4]), [np.array([1, 2]), np.array([3, 4])]]
)
def test_a_list_of_rows_is_one_x(X):
    views = as_views(X)
    assert views.names == ("X",)
    assert views["X"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("collection", [list, tuple])
def test_a_list_of_2d_blocks_is_views(collection):
    views = as_views(collection([np.eye(2), sp.csr_array(np.eye(2)), pd.DataFrame(np.eye(2))]))
    assert views.names == ("view_0", "view_1", "view_2")


def test_a_list_of_blocks_and_something_else_is_refused():
    with pytest.raises(ValueError, match="View 'view_1' has no 2-D shape"):
        as_views([np.eye(2), np.ones(2)])


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ({}, ValueError, "Got no views"),
        ({0: np.eye(2)}, TypeError, "Got views 0; expected at least one, each named by a str"),
        (np.eye(2), TypeError, "Got ndarray; expected a dict or list"),
        (sp.dok_array(np.eye(2)), TypeError, "Got dok_array; expected a dict or list"),
    ],
)
def test_views_of_a_wrong_collection(blocks, error, message):
    with pytest.raises(error, match=message):
        Views(blocks)


def test_given_names_come_before_those_of_a_frame():
    views = Views(
        {"t": pd.DataFrame({"a": [1.0], "b": [0.0], "c": [5.0]})},
        feature_names={"t": ["x", "y", "z"]},
    )
    assert views.feature_names["t"].tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ({"u": ["x"]}, ValueError, "feature names of view 'u'; the views are 't'"),
        ({"t": ["x"]}, ValueError, "View 't' has 2 features, but 1 feature names"),
        ({"t": ["x", "x"]}, ValueError, "2 feature names, 1 of them different"),
        ({"t": ["x", 1]}, TypeError, "expected a list of str"),
        ({"t": "xy"}, TypeError, "expected a list of str"),
    ],
)
def test_bad_feature_names_are_refused(names, error, message):
    with pytest.raises(error, match=message):
        Views({"t": np.eye(2)}, feature_names=names)


def test_different_numbers_of_rows_are_all_listed():
    with pytest.raises(ValueError, match=r"rows \('a': 2, 'b': 1,000, 'c': 2\)"):
        as_views({"a": np.eye(2), "b": np.ones((1000, 1)), "c": sp.csr_array((2, 2))})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_empty_chunks_are_refused(kind):
    empty = KINDS[kind](np.ones((0, 2)))
    for X in ([empty], as_views([KINDS[kind](np.ones((2, 2)))])[:0]):
        with pytest.raises(ValueError, match=r"Got a chunk of 0 rows .*view_0: 2.* Skip it"):
            as_views(X)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\)"):
        as_views(empty)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_views_without_features_are_refused(kind):
    empty = KINDS[kind](np.ones((2, 0)))
    with pytest.raises(ValueError, match="View 'b' has 0 features; expected at least 1"):
        as_views({"a": np.eye(2), "b": empty})
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\) \(shape=\(2, 0\)\)"):
        as_views(empty)
