"""The door: whatever comes in is a sound `Views`, or a clear error, and never a changed input."""

import itertools
import pickle
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from omvfs import OMVFS
from omvfs.data.rechunk import rechunk
from omvfs.data.views import Schema, Views, as_views, hstack, select_columns
from support import fingerprint, reads_of_blocks

KINDS = {"dense": np.array, "csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}
FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]

quick = settings(max_examples=50, deadline=None)


def counts(rng: np.random.Generator, n_rows: int, width: int, dtype: str = "float64"):
    """Non-negative rows, half of them zeros, with fractions that show any rounding."""
    return (rng.random((n_rows, width)) * (rng.random((n_rows, width)) < 0.5)).astype(dtype)


def dense(block):
    return block.toarray() if sp.issparse(block) else block


def bits(block):
    parts = (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,)
    return type(block), block.shape, *((part.dtype, part.tobytes()) for part in parts)


def assert_same(got: Views, expected: Views) -> None:
    assert got.schema == expected.schema
    for name in expected.names:
        assert bits(got[name]) == bits(expected[name])


def assert_sound(views: Views) -> None:
    for block in views.blocks.values():
        assert block.dtype == views.dtype
        if sp.issparse(block):
            assert type(block) in (sp.csr_array, sp.csr_matrix)
            fresh = type(block)((block.data, block.indices, block.indptr), shape=block.shape)
            assert fresh.has_canonical_format
            assert fresh.data.all()
        else:
            assert block.flags.c_contiguous


@st.composite
def batches(draw) -> Views:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows = draw(st.integers(1, 12))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    blocks = {
        f"{kind}_{i}": KINDS[kind](counts(rng, n_rows, draw(st.integers(1, 5)), dtype))
        for i, kind in enumerate(kinds)
    }
    return as_views(blocks)


@st.composite
def deliveries(draw) -> tuple[Views, list[Views]]:
    """A batch, and the same rows in several pieces."""
    views = draw(batches())
    edges = sorted(draw(st.sets(st.integers(1, len(views)))) | {0, len(views)})
    return views, [views[start:stop] for start, stop in itertools.pairwise(edges)]


# --- slicing -----------------------------------------------------------------------------------


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


# --- concat ------------------------------------------------------------------------------------


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


# --- rechunk -----------------------------------------------------------------------------------


@quick
@given(deliveries(), st.integers(1, 14))
def test_rechunk_ignores_delivery(delivery, batch_size):
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


def test_rechunk_holds_every_batch_to_the_first():
    with pytest.raises(ValueError, match="View 'view_1' has 4 features; the first chunk had 3"):
        list(rechunk([[np.eye(3), np.eye(3)], [np.ones((1, 3)), np.ones((1, 4))]], 2))


def test_rechunk_passes_on_its_options():
    chunks = list(rechunk([np.array([[-1.0, 2.0, 3.0]])] * 3, 2, views=[1, 2], negative="clip"))
    assert [chunk["view_0"].tolist() for chunk in chunks] == [[[0], [0]], [[0]]]


@pytest.mark.parametrize(("batch_size", "error"), [(0, ValueError), (1.5, TypeError)])
def test_rechunk_refuses_a_bad_batch_size_at_once(batch_size, error):
    with pytest.raises(error):
        rechunk([], batch_size)


# --- what comes in -----------------------------------------------------------------------------


@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_every_sparse_format_becomes_csr_of_its_kind(fmt, container):
    expected = counts(np.random.default_rng(0), 4, 6)
    X = getattr(sp, f"{fmt}_{container}")(expected)
    for views in (as_views(X), as_views([X])):
        assert_sound(views)
        (block,) = views.blocks.values()
        assert type(block) is getattr(sp, f"csr_{container}")
        np.testing.assert_array_equal(block.toarray(), expected)


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


@quick
@given(batches(), st.randoms())
def test_permuted_views_are_put_into_the_order_of_like(views, random):
    names = list(views.names)
    random.shuffle(names)
    permuted = as_views({name: views[name] for name in names})
    assert permuted.names == tuple(names)
    assert_same(as_views(permuted, like=views.schema), views)


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
    got = as_views(KINDS[kind](X), views=views)
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
    ],
)
def test_a_bad_split_is_refused(views, message):
    with pytest.raises(ValueError, match=message):
        as_views(np.ones((2, 5)), views=views)


