"""MATLAB's files of version 5 to 7: what is read of them, and what cannot be."""

import struct
import zlib

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import loadmat

from matlab_files import X, element, header, matrix, put, rows_of, saved
from omvfs.formats import SourceError, _mat5
from omvfs.formats._files import File
from omvfs.formats.matlab import MatSource

CLASSES = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


@given(
    array=st.sampled_from(CLASSES).flatmap(
        lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0))
    ),
    fortran=st.booleans(),
    compressed=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_dense_matrices_come_back_with_every_bit(tmp_path_factory, array, fortran, compressed):
    given_array = np.asfortranarray(array) if fortran else array
    content = saved({"A": given_array, "last": X}, do_compression=compressed)
    reader = _mat5.Mat5(File(put(tmp_path_factory.mktemp("mat"), content)))
    got = reader.load(reader.matrices)
    assert (got["A"].dtype, got["A"].shape) == (array.dtype, array.shape)
    assert got["A"].flags.c_contiguous
    assert got["A"].tobytes() == array.tobytes()
    np.testing.assert_array_equal(got["last"], X)


@given(seed=st.integers(0, 99), shape=st.tuples(st.integers(1, 9), st.integers(1, 9)))
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", [float, bool])
def test_sparse_matrices_come_back(tmp_path_factory, seed, shape, kind, compressed):
    matrix = sp.random_array(shape, density=0.4, random_state=seed).astype(kind)
    content = saved({"A": matrix}, do_compression=compressed)
    reader = _mat5.Mat5(File(put(tmp_path_factory.mktemp("mat"), content)))
    assert [m.kind for m in reader.matrices] == ["sparse"]
    got = reader.load(reader.matrices)["A"]
    assert (got.format, got.dtype) == ("csr", np.dtype(kind))
    np.testing.assert_array_equal(got.toarray(), matrix.toarray())


def test_many_variables_of_long_names(tmp_path):
    variables = {f"v{i:03}".ljust(63, "x"): X + i for i in range(200)}
    path = put(tmp_path, saved(variables, long_field_names=True, do_compression=True))
    got = rows_of(MatSource(path, variables=[*variables][::-7]))
    assert list(got) == [*variables][::-7]
    for name, block in got.items():
        np.testing.assert_array_equal(block, variables[name])


def test_only_what_is_wanted_is_decompressed(tmp_path, monkeypatch):
    large = np.random.default_rng(0).random((1000, 200))
    path = put(tmp_path, saved({"large": large, "small": X}, do_compression=True))
    n_bytes = []
    plain = _mat5._Inflated._some
    monkeypatch.setattr(
        _mat5._Inflated, "_some", lambda *a: n_bytes.append(len(got := plain(*a))) or got
    )
    rows_of(MatSource(path, variables=["small"]))
    assert sum(n_bytes) < 5000


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("compressed", [False, True])
def test_both_byte_orders_and_numbers_stored_in_less(tmp_path, order, compressed):
    values = np.array([[1, 2, 3], [250, 5, 6]])
    narrow = (2, values.astype("u1").tobytes("F"))
    wide = (9, values.astype(f"{order}f8").tobytes("F"))
    places = [
        (5, np.array([1, 0], f"{order}i4").tobytes()),
        (5, np.array([0, 1, 1, 2], f"{order}i4").tobytes()),
        (2, b"\7\x08"),
    ]
    variables = [
        matrix(order, 6, (2, 3), [narrow], b"A"),
        matrix(order, 7, (2, 3), [narrow], b"Single"),
        matrix(order, 6, (2, 3), [wide], b"longer_name"),
        matrix(order, 9, (2, 3), [narrow], b"logical", flags=2),
        matrix(order, 5, (2, 3), places, b"S"),
        # As MATLAB writes them: said to be doubles, but bytes.
        matrix(order, 5, (2, 3), [*places[:2], (9, b"\1\1")], b"L", flags=2),
    ]
    if compressed:
        packed = [zlib.compress(each) for each in variables]
        variables = [struct.pack(f"{order}2I", 15, len(each)) + each for each in packed]
    path = put(tmp_path, header(order) + b"".join(variables))
    reader = _mat5.Mat5(File(path))
    got = reader.load(reader.matrices)
    assert [str(block.dtype) for block in got.values()] == (
        ["float64", "float32", "float64", "bool", "float64", "bool"]
    )
    for name in ("A", "Single", "longer_name"):
        np.testing.assert_array_equal(got[name], values)
    assert got["logical"].all()
    np.testing.assert_array_equal(got["S"].toarray(), [[0, 0, 8], [7, 0, 0]])
    np.testing.assert_array_equal(got["L"].toarray(), got["S"].toarray() != 0)
    if order == "<":
        np.testing.assert_array_equal(loadmat(path)["S"].toarray(), got["S"].toarray())


