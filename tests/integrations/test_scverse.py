"""AnnData and MuData are ranked where they are, and what was found is written into them."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from omvfs.selector import rank

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ad = pytest.importorskip("anndata", reason="needs Python 3.12 and the extra scverse")
    md = pytest.importorskip("mudata", reason="needs Python 3.12 and the extra scverse")

from omvfs import scverse

# Of these packages, not of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

N, GENES, PROTEINS, TYPES = 300, 40, 9, 3
FEW = {"n_clusters": TYPES, "batch_size": 50, "random_state": 0}


def annotated(X, rows, letter):
    columns = [f"{letter}{j}" for j in range(X.shape[1])]
    return ad.AnnData(X, pd.DataFrame(index=rows), pd.DataFrame(index=columns))


def planted(shuffled=False, lacking=60):
    """Return cells of three types, some without proteins; genes 0 to 8 and proteins 0 to 2 tell."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(TYPES, size=N)
    rows = np.array([f"cell{i}" for i in range(N)])

    def counts(width, telling):
        means = np.full((TYPES, width), 0.5)
        for k in range(TYPES):
            means[k, k:telling:TYPES] = 4.0
        return rng.poisson(means[kinds]).astype(np.float32)

    rna = annotated(sp.csr_matrix(counts(GENES, 9)), rows, "g")
    rna.layers["doubled"] = 2 * rna.X
    have = rng.permutation(N)[lacking:]
    have = have if shuffled else np.sort(have)
    protein = annotated(counts(PROTEINS, 3)[have], rows[have], "p")
    mdata = md.MuData({"rna": rna, "protein": protein})
    mdata.obs["kind"] = kinds.astype(str)
    return mdata


def expected(data, **params):
    """Return what the arrays tell."""
    model = OMVFS(**{**FEW, **params})
    return model.fit(data)


def opened(mdata, path):
    """Return the same cells from a disk."""
    mdata.write_h5mu(path / "cells.h5mu")
    return md.read_h5mu(path / "cells.h5mu", backed="r")


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("backed", [False, True])
def test_a_mudata_is_ranked_as_its_arrays_are(backed, shuffled, tmp_path):
    mdata = planted(shuffled)
    model = expected(mdata)
    own = opened(mdata, tmp_path) if backed else mdata
    scverse.select(own, n_top=[5, 12], **FEW)
    for view, scores in model.view_scores_.items():
        var = own[view].var
        np.testing.assert_array_equal(var["omvfs_score"], scores)
        np.testing.assert_array_equal(var["omvfs_rank"], rank(scores))
        np.testing.assert_array_equal(var["omvfs_selected"], rank(scores) <= 5)
        np.testing.assert_array_equal(var["omvfs_selected_5"], rank(scores) <= 5)
        np.testing.assert_array_equal(var["omvfs_selected_12"], rank(scores) <= 12)
    assert own["protein"].var["omvfs_selected_12"].all()
    labels = own.obs["omvfs_cluster"].astype(int)
    np.testing.assert_array_equal(labels[mdata.obs_names], model.labels_)
    assert own.uns["omvfs"]["n_cells"] == N
    assert own.uns["omvfs"]["params"]["n_clusters"] == TYPES