def test_views_cannot_be_split_again():
    for X in ([np.eye(2)], {"a": np.eye(2)}, Views([np.eye(2)])):
        with pytest.raises(ValueError, match="already is a collection of views"):
            as_views(X, views=[1, 1])


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


# --- frames and feature names ------------------------------------------------------------------

DATA = {"a": [1.0, 2.0], "b": [0.0, 4.0], "c": [5.0, 6.0]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame):
    one = as_views(frame(DATA), views={"left": ["b", "a"], "right": [2]})
    assert one["left"].tolist() == [[0, 1], [4, 2]]
    assert {k: v.tolist() for k, v in one.feature_names.items()} == {
        "left": ["b", "a"],
        "right": ["c"],
    }
    many = as_views({"x": frame(DATA), "y": np.eye(2)})
    assert many.feature_names["x"].tolist() == ["a", "b", "c"]
    assert many.feature_names["x"].dtype == object
    assert many.feature_names["y"] is None
    assert many[1:].schema == many.schema


@pytest.mark.parametrize(
    ("frame", "dtype"),
    [
        (pd.DataFrame(DATA, dtype="float32"), "float32"),
        (pl.DataFrame(DATA, schema=dict.fromkeys(DATA, pl.Float32)), "float32"),
        (pd.DataFrame({"a": [1, 2], "b": [True, False]}), "float64"),
        (pl.DataFrame({"a": [1, 2], "b": [3, 4]}), "float64"),
        (pd.DataFrame({"a": [1, 2]}, dtype="Int64"), "float64"),
    ],
)
def test_frames_keep_their_precision(frame, dtype):
    assert as_views(frame).dtype == as_views([frame]).dtype == dtype


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"a": [1, None]}, dtype="Int64"), pl.DataFrame({"a": [1, None]})]
)
def test_missing_values_of_frames_are_nan(frame):
    with pytest.raises(ValueError, match=r"NaN: view 't', row 1, column 0 \(feature 'a'\)"):
        as_views({"t": frame})


def test_sparse_pandas_frames_stay_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(sp.eye_array(3, format="csr"), columns=list("abc"))
    views = as_views({"t": frame})
    assert sp.issparse(views["t"])
    assert views.feature_names["t"].tolist() == ["a", "b", "c"]


def test_numbered_columns_are_no_names_and_mixed_ones_are_refused():
    assert as_views(pd.DataFrame(np.eye(2))).feature_names == {"X": None}
    with pytest.raises(TypeError, match=r"View 't': .* all input features have string names"):
        as_views({"t": pd.DataFrame(np.eye(2), columns=["a", 1])})


def test_ambiguous_and_lazy_frames_are_refused():
    with pytest.raises(ValueError, match="View 't': Expected unique column names"):
        as_views({"t": pd.DataFrame(np.eye(2), columns=["a", "a"])})
    with pytest.raises(TypeError, match=r"View 't': Got a lazy frame .* Collect it first"):
        as_views({"t": pl.LazyFrame(DATA)})


def test_unknown_column_names_are_listed():
    with pytest.raises(ValueError, match="View 'v' has columns that X lacks: 'z'"):
        as_views(pd.DataFrame(DATA), views={"v": ["a", "z"]})


def test_given_names_come_before_those_of_a_frame():
    views = Views({"t": pd.DataFrame(DATA)}, feature_names={"t": ["x", "y", "z"]})
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


# --- like an earlier batch ---------------------------------------------------------------------

FIRST = Views(
    {"text": np.ones((2, 3)), "image": np.ones((2, 2))}, feature_names={"text": ["a", "b", "c"]}
)


def like_first(text=None, **others):
    text = np.ones((1, 3)) if text is None else text
    return as_views({"text": text, "image": np.ones((1, 2)), **others}, like=FIRST.schema)


def test_a_missing_or_renamed_or_new_view_is_refused():
    with pytest.raises(ValueError, match=r"'text'; the first .* missing: 'image'; unknown: none"):
        as_views({"text": np.ones((1, 3))}, like=FIRST.schema)
    with pytest.raises(ValueError, match=r"missing: 'image'; unknown: 'img'.*same names"):
        as_views({"text": np.ones((1, 3)), "img": np.ones((1, 2))}, like=FIRST.schema)
    with pytest.raises(ValueError, match="missing: none; unknown: 'audio'"):
        like_first(audio=np.ones((1, 1)))


