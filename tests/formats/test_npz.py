"""CSR matrices of SciPy: whatever is in a file, rows or a clear error."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy

from omvfs.formats import NpzSource, SourceError
from support import counts, damaged

X = sp.csr_array(counts(np.random.default_rng(0), 30, 8))


def saved(save, *args):
    file = io.BytesIO()
    save(file, *args)
    return file.getvalue()


WHOLE = saved(sp.save_npz, X)


def read(path):
    return [chunk.views["x"] for chunk in NpzSource(path, "x").chunks(7)]


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "x.npz"
    path.write_bytes(damaged(data, WHOLE))
    try:
        blocks = read(path)
    except (SourceError, ValueError):
        return
    assert all(block.shape[0] <= 7 for block in blocks)


def header(descr, length):
    """Return how an array begins that claims to be long."""
    return saved(
        npy.write_array_header_1_0, {"descr": descr, "fortran_order": False, "shape": (length,)}
    )


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
HOSTILE = {
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


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_matrix_that_cannot_be_is_refused(tmp_path, members):
    path = tmp_path / "x.npz"
    archive(path, **members)
    with pytest.raises(ValueError, match=r"x\.npz|shape"):
        read(path)


def test_unsorted_and_repeated_columns_are_read_as_what_they_mean(tmp_path):
    path = tmp_path / "x.npz"
    archive(
        path,
        shape=np.array([1, 8]),
        data=np.array([1.0, 2.0, 3.0]),
        indices=np.array([5, 1, 5], np.int32),
        indptr=np.array([0, 3]),
    )
    (block,) = read(path)
    np.testing.assert_array_equal(block.toarray(), [[0, 2, 0, 0, 0, 4, 0, 0]])
