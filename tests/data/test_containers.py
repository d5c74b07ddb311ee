"""Data of others is read by what it offers, or refused at once by its name; nothing is guessed."""

import array
import collections
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from batches import assert_sound
from omvfs import OMVFS, Views, as_views, rechunk
from omvfs.baselines import BASELINES
from omvfs.evaluation import MultiViewSphericalKMeans
from omvfs.formats import open_source
from stand_ins import AnnData, Delayed, MuData, Stored, Untouchable
from support import KINDS, counts, dense

X = counts(np.random.default_rng(0), 4, 3)
ROWS, GENES = ["r1", "r2", "r3", "r4"], ["g1", "g2", "g3"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_anndata_is_one_x_with_names(kind):
    data = AnnData(KINDS[kind](X.astype("float32")), ROWS, GENES)
    views = as_views(data)
    assert_sound(views)
    assert views.names == ("X",)
    assert views.dtype == "float32"
    np.testing.assert_array_equal(dense(views["X"]), X.astype("float32"))
    assert list(views.feature_names["X"]) == GENES
    assert list(views.index) == ROWS
    split = as_views(data, views={"rna": ["g3", "g1"], "protein": [1]})
    np.testing.assert_array_equal(dense(split["rna"]), dense(views["X"])[:, [2, 0]])


def test_a_dict_of_anndata_goes_by_their_names():
    other = AnnData(sp.csr_matrix(X[::-1]), ROWS[::-1], ["p1", "p2", "p3"])
    views = as_views({"rna": AnnData(X, ROWS, GENES), "protein": other})
    np.testing.assert_array_equal(views["rna"], dense(views["protein"]))
    assert list(views.feature_names["protein"]) == ["p1", "p2", "p3"]
    assert as_views([AnnData(X), AnnData(X)]).names == ("view_0", "view_1")


def test_modalities_of_mudata_are_views_in_its_order():
    rna = AnnData(X, ROWS, GENES)
    protein = AnnData(sp.csr_matrix(X[[2, 0, 1, 3]]), [ROWS[i] for i in (2, 0, 1, 3)], GENES)
    views = as_views(MuData({"rna": rna, "protein": protein}, ROWS[::-1]))
    assert list(views.index) == ROWS[::-1]
    for view in ("rna", "protein"):
        np.testing.assert_array_equal(dense(views[view]), X[::-1])
    assert Views(MuData({"rna": rna})).names == ("rna",)


def test_cells_of_mudata_may_lack_a_modality():
    rows = [ROWS[2], ROWS[0]]
    data = MuData({"rna": AnnData(X, ROWS, GENES), "protein": AnnData(X[[2, 0]], rows)})
    read = as_views(data, missing="allow")
    assert read.present["protein"].tolist() == [row in rows for row in ROWS]
    np.testing.assert_array_equal(read["protein"][[2, 0]], X[[2, 0]])
    with pytest.raises(ValueError, match=r"rows lack view 'protein', such as row 1"):
        as_views(data)
    with pytest.raises(ValueError, match=r"'protein' are of different rows by their labels"):
        as_views(MuData({"rna": AnnData(X, ROWS), "protein": AnnData(X[:1], ["strange"])}))
    with pytest.raises(ValueError, match="axis=1; expected axis=0"):
        as_views(MuData({"rna": AnnData(X)}, axis=1))
    with pytest.raises(ValueError, match="Got no views"):
        as_views(MuData({}, []))
    with pytest.raises(TypeError, match=r"View 'both': Got stand_ins\.MuData; .*pass it alone"):
        as_views({"both": data})


def test_two_features_of_a_name_are_refused():
    with pytest.raises(ValueError, match=r"View 'rna': .*'g1' 2 times.*var_names_make_unique"):
        as_views({"rna": AnnData(X, ROWS, ["g1", "g2", "g1"])})


def test_a_selector_knows_anndata_by_its_names():
    data = AnnData(counts(np.random.default_rng(1), 40, 5), None, list("abcde"))
    selector = OMVFS(2, n_features_per_view=2, random_state=0).fit(data)
    frame = pd.DataFrame(data.X, columns=data.var_names)
    same = OMVFS(2, n_features_per_view=2, random_state=0).fit(frame)
    assert list(selector.feature_names_in_) == list("abcde")
    assert list(selector.get_feature_names_out()) == list(same.get_feature_names_out())
    np.testing.assert_array_equal(selector.transform(data), same.transform(data))
    np.testing.assert_array_equal(selector.transform(frame), same.transform(frame))
    for names in (list("abced"), list("abcdf"), list("abcd")):
        with pytest.raises(ValueError, match="feature names should match"):
            selector.transform(AnnData(data.X[:, : len(names)], None, names))


FORMS = {
    "X": lambda data: data,
    "a view": lambda data: {"v": data},
    "one of a list": lambda data: [X, data],
    "AnnData's X": AnnData,
    "of MuData": lambda data: MuData({"v": AnnData(data)}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Stored(), r"Got stand_ins\.Stored, whose values are not in memory.*X\[:\].*partial_fit"),
        (Delayed(), r"stand_ins\.Delayed, whose values are not in memory.*X\.compute\(\)"),
    ],
)
def test_what_is_not_in_memory_is_refused_unread(form, data, message):
    with pytest.raises(TypeError, match=message):
        as_views(FORMS[form](data))