def test_a_changed_number_of_features_is_refused():
    first = as_views({"text": sp.csr_array((2, 21_531))})
    with pytest.raises(
        ValueError, match=r"View 'text' has 20,999 features; the first chunk had 21,531. Give"
    ):
        as_views({"text": sp.csr_array((2, 20_999))}, like=first.schema)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "c", "b"], "in another order than the first chunk: column 1 is 'c', expected 'b'"),
        (["a", "b", "d"], "has other features than the first chunk: column 2 is 'd', expected 'c'"),
    ],
)
def test_changed_feature_names_are_refused(columns, message):
    with pytest.raises(ValueError, match=f"View 'text' .*{message}"):
        like_first(pd.DataFrame(np.ones((1, 3)), columns=columns))


def test_names_a_batch_lacks_are_taken_from_the_first():
    assert like_first().schema == FIRST.schema
    with pytest.raises(ValueError, match="column 1 \\(feature 'b'\\)"):
        like_first(np.array([[0.0, -1.0, 0.0]]))


# --- dtypes and memory -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("int8", "float64"),
        ("uint64", "float64"),
        ("bool", "float64"),
    ],
)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_floats_keep_their_precision_and_all_else_is_double(kind, dtype, expected):
    views = as_views([KINDS[kind](np.eye(3).astype(dtype))])
    assert views.dtype == expected
    np.testing.assert_array_equal(dense(views["view_0"]), np.eye(3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_swapped_bytes_are_read(dtype):
    swapped = np.eye(3).astype(np.dtype(dtype).newbyteorder())
    sparse = sp.csr_array(np.eye(3))
    sparse.data = sparse.data.astype(swapped.dtype)
    views = as_views([swapped, sparse])
    assert views.dtype == dtype
    for block in views.blocks.values():
        np.testing.assert_array_equal(dense(block), np.eye(3))


def test_views_of_mixed_precision_take_the_higher():
    views = as_views([np.eye(2, dtype="float32"), sp.csr_array(np.eye(2)), np.eye(2, dtype=int)])
    assert {block.dtype.name for block in views.blocks.values()} == {"float64"}


def test_object_arrays_of_numbers_are_numbers():
    assert as_views({"t": np.array([[1, 2.5]], dtype=object)})["t"].tolist() == [[1, 2.5]]


def read_only(X):
    X.flags.writeable = False
    return X


@pytest.mark.parametrize(
    "make", [np.asfortranarray, read_only, lambda X: X[::-1], lambda X: np.repeat(X, 2, 0)[::2]]
)
def test_any_memory_layout_is_read(make):
    X = make(counts(np.random.default_rng(0), 5, 3))
    views = as_views({"t": X})
    assert_sound(views)
    np.testing.assert_array_equal(views["t"], X)
    assert np.shares_memory(views["t"], X) == X.flags.c_contiguous


def test_memmaps_are_read_in_place(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(as_views([X])["view_0"], X)


def messy(kind):
    """Unsorted, with a duplicate, an explicit zero and spare room at the end."""
    data = np.array([1.0, 2.0, 3.0, 0.0, -5.0, 99.0])
    indices = np.array([2, 0, 2, 1, 0, 0])
    return kind((data, indices, np.array([0, 3, 5])), shape=(2, 3))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_unsorted_duplicate_and_zero_entries_are_put_in_order_on_a_copy(kind):
    X = messy(kind)
    kept = [X.data, X.indices, X.indptr]
    before = bits(X)
    views = as_views({"t": X}, negative="clip")
    assert_sound(views)
    assert views["t"].toarray().tolist() == [[2, 0, 4], [0, 0, 0]]
    assert bits(X) == before
    assert all(now is then for now, then in zip((X.data, X.indices, X.indptr), kept, strict=True))


def test_explicit_zeros_alone_are_left_out():
    X = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert as_views([X])["view_0"].nnz == 1
    assert X.nnz == 2


def test_stale_flags_of_the_caller_are_not_trusted():
    X = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert X.has_canonical_format
    X.indices[:] = [1, 0]
    assert_sound(as_views([X]))


def test_small_integers_are_summed_as_floats():
    X = sp.coo_array((np.array([100, 100], "int8"), ([0, 0], [0, 0])), shape=(1, 1))
    assert as_views([X])["view_0"].toarray() == 200


@pytest.mark.parametrize("negative", ["clip", "allow"])
@pytest.mark.parametrize("X", [np.array([[1.0, -2.0]]), sp.csr_array([[1.0, -2.0]])])
def test_the_caller_keeps_its_values(X, negative):
    before = bits(X)
    got = dense(as_views([X], negative=negative)["view_0"])
    assert got.tolist() == [[1, 0 if negative == "clip" else -2]]
    assert bits(X) == before


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


# --- bad values --------------------------------------------------------------------------------


def planted(value, kind, dtype="float64"):
    """A bad value that is the first of its row, after a row without entries."""
    X = np.ones((4, 3), dtype)
    X[1] = X[2, 0] = 0
    X[2, 1] = value
    return {"image": np.ones((4, 1), dtype), "text": KINDS[kind](X)}


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (np.nan, "float64", "contains NaN: view 'text', {place}; expected .* Impute"),
        (np.inf, "float32", "contains infinity: view 'text', {place}; expected"),
        (-np.inf, "float64", "contains infinity: view 'text', {place}; expected"),
        (1e200, "float64", r"too large for float64: view 'text' holds 1e\+200 at {place}.*Scale"),
        (-1e200, "float64", r"too large for float64: view 'text' holds -1e\+200 at {place}"),
        (1e20, "float32", r"too large for float32: view 'text' holds 1e\+20 at {place}.*float64"),
        (-0.5, "float64", r"Negative values in data: view 'text' holds -0.5 at {place}.*\"clip\""),
    ],
)
def test_bad_values_are_named_with_their_place(kind, value, dtype, message):
    blocks = planted(value, kind, dtype)
    with pytest.raises(ValueError, match=message.format(place="row 2, column 1")):
        as_views(blocks)
    named = Views(blocks, feature_names={"text": ["x", "y", "z"]})
    with pytest.raises(ValueError, match=message.format(place=r"row 2, column 1 \(feature 'y'\)")):
        as_views(named)


@pytest.mark.parametrize("negative", ["clip", "allow"])
def test_infinity_is_never_clipped(negative):
    with pytest.raises(ValueError, match="infinity"):
        as_views([np.array([[-np.inf]])], negative=negative)


def test_large_values_with_finite_squares_are_accepted():
    as_views([np.full((2, 2), 1e150), np.full((2, 2), 1e18, "float32")])


@pytest.mark.parametrize("negative", ["shift", None, "ignore"])
def test_unknown_way_with_negatives(negative):
    with pytest.raises(ValueError, match="expected 'error', 'clip' or 'allow'"):
        as_views(np.eye(2), negative=negative)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_zero_chunks_and_single_rows_are_accepted(kind):
    for X in (np.zeros((3, 2)), np.ones((1, 2)), np.zeros((1, 1)), -np.zeros((2, 2))):
        assert as_views([KINDS[kind](X)]).shape == X.shape


# --- bad shapes and types ----------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (np.ones(3), ValueError, "Expected 2D array, got 1D array instead"),
        (np.float64(3), ValueError, "Expected 2D array, got scalar array instead"),
        (np.ones((1, 2, 3)), ValueError, "Found array with dim 3"),
        (sp.coo_array(np.ones(3)), ValueError, "Expected 2D"),
        (np.array([["a", "b"]]), ValueError, "not compatible with arrays of bytes/strings"),
        (np.array([["a", 1]], dtype=object), ValueError, "could not convert string to float"),
        (np.array([[{}]], dtype=object), TypeError, "argument must be .* string.* number"),
        (pd.DataFrame({"a": ["x"]}), ValueError, "could not convert string to float"),
        (pl.DataFrame({"a": ["x"]}), ValueError, "could not convert string to float"),
        (np.array([[1j]]), ValueError, "Complex data not supported"),
        (sp.csr_array([[1j]]), ValueError, "Complex data not supported"),
        (np.array([["2020-01-01"]], "datetime64[D]"), TypeError, "datetime64.* expected numbers"),
        (np.matrix([[1.0]]), TypeError, "np.matrix is not supported"),
    ],
)
def test_what_is_no_2d_block_of_numbers_is_refused(block, error, message):
    with pytest.raises(error, match=message):
        as_views(block)
    with pytest.raises(error, match=f"View 'b': (.|\n)*{message}"):
        as_views({"b": block})


