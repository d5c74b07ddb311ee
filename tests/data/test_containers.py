"""Data of others is read by what it offers, or refused at once by its name; nothing is guessed."""

import array
import collections
import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, as_views
from omvfs.formats import open_source
from support import counts, dense

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    anndata = pytest.importorskip("anndata")
    mudata = pytest.importorskip("mudata")

# Of these packages, not of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

X = counts(np.random.default_rng(0), 30, 8, "float32")
ROWS = [f"cell{i}" for i in range(30)]
GENES = [f"gene{j}" for j in range(8)]


class Untouchable:
    """Has a length and items; who turns it into an array goes through them."""

    def __len__(self):
        raise AssertionError("It was taken for a sequence.")

    def __getitem__(self, key):
        raise AssertionError("Its elements were looked at.")


class Stored:
    """Values in a file, as h5py and zarr have them."""

    shape, dtype, chunks = (4, 3), np.dtype(float), (2, 3)

    def __getitem__(self, key):
        raise AssertionError("It was read from its file.")

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("It was read from its file.")


class Delayed(Stored):
    """Values that are yet to be computed, as dask has them."""

    def compute(self):
        raise AssertionError("It was computed.")


def annotated(X, rows=ROWS, columns=GENES):
    return anndata.AnnData(X, pd.DataFrame(index=rows), pd.DataFrame(index=columns))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array, sp.csc_matrix])
def test_anndata_and_rows_of_it_are_one_x_with_names(kind):
    data = annotated(kind(X))
    for rows in (slice(None), slice(3, 20), [5, 2, 9]):
        views = as_views(data[rows])
        assert (views.names, views.dtype) == (("X",), "float32")
        np.testing.assert_array_equal(dense(views["X"]), X[rows])
        assert list(views.index) == list(data[rows].obs_names)
        assert list(views.feature_names["X"]) == GENES
    split = as_views(data, views={"rna": GENES[1:], "protein": ["gene0"]})
    np.testing.assert_array_equal(dense(split["protein"]), X[:, :1])


def test_masked_values_of_anndata_are_refused():
    X = np.ones((len(ROWS), len(GENES)))
    hidden = annotated(np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) == 2))
    for given, view in [(hidden, ""), ({"rna": hidden}, "View 'rna': ")]:
        with pytest.raises(ValueError, match=rf"^{view}X of .*AnnData has masked values, 1 of "):
            as_views(given)


def test_a_selector_knows_anndata_by_its_names():
    data, frame = annotated(X), pd.DataFrame(X, columns=GENES)
    selector = OMVFS(2, n_features_per_view=2, random_state=0).fit(data)
    same = OMVFS(2, n_features_per_view=2, random_state=0).fit(frame)
    assert list(selector.feature_names_in_) == GENES
    framed = OMVFS(2, random_state=0).set_output(transform="pandas").fit_transform({"rna": data})
    assert list(framed.index) == ROWS
    assert list(selector.get_feature_names_out()) == list(same.get_feature_names_out())
    np.testing.assert_array_equal(selector.transform(data), same.transform(frame))
    for names in (GENES[::-1], [*GENES[:7], "other"], GENES[:7]):
        with pytest.raises(ValueError, match="feature names should match"):
            selector.transform(annotated(X[:, : len(names)], columns=names))
    with pytest.raises(ValueError, match=r"View 'rna': .*'g' 8 times.*var_names_make_unique"):
        as_views({"rna": annotated(X, columns=["g"] * 8)})


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_anndata_backed_by_a_file(kind, tmp_path):
    path = tmp_path / "rows.h5ad"
    annotated(kind(X)).write_h5ad(path)
    data = anndata.read_h5ad(path, backed="r")
    with pytest.raises(TypeError, match=r"backed by .*rows\.h5ad.*to_memory.*open_source.*select"):
        OMVFS().fit(data)
    selector = OMVFS(2, random_state=0)
    for start in (0, 10, 20):
        selector.partial_fit(data[start : start + 10])
    expected = OMVFS(2, batch_size=10, random_state=0).fit(data.to_memory())
    np.testing.assert_array_equal(selector.scores_, expected.scores_)
    data.file.close()


def test_modalities_of_mudata_are_views_in_its_order():
    order = np.random.default_rng(1).permutation(30)
    protein = annotated(X[order, :3], [ROWS[i] for i in order], ["p1", "p2", "p3"])
    data = mudata.MuData({"rna": annotated(sp.csr_matrix(X)), "protein": protein})
    for views in (as_views(data), as_views(dict(data.mod)), as_views(data.mod)):
        assert views.widths == {"rna": 8, "protein": 3}
        assert list(views.index) == list(data.obs_names)
        np.testing.assert_array_equal(dense(views["protein"]), X[:, :3])
    part = as_views(data[ROWS[4:7]])
    np.testing.assert_array_equal(dense(part["protein"]), X[4:7, :3])
    assert as_views([data.mod["rna"], protein]).names == ("view_0", "view_1")
    with pytest.raises(TypeError, match=r"View 'both': Got mudata.*MuData; .*pass it alone"):
        as_views({"both": data})


