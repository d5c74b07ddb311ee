"""Whatever comes in is a sound block, or a clear error, and never a changed input."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from batches import assert_sound, batches, bits, quick
from omvfs import OMVFS
from omvfs.data.blocks import are_mappings, check_compressed, count_words, hstack
from omvfs.data.read import as_views
from omvfs.data.views import Views
from support import KINDS, counts, dense

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.mark.parametrize("container", ["array", "matrix"])
def test_every_sparse_format_becomes_csr_of_its_kind(container):
    expected = counts(np.random.default_rng(0), 4, 6)
    for fmt in FORMATS:
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
    texts = frame({"n": [1, 2], "title": ["a b", "c"], "kind": ["x", "y"]})
    assert as_views({"b": texts}, missing="allow").names == ("numbers", "categories")


def test_frames_keep_their_precision_and_stay_sparse():
    for frame, dtype in [
        (pd.DataFrame(DATA, dtype="float32"), "float32"),
        (pl.DataFrame(DATA, schema=dict.fromkeys(DATA, pl.Float32)), "float32"),
        (pd.DataFrame({"a": [1, 2], "b": [True, False]}), "float64"),
        (pl.DataFrame({"a": [1, 2], "b": [3, 4]}), "float64"),
        (pd.DataFrame({"a": [1, 2]}, dtype="Int64"), "float64"),
    ]:
        assert as_views(frame).dtype == as_views([frame]).dtype == dtype
    frame = pd.DataFrame.sparse.from_spmatrix(sp.eye_array(3, format="csr"), columns=list("abc"))
    views = as_views({"t": frame})
    assert sp.issparse(views["t"])
    assert views.feature_names["t"].tolist() == ["a", "b", "c"]


def test_columns_of_frames_have_names_or_numbers():
    assert as_views(pd.DataFrame(np.eye(2))).feature_names == {"X": None}
    levels = pd.MultiIndex.from_tuples([("text", "a"), ("image", "a")])
    for columns, said in [
        (["a", 1], "all input features have string names"),
        (["a", "a"], "Expected unique column names"),
        (levels, r"columns of several levels, such as \('text', 'a'\).*a dict of frames"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"View 't': .*{said}"):
            as_views({"t": pd.DataFrame(np.eye(2), columns=columns)})
    with pytest.raises(TypeError, match=r"View 't': Got a lazy frame .* Collect it first"):
        as_views({"t": pl.LazyFrame(DATA)})
    for frame in (pd.DataFrame({"a": [1, None]}, dtype="Int64"), pl.DataFrame({"a": [1, None]})):
        with pytest.raises(ValueError, match=r"NaN: view 't', row 1, column 0 \(feature 'a'\)"):
            as_views({"t": frame})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_floats_keep_their_precision_and_all_else_is_double(kind):
    for dtype in ("float32", "float64", "int8", "uint64", "bool"):
        views = as_views([KINDS[kind](np.eye(3).astype(dtype))])
        assert views.dtype == ("float32" if dtype == "float32" else "float64")
        np.testing.assert_array_equal(dense(views["view_0"]), np.eye(3))
    for X in (np.zeros((3, 2)), np.ones((1, 2)), np.zeros((1, 1)), -np.zeros((2, 2))):
        assert as_views([KINDS[kind](X)]).shape == X.shape


def test_numbers_of_any_type_are_read():
    for dtype in ("float32", "float64"):
        swapped = np.eye(3).astype(np.dtype(dtype).newbyteorder())
        sparse = sp.csr_array(np.eye(3))
        sparse.data = sparse.data.astype(swapped.dtype)
        views = as_views([swapped, sparse])
        assert views.dtype == dtype
        for block in views.blocks.values():
            np.testing.assert_array_equal(dense(block), np.eye(3))
    mixed = as_views([np.eye(2, dtype="float32"), sp.csr_array(np.eye(2)), np.eye(2, dtype=int)])
    assert {block.dtype.name for block in mixed.blocks.values()} == {"float64"}
    assert as_views({"t": np.array([[1, 2.5]], dtype=object)})["t"].tolist() == [[1, 2.5]]
    summed = sp.coo_array((np.array([100, 100], "int8"), ([0, 0], [0, 0])), shape=(1, 1))
    assert as_views([summed])["view_0"].toarray() == 200


def read_only(X):
    X.flags.writeable = False
    return X


def amid_bytes(X):
    """Return the same numbers at an address that is no multiple of their size."""
    content = np.frombuffer(b"\0" + X.tobytes(), np.uint8)
    return content[1:].view(X.dtype).reshape(X.shape)


def test_any_memory_layout_is_read_in_place_where_it_can_be(tmp_path):
    np.save(tmp_path / "x.npy", counts(np.random.default_rng(0), 5, 3))
    for make in (
        np.asfortranarray,
        read_only,
        amid_bytes,
        lambda X: X[::-1],
        lambda X: np.repeat(X, 2, 0)[::2],
        lambda _: np.load(tmp_path / "x.npy", mmap_mode="r"),
    ):
        X = make(counts(np.random.default_rng(0), 5, 3))
        views = as_views({"t": X})
        assert_sound(views)
        np.testing.assert_array_equal(views["t"], X)
        assert views["t"].flags.aligned
        assert np.shares_memory(views["t"], X) == (X.flags.c_contiguous and X.flags.aligned)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_unsorted_duplicate_and_zero_entries_are_put_in_order_on_a_copy(kind):
    # With spare room at the end.
    data, indices = np.array([1.0, 2.0, 3.0, 0.0, -5.0, 99.0]), np.array([2, 0, 2, 1, 0, 0])
    X = kind((data, indices, np.array([0, 3, 5])), shape=(2, 3))
    kept = [X.data, X.indices, X.indptr]
    before = bits(X)
    views = as_views({"t": X}, negative="clip")
    assert_sound(views)
    assert views["t"].toarray().tolist() == [[2, 0, 4], [0, 0, 0]]
    assert bits(X) == before
    assert all(now is then for now, then in zip((X.data, X.indices, X.indptr), kept, strict=True))
    stale = kind((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert stale.has_canonical_format
    stale.indices[:] = [1, 0]
    assert_sound(as_views([stale]))
    assert (as_views([stale])["view_0"].nnz, stale.nnz) == (1, 2)


@pytest.mark.parametrize("negative", ["clip", "allow"])
@pytest.mark.parametrize("X", [np.array([[1.0, -2.0]]), sp.csr_array([[1.0, -2.0]])])
def test_the_caller_keeps_its_values(X, negative):
    before = bits(X)
    got = dense(as_views([X], negative=negative)["view_0"])
    assert got.tolist() == [[1, 0 if negative == "clip" else -2]]
    assert bits(X) == before
    with pytest.raises(ValueError, match="infinity"):
        as_views([np.array([[-np.inf]])], negative=negative)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (np.nan, "float64", "contains NaN: view 'text', {place}; expected .* Impute"),
        (-np.inf, "float32", "contains infinity: view 'text', {place}; expected"),
        (-1e200, "float64", r"too large for float64: view 'text' holds -1e\+200 at {place}.*Scale"),
        (1e20, "float32", r"too large for float32: view 'text' holds 1e\+20 at {place}.*float64"),
        (-0.5, "float64", r"Negative values in data: view 'text' holds -0.5 at {place}.*='clip'"),
    ],
)
def test_bad_values_are_named_with_their_place(kind, value, dtype, message):
    # The first of its row, after a row without entries.
    X = np.ones((4, 3), dtype)
    X[1] = X[2, 0] = 0
    X[2, 1] = value
    blocks = {"image": np.ones((4, 1), dtype), "text": KINDS[kind](X)}
    with pytest.raises(ValueError, match=message.format(place="row 2, column 1")):
        as_views(blocks)
    named = Views(blocks, feature_names={"text": ["x", "y", "z"]})
    with pytest.raises(ValueError, match=message.format(place=r"row 2, column 1 \(feature 'y'\)")):
        as_views(named)


def test_large_values_with_finite_squares_are_accepted():
    as_views([np.full((2, 2), 1e150), np.full((2, 2), 1e18, "float32")])
    for negative in ("shift", None):
        with pytest.raises(ValueError, match="expected 'error', 'clip' or 'allow'"):
            as_views(np.eye(2), negative=negative)


def test_what_is_no_2d_block_of_numbers_is_refused():
    for block, error, message in [
        (np.ones(3), ValueError, "Expected 2D array, got 1D array instead"),
        (np.float64(3), ValueError, "Expected 2D array, got scalar array instead"),
        (np.ones((1, 2, 3)), ValueError, "Found array with dim 3"),
        (sp.coo_array(np.ones(3)), ValueError, "Expected 2D"),
        (np.array([["a", "b"]]), ValueError, "not compatible with arrays of bytes/strings"),
        (np.array([["a", 1]], dtype=object), ValueError, "could not convert string to float"),
        (np.array([[{}]], dtype=object), TypeError, "argument must be .* string.* number"),
        (np.array([[1j]]), ValueError, "Complex data not supported"),
        (sp.csr_array([[1j]]), ValueError, "Complex data not supported"),
        (np.array([["2020-01-01"]], "datetime64[D]"), TypeError, "datetime64.* expected numbers"),
        (np.ones((1, 1)).view(np.matrix), TypeError, "np.matrix is not supported"),
    ]:
        with pytest.raises(error, match=message):
            as_views(block)
        with pytest.raises(error, match=f"View 'b': (.|\n)*{message}"):
            as_views({"b": block})


def test_masked_values_are_refused_with_the_remedy():
    hidden = np.ma.masked_array(np.ones((4, 3)), np.arange(12).reshape(4, 3) == 7)
    model = OMVFS(3, random_state=0)
    stored, listed = sp.csr_array(np.eye(3)), sp.coo_array(np.eye(3))
    stored.data = listed.data = np.ma.masked_array(np.ones(3), [False, True, False])
    for X, view, n in [
        (hidden, "X", 12),
        ([np.ones((4, 2)), hidden.astype(int)], "view_1", 12),
        (stored, "X", 3),
        ({"text": np.ones((3, 2)), "image": listed}, "image", 3),
        ([*hidden], "X", 12),
        ({"text": ([1.0, 2.0, 3.0], hidden[2])}, "text", 3),
    ]:
        for read in (as_views, model.fit, model.partial_fit):
            said = rf"'{view}' has masked values, 1 of {n};.*X\.fill"
            with pytest.raises(ValueError, match=said):
                read(X)
    (block,) = as_views(np.ma.masked_array(np.eye(3), False)).blocks.values()
    assert type(block) is np.ndarray


CORRUPT = {
    "csr": [
        *({"indices": each} for each in ([0, 1, 10**6], [0, 1, -1], [0, 1])),
        *({"indptr": each} for each in ([0, 1, 2, 10**6], [0, 2, 1, 3], [1, 1, 2, 3], [0, 1, 3])),
        *({"indptr": each} for each in ([0, 10**6, 0, 0], [0, 1, 2, -1])),
        # Differences that wrap around, which pass scipy's own check of all contents.
        {"indptr": [0, 2**31 - 1, -(2**31), 3]},
        {"data": [1, 1]},
    ],
    "csc": [{"indices": [0, 1, -1]}, {"indptr": [0, 10**6, 0, 0]}],
    "bsr": [{"indices": [0, 1, 10**6]}, {"indptr": [0, 10**6, 0, 0]}],
    "coo": [{"row": [0, 1, 10**6]}, {"row": [0, 1, -1]}, {"col": [0, 1, -1]}, {"data": [1, 1]}],
    "dia": [{"offsets": [0, 1]}],
}


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("fmt", CORRUPT)
def test_corrupt_sparse_matrices_are_refused(fmt, kind):
    message = rf"the {fmt.upper()} matrix of shape \(3, 3\) is corrupt: .* Build it again"
    for changes in CORRUPT[fmt]:
        X = getattr(sp, f"{fmt}_{kind}")(np.eye(3))
        for name, value in changes.items():
            setattr(X, name, np.asarray(value, dtype=getattr(X, name).dtype))
        with pytest.raises(ValueError, match=message):
            as_views(X)
        with pytest.raises(ValueError, match=f"View 't': {message}"):
            Views({"t": X})


def test_corrupt_matrices_of_python_objects_are_refused():
    for row, data in [([10**6], [1.0]), ([-1], [1.0]), ([0], [1.0] * 99), ([0] * 99, [1.0])]:
        X = sp.lil_array(np.eye(3))
        X.rows[1], X.data[1] = row, data
        with pytest.raises(ValueError, match=r"the LIL matrix of shape .* is corrupt"):
            as_views(X)
    for entry in [(10**6, 0), (0, -1)]:
        X = sp.dok_array(np.eye(3))
        X._dict[entry] = 1.0
        with pytest.raises(ValueError, match=r"the DOK matrix of shape .* is corrupt"):
            as_views(X)


def naive(data, indices, indptr, shape):
    """Tell the same of lists, number by number."""
    n, width = shape
    return (
        len(indptr) == n + 1
        and indptr[0] == 0
        and indptr[-1] == len(data) == len(indices)
        and all(a <= b for a, b in itertools.pairwise(indptr))
        and all(0 <= j < width for j in indices)
    )


EXTREMES = [-(2**31), -1, 0, 1, 2, 3, 4, 2**31 - 1]
extremes = st.sampled_from([*EXTREMES, -(2**63), 2**63 - 1])


@given(
    st.lists(extremes, min_size=1, max_size=6),
    st.lists(st.integers(-1, 3), max_size=4),
    st.integers(0, 4),
    st.tuples(st.integers(0, 5), st.integers(0, 4)),
)
@settings(max_examples=200, deadline=None)
def test_sound_is_what_is_sound_number_by_number(indptr, indices, n_values, shape):
    dtype = np.int32 if set(indptr) <= set(EXTREMES) else np.int64
    parts = np.ones(n_values), np.array(indices, dtype), np.array(indptr, dtype)
    if naive(parts[0].tolist(), indices, indptr, shape):
        check_compressed(*parts, shape)
        sp.csr_array(parts, shape=shape).toarray()
    else:
        with pytest.raises(ValueError, match=r"\w"):
            check_compressed(*parts, shape)
    for strange in (parts[1].astype(float), parts[1][:, np.newaxis]):
        with pytest.raises(ValueError, match="whole numbers"):
            check_compressed(parts[0], strange, parts[2], shape)


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


def test_rows_by_name_are_mappings_and_none():
    assert are_mappings([{"cat": 2.0}, {}, None])
    assert not are_mappings([[1.0]])
    assert not are_mappings([])


def test_words_of_texts_are_counted_and_missing_texts_told():
    block, words, has = count_words(["a cat, the cat", None])
    assert block.toarray().tolist() == [[2.0, 1.0], [0.0, 0.0]]
    assert (words, has.tolist()) == (["cat", "the"], [True, False])
