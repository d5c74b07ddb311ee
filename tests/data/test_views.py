"""`Views` are rows of named blocks: cut, put together, aligned, known once they were checked."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from batches import assert_same, assert_sound, batches, deliveries, quick
from omvfs import OMVFS
from omvfs.data.read import as_views, rechunk, select_columns
from omvfs.data.schema import Schema
from omvfs.data.views import Views
from support import KINDS, counts, dense, fingerprint, reads_of_blocks


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


def test_keys_are_rows_or_names():
    X = np.eye(3)
    views = Views({"text": X, "image": np.ones((3, 2))})
    assert views[1].shape == (1, 5)
    assert_same(views[-1], views[2:])
    assert np.shares_memory(as_views([X])[1:3]["view_0"], X)
    with pytest.raises(IndexError):
        views[3]
    for key in ((0, 1), (slice(None), [0]), 1.5, [[0], [1]], [0.0]):
        with pytest.raises(TypeError, match="expected the name of a view, or rows"):
            views[key]
    with pytest.raises(KeyError, match="no view 'img'; the views are 'text', 'image'"):
        views["img"]
    with pytest.raises(TypeError, match=re.escape("use .blocks.items()")):
        iter(views)
    with pytest.raises(TypeError, match="Views is not one array"):
        np.asarray(views)


def test_attributes():
    views = Views({"a": np.ones((2, 3)), "b": sp.csr_array(np.ones((2, 1)))})
    assert views.names == ("a", "b")
    assert (views.n_rows, len(views), views.shape) == (2, 2, (2, 4))
    assert views.widths == {"a": 3, "b": 1}
    assert views.schema == Schema(("a", "b"), (3, 1), (None, None))
    assert repr(views) == "Views(2 rows; a: 3, b: 1 sparse; float64)"
    with pytest.raises(TypeError):
        views.blocks["a"] = np.ones((2, 2))
    assert_same(pickle.loads(pickle.dumps(views)), views)


def test_what_is_a_collection_of_views():
    X = sp.dok_matrix(np.eye(2))
    assert isinstance(X, dict)
    assert as_views(X).names == ("X",)
    assert as_views({"a": X, "b": X}).names == ("a", "b")
    for rows in ([[1, 2], [3, 4]], ([1, 2], [3, 4]), [np.array([1, 2]), np.array([3, 4])]):
        views = as_views(rows)
        assert views.names == ("X",)
        assert views["X"].tolist() == [[1, 2], [3, 4]]
    for collection in (list, tuple):
        blocks = collection([np.eye(2), sp.csr_array(np.eye(2)), pd.DataFrame(np.eye(2))])
        assert as_views(blocks).names == ("view_0", "view_1", "view_2")
    with pytest.raises(ValueError, match="View 'view_1' has no 2-D shape"):
        as_views([np.eye(2), np.ones(2)])
    for blocks, message in [
        ({}, "Got no views"),
        ({0: np.eye(2)}, "Got views 0; expected at least one, each named by a str"),
        (np.eye(2), "Got ndarray; expected a dict or list"),
        (sp.dok_array(np.eye(2)), "Got dok_array; expected a dict or list"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            Views(blocks)


def test_names_of_features_can_be_given():
    frame = pd.DataFrame({"a": [1.0], "b": [0.0]})
    given_names = Views({"t": frame}, feature_names={"t": ["x", "y"]})
    assert given_names.feature_names["t"].tolist() == ["x", "y"]
    views = as_views({"t": np.eye(2), "u": np.eye(2)})
    named = views.named({"t": ["x", "y"]})
    assert named["t"] is views["t"]
    assert named.schema.feature_names == (("x", "y"), None)
    for names, message in [
        ({"v": ["x"]}, "feature names of view 'v'; the views are 't', 'u'"),
        ({"t": ["x"]}, "View 't' has 2 features, but 1 feature names"),
        ({"t": ["x", "x"]}, "2 feature names, 1 of them different"),
        ({"t": ["x", 1]}, "expected a list of str"),
        ({"t": "xy"}, "expected a list of str"),
    ]:
        for give in (views.named, lambda names: Views(dict(views.blocks), feature_names=names)):
            with pytest.raises((TypeError, ValueError), match=message):
                give(names)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_rows_and_features_are_there_and_as_many_in_every_view(kind):
    empty = KINDS[kind](np.ones((0, 2)))
    for X in ([empty], as_views([KINDS[kind](np.ones((2, 2)))])[:0]):
        with pytest.raises(ValueError, match=r"Got a chunk of 0 rows .*view_0: 2.* Skip it"):
            as_views(X)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 2\)\)"):
        as_views(empty)
    empty = KINDS[kind](np.ones((2, 0)))
    with pytest.raises(ValueError, match="View 'b' has 0 features; expected at least 1"):
        as_views({"a": np.eye(2), "b": empty})
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\) \(shape=\(2, 0\)\)"):
        as_views(empty)
    with pytest.raises(ValueError, match=r"rows \('a': 2, 'b': 1,000, 'c': 2\)"):
        as_views({"a": np.eye(2), "b": np.ones((1000, 1)), "c": KINDS[kind](np.eye(2))})


def test_views_of_2_to_the_31_columns_are_refused():
    def with_columns(n):
        return sp.coo_array((np.ones(2), ([0, 1], [0, n - 1])), shape=(2, n))

    assert Views([with_columns((1 << 31) - 1)]).shape == (2, (1 << 31) - 1)
    for X in (with_columns(1 << 31), with_columns(1 << 33).tocsr()):
        for read in (Views, as_views, OMVFS(2).fit):
            with pytest.raises(ValueError, match=r"'b' has [2-8],.* fewer than 2\^31\. Number"):
                read({"a": np.eye(2), "b": X})


def test_concat_matches_views_by_name():
    a, b = np.ones((1, 2)), np.zeros((1, 3))
    got = Views.concat([Views({"a": a, "b": b}), Views({"b": sp.csr_matrix(b), "a": a})])
    assert (got.widths, len(got)) == ({"a": 2, "b": 3}, 2)
    assert isinstance(got["b"], sp.csr_matrix)
    with pytest.raises(ValueError, match="no batches"):
        Views.concat([])
    with pytest.raises(ValueError, match="View 'view_0' has 3 features; the first chunk had 2"):
        Views.concat([Views([np.eye(2)]), Views([np.eye(3)])])
    half = as_views([np.full((1, 1), 1.5e19, "float32")])
    for both in (lambda: as_views(Views.concat([half, half])), lambda: [*rechunk([half] * 2, 2)]):
        with pytest.raises(ValueError, match="too large for float32"):
            both()


def test_what_was_validated_is_not_validated_again():
    views = as_views({"t": np.eye(3)})
    assert as_views(views) is views
    views["t"][0, 0] = np.nan  # nobody should; it shows that nobody looks
    as_views(views[:2])
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
    with pytest.raises(ValueError, match="Got support for views none; expected it for"):
        select_columns(views, {})


def test_a_batch_is_read_once_whatever_its_form(monkeypatch):
    X = np.random.default_rng(0).random((40, 5))
    frames = {"a": pd.DataFrame(X), "b": pl.DataFrame(X[:, :3])}
    reads = reads_of_blocks(monkeypatch)
    model = OMVFS(2, batch_size=15, random_state=0).fit(frames)
    assert reads == {"a": [40], "b": [40]}
    model.partial_fit({"a": X[:7], "b": sp.csr_array(X[:7, :3])})
    assert reads == {"a": [40, 7], "b": [40, 7]}
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
    a, b = as_views({"a": np.eye(2)}), Views({"b": -np.eye(2)})
    with pytest.raises(ValueError, match="view 'b' holds -1"):
        as_views(Views.beside([a, b]))
    for parts, message in [
        ([a, Views({"b": np.eye(3)})], "different numbers of rows"),
        ([a, a], "'a', 'a'; expected each of them once"),
        ([], "no batches"),
    ]:
        with pytest.raises(ValueError, match=message):
            Views.beside(parts)


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
    for strange in (np.eye(2, dtype=int), sp.csc_array(np.eye(2))):
        with pytest.raises(TypeError, match="expected an array or CSR of floats"):
            views.replaced({"a": strange})


# Rows that have labels

LABELS = ["d", "b", "a", "c"]


def frame(labels=LABELS, width=2, seed=0):
    X = counts(np.random.default_rng(seed), len(labels), width)
    return pd.DataFrame(X, index=labels, columns=[f"f{j}" for j in range(width)])


@quick
@given(st.permutations(range(7)), st.permutations(range(7)), st.sampled_from(["row{}", 3.5, "day"]))
def test_frames_in_another_order_are_put_in_that_of_the_first(first, second, kind):
    days = pd.date_range("2020-01-01", periods=7)
    labels = {"row{}": [f"row{i}" for i in range(7)], 3.5: np.arange(7) + 3.5, "day": days}[kind]
    text, image = frame(labels, seed=1), frame(labels, 3, seed=2)
    given = {"text": text.iloc[list(first)], "image": image.iloc[list(second)]}
    for views in (as_views(given), Views.beside([Views({view: X}) for view, X in given.items()])):
        np.testing.assert_array_equal(views["text"], text.iloc[list(first)])
        np.testing.assert_array_equal(views["image"], image.iloc[list(first)])
        assert views.index.equals(text.index[list(first)])


def test_rows_that_do_not_go_together_by_their_labels_are_refused():
    twice, numbered = ["d", "b", "b", "c"], frame(range(4))
    for a, b, message in [
        (frame(), frame(["d", "b", "a", "x"]), "1 of 'a' are not in 'b', such as 'c'.*Keep the"),
        (frame(), frame([*LABELS, "x", "y"]), "2 of 'b' are not in 'a', such as 'x'"),
        (frame([7]), frame(["7"]), "1 of 'a' are not in 'b', such as 7"),
        (frame(twice), frame(twice[::-1]), "has the label 'b' more than once.*reset_index"),
        (frame(), frame(twice), "has the label 'b' more than once"),
        (numbered, numbered[::-1], r"View 'a' numbers its rows.*reset_index\(drop=True\)"),
        (numbered[::-1], numbered, "View 'b' numbers its rows"),
        # Slices of larger frames: rows 0 to 3 of one, and 2 to 5 of another.
        (numbered, frame(range(2, 6)), r"View 'a' .* 'b' has other numbers, .* with 2; .*\.loc\["),
        (frame(range(2, 6)), numbered, "View 'b' numbers its rows from 0, and view 'a' has other"),
        (frame(range(2, 6)), frame(range(3, 7)), "are of different rows by their labels: 1 of"),
    ]:
        with pytest.raises(ValueError, match=message):
            as_views({"a": a, "b": b})
    with pytest.raises(ValueError, match=r"'c' has the rows of view 'a' in another.*'b' has no"):
        as_views({"a": frame(), "b": np.ones((4, 1)), "c": frame(LABELS[::-1])})
    np.testing.assert_array_equal(as_views([frame(twice)] * 2)["view_1"], frame(twice))
    # A part of a larger frame, as a split leaves it, beside what was made of it.
    as_views({"a": numbered, "b": frame([7, 0, 3, 2])})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_has_no_labels_goes_by_its_place(kind):
    X = counts(np.random.default_rng(3), 4, 3)
    for other in (KINDS[kind](X), pd.DataFrame(X), pl.DataFrame(X, orient="row")):
        for data in ({"a": frame(), "b": other}, {"b": other, "a": frame()}):
            views = as_views(data)
            np.testing.assert_array_equal(dense(views["b"]), X)
            np.testing.assert_array_equal(views["a"], frame())
            assert list(views.index) == LABELS


def test_labels_of_rows_are_those_of_the_rows_taken():
    views = as_views({"a": frame(), "b": np.ones((4, 1))})
    assert list(views[1:3].index) == ["b", "a"]
    assert list(views[[3, 0]].index) == ["c", "d"]
    assert list(views[np.array([True, False, False, True])].index) == ["d", "c"]
    assert list(views.only(["b"]).index) == LABELS
    assert list(Views.concat([views[:1], views[1:]]).index) == LABELS
    assert Views.concat([views, Views({"a": np.ones((1, 2)), "b": [[1.0]]})]).index is None
    assert as_views({"b": frame(range(4))}).index is None
    stands = Views({"a": frame(), "b": frame(LABELS[::-1])}, index=pd.Index([1, 2, 3, 4]))
    np.testing.assert_array_equal(stands["b"], frame(LABELS[::-1]))
    assert list(stands[1:].index) == [2, 3, 4]
    with pytest.raises(ValueError, match="an index of 2 labels for 4 rows"):
        Views({"a": frame()}, index=pd.Index([1, 2]))
