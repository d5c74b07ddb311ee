"""`set_output` is heeded, whatever form the rows come in, and rows keep their labels."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context

from omvfs import Views
from omvfs.baselines import ColumnSum
from stand_ins import AnnData, MuData
from support import counts

ROWS = [f"row{i}" for i in range(6)]


def frames():
    rng = np.random.default_rng(0)
    text = pd.DataFrame(counts(rng, 6, 4), index=ROWS, columns=list("abcd"))
    return {"text": text, "image": pd.DataFrame(counts(rng, 6, 3), index=ROWS, columns=list("xyz"))}


def selector(**params):
    return ColumnSum(n_features_per_view=2, **params).set_output(transform="pandas")


FORMS = {
    "frames": lambda data: data,
    "frames, one in another order": lambda data: {**data, "image": data["image"][::-1]},
    "a frame and an array": lambda data: {**data, "image": data["image"].to_numpy()},
    "Views": Views,
    "a list": lambda data: list(data.values()),
    "levels of columns": lambda data: pd.concat(data, axis=1),
    "AnnData": lambda data: {
        view: AnnData(X.to_numpy(), ROWS, list(X.columns)) for view, X in data.items()
    },
    "MuData": lambda data: MuData(FORMS["AnnData"](data)),
}


@pytest.mark.parametrize("form", FORMS)
def test_labels_of_rows_are_kept(form):
    data = FORMS[form](frames())
    for out in (selector().fit_transform(data), selector().fit(data).transform(data)):
        assert list(out.index) == ROWS
    own = selector().fit(data)
    assert list(out.columns) == list(own.get_feature_names_out())
    np.testing.assert_array_equal(out, own.set_output(transform="default").transform(data))


def test_one_x_keeps_the_labels_of_its_rows():
    wide = pd.concat(frames().values(), axis=1)
    for X in (wide, AnnData(wide.to_numpy(), ROWS, list(wide.columns))):
        out = selector().fit_transform(X)
        assert list(out.index) == ROWS
        assert list(out.columns) == list(wide.columns[selector().fit(X).get_support()])


def test_rows_without_labels_are_counted():
    data = {view: X.to_numpy() for view, X in frames().items()}
    assert selector().fit_transform(data).index.equals(pd.RangeIndex(6))


@pytest.mark.parametrize("form", FORMS)
def test_views_come_as_frames_where_they_are_asked_for(form):
    data = FORMS[form](frames())
    own = selector().fit(data)
    got, plain = (
        own.transform_views(data),
        own.set_output(transform="default").transform_views(data),
    )
    for view, expected in plain.items():
        assert isinstance(expected, np.ndarray)
        assert isinstance(got[view], pd.DataFrame)
        np.testing.assert_array_equal(got[view], expected)
        assert list(got[view].index) == ROWS
    names = [f"{view}__{name}" for view, X in got.items() for name in X.columns]
    assert names == list(own.get_feature_names_out())


def test_frames_of_other_libraries_and_by_configuration():
    data = frames()
    own = ColumnSum(n_features_per_view=2).fit(data)
    with config_context(transform_output="polars"):
        assert isinstance(own.transform(data), pl.DataFrame)
        assert {type(X) for X in own.transform_views(data).values()} == {pl.DataFrame}
    assert {type(X) for X in own.transform_views(data).values()} == {np.ndarray}


def test_sparse_views_are_no_frames():
    data = {**frames(), "text": sp.csr_array(frames()["text"].to_numpy())}
    own = selector().fit(data)
    with pytest.raises(ValueError, match=r"View 'text' is sparse, and frames are not.*default"):
        own.transform_views(data)
    with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
        own.transform(data)
    assert sp.issparse(own.set_output(transform="default").transform_views(data)["text"])


@pytest.mark.parametrize("form", FORMS)
def test_a_frozen_selection_takes_the_same_columns(form):
    data = FORMS[form](frames())
    own = ColumnSum(n_features_per_view=2).fit(data)
    frozen = own.selection()
    np.testing.assert_array_equal(frozen.transform(data), own.transform(data))
    assert list(frozen.get_feature_names_out()) == list(own.get_feature_names_out())
    for view, expected in own.transform_views(data).items():
        np.testing.assert_array_equal(frozen.transform_views(data)[view], expected)


# In a process of its own, as who has seen a library once does not look for it again.
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(["pandas", "polars", "pyarrow"]))
from omvfs.baselines import Variance
ranked = Variance(n_features_per_view=1).fit({"text": [[1.0, 0.0], [5.0, 1.0]]})
for backend in ("pandas", "polars", "pyarrow"):
    try:
        ranked.to_frame(backend)
    except ModuleNotFoundError as error:
        assert f"pip install {backend}." in str(error), error
        print(backend)
"""


def test_a_table_whose_library_is_missing_is_refused_with_the_remedy():
    command = [sys.executable, "-c", WITHOUT]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.split() == ["pandas", "polars", "pyarrow"]