# --- corrupt sparse matrices -------------------------------------------------------------------


def corrupt(fmt, kind, **changes):
    X = getattr(sp, f"{fmt}_{kind}")(np.eye(3))
    for name, value in changes.items():
        array = getattr(X, name)
        setattr(X, name, np.asarray(value, dtype=array.dtype))
    return X


CORRUPT = [
    ("csr", {"indices": [0, 1, 10**6]}),
    ("csr", {"indices": [0, 1, 3]}),
    ("csr", {"indices": [0, 1, -1]}),
    ("csr", {"indices": [0, 1]}),
    ("csr", {"data": [1, 1]}),
    ("csr", {"indptr": [0, 1, 2, 10**6]}),
    ("csr", {"indptr": [0, 2, 1, 3]}),
    ("csr", {"indptr": [1, 1, 2, 3]}),
    ("csr", {"indptr": [0, 1, 3]}),
    ("csr", {"indptr": [0, 10**6, 0, 0]}),
    ("csr", {"indptr": [0, 1, 2, -1]}),
    ("csc", {"indices": [0, 1, 10**6]}),
    ("csc", {"indices": [0, 1, -1]}),
    ("csc", {"indptr": [0, 10**6, 0, 0]}),
    ("bsr", {"indices": [0, 1, 10**6]}),
    ("coo", {"row": [0, 1, 10**6]}),
    ("coo", {"row": [0, 1, -1]}),
    ("coo", {"col": [0, 1, 10**6]}),
    ("coo", {"col": [0, 1, -1]}),
    ("coo", {"data": [1, 1]}),
    ("dia", {"offsets": [0, 1]}),
]


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize(("fmt", "changes"), CORRUPT)
def test_corrupt_sparse_matrices_are_refused(fmt, kind, changes):
    X = corrupt(fmt, kind, **changes)
    message = rf"the {fmt.upper()} matrix of shape \(3, 3\) is corrupt: .* Build it again"
    with pytest.raises(ValueError, match=message):
        as_views(X)
    with pytest.raises(ValueError, match=f"View 't': {message}"):
        Views({"t": X})


