"""Files of HDF5 that would have other files of the machine read are refused by name."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.formats import SourceError, open_source

X = np.arange(60.0).reshape(20, 3)


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    folder = tmp_path_factory.mktemp("others")
    (folder / "secret").write_bytes(X.tobytes())
    with h5py.File(folder / "secret.h5", "w") as file:
        file["X"], file["names"], file["csr/data"] = X, ["a", "b", "c"], X.ravel()
    return folder


def link(group, name, to, folder):
    group[name] = h5py.ExternalLink(str(folder / "secret.h5"), to)


def external(group, name, folder):
    group.create_dataset(name, X.shape, "f8", external=[(folder / "secret", 0, X.nbytes)])


def virtual(group, name, folder):
    shape = h5py.VirtualLayout(X.shape, "f8")
    shape[:] = h5py.VirtualSource(str(folder / "secret.h5"), "X", shape=X.shape)
    group.create_virtual_dataset(name, shape)


def sparse(file, place):
    """Make a sparse matrix, as AnnData and MATLAB have them, but for its values."""
    group, matrix = file.create_group(place), sp.csr_array(X)
    group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", X.shape
    group.attrs["MATLAB_sparse"] = np.uint64(20)
    group["indices"], group["indptr"] = matrix.indices, matrix.indptr
    group["ir"], group["jc"] = matrix.indices, np.zeros(4, int)
    return group


def stored_parts(file, place, folder):
    shape, outside = sp.csr_array(X).data.shape, [(folder / "secret", 0, X.nbytes)]
    sparse(file, place).create_dataset("data", shape, "f8", external=outside)


def by_a_soft_link(file, place, folder):
    link(file, "away", "/", folder)
    file[place] = h5py.SoftLink("/away/X")


WAYS = {
    "a link": lambda file, place, folder: link(file, place, "/X", folder),
    "a link to a group": lambda file, place, folder: link(file, place, "/csr", folder),
    "external storage": external,
    "virtual": virtual,
    "links of parts": lambda f, place, folder: link(sparse(f, place), "data", "/csr/data", folder),
    "stored parts": stored_parts,
    "by a soft link": by_a_soft_link,
}


def refused(path):
    with pytest.raises(SourceError, match="another file") as caught, open_source(path) as source:
        list(source.chunks(20))
    assert path.name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "place"), [("x.h5ad", "X"), ("x.h5mu", "mod/rna/X"), ("x.mat", "image")]
)
def test_matrices_are_within(others, tmp_path, name, place):
    for way, write in WAYS.items():
        path = tmp_path / f"{way.replace(' ', '_')}.{name.partition('.')[2]}"
        with h5py.File(path, "w", userblock_size=512) as file:
            write(file, place, others)
        refused(path)


@pytest.mark.parametrize("place", ["var", "var/names"])
def test_names_are_within(others, tmp_path, place):
    with h5py.File(tmp_path / "rows.h5ad", "w") as file:
        file["X"] = X
        if place == "var/names":
            file.create_group("var").attrs["_index"] = "names"
        link(file, place, "/names", others)
    refused(tmp_path / "rows.h5ad")


def test_a_soft_link_within_is_followed(tmp_path):
    with h5py.File(tmp_path / "rows.h5ad", "w") as file:
        file["raw"], file["X"] = X, h5py.SoftLink("/raw")
    with open_source(tmp_path / "rows.h5ad") as source:
        (chunk,) = source.chunks(20)
    np.testing.assert_array_equal(chunk.views["rows"], X)
