"""Files of HDF5 that would have other files of the machine read are refused by name."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.formats import SourceError, open_source

X = np.arange(60.0).reshape(20, 3)


@pytest.fixture
def others(tmp_path):
    (tmp_path / "secret").write_bytes(X.tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"], file["names"] = X, ["a", "b", "c"]
        csr = file.create_group("csr")
        csr.attrs["encoding-type"], csr.attrs["shape"] = "csr_matrix", X.shape
        csr.attrs["MATLAB_sparse"] = np.uint64(20)
        matrix = sp.csc_array(X)
        csr["data"], csr["ir"], csr["jc"] = matrix.data, matrix.indices, matrix.indptr
        csr["indptr"], csr["indices"] = np.zeros(21, int), matrix.indices
    return tmp_path


def link(group, name, to, folder):
    group[name] = h5py.ExternalLink(str(folder / "secret.h5"), to)


def external(group, name, folder):
    group.create_dataset(name, X.shape, "f8", external=[(folder / "secret", 0, X.nbytes)])


def virtual(group, name, folder):
    shape = h5py.VirtualLayout(X.shape, "f8")
    shape[:] = h5py.VirtualSource(str(folder / "secret.h5"), "X", shape=X.shape)
    group.create_virtual_dataset(name, shape)


def sparse(group, folder, parts):
    group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", X.shape
    group.attrs["MATLAB_sparse"] = np.uint64(20)
    matrix = sp.csr_array(X)
    for part in {"data", "indices", "indptr", "ir", "jc"} - set(parts):
        group[part] = {"ir": matrix.indices, "jc": np.zeros(4, int)}.get(
            part, getattr(matrix, part, 0)
        )
    return group


def links_of_parts(file, place, folder):
    link(sparse(file.create_group(place), folder, ["data"]), "data", "/csr/data", folder)


def stored_parts(file, place, folder):
    group = sparse(file.create_group(place), folder, ["data"])
    shape, outside = sp.csr_array(X).data.shape, [(folder / "secret", 0, X.nbytes)]
    group.create_dataset("data", shape, "f8", external=outside)


def by_a_soft_link(file, place, folder):
    link(file, "away", "/", folder)
    file[place] = h5py.SoftLink("/away/X")


WAYS = {
    "a link": lambda file, place, folder: link(file, place, "/X", folder),
    "a link to a group": lambda file, place, folder: link(file, place, "/csr", folder),
    "external storage": external,
    "virtual": virtual,
    "links of parts": links_of_parts,
    "stored parts": stored_parts,
    "by a soft link": by_a_soft_link,
}


def refused(path):
    with pytest.raises(SourceError, match="another file") as caught, open_source(path) as source:
        list(source.chunks(20))
    assert path.name in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", ["X", "mod/rna/X"])
def test_anndata_has_its_matrices_within(others, way, place):
    path = others / ("rows.h5ad" if place == "X" else "rows.h5mu")
    with h5py.File(path, "w") as file:
        WAYS[way](file, place, others)
    refused(path)


@pytest.mark.parametrize("place", ["var", "var/names"])
def test_anndata_has_its_names_within(others, place):
    with h5py.File(others / "rows.h5ad", "w") as file:
        file["X"] = X
        if place == "var/names":
            file.create_group("var").attrs["_index"] = "names"
        link(file, place, "/names", others)
    refused(others / "rows.h5ad")


@pytest.mark.parametrize("way", list(WAYS))
def test_matlab_has_its_matrices_within(others, way):
    with h5py.File(others / "rows.mat", "w", userblock_size=512) as file:
        WAYS[way](file, "image", others)
    with (others / "rows.mat").open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    refused(others / "rows.mat")


def test_a_soft_link_within_is_followed(tmp_path):
    with h5py.File(tmp_path / "rows.h5ad", "w") as file:
        file["raw"], file["X"] = X, h5py.SoftLink("/raw")
    with open_source(tmp_path / "rows.h5ad") as source:
        (chunk,) = source.chunks(20)
    np.testing.assert_array_equal(chunk.views["rows"], X)