def test_cells_of_mudata_may_lack_a_modality():
    protein = annotated(X[[5, 2], :3], [ROWS[5], ROWS[2]], ["p1", "p2", "p3"])
    data = mudata.MuData({"rna": annotated(X), "protein": protein})
    read = as_views(data, missing="allow")
    assert np.flatnonzero(read.present["protein"]).tolist() == [2, 5]
    np.testing.assert_array_equal(read["protein"][[2, 5]], X[[2, 5], :3])
    with pytest.raises(ValueError, match="28 of 30 rows lack view 'protein', such as row 0"):
        as_views(data)
    assert OMVFS(2, random_state=0).fit(data).n_samples_seen_ == 30
    turned = mudata.MuData({"a": annotated(X), "b": annotated(X)}, axis=1)
    with pytest.raises(ValueError, match="axis=1; expected axis=0"):
        as_views(turned)


def test_what_is_not_in_memory_is_refused_unread(tmp_path):
    for data, message in [
        (
            Stored(),
            r"Got .*Stored, whose values are not in memory.*X\[:\].*partial_fit",
        ),
        (Delayed(), r"Got .*Delayed, whose values are not in memory.*X\.compute\(\)"),
    ]:
        for form in (data, {"v": data}, [np.ones((4, 3)), data]):
            with pytest.raises(TypeError, match=message):
                as_views(form)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = X
        for data in (file["x"], {"v": file["x"]}, file):
            with pytest.raises(TypeError, match=r"Got h5py.*Dataset.*not in memory.*X\[:\]"):
                OMVFS().fit(data)
    np.save(tmp_path / "x.npy", X)
    message = r"SideBySide.*not in memory.*omvfs\.pipeline\.run"
    with open_source(tmp_path / "x.npy") as source, pytest.raises(TypeError, match=message):
        OMVFS().fit(source)


def test_dask_is_refused():
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(10, 8))
    for data in (lazy, {"v": lazy}, annotated(lazy)):
        with pytest.raises(TypeError, match=r"dask\.array.*not in memory.*X\.compute\(\)"):
            OMVFS().fit(data)
    dd = pytest.importorskip("dask.dataframe")
    frames = dd.from_pandas(pd.DataFrame(X, columns=GENES), npartitions=2)
    with pytest.raises(TypeError, match=r"lazy frame \(dask.*\.compute\(\)"):
        OMVFS().fit(frames)


def test_what_is_unknown_is_refused_by_its_name():
    for data, name, remedy in [
        (Untouchable(), "Untouchable", "Pass its numbers"),
        (None, "NoneType", "Pass its numbers"),
        (3, "int", "Pass its numbers"),
        ({1, 2}, "set", "Pass its numbers"),
        ("rows.parquet", "str", "open_source"),
        ((row for row in X), "generator", "one by one to partial_fit"),
        (io.BytesIO(), r"_io\.BytesIO", "one by one"),
    ]:
        for form in (data, {"v": data}):
            with pytest.raises(
                TypeError, match=rf"Got (\w+\.)*{name}; expected an array.*{remedy}"
            ):
                as_views(form)


class Offered:
    """Offers itself as an array, and nothing else."""

    def __array__(self, dtype=None, copy=None):
        return X


class Interfaced:
    @property
    def __array_interface__(self):
        return X.__array_interface__


class Tensor:
    """Offers an array, and has none to give."""

    shape = (4, 3)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def test_what_offers_itself_as_an_array_or_rows_is_read(tmp_path):
    for data in (
        Offered(),
        Interfaced(),
        memoryview(X),
        X.tolist(),
        tuple(map(tuple, X)),
        [array.array("d", row) for row in X],
        collections.deque(X.tolist()),
        [pd.Series(row) for row in X],
        [pl.Series(row) for row in X],
        list(X),
    ):
        np.testing.assert_array_equal(as_views(data)["X"], X)
        np.testing.assert_array_equal(as_views({"v": data})["v"], X)
    for data, view in ((Tensor(), "X"), ({"v": Tensor()}, "v")):
        with pytest.raises(TypeError, match=f"View '{view}': Can't call numpy.. on Tensor"):
            as_views(data)
    np.savez(tmp_path / "x.npz", text=X, image=X[:, :2])
    with np.load(tmp_path / "x.npz") as data:
        assert as_views(data).widths == {"text": 8, "image": 2}
