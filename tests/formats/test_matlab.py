"""MATLAB's files: which matrices are views, version 7.3, what is written, and damage."""

import io

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat

from omvfs.data.views import Views
from omvfs.formats import ReadOptions, SourceError, open_source
from omvfs.formats.matlab import MatSource, MatWriter
from support import counts, dense

X = counts(np.random.default_rng(0), 20, 6)


def saved(variables, **how):
    file = io.BytesIO()
    savemat(file, variables, **how)
    return file.getvalue()


def cell(*contents):
    cells = np.empty((1, len(contents)), object)
    for place, each in enumerate(contents):
        cells[0, place] = each
    return cells


def put(folder, content):
    path = folder / "x.mat"
    path.write_bytes(content)
    return path


def rows_of(source, batch_size=7):
    chunks = list(source.chunks(batch_size))
    assert all(chunk.views.names == source.schema.names for chunk in chunks)
    return {
        name: np.vstack([dense(chunk.views[name]) for chunk in chunks])
        for name in source.schema.names
    }


def asked(*views):
    return ReadOptions(views=views)


@pytest.mark.parametrize("compressed", [False, True])
def test_cells_are_views_that_are_counted_from_1(tmp_path, compressed):
    views = cell(X, "text", sp.csc_array(X), cell(X), X[:, :2] > 0, np.arange(20.0), np.empty(0))
    variables = {"X": views, "Y": np.arange(20.0), "gt": np.arange(20)[:, np.newaxis]}
    path = put(tmp_path, saved(variables, do_compression=compressed))
    got = rows_of(MatSource(path))
    assert list(got) == ["X1", "X3", "X5"]
    for name, expected in (("X1", X), ("X3", X), ("X5", X[:, :2] > 0)):
        np.testing.assert_array_equal(got[name], expected)
    assert MatSource(path, asked("X5", "X1", "gt")).schema.names == ("X5", "X1", "gt")
    with pytest.raises(SourceError, match=r"X6 1, X7 0\. Leave out those"):
        MatSource(path, asked("X"))
    both = put(tmp_path, saved({"X": cell(X, X), "more": X}, do_compression=compressed))
    assert MatSource(both, asked("X")).schema.names == ("X1", "X2")
    long = put(tmp_path, saved({"X": cell(*[X[:2]] * 1001), "Y": X}, do_compression=compressed))
    assert MatSource(long).schema.names == ("Y",)


numbers = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