PLACES = {"ir": [0, 1], "jc": [0, 1, 2], "pr": [1.0, 2.0]}


@pytest.mark.parametrize(
    "change",
    [
        {"ir": [0, 5]},
        {"ir": [0, -1]},
        {"jc": [0, 2, 1]},
        {"jc": [0, -1, 0]},
        {"jc": [0, 1, 2**31 - 1]},
        {"jc": [1, 1, 2]},
        {"jc": [0, 2]},
        {"jc": [0, 1, 2, 1]},
        {"jc": []},
        {"pr": [1.0]},
    ],
)
def test_a_sparse_matrix_that_cannot_be_is_refused(tmp_path, change):
    parts = PLACES | change
    content = [(5, np.array(parts[name], "<i4").tobytes()) for name in ("ir", "jc")]
    content.append((9, np.array(parts["pr"], "<f8").tobytes()))
    path = put(tmp_path, header("<") + matrix("<", 5, (2, 2), content))
    with MatSource(path) as source, pytest.raises(SourceError, match=r"A of .*x\.mat is damaged"):
        list(source.chunks(2))
    with h5py.File(tmp_path / "y.mat", "w") as file:
        group = file.create_group("A")
        group.attrs["MATLAB_sparse"] = np.uint64(2)
        for name, part in zip(("ir", "jc", "data"), parts.values(), strict=True):
            group[name] = np.array(part, "f8" if name == "data" else "i8")
    with pytest.raises(SourceError, match=r"y\.mat"), MatSource(tmp_path / "y.mat") as source:
        list(source.chunks(2))


TWO = (9, np.arange(4.0).tobytes())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (matrix("<", 6, (2, 3), [TWO]), "4 numbers for 6"),
        (matrix("<", 6, (2, -2), [TWO]), r"dimensions \(2, -2\)"),
        (matrix("<", 6, (2,), [TWO]), "dimensions"),
        (matrix("<", 6, (1 << 16, 1 << 16), [TWO]), r"would take .*-v7\.3"),
        (matrix("<", 6, (2, 2), [(16, bytes(32))]), "type 16"),
        (matrix("<", 8, (2, 2), [(9, np.full(4, 1e9).tobytes())]), "int8 cannot hold"),
        (matrix("<", 6, (2, 2), [TWO], flags=8), "complex numbers; expected real"),
        (matrix("<", 6, (2, 2), [TWO]) * 2, "more than one matrix 'A'"),
        (matrix("<", 6, (2, 2), [TWO])[:-8], "bytes are expected"),
        (matrix("<", 6, (2, 2), [TWO]) + b"1234", "within a tag"),
        (element("<", 9, bytes(16)), "type 9 for a variable"),
        (matrix("<", 6, (2, 0), []), "no columns"),
        (
            matrix("<", 5, (1 << 30, 1), [(5, bytes(8)), (5, bytes(8)), (9, bytes(8))]),
            "0 entries in",
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path, content, why):
    path = put(tmp_path, header("<") + content)
    with pytest.raises(SourceError, match=why) as caught:
        list(MatSource(path, variables=["A"]).chunks(2))
    assert "x.mat" in str(caught.value)


def packed(content, length=None):
    content = zlib.compress(content)
    return struct.pack("<2I", 15, len(content) if length is None else length) + content


def test_what_is_compressed_is_never_more_than_it_says(tmp_path):
    whole = matrix("<", 6, (2, 2), [TWO])
    for content in (
        packed(struct.pack("<2I", 14, 1 << 30) + whole[8:]),  # more than so few bytes can make
        packed(whole[:-1]),
        packed(whole)[:-4] + b"\0\0\0\0",  # the checksum
        packed(element("<", 14, whole[8:40])),
        packed(b""),
        packed(matrix("<", 6, (2, 2), [(9, bytes(1 << 20))])),
        packed(packed(whole)),
        packed(matrix("<", 1, (1, 900), [])),
        packed(whole + bytes(1 << 20)),
    ):
        path = put(tmp_path, header("<") + content)
        with pytest.raises(SourceError, match=r"x\.mat is damaged"):
            list(MatSource(path, variables=["A"]).chunks(2))
