"""Whatever comes in is a sound block, or a clear error, and never a changed input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given

from batches import assert_sound, batches, bits, quick
from omvfs.data.blocks import hstack
from omvfs.data.read import as_views
from omvfs.data.views import Views
from support import KINDS, counts, dense

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


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
        (-0.5, "float64", r"Negative values in data: view 'text' holds -0.5 at {place}.*='clip'"),
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


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("door", [lambda X: X, lambda X: {"b": X}], ids=["plain", "by name"])
def test_columns_of_texts_are_named_with_the_remedy(frame, door):
    texts = frame({"n": [1, 2], "title": ["a b", "c"], "kind": ["x", "y"]})
    with pytest.raises(ValueError, match=r"'title', 'kind' hold.*ViewTransformer"):
        as_views(door(texts))


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
