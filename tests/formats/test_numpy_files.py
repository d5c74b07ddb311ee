"""NumPy's files: whatever is in them, rows or a clear error."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.formats import NpySource, NpzSource, SourceError, open_source
from support import counts, damaged

X = sp.csr_array(counts(np.random.default_rng(0), 30, 8))


def saved(save, *args):
    file = io.BytesIO()
    save(file, *args)
    return file.getvalue()


WHOLE = {"npy": saved(np.save, X.toarray()), "npz": saved(sp.save_npz, X)}
SOURCES = {"npy": NpySource, "npz": NpzSource}


def read(path, kind):
    return [chunk.views["x"] for chunk in SOURCES[kind](path, "x").chunks(7)]


@pytest.mark.parametrize("kind", WHOLE)
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(kind, tmp_path_factory, data):
    content = damaged(data, WHOLE[kind], most=4)
    path = tmp_path_factory.mktemp("damaged") / f"x.{kind}"
    path.write_bytes(content)
    try:
        blocks = read(path, kind)
    except (SourceError, ValueError):
        return
    assert all(block.shape[0] <= 7 for block in blocks)


def array_of(description):
    """Return a .npy file of a header and a few bytes."""
    header = repr(description).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)


FLOATS = {"descr": "<f8", "fortran_order": False}
HOSTILE_NPY = {
    "pickle": pickle.dumps([1, 2]),
    "objects": saved(lambda f, a: np.save(f, a, allow_pickle=True), np.array([[{}]], object)),
    "huge": array_of({**FLOATS, "shape": (10**15, 10**15)}),
    "large": array_of({**FLOATS, "shape": (10**6, 10**6)}),
    "negative": array_of({**FLOATS, "shape": (-1, 5)}),
    "no tuple": array_of({**FLOATS, "shape": "ab"}),
    "three dimensions": saved(np.save, np.zeros((2, 2, 2))),
    "text": saved(np.save, np.array([["a", "b"]])),
    "bytes": saved(np.save, np.array([[b"a", b"b"]])),
    "code": array_of({**FLOATS, "shape": "__import__('os').getpid()"}),
    "later": b"\x93NUMPY\x09\x00" + bytes(200),
    "empty": b"",
}


@pytest.mark.parametrize("content", HOSTILE_NPY.values(), ids=HOSTILE_NPY.keys())
def test_an_array_that_cannot_be_is_refused(tmp_path, content):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"x\.npy"):
        read(path, "npy")


def archive(path, **members):
    whole = {
        "format": np.array(b"csr"),
        "shape": np.array(X.shape),
        "data": X.data,
        "indices": X.indices,
        "indptr": X.indptr,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in {**whole, **members}.items():
            if value is not None:
                content = value if isinstance(value, bytes) else saved(np.save, value)
                file.writestr(f"{name}.npy", content)


beyond, fallen = X.indices.copy(), X.indptr.copy()
beyond[3] = 8
fallen[4] = 0
HOSTILE_NPZ = {
    "column beyond": {"indices": beyond},
    "column below": {"indices": np.where(X.indices == 0, -1, X.indices)},
    "pointers fall": {"indptr": fallen},
    "pointers far": {"indptr": np.append(X.indptr[:-1], 10**9)},
    "few pointers": {"indptr": X.indptr[:-2]},
    "more values": {"data": np.append(X.data, 1.0)},
    "csc": {"format": np.array(b"csc")},
    "no format": {"format": None},
    "no data": {"data": None},
    "pickle": {"data": pickle.dumps([1.0])},
    "floats for columns": {"indices": X.indices.astype(float)},
    "absurd shape": {"shape": np.array([10**18, 8])},
    "one number for a shape": {"shape": np.array([30])},
    "negative shape": {"shape": np.array([-30, 8])},
    "bomb": {
        "shape": np.array([1, 2**40]),
        "indptr": np.array([0, 2**34]),
        "data": array_of({**FLOATS, "shape": (2**34,)}) + bytes(2**22),
        "indices": array_of({"descr": "<i4", "fortran_order": False, "shape": (2**34,)}),
    },
}


@pytest.mark.parametrize("members", HOSTILE_NPZ.values(), ids=HOSTILE_NPZ.keys())
def test_a_matrix_that_cannot_be_is_refused(tmp_path, members):
    path = tmp_path / "x.npz"
    archive(path, **members)
    with pytest.raises(ValueError, match=r"x\.npz|shape"):
        read(path, "npz")


def test_unsorted_and_repeated_columns_are_read_as_what_they_mean(tmp_path):
    path = tmp_path / "x.npz"
    archive(
        path,
        shape=np.array([1, 8]),
        data=np.array([1.0, 2.0, 3.0]),
        indices=np.array([5, 1, 5], np.int32),
        indptr=np.array([0, 3]),
    )
    (block,) = read(path, "npz")
    np.testing.assert_array_equal(block.toarray(), [[0, 2, 0, 0, 0, 4, 0, 0]])


def test_files_that_do_not_fit_are_named(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "b.npy", np.ones((4, 2)))
    (tmp_path / "c.txt").write_text("1 2")
    with pytest.raises(SourceError, match="different numbers of rows: a 3, b 4"):
        open_source(tmp_path / "a.npy", tmp_path / "b.npy")
    with pytest.raises(SourceError, match="two files for view 'a'"):
        open_source(tmp_path / "a.npy", f"a={tmp_path / 'b.npy'}")
    with pytest.raises(SourceError, match=r"ends in '\.txt'"):
        open_source(tmp_path / "c.txt")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_source(tmp_path / "nowhere.npy")
    with pytest.raises(SourceError, match="no input"):
        open_source()
    with pytest.raises(SourceError, match="'z'"):
        open_source(tmp_path / "a.npy", views=["z"])
    both = open_source(f"one={tmp_path / 'a.npy'}", tmp_path / "a.npy", views=["a"])
    assert both.schema.names == ("a",)
