"""MATLAB's files: what is read of both kinds, what is written, and files that are damaged."""

import io
import struct
import zlib

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import loadmat, savemat

from omvfs.data.views import Views
from omvfs.formats import SourceError, _mat5
from omvfs.formats._files import File
from omvfs.formats.matlab import MatSource, MatWriter
from support import counts, dense

X = counts(np.random.default_rng(0), 20, 6)
CLASSES = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


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


# Version 5, against scipy's writer


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


@pytest.mark.parametrize("compressed", [False, True])
def test_cells_are_views_that_are_counted_from_1(tmp_path, compressed):
    views = cell(X, "text", sp.csc_array(X), cell(X), X[:, :2] > 0, np.arange(20.0), np.empty(0))
    variables = {"X": views, "Y": np.arange(20.0), "gt": np.arange(20)[:, np.newaxis]}
    path = put(tmp_path, saved(variables, do_compression=compressed))
    got = rows_of(MatSource(path))
    assert list(got) == ["X1", "X3", "X5"]
    for name, expected in (("X1", X), ("X3", X), ("X5", X[:, :2] > 0)):
        np.testing.assert_array_equal(got[name], expected)
    assert MatSource(path, variables=["X5", "X1", "gt"]).schema.names == ("X5", "X1", "gt")
    with pytest.raises(SourceError, match=r"X7 of .* has no columns"):
        MatSource(path, variables=["X"])
    both = put(tmp_path, saved({"X": cell(X, X), "more": X}, do_compression=compressed))
    assert MatSource(both, variables=["X"]).schema.names == ("X1", "X2")
    long = put(tmp_path, saved({"X": cell(*[X[:2]] * 1001), "Y": X}, do_compression=compressed))
    assert MatSource(long).schema.names == ("Y",)


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


# Version 5, by hand


