"""Selected columns come back as the kind they are of, with their index."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, Views
from omvfs.baselines import BASELINES, Variance

LETTERS = list("abcdef")
X = np.random.default_rng(0).random((30, 6)) * [1, 9, 2, 8, 3, 7]
ROWS = [f"row{i}" for i in range(30)]
FRAMES = {
    "pandas": lambda X=X, names=LETTERS: pd.DataFrame(X, ROWS, names),
    "polars": lambda X=X, names=LETTERS: pl.DataFrame(dict(zip(names, X.T, strict=True))),
    "lazy polars": lambda X=X, names=LETTERS: pl.LazyFrame(dict(zip(names, X.T, strict=True))),
    "pyarrow": lambda X=X, names=LETTERS: pa.table(dict(zip(names, X.T, strict=True))),
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())


def values(frame):
    """Return the numbers of a frame."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    return frame.to_pandas().to_numpy() if isinstance(frame, pa.Table) else np.asarray(frame)


def columns(frame):
    if isinstance(frame, pl.LazyFrame):
        return frame.collect_schema().names()
    return frame.column_names if isinstance(frame, pa.Table) else list(frame.columns)


@every_frame
@pytest.mark.parametrize("views", [None, [2, 4], {"even": [4, 2, 0], "odd": [1, 3, 5]}])
def test_columns_of_a_frame_are_a_frame_of_the_same_kind(make, views):
    selector = Variance(n_features_per_view=2, views=views).fit(FRAMES["pandas"]())
    frame = make()
    for own in (selector.select(frame), selector.selection().select(frame)):
        assert type(own) is type(frame)
        assert columns(own) == list(selector.get_feature_names_out())
        np.testing.assert_array_equal(values(own), selector.transform(FRAMES["pandas"]()))


@every_frame
def test_other_columns_and_another_order_do_not_matter(make):
    selector = Variance(n_features_per_view=2).fit(FRAMES["pandas"]())
    order = [5, 4, 3, 2, 1, 0]
    more = make(X[:, order], [LETTERS[j] for j in order])
    assert columns(selector.select(more)) == list(selector.get_feature_names_out())
    np.testing.assert_array_equal(values(selector.select(more)), X[:, [1, 3]])
    with pytest.raises(ValueError, match="lacks 1 of the 2 features that are needed, such as 'b'"):
        selector.select(make(X[:, [0, 2, 3, 4, 5]], list("acdef")))


def test_columns_by_place_where_there_were_no_names():
    selector = Variance(n_features_per_view=2).fit(X)
    assert list(selector.select(FRAMES["pandas"]()).columns) == ["b", "d"]
    with pytest.raises(ValueError, match="to be taken from 6 columns; got 5"):
        selector.select(X[:, :5])


def test_the_index_is_kept_and_values_are_left_alone():
    frame = FRAMES["pandas"]().astype({"b": "Float32"})
    frame["text"] = "word"
    selector = Variance(n_features_per_view=2).fit(FRAMES["pandas"]())
    frame.loc["row3", "b"] = None
    out = selector.select(frame)
    pd.testing.assert_frame_equal(out, frame[["b", "d"]])


def test_columns_of_several_levels():
    frame = pd.concat({"text": FRAMES["pandas"]().iloc[:, :4], "image": FRAMES["pandas"]()}, axis=1)
    selector = Variance(n_features_per_view=1).fit(frame)
    out = selector.select(frame)
    assert list(out.columns) == [("text", "b"), ("image", "b")]
    assert list(out.index) == ROWS


KINDS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.lil_matrix]


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_and_sparse_matrices_stay_what_they_are(kind):
    selector = Variance(n_features_per_view=2).fit(X)
    out = selector.select(kind(X))
    assert type(out) is type(kind(X))
    np.testing.assert_array_equal(out.toarray() if sp.issparse(out) else out, X[:, [1, 3]])
    assert selector.select(X.tolist()).tolist() == X[:, [1, 3]].tolist()


