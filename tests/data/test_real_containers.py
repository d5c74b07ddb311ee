"""What `test_containers` shows by stand-ins, of the packages themselves where they are there."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, as_views
from support import counts, dense

X = counts(np.random.default_rng(0), 30, 8, "float32")
ROWS = [f"cell{i}" for i in range(30)]
GENES = [f"gene{j}" for j in range(8)]

# Of these packages, not of ours.
pytestmark = pytest.mark.filterwarnings("ignore")


def package(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def annotated(X, rows=ROWS, columns=GENES):
    return package("anndata").AnnData(X, pd.DataFrame(index=rows), pd.DataFrame(index=columns))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("rows", [slice(None), slice(3, 20), [5, 2, 9]])
def test_anndata_and_rows_of_it(kind, rows):
    data = annotated(kind(X))[rows]
    views = as_views(data)
    np.testing.assert_array_equal(dense(views["X"]), X[rows])
    assert list(views.index) == list(data.obs_names)
    assert list(views.feature_names["X"]) == GENES
    selector = OMVFS(2, n_features_per_view=3, random_state=0).fit(annotated(kind(X)))
    assert set(selector.get_feature_names_out()) < set(GENES)
    assert selector.transform(data).shape == (len(views), 3)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_anndata_backed_by_a_file(kind, tmp_path):
    path = tmp_path / "rows.h5ad"
    annotated(kind(X)).write_h5ad(path)
    data = package("anndata").read_h5ad(path, backed="r")
    with pytest.raises(TypeError, match=r"AnnData backed by .*rows\.h5ad.*to_memory"):
        OMVFS().fit(data)
    selector = OMVFS(2, random_state=0)
    for start in (0, 10, 20):
        selector.partial_fit(data[start : start + 10])
    expected = OMVFS(2, batch_size=10, random_state=0).fit(data.to_memory())
    np.testing.assert_array_equal(selector.scores_, expected.scores_)
    data.file.close()


def test_mudata_and_a_dict_of_its_modalities():
    order = np.random.default_rng(1).permutation(30)
    protein = annotated(X[order, :3], [ROWS[i] for i in order], ["p1", "p2", "p3"])
    data = package("mudata").MuData({"rna": annotated(sp.csr_matrix(X)), "protein": protein})
    for views in (as_views(data), as_views(dict(data.mod)), as_views(data.mod)):
        assert views.widths == {"rna": 8, "protein": 3}
        assert list(views.index) == list(data.obs_names)
        np.testing.assert_array_equal(dense(views["protein"]), X[:, :3])
    part = as_views(data[ROWS[4:7]])
    np.testing.assert_array_equal(dense(part["protein"]), X[4:7, :3])
    fewer = package("mudata").MuData({"rna": data.mod["rna"], "protein": protein[:10].copy()})
    with pytest.raises(ValueError, match=r"20 of 30 rows lack view 'protein'"):
        as_views(fewer)
    assert OMVFS(2, random_state=0).fit(fewer).n_samples_seen_ == 30


def test_dask_is_refused():
    da = package("dask.array")
    lazy = da.from_array(X, chunks=(10, 8))
    for data in (lazy, {"v": lazy}, annotated(lazy)):
        with pytest.raises(TypeError, match=r"dask\.array.*not in memory.*X\.compute\(\)"):
            OMVFS().fit(data)
    frames = package("dask.dataframe").from_pandas(pd.DataFrame(X, columns=GENES), npartitions=2)
    with pytest.raises(TypeError, match=r"lazy frame \(dask.*\.compute\(\)"):
        OMVFS().fit(frames)


def test_h5py_is_refused(tmp_path):
    with package("h5py").File(tmp_path / "x.h5", "w") as file:
        file["x"] = X
        for data in (file["x"], {"v": file["x"]}, file):
            with pytest.raises(TypeError, match=r"Got h5py.*Dataset.*not in memory.*X\[:\]"):
                OMVFS().fit(data)


def test_zarr_is_refused():
    stored = package("zarr").array(X)
    with pytest.raises(TypeError, match=r"Got zarr.*Array.*not in memory.*X\[:\]"):
        OMVFS().fit(stored)


def test_archives_of_numpy_are_views(tmp_path):
    np.savez(tmp_path / "x.npz", text=X, image=X[:, :2])
    with np.load(tmp_path / "x.npz") as data:
        assert as_views(data).widths == {"text": 8, "image": 2}