@given(
    array=st.sampled_from(numbers).flatmap(
        lambda kind: hnp.arrays(kind, st.tuples(st.integers(2, 9), st.integers(2, 9)))
    ),
    fortran=st.booleans(),
    compressed=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_matrices_come_back_with_every_bit(tmp_path_factory, array, fortran, compressed):
    given_array = np.asfortranarray(array) if fortran else array
    variables = {"A": given_array, "S": sp.csc_array(array.astype(float)), "last": X[: len(array)]}
    path = put(tmp_path_factory.mktemp("mat"), saved(variables, do_compression=compressed))
    with MatSource(path) as source:
        got = source.read(0, len(array))
    assert got["A"].dtype == array.dtype
    assert got["A"].tobytes() == array.tobytes()
    np.testing.assert_array_equal(got["S"].toarray(), array.astype(float))
    np.testing.assert_array_equal(got["last"], X[: len(array)])


def test_vectors_text_and_structures_are_passed_over(tmp_path):
    variables = {
        "a": X,
        "labels": np.arange(20),
        "names": ["x", "yy"],
        "s": {"field": X},
        "k": 3.0,
        "images": np.ones((20, 3, 3)),
        "z": np.empty((0, 0)),
    }
    assert MatSource(put(tmp_path, saved(variables))).schema.names == ("a",)


def test_matrices_that_do_not_fit_are_named(tmp_path):
    path = put(tmp_path, saved({"a": X, "b": X[:7]}))
    with pytest.raises(SourceError, match=r"a 20, b 7\. Leave out"):
        MatSource(path)
    assert MatSource(path, asked("b")).n_rows == 7
    with pytest.raises(SourceError, match="no matrix of numbers"):
        MatSource(put(tmp_path, saved({"k": 1.0})))


def test_other_files_are_refused(tmp_path):
    for content in (b"", b"no .mat file", b"\0" * 600):
        with pytest.raises(SourceError, match=r"x\.mat cannot be read"):
            MatSource(put(tmp_path, content))
    old = put(tmp_path, saved({"a": X}, format="4"))
    np.testing.assert_array_equal(rows_of(MatSource(old))["a"], X)
    with pytest.raises(FileNotFoundError, match=r"no file .*none\.mat"):
        open_source(tmp_path / "none.mat")


def test_a_file_that_changes_is_refused(tmp_path):
    source = MatSource(put(tmp_path, saved({"a": X})))
    put(tmp_path, saved({"a": X[:5]}))
    with pytest.raises(SourceError, match=r"shape \(20, 6\)"):
        list(source.chunks(7))


def write_73(path):
    """Write what MATLAB would, of every kind that is read or passed over."""
    csc = sp.csc_array(X)
    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")

        def sparse(name, place, matrix):
            group = place.create_group(name)
            group.attrs["MATLAB_class"] = np.bytes_(b"double")
            group.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
            group["jc"] = matrix.indptr.astype("u8")
            if matrix.nnz:
                group["data"], group["ir"] = matrix.data, matrix.indices.astype("u8")
            return group

        def array(name, place, content, kind):
            dataset = place.create_dataset(name, data=content, chunks=True, compression="gzip")
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
            return dataset

        sparse("S", file, csc)
        sparse("none", file, sp.csc_array((20, 3)))
        array("D", file, X.T, b"double")
        array("small", file, X.T.astype("f4"), b"single")
        array("flags", file, (X.T > 0).astype("u1"), b"logical")
        array("labels", file, np.arange(20.0)[np.newaxis], b"double")
        array("text", file, np.full((6, 20), 65, "u2"), b"char")
        array("unknown", file, X.T, b"something")
        array("z", file, np.array([0, 5], "u8"), b"double").attrs["MATLAB_empty"] = np.uint8(1)
        parts = [array("a", refs, X.T, b"double"), sparse("b", refs, csc), refs["a"]]
        parts += [array("c", refs, np.full((6, 20), 65, "u2"), b"char")]
        cells = file.create_dataset("X", (4, 1), h5py.ref_dtype)
        cells.attrs["MATLAB_class"] = np.bytes_(b"cell")
        for place, part in enumerate(parts[:2] + parts[3:]):
            cells[place, 0] = part.ref
        file.create_group("structure").attrs["MATLAB_class"] = np.bytes_(b"struct")
    return path


@pytest.mark.parametrize("batch_size", [1, 7])
def test_version_7_3_is_read_like_version_5(tmp_path, batch_size, monkeypatch):
    monkeypatch.setattr("omvfs.formats.matlab._WINDOW_BYTES", 6 * 8 * 9)
    with MatSource(write_73(tmp_path / "x.mat")) as source:
        got = rows_of(source, batch_size)
        assert set(got) == {"S", "none", "D", "small", "flags", "X1", "X2"}
        for name in ("S", "D", "X1", "X2"):
            np.testing.assert_array_equal(got[name], X)
        np.testing.assert_array_equal(got["small"], X.astype("f4"))
        np.testing.assert_array_equal(got["flags"], X > 0)
        assert not got["none"].any()
        np.testing.assert_array_equal(source.read(3, 5)["D"], X[3:5])
    with MatSource(tmp_path / "x.mat", asked("X", "labels")) as source:
        assert source.schema.names == ("X1", "X2", "labels")


def test_what_is_no_matrix_of_numbers_is_told(tmp_path):
    with h5py.File(tmp_path / "x.mat", "w") as file:
        file.create_group("a")
        file["b"] = np.zeros((3, 20), [("real", "f8"), ("imag", "f8")])
        file["c"] = X.T
        file["d"] = [["plain", "text"]] * 3
    with (
        pytest.raises(SourceError, match=r"b of .* has complex"),
        MatSource(tmp_path / "x.mat") as source,
    ):
        source.read(0, 2)
    with MatSource(tmp_path / "x.mat", asked("c")) as source:
        np.testing.assert_array_equal(rows_of(source)["c"], X)


@given(
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=4),
    width=st.integers(2, 5),
    dtype=st.sampled_from(["f4", "f8"]),
    kind=st.sampled_from([np.asarray, sp.csr_array]),
)
@settings(max_examples=15, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, sizes, width, dtype, kind):
    path = tmp_path_factory.mktemp("mat") / "x.mat"
    Y = counts(np.random.default_rng(1), sum(sizes), width).astype(dtype)
    views = Views({"a": kind(Y), "end": Y})
    with MatWriter(path) as writer:
        for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
            writer.append(views[stop - size : stop])
    with MatSource(path, asked("a", "xend")) as source:
        got = rows_of(source)
    np.testing.assert_array_equal(got["a"], Y)
    np.testing.assert_array_equal(got["xend"], Y)


def test_a_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "x.mat"
    writer = MatWriter(path)
    writer.append(Views({"a": X[:, :5]}))
    with pytest.raises(ValueError, match="6 features"), writer:
        writer.append(Views({"a": X}))
    assert list(tmp_path.iterdir()) == []
    with (
        pytest.raises(SourceError, match=r"as MATLAB names they are 'a_b', 'a_b'"),
        MatWriter(path) as writer,
    ):
        writer.append(Views({"a b": X, "a-b": X}))


def changed(X, before, after):
    """Return a file of a matrix with some of its numbers changed where they are stored."""
    whole, before = saved({"A": X}), np.array(before, "<i4").tobytes()
    assert before in whole
    return whole.replace(before, np.array(after, "<i4").tobytes())


def test_a_size_that_cannot_be_is_refused_before_memory_is_taken(tmp_path):
    content = changed(np.ones((4, 3)), (4, 3), (1 << 20, 1 << 10))
    with (
        MatSource(put(tmp_path, content)) as source,
        pytest.raises(SourceError, match=r"A would take 1,073,741,824 bytes; its file has"),
    ):
        list(source.chunks(2))


def test_places_beyond_a_sparse_matrix_are_refused(tmp_path):
    for rows in ([0, 99], [0, -3], [1 << 30, 0]):
        content = changed(sp.csc_array(np.eye(5)[:, [2, 3]]), [2, 3], rows)
        with pytest.raises(SourceError, match=r"x\.mat"):
            list(MatSource(put(tmp_path, content)).chunks(2))
