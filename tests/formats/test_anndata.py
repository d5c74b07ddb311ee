"""AnnData and MuData files as their libraries write them: read by rows, and written with all."""

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from omvfs.cli.commands import run_app
from omvfs.formats import SourceError, open_source, open_writer
from support import counts, dense

N = 40
RNA = sp.csr_matrix(counts(np.random.default_rng(0), N, 9))
ADT = counts(np.random.default_rng(1), N, 4)
CELLS = [f"cell {i}" for i in range(N)]
OPTIONS = ["-k", "2", "-n", "3", "--batch-size", "15"]


def annotated(X, prefix):
    """Return all that a modality can have."""
    rng, (n, width) = np.random.default_rng(2), X.shape
    kinds = pd.Categorical(["T", "B"] * (n // 2))
    return anndata.AnnData(
        X,
        obs=pd.DataFrame({"type": kinds, "depth": rng.random(n)}, CELLS[:n]),
        var=pd.DataFrame({"length": np.arange(width)}, [f"{prefix}{j}" for j in range(width)]),
        obsm={"X_pca": rng.random((n, 3))},
        varm={"PCs": rng.random((width, 3))},
        obsp={"near": sp.eye_array(n, format="csr")},
        uns={"colours": np.array(["red", "blue"])},
        layers={"counts": X * 2},
    )


@pytest.fixture
def h5ad(tmp_path):
    annotated(RNA, "gene ").write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.fixture
def h5mu(tmp_path):
    with mudata.set_options(pull_on_update=False):
        data = mudata.MuData({"rna": annotated(RNA, "gene "), "adt": annotated(ADT, "é")})
        data.obs["batch"] = np.arange(N) % 2
        data.obsm["X_umap"] = np.arange(2.0 * N).reshape(N, 2)
        data.uns["run"] = "first"
        data.write_h5mu(tmp_path / "cells.h5mu")
    return tmp_path / "cells.h5mu"


def test_x_is_a_view_and_so_is_a_layer(h5ad):
    with open_source(h5ad) as source:
        assert source.schema.names == ("cells",)
        assert source.schema.feature_names[0][:2] == ("gene 0", "gene 1")
        np.testing.assert_array_equal(dense(next(source.chunks(N)).views["cells"]), dense(RNA))
    with open_source(h5ad, layer="counts") as source:
        np.testing.assert_array_equal(dense(next(source.chunks(N)).views["cells"]), 2 * dense(RNA))
    with pytest.raises(SourceError, match="no layer 'x' of view 'cells'; it has 'counts'"):
        open_source(h5ad, layer="x")


def test_what_does_not_fit_is_told_with_the_remedy(tmp_path):
    annotated(RNA.tocsc(), "g").write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(SourceError, match=r"csc_matrix; expected .*csr_matrix.*tocsr"):
        open_source(tmp_path / "a.h5ad")
    for other, sentence in ((ADT[:38], "rna 40, adt 38.*intersect_obs"), (ADT, "another order")):
        adt = annotated(other, "é")
        mods = {"rna": annotated(RNA, "g"), "adt": adt[::-1].copy()}
        with mudata.set_options(pull_on_update=False):
            mudata.MuData(mods).write_h5mu(tmp_path / "b.h5mu")
        with pytest.raises(SourceError, match=sentence):
            open_source(tmp_path / "b.h5mu")
    (tmp_path / "d.h5ad").write_bytes(b"not HDF5 at all" * 100)
    with pytest.raises(SourceError, match=r"d\.h5ad cannot be read: .*signature"):
        open_source(tmp_path / "d.h5ad")
    with h5py.File(tmp_path / "e.h5ad", "w") as file:
        file["Y"] = [1.0]
    with pytest.raises(SourceError, match=r"e\.h5ad cannot be read"):
        open_source(tmp_path / "e.h5ad")


@pytest.mark.parametrize(
    ("part", "place", "value"), [("indices", 0, 99), ("indices", 3, -1), ("indptr", 5, 10**9)]
)
def test_a_matrix_that_cannot_be_is_refused(h5ad, part, place, value):
    with h5py.File(h5ad, "r+") as file:
        file["X"][part][place] = value
    with open_source(h5ad) as source, pytest.raises(SourceError, match=r"cells\.h5ad"):
        list(source.chunks(20))


def check(before, after, columns):
    """Have one modality say of some columns what it said of them."""
    expected = before[:, columns].copy()
    pd.testing.assert_frame_equal(after.obs, expected.obs)
    pd.testing.assert_frame_equal(after.var, expected.var)
    np.testing.assert_array_equal(dense(after.X), dense(expected.X))
    np.testing.assert_array_equal(dense(after.layers["counts"]), dense(expected.layers["counts"]))
    np.testing.assert_array_equal(after.obsm["X_pca"], expected.obsm["X_pca"])
    np.testing.assert_array_equal(after.varm["PCs"], expected.varm["PCs"])
    np.testing.assert_array_equal(dense(after.obsp["near"]), np.eye(N))
    assert list(after.uns["colours"]) == ["red", "blue"]


def test_selected_features_keep_all_that_was_said_of_them(h5ad, tmp_path):
    out = tmp_path / "out"
    assert run_app(["select", str(h5ad), *OPTIONS, "--write-data", "-o", str(out)]) == 0
    after = anndata.read_h5ad(out / "data" / "cells.h5ad")
    assert after.shape == (N, 3)
    check(annotated(RNA, "gene "), after, list(after.var_names))


def test_modalities_keep_all_that_was_said_of_them(h5mu, tmp_path):
    out = tmp_path / "out"
    assert run_app(["select", str(h5mu), *OPTIONS, "--write-data", "-o", str(out)]) == 0
    with mudata.set_options(pull_on_update=False):
        after = mudata.read_h5mu(out / "data" / "cells.h5mu")
    for name, X, prefix in (("rna", RNA, "gene "), ("adt", ADT, "é")):
        assert after[name].n_vars == 3
        check(annotated(X, prefix), after[name], list(after[name].var_names))
    assert list(after.obs["batch"]) == [0, 1] * (N // 2)
    np.testing.assert_array_equal(after.obsm["X_umap"], np.arange(2.0 * N).reshape(N, 2))
    assert after.uns["run"] == "first"


def test_the_layer_that_was_read_becomes_x(h5ad, tmp_path):
    with open_source(h5ad, layer="counts") as source, open_writer(tmp_path / "x.h5ad") as writer:
        writer.describe(source)
        for chunk in source.chunks(16):
            writer.append(chunk.views)
    after = anndata.read_h5ad(tmp_path / "x.h5ad")
    np.testing.assert_array_equal(dense(after.X), 2 * dense(RNA))
    np.testing.assert_array_equal(dense(after.layers["X"]), dense(RNA))


def test_rows_that_are_missing_are_told(h5ad, tmp_path):
    with open_source(h5ad) as source:
        writer = open_writer(tmp_path / "x.h5ad")
        writer.describe(source)
        writer.append(next(source.chunks(16)).views)
        with pytest.raises(SourceError, match=r"Got 16 rows of .*; expected all 40"):
            writer.__exit__(None, None, None)
    assert not (tmp_path / "x.h5ad").exists()
