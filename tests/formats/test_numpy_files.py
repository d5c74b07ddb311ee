"""NumPy's arrays and SciPy's matrices: whatever is in a file, rows or a clear error."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy

from omvfs.formats import SourceError, open_source
from support import counts, damaged

X = sp.csr_array(counts(np.random.default_rng(0), 30, 8))


def saved(save, *args):
    file = io.BytesIO()
    save(file, *args)
    return file.getvalue()


WHOLE = {"x.npy": saved(np.save, X.toarray()), "x.npz": saved(sp.save_npz, X)}


def read(path):
    with open_source(path) as source:
        return [chunk.views["x"] for chunk in source.chunks(7)]


@pytest.mark.parametrize("name", WHOLE)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, name, data):
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(damaged(data, WHOLE[name]))
    try:
        blocks = read(path)
    except (SourceError, ValueError):
        return
    assert all(block.shape[0] <= 7 for block in blocks)


def array_of(description):
    """Return a .npy file of a header and a few bytes."""
    header = repr(description).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)


FLOATS = {"descr": "<f8", "fortran_order": False}
ARRAYS = {
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


def test_an_array_that_cannot_be_is_refused(tmp_path):
    for name, content in ARRAYS.items():
        (tmp_path / "x.npy").write_bytes(content)
        with pytest.raises(SourceError, match=r"x\.npy"):
            pytest.fail(f"{name}: {read(tmp_path / 'x.npy')}")


def header(descr, length):
    """Return how an array begins that claims to be long."""
    return saved(
        npy.write_array_header_1_0, {"descr": descr, "fortran_order": False, "shape": (length,)}
    )


def archive(path, **members):
    whole = {"format": np.array(b"csr"), "shape": np.array(X.shape)}
    whole |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in {**whole, **members}.items():
            if value is not None:
                content = value if isinstance(value, bytes) else saved(np.save, value)
                file.writestr(f"{name}.npy", content)
    return path


beyond, fallen = X.indices.copy(), X.indptr.copy()
beyond[3] = 8
fallen[4] = 0
MATRICES = {
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
        "data": header("<f8", 2**34) + bytes(2**22),
        "indices": header("<i4", 2**34) + bytes(64),
    },
}


def test_a_matrix_that_cannot_be_is_refused(tmp_path):
    for name, members in MATRICES.items():
        archive(tmp_path / "x.npz", **members)
        with pytest.raises(ValueError, match=r"x\.npz|shape"):
            pytest.fail(f"{name}: {read(tmp_path / 'x.npz')}")


def test_unsorted_and_repeated_columns_are_read_as_what_they_mean(tmp_path):
    odd = {"data": np.array([1.0, 2.0, 3.0]), "indices": np.array([5, 1, 5], np.int32)}
    path = archive(tmp_path / "x.npz", shape=np.array([1, 8]), indptr=np.array([0, 3]), **odd)
    np.testing.assert_array_equal(read(path)[0].toarray(), [[0, 2, 0, 0, 0, 4, 0, 0]])