@pytest.mark.parametrize("backed", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_an_anndata_is_one_view(backed, form, tmp_path):
    adata = planted()["rna"].copy()
    adata.X = form(adata.X.toarray())
    model, own = expected(adata), adata.copy()
    if backed:
        adata.write_h5ad(tmp_path / "cells.h5ad")
        own = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    if backed and form is sp.csc_matrix:
        with pytest.raises(ValueError, match=r"'X' is stored as csc on disk.*tocsr"):
            scverse.select(own, n_top=5, **FEW)
        return
    found = scverse.select(own, n_top=5, **FEW)
    np.testing.assert_array_equal(own.var["omvfs_score"], model.scores_)
    np.testing.assert_array_equal(own.obs["omvfs_cluster"].astype(int), model.labels_)
    # What is returned goes on with AnnData.
    assert found.transform(adata).shape == (N, 5)
    assert set(found.get_feature_names_out()) == set(own.var_names[own.var["omvfs_selected"]])


def test_a_lazy_anndata_is_read_by_rows(tmp_path):
    pytest.importorskip("xarray", reason="anndata reads lazily by it: make test-scverse")
    adata = planted()["rna"]
    adata.write_zarr(tmp_path / "cells.zarr")
    own = pytest.importorskip("anndata.experimental").read_lazy(tmp_path / "cells.zarr")
    scverse.select(own, n_top=5, **FEW)
    np.testing.assert_array_equal(own.var["omvfs_score"], expected(adata).scores_)


def test_no_matrix_is_loaded(tmp_path, monkeypatch):
    read = []
    own = opened(planted(lacking=0), tmp_path)
    kind = type(own["rna"].X)
    taken = kind.__getitem__
    monkeypatch.setattr(kind, "__getitem__", lambda X, at: read.append(at) or taken(X, at))
    monkeypatch.setattr(kind, "to_memory", lambda X: pytest.fail("All of it was read."))
    scverse.select(own, n_top=5, **FEW)
    assert len(read) == 2 * N / 50
    assert max(at.stop - at.start for at in read) == 50


def test_a_layer_is_read_in_the_place_of_x(tmp_path):
    mdata = planted()
    doubled = mdata.copy()
    doubled["rna"].X = doubled["rna"].layers["doubled"]
    model = expected(doubled)
    for own in (mdata, opened(mdata, tmp_path)):
        scverse.select(own, n_top=5, layer={"rna": "doubled"}, **FEW)
        np.testing.assert_array_equal(own["rna"].var["omvfs_score"], model.view_scores_["rna"])
    with pytest.raises(ValueError, match="Modality 'protein' has no layer 'doubled'"):
        scverse.select(mdata, layer="doubled", **FEW)
    with pytest.raises(ValueError, match="Got layer of 'atac'; the modalities are 'rna', 'prot"):
        scverse.select(mdata, layer={"atac": "doubled"}, **FEW)


def test_what_tells_is_ranked_first():
    mdata = planted()
    scverse.select(mdata, n_top={"rna": 9, "protein": 3}, key_added="mine", **FEW)
    assert set(mdata["rna"].var) == {"mine_rank", "mine_score", "mine_selected"}
    assert mdata["rna"].var["mine_selected"].to_numpy().nonzero()[0].tolist() == list(range(9))
    assert mdata["protein"].var["mine_selected"].to_numpy().nonzero()[0].tolist() == [0, 1, 2]
    assert "mine" in mdata.uns
    table = pd.crosstab(mdata.obs["kind"], mdata.obs["mine_cluster"])
    assert table.max(axis=1).sum() > 0.95 * N


def with_batches():
    """Return cells of two batches, which differ in gene 39; the second has no proteins."""
    mdata = planted(lacking=0)
    second = np.arange(N) >= N // 2
    rna, protein = mdata["rna"].copy(), mdata["protein"][~second].copy()
    X = rna.X.toarray()
    X[second, 39] += 6
    rna.X = sp.csr_matrix(X)
    mdata = md.MuData({"rna": rna, "protein": protein})
    mdata.obs["lane"] = pd.Categorical(np.where(second, "b", "a"))
    return mdata


def test_batches_are_ranked_by_themselves_and_put_together():
    mdata = with_batches()
    model = scverse.select(mdata, n_top=9, batch_key="lane", **FEW)
    in_a = mdata.obs["lane"] == "a"
    parts = [expected(mdata[rows].copy()) for rows in (in_a, ~in_a)]
    ranks = np.stack([rank(part.view_scores_["rna"]) for part in parts])
    var = mdata["rna"].var
    assert (np.diff(np.median(ranks, axis=0)[np.argsort(var["omvfs_rank"])]) >= 0).all()
    np.testing.assert_array_equal(var["omvfs_nbatches"], (ranks <= 9).sum(axis=0))
    assert not var["omvfs_selected"].iloc[39]
    # The batch that has no proteins does not say which of them are good.
    np.testing.assert_array_equal(
        mdata["protein"].var["omvfs_rank"], rank(parts[0].view_scores_["protein"])
    )
    assert model.n_samples_seen_ == N
    assert mdata.uns["omvfs"]["batch_key"] == "lane"


def test_what_was_found_is_kept_in_files(tmp_path):
    mdata = with_batches()
    scverse.select(mdata, n_top=[5, 9], batch_key="lane", layer={"rna": "doubled"}, **FEW)
    mdata.write_h5mu(tmp_path / "cells.h5mu")
    again = md.read_h5mu(tmp_path / "cells.h5mu")
    pd.testing.assert_frame_equal(again["rna"].var, mdata["rna"].var)
    assert list(again.obs["omvfs_cluster"]) == list(mdata.obs["omvfs_cluster"])
    assert again.uns["omvfs"]["n_top"]["rna"].tolist() == [5, 9]
    assert again.uns["omvfs"]["params"] == mdata.uns["omvfs"]["params"]


def test_what_is_wrong_is_told():
    mdata = planted()
    for bad, said in [
        ({"n_top": [5, 5]}, "several different ones"),
        ({"n_top": 0}, "n_top=0"),
        ({"n_top": {"rna": 5}}, r"Got n_top of \['rna'\]"),
        ({"batch_key": "lane"}, r"batch_key='lane'; obs has \['kind'\].*pull_obs"),
    ]:
        with pytest.raises(ValueError, match=said):
            scverse.select(mdata, **FEW, **bad)
    mdata.obs["lane"] = ["a", None] * (N // 2)
    with pytest.raises(ValueError, match="150 cells have no 'lane'"):
        scverse.select(mdata, batch_key="lane", **FEW)
    with pytest.raises(ValueError, match=r"Got a view of MuData.*\.copy\(\)"):
        scverse.select(mdata[:100], **FEW)
    with pytest.raises(ValueError, match=r"Got a view of AnnData.*\.copy\(\)"):
        scverse.select(mdata["rna"][:100], **FEW)
    with pytest.raises(TypeError, match="Got ndarray; expected AnnData or MuData"):
        scverse.select(np.ones((3, 3)), **FEW)
    empty = mdata["rna"].copy()
    empty.X = None
    with pytest.raises(ValueError, match="'X' has no X; pass layer="):
        scverse.select(empty, **FEW)
    masked = mdata["rna"].copy()
    masked.layers["masked"] = np.ma.masked_array(np.ones(masked.shape), np.eye(*masked.shape))
    with pytest.raises(ValueError, match="Modality 'X' has masked values"):
        scverse.select(masked, layer="masked", **FEW)
    assert not [name for name in mdata["rna"].var if name.startswith("omvfs")]


def test_selected_columns_are_of_the_same_kind(tmp_path):
    mdata = planted(shuffled=True)
    model = scverse.select(mdata, n_top=5, **FEW)
    for own in (mdata, opened(mdata, tmp_path)):
        chosen = model.select(own)
        assert isinstance(chosen, md.MuData)
        assert chosen.n_obs == N
        for view in ("rna", "protein"):
            var = mdata[view].var
            assert list(chosen[view].var_names) == list(var.index[var["omvfs_selected"]])
    rna = mdata["rna"].copy()
    model = scverse.select(rna, n_top=5, **FEW)
    assert list(model.select(rna).var_names) == list(rna.var_names[rna.var["omvfs_selected"]])
