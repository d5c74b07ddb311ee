"""`Views` are rows of named blocks: cut, put together, and known once they were checked."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from batches import assert_same, assert_sound, batches, deliveries, quick
from omvfs import OMVFS
from omvfs.data.read import as_views, rechunk, select_columns
from omvfs.data.schema import Schema
from omvfs.data.views import Views
from support import KINDS, dense, fingerprint, reads_of_blocks


@quick
@given(batches(), st.data())
def test_rows_are_the_rows_of_every_block(views, data):
    n_rows = len(views)
    key = data.draw(
        st.one_of(
            st.slices(n_rows),
            st.lists(st.integers(-n_rows, n_rows - 1)),
            st.lists(st.booleans(), min_size=n_rows, max_size=n_rows).map(np.array),
        )
    )
    for got in (views[key], views[key, ...]):
        assert_sound(got)
        for name, block in views.blocks.items():
            assert type(got[name]) is type(block)
            np.testing.assert_array_equal(
                dense(got[name]), dense(block)[key if len(got) else slice(0, 0)]
            )


@quick
@given(deliveries())
def test_concat_of_slices_is_identity(delivery):
    views, pieces = delivery
    assert_same(Views.concat(pieces), views)


def test_one_row_by_number():
    views = Views([np.eye(3)])
    assert views[1].shape == (1, 3)
    assert_same(views[-1], views[2:])
    with pytest.raises(IndexError):
        views[3]


def test_slices_of_a_dense_block_share_its_memory():
    X = np.ones((4, 2))
    assert np.shares_memory(as_views([X])[1:3]["view_0"], X)


@pytest.mark.parametrize("key", [(0, 1), (slice(None), [0]), 1.5, [[0], [1]], [0.0]])
def test_only_rows_and_names_are_keys(key):
    with pytest.raises(TypeError, match="expected the name of a view, or rows"):
        Views([np.eye(3)])[key]


def test_unknown_view_names_the_known_ones():
    with pytest.raises(KeyError, match="no view 'img'; the views are 'text', 'image'"):
        Views({"text": np.eye(2), "image": np.eye(2)})["img"]


def test_views_are_neither_iterable_nor_an_array():
    views = Views([np.eye(2)])
    with pytest.raises(TypeError, match=re.escape("use .blocks.items()")):
        iter(views)
    with pytest.raises(TypeError, match="Views is not one array"):
        np.asarray(views)


def test_blocks_are_read_only_and_views_pickle():
    views = as_views({"a": np.eye(2), "b": sp.csr_array(np.eye(2))})
    with pytest.raises(TypeError):
        views.blocks["a"] = np.ones((2, 2))
    assert_same(pickle.loads(pickle.dumps(views)), views)


def test_attributes():
    views = Views({"a": np.ones((2, 3)), "b": sp.csr_array(np.ones((2, 1)))})
    assert views.names == ("a", "b")
    assert (views.n_rows, len(views), views.shape) == (2, 2, (2, 4))
    assert views.widths == {"a": 3, "b": 1}
    assert views.schema == Schema(("a", "b"), (3, 1), (None, None))
    assert repr(views) == "Views(2 rows; a: 3, b: 1 sparse; float64)"


def test_concat_matches_views_by_name():
    a, b = np.ones((1, 2)), np.zeros((1, 3))
    got = Views.concat([Views({"a": a, "b": b}), Views({"b": b, "a": a})])
    assert got.widths == {"a": 2, "b": 3}
    assert len(got) == 2


def test_concat_of_dense_and_sparse_is_sparse():
    got = Views.concat([Views([np.eye(2)]), Views([sp.csr_matrix(np.eye(2))])])
    assert isinstance(got["view_0"], sp.csr_matrix)
    np.testing.assert_array_equal(dense(got["view_0"]), np.vstack([np.eye(2)] * 2))


def test_concat_refuses_nothing_and_other_widths():
    with pytest.raises(ValueError, match="no batches"):
        Views.concat([])
    with pytest.raises(ValueError, match="View 'view_0' has 3 features; the first chunk had 2"):
        Views.concat([Views([np.eye(2)]), Views([np.eye(3)])])


def test_concat_checks_the_sum_of_squares_again():
    half = as_views([np.full((1, 1), 1.5e19, "float32")])
    both = Views.concat([half, half])
    with pytest.raises(ValueError, match="too large for float32"):
        as_views(both)
    with pytest.raises(ValueError, match="too large for float32"):
        list(rechunk([half, half], 2))


def test_what_was_validated_is_not_validated_again():
    views = as_views({"t": np.eye(3)})
    assert as_views(views) is views
    views["t"][0, 0] = np.nan  # nobody should; it shows that nobody looks
    as_views(views[:2])


def test_what_was_allowed_once_is_checked_when_forbidden():
    allowed = as_views({"t": -np.eye(2)}, negative="allow")
    assert as_views(allowed, negative="allow") is allowed
    with pytest.raises(ValueError, match="Negative values"):
        as_views(allowed)
    with pytest.raises(ValueError, match="NaN"):
        as_views(Views({"t": np.full((1, 1), np.nan)}))


@quick
@given(batches(), st.data())
def test_selected_columns_keep_values_and_kind(views, data):
    support, expected = {}, {}
    for name, width in views.widths.items():
        mask = data.draw(st.lists(st.booleans(), min_size=width, max_size=width).map(np.array))
        order = data.draw(st.permutations(np.flatnonzero(mask).tolist()))
        support[name] = mask if data.draw(st.booleans()) else np.array(order, dtype=int)
        expected[name] = dense(views[name])[:, support[name]]
    got = select_columns(views, support)
    assert list(got) == list(views.names)
    for name, block in got.items():
        assert type(block) is type(views[name])
        np.testing.assert_array_equal(dense(block), expected[name])
        assert not sp.issparse(block) or block.has_sorted_indices


def test_support_is_for_every_view():
    with pytest.raises(ValueError, match="support for views 'a'; expected it for 'a', 'b'"):
        select_columns(Views({"a": np.eye(2), "b": np.eye(2)}), {"a": [0]})


def mixed(n_rows=10):
    rows = np.arange(n_rows, dtype=float)[:, None]
    return Views({"a": rows, "b": sp.csr_array(rows @ np.ones((1, 2)))})


def test_sklearn_counts_and_takes_rows():
    views = mixed()
    assert _num_samples(views) == 10
    for key in (slice(2, 5), [2, 3, 4], np.array([2, 3, 4]), np.arange(10) // 3 == 1):
        got = _safe_indexing(views, key)
        np.testing.assert_array_equal(got["a"][:, 0], np.arange(10)[key])


def test_train_test_split_splits_rows():
    train, test, y_train, y_test = train_test_split(mixed(), np.arange(10), random_state=0)
    for views, y in ((train, y_train), (test, y_test)):
        np.testing.assert_array_equal(views["a"][:, 0], y)
        np.testing.assert_array_equal(views["b"].toarray()[:, 1], y)


class Mean(BaseEstimator):
    """The least estimator that takes views."""

    def __init__(self, view="a"):
        self.view = view

    def fit(self, X, y=None):
        self.mean_ = as_views(X)[self.view].mean()
        return self

    def score(self, X, y=None):
        return -abs(as_views(X)[self.view].mean() - self.mean_)


def test_grid_search_splits_rows():
    search = GridSearchCV(Mean(), {"view": ["a", "b"]}, cv=KFold(2), error_score="raise")
    search.fit(mixed())
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], -5)


def test_a_batch_is_read_once_whatever_its_form(monkeypatch):
    X = np.random.default_rng(0).random((40, 5))
    frames = {"a": pd.DataFrame(X), "b": pl.DataFrame(X[:, :3])}
    reads = reads_of_blocks(monkeypatch)
    model = OMVFS(2, batch_size=15, random_state=0).fit(frames)
    assert reads == {"a": [40], "b": [40]}
    model.partial_fit({"a": X[:7], "b": sp.csr_array(X[:7, :3])})
    model.partial_fit({"a": X[:7].astype(np.float32), "b": X[:7, :3].astype(np.float32)})
    assert reads == {"a": [40, 7, 7], "b": [40, 7, 7]}
    reads.clear()
    OMVFS(2, batch_size=15, views=[2, 3], random_state=0).fit(X).partial_fit(X[:7])
    assert reads == {None: [40, 7]}


def test_views_beside_each_other_are_those_of_one_batch():
    text, image = sp.csr_array(np.eye(3, dtype=np.float32)), np.ones((3, 2))
    names = {"text": ["x", "y", "z"]}
    beside = Views.beside([Views({"text": text}, feature_names=names), Views({"image": image})])
    both = Views({"text": text, "image": image}, feature_names=names)
    assert fingerprint(dict(beside.blocks)) == fingerprint(dict(both.blocks))
    assert beside.schema == both.schema


def test_views_beside_each_other_must_fit():
    a, b = Views({"a": np.eye(2)}), Views({"b": np.eye(3)})
    with pytest.raises(ValueError, match="different numbers of rows"):
        Views.beside([a, b])
    with pytest.raises(ValueError, match="'a', 'a'; expected each of them once"):
        Views.beside([a, a])
    with pytest.raises(ValueError, match="no batches"):
        Views.beside([])


def test_what_is_known_of_views_beside_each_other_is_what_is_known_of_all():
    checked, other = as_views({"a": np.eye(2)}), Views({"b": -np.eye(2)})
    with pytest.raises(ValueError, match="view 'b' holds -1"):
        as_views(Views.beside([checked, other]))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_what_replaces_a_block_is_as_if_it_had_been_read(kind):
    X = np.array([[1e-200, 2.0], [0.0, 4.0]])
    views = Views({"a": kind(X), "b": np.eye(2)}, feature_names={"a": ["x", "y"], "b": ["u", "v"]})
    # Out of order, with a value that becomes zero, a type of its own, and fewer columns.
    made = {"b": views["b"][:, :1].astype(np.float32), "a": kind(views["a"] * 1e-200)}
    after, read = views.replaced(made), Views(made)
    assert after.names == ("b", "a")
    assert fingerprint(dict(after.blocks)) == fingerprint(dict(read.blocks))
    assert after.schema.feature_names == (None, ("x", "y"))
    assert {block.dtype for block in after.blocks.values()} == {np.dtype(np.float64)}
    np.testing.assert_array_equal(dense(views["a"]), X)


def test_what_replaces_a_block_is_checked_again_and_has_its_rows():
    views = as_views({"a": np.eye(2)})
    with pytest.raises(ValueError, match="view 'a' holds -1"):
        as_views(views.replaced({"a": -views["a"]}))
    with pytest.raises(ValueError, match="1 rows in the place of 2"):
        views.replaced({"a": views["a"][:1]})
    with pytest.raises(ValueError, match="Got views 'b'; expected 'a'"):
        views.replaced({"b": views["a"]})
    for strange in (np.eye(2, dtype=int), np.eye(2, dtype=complex), sp.csc_array(np.eye(2))):
        with pytest.raises(TypeError, match="expected an array or CSR of floats"):
            views.replaced({"a": strange})


def test_names_are_given_to_what_was_read():
    views = as_views({"a": np.eye(2), "b": np.eye(2)})
    named = views.named({"a": ["x", "y"]})
    assert named["a"] is views["a"]
    assert named.schema.feature_names == (("x", "y"), None)
    with pytest.raises(ValueError, match="'a' has 2 features, but 1 feature names"):
        views.named({"a": ["x"]})
