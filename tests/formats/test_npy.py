"""NumPy's arrays: whatever is in a file, rows or a clear error."""

import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.formats import NpySource, SourceError
from support import counts, damaged


def saved(save, *args):
    file = io.BytesIO()
    save(file, *args)
    return file.getvalue()


WHOLE = saved(np.save, counts(np.random.default_rng(0), 30, 8))


def read(path):
    return [chunk.views["x"] for chunk in NpySource(path, "x").chunks(7)]


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "x.npy"
    path.write_bytes(damaged(data, WHOLE))
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
HOSTILE = {
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


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_array_that_cannot_be_is_refused(tmp_path, content):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"x\.npy"):
        read(path)