@pytest.mark.parametrize("kind", [sp.lil_array, sp.lil_matrix])
@pytest.mark.parametrize(
    ("row", "data"), [([10**6], [1.0]), ([-1], [1.0]), ([0], [1.0] * 99), ([0] * 99, [1.0])]
)
def test_corrupt_lil_matrices_are_refused(kind, row, data):
    X = kind(np.eye(3))
    X.rows[1], X.data[1] = row, data
    with pytest.raises(ValueError, match=r"the LIL matrix of shape .* is corrupt"):
        as_views(X)


def test_corrupt_dok_matrices_are_refused():
    for entry in [(10**6, 0), (0, -1)]:
        X = sp.dok_array(np.eye(3))
        X._dict[entry] = 1.0
        with pytest.raises(ValueError, match=r"the DOK matrix of shape .* is corrupt"):
            as_views(X)


# --- columns -----------------------------------------------------------------------------------


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


@quick
@given(batches())
def test_hstack_puts_blocks_side_by_side(views):
    blocks = list(views.blocks.values())
    got = hstack(blocks)
    np.testing.assert_array_equal(dense(got), np.hstack([dense(block) for block in blocks]))
    kinds = [type(block) for block in blocks]
    ranked = [sp.csr_array, sp.csr_matrix, np.ndarray]
    assert type(got) is min(kinds, key=ranked.index)
    assert got.dtype == views.dtype


# --- scikit-learn ------------------------------------------------------------------------------


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


# Putting together what was read.


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
    with pytest.raises(KeyError, match="no view 'b'"):
        views.replaced({"b": views["a"]})


def test_names_are_given_to_what_was_read():
    views = as_views({"a": np.eye(2), "b": np.eye(2)})
    named = views.named({"a": ["x", "y"]})
    assert named["a"] is views["a"]
    assert named.schema.feature_names == (("x", "y"), None)
    with pytest.raises(ValueError, match="'a' has 2 features, but 1 feature names"):
        views.named({"a": ["x"]})