def test_views_stay_what_they_are():
    data = {"table": FRAMES["polars"](), "array": X[:, :4], "frame": FRAMES["pandas"]()}
    named = {"table": X, "array": X[:, :4], "frame": X}
    fitted = Variance(n_features_per_view=2).fit(named)
    out = fitted.select(data)
    assert isinstance(out["table"], pl.DataFrame)
    assert out["table"].columns == ["b", "d"]
    np.testing.assert_array_equal(out["array"], X[:, [1, 3]])
    assert list(out["frame"].index) == ROWS
    views = Views(named, feature_names={"table": LETTERS})
    chosen = Variance(n_features_per_view=2).fit(views).select(views)
    assert isinstance(chosen, Views)
    assert list(chosen.feature_names["table"]) == ["b", "d"]
    both = Variance(n_features_per_view=1).fit([X, X[:, 2:]]).select([X, X[:, 2:]])
    assert [part.shape for part in both] == [(30, 1), (30, 1)]
    with pytest.raises(ValueError, match="Got views 'a'; expected 'table', 'array', 'frame'"):
        fitted.select({"a": X})
    with pytest.raises(ValueError, match="Got one X; expected views"):
        fitted.select(X)
    with pytest.raises(ValueError, match="Got several views; expected one 2-D X"):
        Variance().fit(X).select({"a": X})


def test_rows_by_name_keep_their_names():
    rows = [{"cat": 2, "the": 1}, {"car": 2, "the": 1}, {"cat": 1, "the": 1}] * 20
    model = OMVFS(2, n_features_per_view=2, new_features="grow", random_state=0).fit(rows)
    chosen = set(model.top_features("X", 2))
    assert model.select([{"cat": 5, "new": 1, "the": 2, "car": 1}, {}, None]) == [
        {name: n for name, n in {"cat": 5, "the": 2, "car": 1}.items() if name in chosen},
        {},
        None,
    ]
    # Features that come later may lack in a frame.
    frame = pd.DataFrame({"cat": [1], "new": [2]})
    assert set(model.select({"X": frame})["X"].columns) == chosen & {"cat"}


def test_hashed_features_are_no_columns():
    model = OMVFS(2, prepare="hash:4", random_state=0).fit([{"cat": 1.0}, {"dog": 2.0}] * 10)
    with pytest.raises(ValueError, match=r"Features were hashed.*Use transform"):
        model.select([{"cat": 1.0}])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("given", ["pandas", "polars", "pyarrow"])
def test_transform_gives_the_frame_that_set_output_asks_for(kind, given):
    frame = FRAMES[given]()
    selector = Variance(n_features_per_view=2)
    assert type(selector.fit_transform(frame)) is np.ndarray
    out = selector.set_output(transform=kind).fit_transform(frame)
    assert type(out) is type(FRAMES[kind]())
    assert list(out.columns) == list(selector.get_feature_names_out())
    if kind == given == "pandas":
        assert list(out.index) == ROWS


@pytest.mark.parametrize("make", BASELINES.values(), ids=BASELINES.keys())
def test_every_selector_can(make):
    assert hasattr(make, "select")


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_every_format_of_a_sparse_matrix_is_kept(kind, make):
    selector = Variance(n_features_per_view=2).fit(X)
    given = make(X).asformat(kind)
    found = selector.select(given)
    assert found.format == kind
    np.testing.assert_array_equal(found.toarray(), selector.select(X))


def test_views_that_lack_one_are_refused_by_name():
    selector = Variance(n_features_per_view=1).fit({"a": X, "b": X})
    with pytest.raises(ValueError, match="Got views 'a'; expected 'a'"):
        selector.select(Views({"a": X}))


@pytest.mark.parametrize("rows", [X[0], X[0].tolist(), pd.Series(X[0])])
def test_what_is_no_rows_is_refused(rows):
    with pytest.raises(ValueError, match="2-D"):
        Variance(n_features_per_view=2).fit(X).select(rows)