def test_anndata_backed_by_a_file_names_the_file():
    data = AnnData(Stored(), filename="rows.h5ad")
    with pytest.raises(TypeError, match=r"backed by rows\.h5ad.*to_memory.*open_source.*select"):
        as_views(data)
    # Rows of it are read by whoever takes them.
    assert as_views(AnnData(X, filename="rows.h5ad")).shape == (4, 3)


class Loose:
    """Length and items, of anything."""

    shape = (4, 3)

    def __len__(self):
        raise AssertionError("It was taken for a sequence.")

    def __getitem__(self, key):
        raise AssertionError("Its elements were looked at.")


@pytest.mark.parametrize(
    ("data", "name", "remedy"),
    [
        (Untouchable(), r"stand_ins\.Untouchable", "Pass its numbers"),
        (Loose(), r"test_containers\.Loose", "Pass its numbers"),
        (None, "NoneType", "Pass its numbers"),
        (3, "int", "Pass its numbers"),
        ({1, 2}, "set", "Pass its numbers"),
        ("rows.parquet", "str", "open_source"),
        ((row for row in X), "generator", "one by one to partial_fit"),
        (iter([X]), "list_iterator", "one by one to partial_fit"),
        (io.BytesIO(), r"_io\.BytesIO", "one by one"),
    ],
)
def test_what_is_unknown_is_refused_by_its_name(data, name, remedy):
    for form in (data, {"v": data}):
        with pytest.raises(TypeError, match=rf"Got (\w+\.)*{name}; expected an array.*{remedy}"):
            as_views(form)


def test_rows_that_are_not_in_memory_are_refused():
    class Row(Delayed):
        shape = (3,)

        def __init__(self):
            pass

    with pytest.raises(TypeError, match="Row, whose values are not in memory"):
        as_views([Row(), Row()])


class Offered:
    """Offers itself as an array, and nothing else."""

    def __array__(self, dtype=None, copy=None):
        return X


class Interfaced:
    @property
    def __array_interface__(self):
        return X.__array_interface__


@pytest.mark.parametrize(
    "data",
    [
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
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_offers_itself_as_an_array_or_rows_is_read(data):
    np.testing.assert_array_equal(as_views(data)["X"], X)
    np.testing.assert_array_equal(as_views({"v": data})["v"], X)


def test_what_offers_an_array_and_has_none_tells_why():
    class Tensor:
        shape = (4, 3)

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    for data, view in ((Tensor(), "X"), ({"v": Tensor()}, "v")):
        with pytest.raises(TypeError, match=f"View '{view}': Can't call numpy.. on Tensor"):
            as_views(data)


def test_lazy_frames_are_refused_by_name():
    with pytest.raises(TypeError, match=r"lazy frame \(polars.*LazyFrame\).*\.collect\(\)"):
        as_views(pl.LazyFrame({"a": [1.0]}))


def test_sources_are_refused_by_name(tmp_path):
    np.save(tmp_path / "x.npy", X)
    message = r"SideBySide.*not in memory.*omvfs\.pipeline\.run"
    with open_source(tmp_path / "x.npy") as source, pytest.raises(TypeError, match=message):
        OMVFS().fit(source)


def test_every_estimator_has_the_same_door():
    for make in (OMVFS, MultiViewSphericalKMeans, *BASELINES.values()):
        for data in (Untouchable(), {"v": Stored()}, MuData({"v": AnnData(Delayed())})):
            with pytest.raises(TypeError, match=r"Got stand_ins\."):
                make().fit(data)
    selector = OMVFS(2, random_state=0).fit(X)
    for call in (selector.partial_fit, selector.transform, selector.predict):
        with pytest.raises(TypeError, match=r"Got stand_ins\.Untouchable"):
            call(Untouchable())
    with pytest.raises(TypeError, match=r"Got stand_ins\.Untouchable"):
        list(rechunk([Untouchable()], 2))


@pytest.mark.parametrize("fmt", ["csr", "csc"])
@pytest.mark.parametrize("container", ["array", "matrix"])
def test_classes_made_of_scipys_are_read_as_scipys(fmt, container):
    base = getattr(sp, f"{fmt}_{container}")

    class Part(base):
        """Rows of a matrix, as AnnData has them: not to be made of three arrays."""

        def __init__(self, parent):
            super().__init__(parent)

    got = as_views({"v": Part(base(X))})["v"]
    assert type(got) is getattr(sp, f"csr_{container}")
    np.testing.assert_array_equal(got.toarray(), X)
