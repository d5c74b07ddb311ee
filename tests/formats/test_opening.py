"""What is asked of all inputs at once: columns to leave out, and features that a model knows."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from omvfs.data.schema import Schema
from omvfs.formats import ReadOptions, SourceError, open_source
from omvfs.formats.opening import standard_input
from support import dense

FRAME = pd.DataFrame({"text__a": [1.0, 2, 3], "text__b": [0.0, 1, 0], "image__x": [3.0, 4, 5]})
TEXT = Schema(("text",), (3,), (("cat", "dog", "emu"),))


def only(source):
    with source:
        (chunk,) = source.chunks(100)
    return chunk.views


def put(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=path.stem == "indexed")
    return path


# The index of a frame, and columns that are no features


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather"])
def test_the_index_of_a_frame_is_no_feature(tmp_path, name):
    frame = FRAME.set_index(pd.Index([7, 3, 4]))
    if name == "rows.parquet":
        source = open_source(put(frame, tmp_path / name))
    else:
        import pyarrow as pa
        from pyarrow import feather

        feather.write_feather(pa.Table.from_pandas(frame), str(tmp_path / name))
        source = open_source(tmp_path / name)
    assert source.schema == Schema(("text", "image"), (2, 1), (("a", "b"), ("x",)))


def test_an_index_with_a_name_is_no_feature_and_may_be_the_key(tmp_path):
    frame = FRAME.set_index(pd.Index([3, 7, 8], name="id"))
    put(frame, tmp_path / "rows.parquet")
    assert open_source(tmp_path / "rows.parquet").schema.names == ("text", "image")
    (chunk,) = open_source(tmp_path / "rows.parquet", key="id").chunks(5)
    assert chunk.keys.tolist() == [3, 7, 8]
    plain = pd.DataFrame({"a": [1.0, 2, 3]}, index=pd.Index([3, 7, 8], name="id"))
    put(plain, tmp_path / "plain.parquet")
    assert open_source(tmp_path / "plain.parquet").schema.feature_names == (("a",),)


def test_the_index_in_a_csv_is_no_feature(tmp_path):
    path = put(FRAME.set_index(pd.Index([7, 3, 4])), tmp_path / "indexed.csv")
    assert path.read_text().startswith(",")
    assert open_source(path).schema.names == ("text", "image")
    assert standard_input("x", io.BytesIO(path.read_bytes())).schema.names == ("text", "image")


def test_a_long_table_with_an_index_is_one(tmp_path):
    columns = {"row": [0, 1, 1], "feature": ["a", "b", "b"], "value": [1.0, 2.0, 1.0]}
    frame = pd.DataFrame(columns, index=[4, 2, 7])
    frame.to_parquet(tmp_path / "text.parquet")
    np.testing.assert_array_equal(
        only(open_source(tmp_path / "text.parquet"))["text"].toarray(), [[1, 0], [0, 3]]
    )


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather", "rows.csv"])
def test_some_columns_that_name_no_view_are_told_and_can_be_left_out(tmp_path, name):
    path = put(FRAME.assign(label=[0, 1, 0], id=[5, 6, 7]), tmp_path / name)
    with pytest.raises(SourceError, match=rf"{name} has .*'label', 'id'.*drop=\[.*key="):
        open_source(path)
    with pytest.raises(SourceError, match=r"others: 'id'\."):
        open_source(path, drop=["label"])
    source = open_source(path, drop=["label", "id"])
    assert source.schema == Schema(("text", "image"), (2, 1), (("a", "b"), ("x",)))
    assert open_source(path, key="id", drop=["label"]).schema == source.schema


def test_many_odd_columns_are_not_all_listed(tmp_path):
    frame = FRAME.assign(**{f"y{j}": [0, 1, 0] for j in range(9)})
    with pytest.raises(SourceError, match=r"'y4' and 4 more\. Leave"):
        open_source(put(frame, tmp_path / "x.csv"))


# What is left out


def test_text_can_be_left_out_of_a_table(tmp_path):
    path = put(pd.DataFrame({"a": [1.0, 2], "name": ["x", "y"]}), tmp_path / "rows.csv")
    with pytest.raises(SourceError, match=r"column 'name'; expected numbers.*drop="):
        open_source(path)
    np.testing.assert_array_equal(only(open_source(path, drop=["name"]))["rows"], [[1], [2]])


def test_values_can_be_left_out_of_json_lines(tmp_path):
    rows = [{"a": [1], "label": "x"}, {"a": [2], "label": None, "note": 3}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(SourceError, match=r"View 'label'.*drop="):
        open_source(tmp_path / "rows.jsonl")
    views = only(open_source(tmp_path / "rows.jsonl", drop=["label", "note"]))
    assert views.names == ("a",)


def test_variables_can_be_left_out_of_matlab(tmp_path):
    X = np.ones((4, 3))
    savemat(tmp_path / "rows.mat", {"a": X, "y": np.eye(4), "k": 1.0})
    assert open_source(tmp_path / "rows.mat", drop=["y", "k"]).schema.names == ("a",)
    with pytest.raises(SourceError, match="no matrix of numbers"):
        open_source(tmp_path / "rows.mat", drop=["y", "a"])


def test_columns_can_be_left_out_of_a_long_table(tmp_path):
    frame = pd.DataFrame({"row": [0, 1], "feature": [0, 1], "value": [1.0, 2], "day": ["a", "b"]})
    path = put(frame, tmp_path / "text.csv")
    expected = [[1, 0], [0, 2]]
    np.testing.assert_array_equal(only(open_source(path, drop=["day"]))["text"].toarray(), expected)
    with standard_input(
        "text", io.BytesIO(path.read_bytes()), ReadOptions(drop=("day",))
    ) as source:
        assert source.dropped == {"day"}
        np.testing.assert_array_equal(next(source.chunks(5)).views["text"].toarray(), expected)


def test_what_no_input_has_cannot_be_left_out(tmp_path):
    put(pd.DataFrame({"a": [1.0, 2], "label": [0, 1]}), tmp_path / "text.csv")
    np.save(tmp_path / "image.npy", np.eye(2))
    both = tmp_path / "text.csv", tmp_path / "image.npy"
    assert open_source(*both, drop=["label"]).schema.widths == (1, 2)
    with pytest.raises(SourceError, match=r"No input has 'lable' to leave out.*drop="):
        open_source(*both, drop=["label", "lable"])
    np.save(tmp_path / "view_0_image.npy", np.eye(2))
    with pytest.raises(SourceError, match="No input has 'label'"):
        open_source(tmp_path, drop=["label"])
    with pytest.raises(SourceError, match=r"Folder .* has no column 'id'"):
        open_source(tmp_path, key="id")


def test_columns_and_values_can_be_left_out_of_standard_input():
    text = b'text__a,name,image__x,label\n1,"Smith, J.",2,x\n3,y,4,z\n'
    source = standard_input("rows", io.BytesIO(text), ReadOptions(drop=("label", "name")))
    assert source.dropped == {"label", "name"}
    views = only(source)
    np.testing.assert_array_equal(views["text"], [[1], [3]])
    np.testing.assert_array_equal(views["image"], [[2], [4]])
    with pytest.raises(SourceError, match=r"Standard input has .*'name'"):
        standard_input("rows", io.BytesIO(text), ReadOptions(drop=("label",)))
    rows = b'{"a": [1], "label": "x"}\n{"a": [2], "label": 3}\n'
    source = standard_input("rows", io.BytesIO(rows), ReadOptions(drop=("label",)))
    assert source.dropped == {"label"}
    np.testing.assert_array_equal(only(source)["a"], [[1], [2]])
    words = b'{"a": ["x"], "label": "x"}\n{"a": ["y"], "label": 3}\n'
    with standard_input("rows", io.BytesIO(words), ReadOptions(drop=("label",))) as source:
        assert source.dropped == {"label"}
        assert source.schema.feature_names == (("x", "y"),)


# Features that are known before


def json_words(path):
    rows = [{"text": {"dog": 2, "yak": 9}}, {}, {"text": {"cat": 1}}]
    (path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return path / "rows.jsonl"


def json_tokens(path):
    rows = [{"text": ["dog", "yak", "dog"]}, {"text": ["yak"]}, {"text": ["cat"]}]
    (path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return path / "rows.jsonl"


def long_names(path):
    rows = [(0, "dog", 2), (0, "yak", 9), (1, "yak", 1), (2, "cat", 1)]
    return put(pd.DataFrame(rows, columns=["row", "feature", "value"]), path / "text.csv")


def columns_in_another_order(path):
    columns = {"emu": [0, 0, 0], "yak": [9, 0, 0], "dog": [2, 0, 0], "cat": [0, 0, 1]}
    return put(pd.DataFrame(columns), path / "text.parquet")


def columns_with_a_label(path):
    columns = {"text__dog": [2, 0, 0], "text__cat": [0, 0, 1], "text__emu": [0, 0, 0]}
    return put(pd.DataFrame({"label": list("xyz"), **columns}), path / "rows.csv")


NAMED = [json_words, json_tokens, long_names, columns_in_another_order, columns_with_a_label]


@pytest.mark.parametrize("make", NAMED)
def test_features_are_placed_by_their_names(tmp_path, make):
    path = make(tmp_path)
    source = open_source(path, schema=TEXT)
    assert source.schema == TEXT
    views = only(source)
    np.testing.assert_array_equal(dense(views["text"]), [[0, 2, 0], [0, 0, 0], [1, 0, 0]])
    if path.suffix != ".parquet":
        asked = ReadOptions(schema=TEXT)
        with standard_input("text", io.BytesIO(path.read_bytes()), asked) as piped:
            assert piped.schema == TEXT
            rows = np.vstack([dense(chunk.views["text"]) for chunk in piped.chunks(2)])
        np.testing.assert_array_equal(rows, dense(views["text"]))


def test_a_column_that_is_missing_is_told(tmp_path):
    path = put(pd.DataFrame({"cat": [1], "emu": [2]}), tmp_path / "text.csv")
    with pytest.raises(SourceError, match=r"text.csv has no columns for the features 'dog' of"):
        open_source(path, schema=TEXT)


@pytest.mark.parametrize("make", [json_words, json_tokens, long_names])
def test_names_are_not_taken_for_numbers(tmp_path, make):
    with pytest.raises(SourceError, match="by name; the model knows them by number"):
        open_source(make(tmp_path), schema=Schema(("text",), (3,), (None,)))


def test_views_that_the_model_does_not_know_are_as_they_are(tmp_path):
    source = open_source(long_names(tmp_path), schema=Schema(("other",), (3,), (None,)))
    assert source.schema.feature_names == (("dog", "yak", "cat"),)
    source = open_source(json_words(tmp_path), schema=Schema(("other",), (3,), (None,)))
    assert source.schema.feature_names == (("dog", "yak", "cat"),)


def test_widths_are_those_of_the_model(tmp_path):
    known = Schema(("text",), (5,), (None,))
    (tmp_path / "text.svm").write_text("0 1:1 3:2\n")
    assert only(open_source(tmp_path / "text.svm", schema=known))["text"].shape == (1, 5)
    narrow = Schema(("text",), (2,), (None,))
    with pytest.raises(SourceError, match="beyond the 2 of view 'text'"):
        only(open_source(tmp_path / "text.svm", schema=narrow))
    with standard_input("text", io.BytesIO(b"0 1:1 3:2\n"), ReadOptions(schema=known)) as source:
        assert source.schema == known
    entries = pd.DataFrame({"row": [0], "feature": [2], "value": [1.0]})
    path = put(entries, tmp_path / "text.parquet")
    assert only(open_source(path, schema=known))["text"].shape == (1, 5)
    with pytest.raises(SourceError, match="to 2; expected numbers from 0, fewer than 2 in view"):
        open_source(path, schema=narrow)


# Rows that nothing tells of


def test_the_last_rows_of_a_long_table_may_be_empty(tmp_path):
    path = put(
        pd.DataFrame({"row": [0, 2], "feature": ["a", "b"], "value": [1.0, 2]}),
        tmp_path / "text.csv",
    )
    np.save(tmp_path / "image.npy", np.ones((5, 2)))
    for inputs in ((path, tmp_path / "image.npy"), (tmp_path / "image.npy", path)):
        views = only(open_source(*inputs))
        np.testing.assert_array_equal(
            views["text"].toarray(), [[1, 0], [0, 0], [0, 2], [0, 0], [0, 0]]
        )
    np.save(tmp_path / "short.npy", np.ones((2, 2)))
    with pytest.raises(SourceError, match="different numbers of rows: text 3, short 2"):
        open_source(path, tmp_path / "short.npy")


def test_two_long_tables_have_as_many_rows_as_the_longer(tmp_path):
    for view, rows in (("text", [0, 4]), ("image", [0, 2])):
        put(
            pd.DataFrame({"row": rows, "feature": [0, 1], "value": [1.0, 2]}),
            tmp_path / f"{view}.csv",
        )
    views = only(open_source(tmp_path / "text.csv", tmp_path / "image.csv"))
    assert views["image"].shape == views["text"].shape == (5, 2)


def test_a_long_table_of_some_views_may_end_early_too(tmp_path):
    entries = pd.DataFrame(
        {"row": [0, 1], "feature": [0, 1], "value": [1.0, 2], "view": ["text", "tags"]}
    )
    sp.save_npz(tmp_path / "image.npz", sp.csr_array(np.eye(4)))
    inputs = put(entries, tmp_path / "long.csv"), tmp_path / "image.npz"
    assert len(only(open_source(*inputs, views=["text", "image"]))) == 4


def test_files_that_do_not_fit_are_named(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "b.npy", np.ones((4, 2)))
    (tmp_path / "c.txt").write_text("1 2")
    with pytest.raises(SourceError, match="different numbers of rows: a 3, b 4"):
        open_source(tmp_path / "a.npy", tmp_path / "b.npy")
    with pytest.raises(SourceError, match="two inputs for view 'a'"):
        open_source(tmp_path / "a.npy", f"a={tmp_path / 'b.npy'}")
    with pytest.raises(SourceError, match=r"ends in '\.txt'"):
        open_source(tmp_path / "c.txt")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_source(tmp_path / "nowhere.npy")
    with pytest.raises(SourceError, match="no input"):
        open_source()
    with pytest.raises(SourceError, match="'z'"):
        open_source(tmp_path / "a.npy", views=["z"])
    both = open_source(f"one={tmp_path / 'a.npy'}", tmp_path / "a.npy", views=["a"])
    assert both.schema.names == ("a",)
