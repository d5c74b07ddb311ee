"""AnnData and MuData files, written by their documented layout."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.formats import SourceError, open_source
from omvfs.formats.anndata import AnnDataSource
from support import counts, damaged, dense

RNA = sp.csr_matrix(counts(np.random.default_rng(0), 40, 9))
PROTEIN = counts(np.random.default_rng(1), 40, 4).astype(np.float32)


def write(group, X, names):
    if sp.issparse(X):
        matrix = group.create_group("X")
        matrix.attrs["encoding-type"], matrix.attrs["shape"] = f"{X.format}_matrix", X.shape
        for part in ("data", "indices", "indptr"):
            matrix[part] = getattr(X, part)
    else:
        group["X"] = X
    var = group.create_group("var")
    var.attrs["_index"] = "name"
    var["name"] = names


def h5ad(path, X=RNA, names=None, pca=None):
    with h5py.File(path, "w") as file:
        write(file, X, names or [f"gene {j}" for j in range(X.shape[1])])
        file.create_group("obsm")["X_pca"] = PROTEIN if pca is None else pca
    return path


def h5mu(path, protein=PROTEIN):
    with h5py.File(path, "w") as file:
        modalities = file.create_group("mod")
        write(modalities.create_group("rna"), RNA, [f"gene {j}" for j in range(9)])
        write(modalities.create_group("adt"), protein, [f"é{j}" for j in range(4)])
        modalities.attrs["mod-order"] = ["rna", "adt"]
    return path


def test_x_and_obsm_are_views(tmp_path):
    path = h5ad(tmp_path / "cells.h5ad")
    with open_source(path) as source:
        assert source.schema.names == ("cells",)
        assert source.schema.feature_names[0][:2] == ("gene 0", "gene 1")
        rows = np.vstack([dense(chunk.views["cells"]) for chunk in source.chunks(7)])
        np.testing.assert_array_equal(rows, dense(RNA))
    with AnnDataSource(path, "rna", {"pca": "X_pca"}) as source:
        *_, last = source.chunks(7, {"row": 30})
        np.testing.assert_array_equal(last.views["pca"], PROTEIN[37:].astype(np.float64))
        with pytest.raises(SourceError, match="no obsm 'X_umap'; it has 'X_pca'"):
            AnnDataSource(path, "rna", {"umap": "X_umap"})


def test_modalities_are_views_in_their_order(tmp_path):
    with open_source(h5mu(tmp_path / "cells.h5mu")) as source:
        assert source.schema.names == ("rna", "adt")
        assert source.schema.feature_names[1] == ("é0", "é1", "é2", "é3")
        chunks = list(source.chunks(15))
        assert [chunk.start for chunk in chunks] == [0, 15, 30]
        np.testing.assert_array_equal(chunks[1].views["adt"], PROTEIN[15:30])
        np.testing.assert_array_equal(chunks[1].views["rna"].toarray(), dense(RNA)[15:30])


def test_what_does_not_fit_is_told_with_the_remedy(tmp_path):
    with pytest.raises(SourceError, match=r"csc_matrix; expected csr_matrix.*tocsr"):
        open_source(h5ad(tmp_path / "a.h5ad", RNA.tocsc()))
    with pytest.raises(SourceError, match=r"rna 40, adt 39.*intersect_obs"):
        open_source(h5mu(tmp_path / "b.h5mu", PROTEIN[:39]))
    with pytest.raises(SourceError, match="var_names_make_unique"):
        open_source(h5ad(tmp_path / "c.h5ad", names=["same"] * 9))
    (tmp_path / "d.h5ad").write_bytes(b"not HDF5 at all" * 100)
    with pytest.raises(SourceError, match="no HDF5 file"):
        open_source(tmp_path / "d.h5ad")
    with h5py.File(tmp_path / "e.h5ad", "w") as file:
        file["Y"] = [1.0]
    with pytest.raises(SourceError, match="not as AnnData writes it"):
        open_source(tmp_path / "e.h5ad")


@pytest.mark.parametrize(
    ("part", "place", "value"), [("indices", 0, 99), ("indices", 3, -1), ("indptr", 5, 10**9)]
)
def test_a_matrix_that_cannot_be_is_refused(tmp_path, part, place, value):
    path = h5ad(tmp_path / "x.h5ad")
    with h5py.File(path, "r+") as file:
        file["X"][part][place] = value
    with open_source(path) as source, pytest.raises(SourceError, match=r"x\.h5ad"):
        list(source.chunks(20))


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, data):
    path = h5mu(tmp_path_factory.mktemp("damaged") / "x.h5mu")
    content = damaged(data, path.read_bytes(), most=4)
    path.write_bytes(content)
    try:
        with open_source(path) as source:
            chunks = list(source.chunks(20))
    except ValueError:
        return
    assert all(len(chunk.views) <= 20 for chunk in chunks)


def test_many_names_are_no_damage(tmp_path):
    names = [f"g{j}" for j in range(500_000)]
    path = h5ad(tmp_path / "x.h5ad", sp.csr_matrix((3, len(names))), names)
    with open_source(path) as source:
        assert source.schema.feature_names == (tuple(names),)


@pytest.mark.parametrize(
    ("code", "kind", "sentence"),
    [
        ("signal.raise_signal(signal.SIGKILL)", OSError, "ended by SIGKILL, as happens where"),
        ("signal.raise_signal(signal.SIGTERM)", OSError, "ended by SIGTERM, as happens where"),
        ("sys.exit(1)", OSError, "ended by code 1"),
        ("signal.raise_signal(signal.SIGSEGV)", SourceError, "is damaged: .* ends in SIGSEGV"),
        ("signal.setitimer(signal.ITIMER_PROF, 0.1)\nwhile True: pass", SourceError, "no end"),
    ],
)
def test_what_ended_the_reading_of_names_is_told(tmp_path, monkeypatch, code, kind, sentence):
    (tmp_path / "program.py").write_text(f"import signal, sys\n{code}\n")
    monkeypatch.setattr("omvfs.formats.anndata._PROGRAM", tmp_path / "program.py")
    with pytest.raises(kind, match=rf"x\.h5ad .*{sentence}") as caught:
        open_source(h5ad(tmp_path / "x.h5ad"))
    assert isinstance(caught.value, SourceError) == (kind is SourceError)
