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
    scverse.select(own, n_top=[5, 12], clusters=True, **FEW)
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
    by_columns = backed and form is sp.csc_matrix
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = scverse.select(own, n_top=5, clusters=True, **FEW)
    told = [str(each.message) for each in told if "by columns" in str(each.message)]
    assert [each.startswith("Modality 'X' is stored by columns (csc)") for each in told] == (
        [True] if by_columns else []
    )
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
    assert len(read) == N / 50
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
    scverse.select(mdata, n_top={"rna": 9, "protein": 3}, key_added="mine", clusters=True, **FEW)
    assert set(mdata["rna"].var) == {"mine_rank", "mine_score", "mine_selected", "mine_why"}
    assert mdata["rna"].var["mine_selected"].to_numpy().nonzero()[0].tolist() == list(range(9))
    assert mdata["protein"].var["mine_selected"].to_numpy().nonzero()[0].tolist() == [0, 1, 2]
    assert "mine" in mdata.uns
    table = pd.crosstab(mdata.obs["kind"], mdata.obs["mine_cluster"])
    assert table.max(axis=1).sum() > 0.95 * N


def test_every_form_of_the_same_cells_has_the_same_selection(tmp_path):
    dense = planted()["rna"].X.toarray()
    names = [f"cell{i}" for i in range(N)]
    made = {kind.__name__: kind(dense) for kind in (np.asarray, sp.csr_matrix, sp.csc_matrix)}
    made |= {"csr_array": sp.csr_array(dense), "csc_array": sp.csc_array(dense)}
    columns = {}
    for name, X in made.items():
        cells = annotated(X, names, "g")
        columns[name] = scverse.select(cells, n_top_genes=9, inplace=False, **FEW)
        assert cells.var.empty
        assert not cells.uns
        cells.write_h5ad(tmp_path / f"{name}.h5ad")
        own = ad.read_h5ad(tmp_path / f"{name}.h5ad", backed="r")
        columns[f"{name}, backed"] = scverse.select(own, n_top_genes=9, inplace=False, **FEW)
    first, *others = columns.values()
    for other in others:
        pd.testing.assert_frame_equal(other, first, rtol=1e-4)
    ranks = [each["omvfs_rank"].tolist() for each in columns.values()]
    assert all(each == ranks[0] for each in ranks)


def test_a_model_that_read_files_annotates_what_is_analysed():
    adata = planted()["rna"]
    model = OMVFS(**FEW)
    for start in range(0, N, 100):
        model.partial_fit(adata[start : start + 100].copy())
    scverse.annotate(adata, model, n_top=9, highly_variable=True)
    assert adata.var["highly_variable"].to_numpy().nonzero()[0].tolist() == list(range(9))
    assert sorted(adata.var["highly_variable_rank"]) == list(range(1, GENES + 1))
    # In another order of cells: the same selection.
    one = scverse.select(adata[::-1].copy(), n_top=9, inplace=False, **FEW)
    assert one["omvfs_selected"].tolist() == adata.var["omvfs_selected"].tolist()
    with pytest.raises(ValueError, match="Modality 'X' has other features than the model"):
        scverse.annotate(adata[:, ::-1].copy(), model)
    with pytest.raises(ValueError, match="Modality 'rna' has other features than the model"):
        scverse.annotate(planted(), model)


def test_a_sentence_tells_why_a_gene_is_selected():
    mdata = planted()
    model = scverse.select(mdata, n_top=5, **FEW)
    var = mdata["rna"].var.sort_values("omvfs_rank")
    for rank_of, (gene, why) in enumerate(var["omvfs_why"].head(5).items(), start=1):
        assert why == model.explain("rna", gene).why
        assert why.startswith(f"`{gene}` ")
        assert f"rank {rank_of} of 40" in why
    assert (var["omvfs_why"].iloc[5:] == "").all()


def test_a_dict_of_anndata_is_as_good_as_mudata():
    mdata, parts = planted(), {name: each.copy() for name, each in planted().mod.items()}
    model = scverse.select(mdata, n_top=5, **FEW)
    other = scverse.select(parts, n_top=5, **FEW)
    for view, each in parts.items():
        np.testing.assert_array_equal(each.var["omvfs_rank"], mdata[view].var["omvfs_rank"])
    assert other.n_samples_seen_ == model.n_samples_seen_ == N


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
    model = scverse.select(mdata, n_top=9, batch_key="lane", clusters=True, **FEW)
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
    scverse.select(
        mdata, n_top=[5, 9], batch_key="lane", layer={"rna": "doubled"}, clusters=True, **FEW
    )
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


def test_a_batch_of_few_cells_does_not_decide_and_is_named():
    mdata = with_batches()
    lanes = mdata.obs["lane"].astype(str).to_numpy()
    lanes[:2] = "few"
    mdata.obs["lane"] = lanes
    with pytest.warns(UserWarning, match="fewer than 20 cells are not ranked .*: 'few'"):
        scverse.select(mdata, n_top=9, batch_key="lane", **FEW)
    assert mdata["rna"].var["omvfs_nbatches"].max() == 2
    assert mdata.uns["omvfs"]["n_cells"] == N
    mdata.obs["lane"] = [f"b{i % 30}" for i in range(N)]
    with pytest.raises(ValueError, match="All batches have fewer than 20 cells"):
        scverse.select(mdata, batch_key="lane", **FEW)


def test_what_select_cannot_do_is_refused_before_cells_are_read():
    adata = planted()["rna"]
    for bad, kind, said in [
        ({"n_features_to_select": 3}, TypeError, "expected n_top"),
        ({"prepare": "hash:4"}, ValueError, "hashed features"),
        ({"inplace": False, "clusters": True}, ValueError, "clusters=True with inplace=False"),
    ]:
        with pytest.raises(kind, match=said):
            scverse.select(adata, **FEW, **bad)
    with pytest.raises(ValueError, match="Got no cells"):
        scverse.select(adata[:0].copy(), **FEW)
    with pytest.raises(TypeError, match="Got str; expected an OMVFS"):
        scverse.annotate(adata, "model.omvfs")