def element(order, kind, content):
    if 0 < len(content) <= 4:
        return struct.pack(f"{order}I", len(content) << 16 | kind) + content.ljust(4, b"\0")
    return struct.pack(f"{order}2I", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(order, kind, shape, parts, name=b"A", flags=0, dimensions=None):
    content = (
        element(order, 6, struct.pack(f"{order}2I", flags << 8 | kind, 0))
        + element(order, 5, struct.pack(f"{order}{len(shape)}i", *shape))
        + element(order, 1, name)
        + b"".join(element(order, *part) for part in parts)
    )
    return element(order, 14, content)


def header(order):
    return (
        b"MATLAB 5.0 MAT-file".ljust(124)
        + struct.pack(f"{order}H", 0x0100)[:2]
        + (b"IM" if order == "<" else b"MI")
    )


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


def test_matrices_that_do_not_fit_are_named(tmp_path):
    path = put(tmp_path, saved({"a": X, "b": X[:7]}))
    with pytest.raises(SourceError, match=r"a 20, b 7\. Name those"):
        MatSource(path)
    assert MatSource(path, variables=["b"]).n_rows == 7
    with pytest.raises(SourceError, match="numbers 'c'; it has 'a', 'b'"):
        MatSource(path, variables=["c"])
    with pytest.raises(SourceError, match="no matrix of numbers"):
        MatSource(put(tmp_path, saved({"k": 1.0})))


def test_other_files_are_told_how_to_be_saved(tmp_path):
    for content in (saved({"a": X}, format="4"), b"", b"no .mat file", b"\0" * 600):
        with pytest.raises(SourceError, match=r"no MATLAB file.*'-v7'"):
            MatSource(put(tmp_path, content))
    with pytest.raises(FileNotFoundError, match=r"no file .*none\.mat"):
        MatSource(tmp_path / "none.mat")


def test_a_file_that_changes_is_refused(tmp_path):
    source = MatSource(put(tmp_path, saved({"a": X})))
    put(tmp_path, saved({"a": X[:5]}))
    with pytest.raises(SourceError, match="changed"):
        list(source.chunks(7))


def test_remote_files_of_both_kinds(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    with MatWriter(tmp_path / "new.mat") as writer:
        writer.append(Views({"a": X}))
    for number, content in enumerate((saved({"a": X}), (tmp_path / "new.mat").read_bytes())):
        address = f"memory://matlab/{number}.mat"
        with fsspec.open(address, "wb") as file:
            file.write(content)
        with MatSource(address) as source:
            np.testing.assert_array_equal(rows_of(source)["a"], X)


# Version 7.3


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
        file["elsewhere"] = h5py.ExternalLink("other.mat", "/D")
        file.create_group("structure").attrs["MATLAB_class"] = np.bytes_(b"struct")
    return path


@pytest.mark.parametrize("batch_size", [1, 7, 100])
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
    with MatSource(tmp_path / "x.mat", variables=["X", "labels"]) as source:
        assert source.schema.names == ("X1", "X2", "labels")


def test_numbers_in_other_files_are_not_read(tmp_path):
    (tmp_path / "secret").write_bytes(X.tobytes())
    with h5py.File(tmp_path / "x.mat", "w") as file:
        outside = [(tmp_path / "secret", 0, X.nbytes)]
        file.create_dataset("a", X.T.shape, "f8", external=outside)
        file["b"] = np.zeros((3, 20), [("real", "f8"), ("imag", "f8")])
        file["c"] = X.T
        file["d"] = [["plain", "text"]] * 3
    with pytest.raises(SourceError, match="no matrix of numbers 'a'"):
        MatSource(tmp_path / "x.mat", variables=["a"])
    with pytest.raises(SourceError, match=r"b of .* has complex"):
        MatSource(tmp_path / "x.mat")
    with MatSource(tmp_path / "x.mat", variables=["c"]) as source:
        np.testing.assert_array_equal(rows_of(source)["c"], X)


# Writing


@given(
    sizes=st.lists(st.integers(0, 90), min_size=1, max_size=4),
    width=st.integers(1, 5),
    dtype=st.sampled_from(["f4", "f8"]),
    kind=st.sampled_from([np.asarray, sp.csr_array]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, sizes, width, dtype, kind):
    path = tmp_path_factory.mktemp("mat") / "x.mat"
    A, B = (
        counts(np.random.default_rng(i), sum(sizes), n, dtype) for i, n in enumerate((width, 2))
    )
    with MatWriter(path) as writer:
        for stop, n in zip(np.cumsum(sizes), sizes, strict=True):
            rows = slice(stop - n, stop)
            writer.append(Views({"b": B[rows], "A": kind(A[rows])}))
    assert path.read_bytes().startswith(b"MATLAB 7.3 MAT-file")
    assert path.read_bytes()[124:128] == b"\0\2IM"
    expected = {name: X for name, X in (("A", A), ("b", B)) if X.size}
    if not expected:
        with pytest.raises(SourceError, match="no matrix"):
            MatSource(path)
        return
    with MatSource(path, variables=[*expected]) as source:
        got = rows_of(source, 50)
    for name, block in expected.items():
        np.testing.assert_array_equal(got[name], block)
        assert got[name].dtype == dtype
    with h5py.File(path) as file:
        assert file["b"].attrs["MATLAB_class"] == (b"single" if dtype == "f4" else b"double")
        assert file["b"].attrs.get_id("MATLAB_class").get_type().get_cset() == h5py.h5t.CSET_ASCII


def test_names_become_those_of_matlab(tmp_path):
    names = ["text", "bag of words", "1st", "_x", "end", "é" * 80]
    with MatWriter(tmp_path / "x.mat") as writer:
        writer.append(Views(dict.fromkeys(names, X)))
    with MatSource(tmp_path / "x.mat") as source:
        expected = {"text", "bag_of_words", "x1st", "x_x", "xend", "x" + "_" * 62}
        assert set(source.schema.names) == expected
    with (
        pytest.raises(SourceError, match=r"'a_b', 'a_b'\. Rename"),
        MatWriter(tmp_path / "y.mat") as w,
    ):
        w.append(Views({"a b": X, "a-b": X}))
    assert [file.name for file in tmp_path.iterdir()] == ["x.mat"]


def test_a_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "x.mat"
    writer = MatWriter(path)
    writer.append(Views({"a": X[:, :5]}))
    with pytest.raises(ValueError, match="6 features"), writer:
        writer.append(Views({"a": X}))
    with pytest.raises(SourceError, match="20,001 columns"), MatWriter(path) as writer:
        writer.append(Views({"a": sp.csr_array((2, 20_001))}))
    assert not list(tmp_path.iterdir())
    with MatWriter(path) as writer:
        writer.append(Views({"a": X}))
    with pytest.raises(FileExistsError, match=r"x\.mat"):
        MatWriter(path)


# Damage


def wholes(folder):
    variables = {
        "text": sp.csc_array(X),
        "image": X[:, :2],
        "small": (X * 9).astype("i2"),
        "C": cell(X, sp.csc_array(X)),
        "note": "text",
        "s": {"field": X[:2]},
    }
    return {
        "5": saved(variables),
        "5 compressed": saved(variables, do_compression=True),
        "5 big": header(">")
        + matrix(">", 6, (2, 2), [(9, np.arange(4.0).astype(">f8").tobytes())]),
        "7.3": write_73(folder / "whole.mat").read_bytes(),
    }


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    return wholes(tmp_path_factory.mktemp("whole"))


@given(data=st.data())
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("kind", ["5", "5 compressed", "5 big", "7.3"])
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, whole_files, kind, data):
    content = bytearray(whole_files[kind])
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    error = read_damaged(put(tmp_path_factory.mktemp("damaged"), content))
    assert not error or "x.mat" in error


def read_damaged(path):
    """Read the beginning of a file that is damaged; return the error, if any."""
    try:
        with MatSource(path) as source:
            for chunk, _ in zip(source.chunks(7), range(5), strict=False):
                assert len(chunk.views) <= 7
    except SourceError as error:
        return str(error)
    return ""
