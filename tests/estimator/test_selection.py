"""Selected columns: as an array, as the kind they came as, or frozen to take them later."""

from dataclasses import replace

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, Views
from omvfs.baselines import ColumnSum, Variance
from omvfs.codec import CheckpointError
from omvfs.selection import Selection
from streams import two_views
from support import counts, dense

LETTERS = list("abcdef")
X = np.random.default_rng(0).random((30, 6)) * [1, 9, 2, 8, 3, 7]
ROWS = [f"row{i}" for i in range(30)]
FRAMES = {
    "pandas": lambda X=X, names=LETTERS: pd.DataFrame(X, ROWS, names),
    "polars": lambda X=X, names=LETTERS: pl.DataFrame(dict(zip(names, X.T, strict=True))),
    "lazy polars": lambda X=X, names=LETTERS: pl.LazyFrame(dict(zip(names, X.T, strict=True))),
    "pyarrow": lambda X=X, names=LETTERS: pa.table(dict(zip(names, X.T, strict=True))),
}
FRAME = FRAMES["pandas"]()
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())


def contents(frame):
    """Return the names and numbers of a frame."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    return list(frame.columns), frame.to_numpy()


# As they came: `select`


@every_frame
@pytest.mark.parametrize("views", [None, {"even": [4, 2, 0], "odd": [1, 3, 5]}])
def test_columns_of_a_frame_are_a_frame_of_the_same_kind(make, views):
    selector = Variance(n_features_per_view=2, views=views).fit(FRAME)
    for own in (selector.select(make()), selector.selection().select(make())):
        assert type(own) is type(make())
        names, values = contents(own)
        assert names == list(selector.get_feature_names_out())
        np.testing.assert_array_equal(values, selector.transform(FRAME))


@every_frame
def test_other_columns_and_another_order_do_not_matter(make):
    selector = Variance(n_features_per_view=2).fit(FRAME)
    order = [5, 4, 3, 2, 1, 0]
    names, values = contents(selector.select(make(X[:, order], [LETTERS[j] for j in order])))
    assert names == ["b", "d"]
    np.testing.assert_array_equal(values, X[:, [1, 3]])
    with pytest.raises(ValueError, match="lacks 1 of the 2 features that are needed, such as 'b'"):
        selector.select(make(X[:, [0, 2, 3, 4, 5]], list("acdef")))


FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def test_arrays_and_sparse_matrices_stay_what_they_are():
    selector = Variance(n_features_per_view=2).fit(X)
    sparse = [make(X).asformat(each) for make in (sp.csr_array, sp.csr_matrix) for each in FORMATS]
    for given in (X, np.asfortranarray(X), *sparse):
        out = selector.select(given)
        assert type(out) is type(given)
        np.testing.assert_array_equal(dense(out), X[:, [1, 3]])
    assert selector.select(X.tolist()).tolist() == X[:, [1, 3]].tolist()


def test_views_stay_what_they_are():
    data = {"table": FRAMES["polars"](), "array": X[:, :4], "frame": FRAME}
    named = {"table": X, "array": X[:, :4], "frame": X}
    out = Variance(n_features_per_view=2).fit(named).select(data)
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


def test_what_cannot_be_selected_from_is_refused():
    of_one, of_two = Variance(n_features_per_view=2).fit(X), Variance().fit({"a": X, "b": X})
    hashed = OMVFS(2, prepare="hash:4", random_state=0).fit([{"cat": 1.0}, {"dog": 2.0}] * 10)
    for selector, rows, sentence in (
        (of_one, X[:, :5], "to be taken from 6 columns; got 5"),
        (of_one, X[0], "2-D"),
        (of_one, X[0].tolist(), "2-D"),
        (of_one, pd.Series(X[0]), "2-D"),
        (of_one, {"a": X}, "Got several views; expected one 2-D X"),
        (of_two, X, "Got one X; expected views"),
        (of_two, {"a": X}, "Got views 'a'; expected 'a', 'b'"),
        (of_two, Views({"a": X}), "Got views 'a'; expected 'a', 'b'"),
        (hashed, [{"cat": 1.0}], r"Features were hashed.*Use transform"),
    ):
        with pytest.raises(ValueError, match=sentence):
            selector.select(rows)


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


# As an array or a frame: `transform` and `set_output`


def frames():
    rng, rows = np.random.default_rng(0), ROWS[:6]
    text = pd.DataFrame(counts(rng, 6, 4), index=rows, columns=list("abcd"))
    return {"text": text, "image": pd.DataFrame(counts(rng, 6, 3), index=rows, columns=list("xyz"))}


FORMS = {
    "frames": lambda data: data,
    "frames, one in another order": lambda data: {**data, "image": data["image"][::-1]},
    "a frame and an array": lambda data: {**data, "image": data["image"].to_numpy()},
    "Views": Views,
    "a list": lambda data: list(data.values()),
}


@pytest.mark.parametrize("form", FORMS)
def test_frames_have_the_labels_of_rows_and_the_values_of_arrays(form):
    data = FORMS[form](frames())
    plain = ColumnSum(n_features_per_view=2).fit(data)
    own = ColumnSum(n_features_per_view=2).set_output(transform="pandas").fit(data)
    frozen, names = plain.selection(), list(plain.get_feature_names_out())
    for out in (own.transform(data), own.fit_transform(data)):
        assert list(out.index) == ROWS[:6]
        assert list(out.columns) == names == list(frozen.get_feature_names_out())
        np.testing.assert_array_equal(out, plain.transform(data))
    np.testing.assert_array_equal(frozen.transform(data), plain.transform(data))
    by_view, of_frozen = own.transform_views(data), frozen.transform_views(data)
    for view, expected in plain.transform_views(data).items():
        assert isinstance(expected, np.ndarray)
        assert list(by_view[view].index) == ROWS[:6]
        np.testing.assert_array_equal(by_view[view], expected)
        np.testing.assert_array_equal(of_frozen[view], expected)
    assert names == [f"{view}__{name}" for view, X in by_view.items() for name in X.columns]


def test_a_table_whose_library_is_missing_is_refused_with_the_remedy(monkeypatch):
    def missing(columns, backend):
        raise ModuleNotFoundError(name=backend)

    ranked = Variance(n_features_per_view=1).fit({"text": [[1.0, 0.0], [5.0, 1.0]]})
    monkeypatch.setattr(narwhals, "from_dict", missing)
    with pytest.raises(ModuleNotFoundError, match=r"need polars: pip install polars\."):
        ranked.to_frame("polars")


# Frozen: `selection`

WORDS = [f"word{j}" for j in range(12)]


def words():
    blocks = two_views(0, 30)
    return {"text": pd.DataFrame(blocks["text"], columns=WORDS), "image": blocks["image"]}


def test_columns_with_names_are_taken_by_name_wherever_they_are():
    rows = words()
    model = Variance(n_features_per_view=3).fit(rows)
    frozen, wanted = model.selection(), model.transform(rows)
    moved = {**rows, "text": rows["text"][WORDS[::-1]].assign(more=1.0)}
    np.testing.assert_array_equal(frozen.transform(moved), wanted)
    unnamed = {**rows, "text": rows["text"].to_numpy()}
    np.testing.assert_array_equal(frozen.transform(unnamed), wanted)
    chosen = model.top_features("text", 1)[0]
    for other, sentence in (
        ({**rows, "text": rows["text"].drop(columns=chosen)}, f"lacks 1 of .* such as '{chosen}'"),
        ({**rows, "image": rows["image"][:, :6]}, "'image' is to be taken from 7 columns; got 6"),
        ({"text": rows["text"]}, "Got views 'text'; expected 'text', 'image'"),
        (np.ones((2, 19)), "Got one X"),
    ):
        with pytest.raises(ValueError, match=sentence):
            frozen.transform(other)


def test_it_comes_back_from_its_file(tmp_path):
    for rows in (words(), two_views(0, 30), two_views(0, 30)["text"]):
        frozen = Variance(n_features_per_view=3).fit(rows).selection()
        frozen.save(tmp_path / "selection.omvfs")
        back = Selection.load(tmp_path / "selection.omvfs")
        assert back == frozen
        assert hash(back) == hash(frozen)
        with pytest.raises(CheckpointError, match=r"it is a selection; load it with Selection"):
            OMVFS.load(tmp_path / "selection.omvfs")
        np.testing.assert_array_equal(back.transform(rows), frozen.transform(rows))
    # No rows are in it: others may read it, and none before it is kept.
    assert [file.name for file in tmp_path.iterdir()] == ["selection.omvfs"]
    assert (tmp_path / "selection.omvfs").stat().st_mode & 0o044


def test_a_file_that_is_no_selection_is_refused(tmp_path):
    path = tmp_path / "selection.omvfs"
    sound = Variance(n_features_per_view=3).fit(words()).selection()
    first, *others = sound.chosen
    for other in (
        {"columns": np.array([0, 1, 99])},
        {"columns": np.array([2, 1, 0])},
        {"columns": np.array([-1, 0, 1])},
        {"columns": np.array([], int)},
        {"columns": np.array([0.0, 1.0, 2.0])},
        {"names": ("a",)},
        {"names": (1, 2, 3)},
        {"names": None, "may_lack": True},
        {"width": 2**40},
        {"view": "image"},
        {"needed": first},
    ):
        replace(sound, chosen=(replace(first, **other), *others)).save(path)
        with pytest.raises(CheckpointError, match=r"selection.omvfs holds no selection"):
            Selection.load(path)
    for other in ({"names_out": ("a",)}, {"of_one": 1}, {"of_one": True}, {"chosen": ()}):
        replace(sound, **other).save(path)
        with pytest.raises(CheckpointError, match="holds no selection"):
            Selection.load(path)
    OMVFS(n_clusters=2, random_state=0).fit(words()).save(path)
    with pytest.raises(CheckpointError, match=r"it is a model; load it with OMVFS\.load"):
        Selection.load(path)
    for text in ("", "[]", "{}", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(CheckpointError, match="no checkpoint"):
            Selection.load(path)
