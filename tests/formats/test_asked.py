"""What is asked of files: views and no others, columns that go along, texts to take for words."""

import io
import json
import os
import threading

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet
from scipy.io import savemat
from sklearn.feature_extraction.text import CountVectorizer

from omvfs import Views
from omvfs.data.schema import Schema
from omvfs.formats import ReadOptions, SourceError, open_source, open_writer
from omvfs.formats.opening import standard_input
from omvfs.formats.text_files import JsonStream, tokens
from omvfs.testing import check_source
from support import dense

FRAME = pd.DataFrame(
    {"text__a": [1.0, 2, 3, 4], "image__x": [3.0, 4, 5, 6], "image__y": [0.5, 0, 1, 0]}
)
LABELS = ["cat", None, "dog", "cat"]


def put(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        path.write_text("".join(json.dumps(as_views(row)) + "\n" for row in rows))
    return path


def as_views(row):
    """Return a row of a table as one of JSON Lines."""
    views = {}
    for name, value in row.items():
        view, sign, feature = name.partition("__")
        if sign:
            views.setdefault(view, {})[feature] = value
        else:
            views[name] = value
    return views


def rows_of(source, size=3):
    with source:
        chunks = list(source.chunks(size))
    kept = {name: np.concatenate([c.kept[name] for c in chunks]).tolist() for name in source.kept}
    return Views.concat([chunk.views for chunk in chunks]), kept


TABLES = ["rows.parquet", "rows.feather", "rows.csv"]
NAMED = [*TABLES, "rows.jsonl"]


# Views


@pytest.mark.parametrize("name", NAMED)
def test_what_is_no_part_of_a_view_does_not_matter_to_it(tmp_path, name):
    frame = FRAME.assign(label=["a", "b", "c", "d"], image__y=["no", "number", "at", "all"])
    path = put(frame, tmp_path / name)
    with pytest.raises(SourceError):
        open_source(path)
    views, _ = rows_of(open_source(path, views=["text"]))
    assert views.names == ("text",)
    np.testing.assert_array_equal(dense(views["text"]).ravel(), [1, 2, 3, 4])
    with pytest.raises(SourceError, match=r"Got views 'sound'; the files give .*'image'"):
        open_source(path, views=["text", "sound"])
    if name in ("rows.csv", "rows.jsonl"):
        stream = io.BytesIO(path.read_bytes())
        with standard_input("rows", stream, ReadOptions(views=("text",))) as source:
            assert source.schema.names == ("text",)
            assert sum(len(chunk.views) for chunk in source.chunks(3)) == 4


def test_columns_of_other_views_are_not_read(tmp_path):
    path = put(FRAME, tmp_path / "rows.parquet")
    column = parquet.ParquetFile(path).metadata.row_group(0).column(2)
    content = bytearray(path.read_bytes())
    start = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)
    with open_source(path) as source, pytest.raises(SourceError, match="cannot be read"):
        list(source.chunks(2))
    np.testing.assert_array_equal(
        rows_of(open_source(path, views=["text"]))[0]["text"], FRAME[["text__a"]]
    )


def test_other_modalities_are_not_looked_at(tmp_path):
    with h5py.File(tmp_path / "cells.h5mu", "w") as file:
        file["mod/rna/X"] = np.eye(4)
        file["mod/atac/X"] = np.ones((9, 2))
        odd = file.create_group("mod/csc/X")
        odd.attrs["encoding-type"], odd.attrs["shape"] = "csc_matrix", (4, 4)
    with pytest.raises(SourceError):
        open_source(tmp_path / "cells.h5mu")
    with open_source(tmp_path / "cells.h5mu", views=["rna"]) as source:
        assert source.schema.names == ("rna",)
    with pytest.raises(SourceError, match=r"Got views 'adt'; the files give .*'atac'"):
        open_source(tmp_path / "cells.h5mu", views=["rna", "adt"])


def test_other_variables_are_not_looked_at(tmp_path):
    savemat(
        tmp_path / "rows.mat", {"a": np.ones((4, 3)), "b": np.ones((5, 3)), "c": np.eye(4) * 1j}
    )
    with pytest.raises(SourceError):
        open_source(tmp_path / "rows.mat")
    with open_source(tmp_path / "rows.mat", views=["a"]) as source:
        assert source.schema.names == ("a",)


@pytest.mark.parametrize("name", NAMED)
def test_rows_whose_views_are_not_asked_for_are_there_for_their_keys(tmp_path, name):
    put(FRAME[["image__x"]].assign(id=[1, 2, 3, 4]), tmp_path / "image.csv")
    path = put(FRAME[["text__a"]].assign(id=[2, 4, 5, 6]), tmp_path / name)
    with open_source(
        tmp_path / "image.csv", path, views=["image"], key="id", join="inner"
    ) as source:
        (chunk,) = source.chunks(10)
    assert chunk.keys.tolist() == [2, 4]
    np.testing.assert_array_equal(chunk.views["image"].ravel(), [4, 6])


# Columns that go along


@pytest.mark.parametrize("name", NAMED)
def test_columns_go_along_with_the_rows(tmp_path, name):
    frame = FRAME.assign(label=LABELS, n=[1, 2, 3, 4], day=pd.Timestamp("2020-01-02"))
    path = put(frame.astype({"day": str}) if name == "rows.jsonl" else frame, tmp_path / name)
    asked = {"keep": ["n", "label"], "drop": ["day"]}
    source = open_source(path, **asked)
    assert source.schema.names == ("text", "image")
    views, kept = rows_of(source)
    assert views.widths == {"text": 1, "image": 2}
    # Text has no numbers, nor nothing.
    text = name == "rows.csv"
    assert kept == {
        "n": ["1", "2", "3", "4"] if text else [1, 2, 3, 4],
        "label": ["cat", "", "dog", "cat"] if text else LABELS,
    }
    check_source(lambda: open_source(path, **asked))
    with pytest.raises(SourceError, match=r"has 'lable' to keep.*keep=\["):
        open_source(path, keep=["lable"], drop=["n", "label", "day"])
    with pytest.raises(SourceError, match="Got 'n' to leave out and to keep"):
        open_source(path, keep=["n"], drop=["n"])


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("to", NAMED)
def test_columns_that_go_along_are_written(tmp_path, name, to):
    # Nothing in the first chunk tells what they are.
    frame = FRAME.assign(label=[None, None, None, "cat"], n=[1, 2, 3, 4])
    source = open_source(put(frame, tmp_path / name), keep=["label", "n"])
    out = tmp_path / f"out_{to}"
    with source, open_writer(out, source.kept) as writer:
        for chunk in source.chunks(2 if name in TABLES else 4):
            writer.append(chunk.views, chunk.kept)
    views, kept = rows_of(open_source(out, keep=["label", "n"]))
    np.testing.assert_array_equal(dense(views["text"]).ravel(), FRAME["text__a"])
    nothing = "" if "rows.csv" in (name, to) else None
    assert kept["label"] == [nothing] * 3 + ["cat"]
    assert list(map(int, kept["n"])) == [1, 2, 3, 4]


def test_types_are_those_of_the_table_that_columns_come_from(tmp_path):
    days = pa.array([None, None, 3, 4], pa.date32())
    words = pa.array(["a", "b", "a", "b"]).dictionary_encode()
    table = pa.table({"x": [1.0, 2, 3, 4], "day": days, "word": words})
    parquet.write_table(table, tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet", keep=["day", "word"])
    for ending in ("parquet", "feather"):
        with open_writer(tmp_path / f"out.{ending}", source.kept) as writer:
            for chunk in source.chunks(2):
                writer.append(chunk.views, chunk.kept)
        with open_source(tmp_path / f"out.{ending}", keep=["day"], drop=["word"]) as back:
            assert back.kept == {"day": pa.date32()}
    with open_writer(tmp_path / "out.jsonl", source.kept) as writer:
        writer.append(*next((chunk.views, chunk.kept) for chunk in source.chunks(4)))
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(lines[3]) == {"day": "1970-01-05", "word": "b", "rows": [4.0]}


def test_values_that_no_column_holds_are_told(tmp_path):
    rows = [{"x": [1], "label": 1}, {"x": [2], "label": "one"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = open_source(tmp_path / "rows.jsonl", keep=["label"])
    one, two = source.chunks(1)
    with open_writer(tmp_path / "out.parquet", source.kept) as writer:
        writer.append(one.views, one.kept)
        with pytest.raises(SourceError, match=r"Column 'label' cannot be .*Write JSON Lines"):
            writer.append(two.views, two.kept)


def test_columns_of_files_side_by_side_must_agree(tmp_path):
    put(FRAME[["text__a"]].assign(id=[1, 2, 3, 4], n=[1, 1, 1, 1]), tmp_path / "text.parquet")
    put(FRAME[["image__x"]].assign(id=[1, 2, 3, 4]), tmp_path / "image.parquet")
    both = tmp_path / "text.parquet", tmp_path / "image.parquet"
    assert rows_of(open_source(*both, keep=["n", "id"]))[1]["id"] == [1, 2, 3, 4]
    put(FRAME[["image__x"]].assign(id=[1, 2, 4, 3]), tmp_path / "image.parquet")
    with (
        open_source(*both, keep=["id"], drop=["n"]) as source,
        pytest.raises(SourceError, match=r"'id' is 3 in text and 4 in image .*key=\.\.\."),
    ):
        list(source.chunks(4))


def test_columns_go_along_with_keys(tmp_path):
    put(FRAME[["text__a"]].assign(id=[1, 3, 5, 7], label=list("abcd")), tmp_path / "text.parquet")
    image = pd.DataFrame({"image__x": np.arange(8.0), "id": range(8)})
    put(image.assign(label=list("xaxbxcxd")), tmp_path / "image.parquet")
    inputs = tmp_path / "text.parquet", tmp_path / "image.parquet"
    for size in (1, 2, 3):
        views, kept = rows_of(
            open_source(*inputs, key="id", join="inner", keep=["label", "id"]), size
        )
        assert kept == {"label": list("abcd")}
        np.testing.assert_array_equal(views["image"].ravel(), [1, 3, 5, 7])


def test_columns_of_parts_go_along(tmp_path):
    for i in range(3):
        put(FRAME.assign(label=LABELS), tmp_path / f"{i}.parquet")
    assert rows_of(open_source(tmp_path, keep=["label"]), 5)[1] == {"label": LABELS * 3}
    put(FRAME, tmp_path / "1.parquet")
    with pytest.raises(SourceError, match=r"'label' to keep: .*1\.parquet differs"):
        open_source(tmp_path, keep=["label"])


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_columns_of_standard_input_go_along(tmp_path, name):
    path = put(FRAME.assign(label=["a", "b", "c", "d"]), tmp_path / name)
    with standard_input(
        "rows", io.BytesIO(path.read_bytes()), ReadOptions(keep=("label",))
    ) as source:
        assert list(source.kept) == ["label"]
        got = [label for chunk in source.chunks(3) for label in chunk.kept["label"]]
    assert got == ["a", "b", "c", "d"]


def test_arrays_have_nothing_to_keep(tmp_path):
    np.save(tmp_path / "view_0_x.npy", np.eye(3))
    for place in (tmp_path, tmp_path / "view_0_x.npy"):
        with pytest.raises(SourceError, match="has 'label' to keep"):
            open_source(place, keep=["label"])


# Texts

TEXTS = ["A naïve cat's 2nd try: über_cat!", "", None, "Cats & dogs, dogs & cats.", "日本語 x"]


def text_file(path):
    rows = [{"text": text, "label": "one", "image": [1]} for text in TEXTS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_words_are_those_of_scikit_learn():
    split = CountVectorizer().build_analyzer()
    for text in TEXTS:
        assert tokens(text or "") == split(text or "")


def test_texts_are_taken_for_their_words(tmp_path):
    path = text_file(tmp_path / "rows.jsonl")
    with pytest.raises(SourceError, match=r"View 'text' is a text in row 1 .*words: tokenize=\["):
        open_source(path, drop=["label"])
    asked = {"tokenize": ["text"], "drop": ["label"]}
    views, _ = rows_of(open_source(path, **asked))
    reference = CountVectorizer()
    expected = reference.fit_transform([text or "" for text in TEXTS]).toarray()
    columns = [reference.vocabulary_[word] for word in views.feature_names["text"]]
    np.testing.assert_array_equal(dense(views["text"]), expected[:, columns])
    check_source(lambda: open_source(path, **asked))
    # What was not named is no text by accident.
    with pytest.raises(SourceError, match="View 'label' is a text"):
        open_source(path, tokenize=["text"])
    with pytest.raises(SourceError, match=r"take for texts; the views are .*tokenize=\["):
        open_source(path, views=["image"], tokenize=["txt"])


# Words as they come


KNOWN = Schema(("text", "tags"), (2, 1), (("cat", "dog"), ("new",)))


@pytest.mark.parametrize("rows", [[{"text": ["dog", "emu"]}, {}], [{}, {"text": {"dog": 1}}]])
def test_words_that_are_known_are_there_before_the_stream_ends(rows):
    reading, writing = os.pipe()
    with open(reading, "rb") as incoming, open(writing, "wb", buffering=0) as outgoing:
        outgoing.write("".join(json.dumps(row) + "\n" for row in rows).encode())
        got = []

        def read():
            source = standard_input("x", incoming, ReadOptions(schema=KNOWN))
            got.append((source.schema, next(source.chunks(2))))

        work = threading.Thread(target=read, daemon=True)
        work.start()
        work.join(10)
        assert len(got) == 1
    ((schema, chunk),) = got
    assert schema == KNOWN
    place = 0 if rows[0] else 1
    assert dense(chunk.views["text"])[place].tolist() == [0, 1]
    assert dense(chunk.views["text"]).sum() == 1
    assert dense(chunk.views["tags"]).tolist() == [[0], [0]]


def test_texts_of_a_stream_are_taken_for_words_as_they_come():
    rows = b'{"text": "The cat."}\n{"text": null}\n{"text": "A dog, the cat"}\n'
    asked = ReadOptions(schema=KNOWN, tokenize=("text",), views=("text",))
    source = standard_input("x", io.BytesIO(rows), asked)
    assert isinstance(source, JsonStream)
    assert [dense(c.views["text"]).tolist() for c in source.chunks(2)] == [
        [[1, 0], [0, 0]],
        [[1, 1]],
    ]


def test_a_view_that_begins_late_in_a_stream_is_told():
    source = standard_input("x", io.BytesIO(b'{"a": [1]}\n{"a": [2], "text": ["b"]}\n'))
    with pytest.raises(SourceError, match=r"View 'text' begins in row 2 of standard input"):
        list(source.chunks(5))


def test_words_that_are_not_known_wait_for_the_end_of_the_stream():
    rows = b'{"text": ["cat"], "more": ["x"]}\n{"text": ["dog"], "more": ["y"]}\n'
    with standard_input("x", io.BytesIO(rows), ReadOptions(schema=KNOWN)) as source:
        assert not isinstance(source, JsonStream)
        assert source.n_rows == 2
        assert source.schema.feature_names == (("cat", "dog"), ("x", "y"))


def test_a_stream_of_known_words_does_what_every_source_must():
    rows = "".join(
        json.dumps({"text": ["cat"] * (i % 3), "tags": {"new": i}}) + "\n" for i in range(7)
    )
    check_source(lambda: standard_input("x", io.BytesIO(rows.encode()), ReadOptions(schema=KNOWN)))


def test_sparse_matrices_have_no_columns_beside(tmp_path):
    with open_writer(tmp_path / "x.npz", {"label": None}) as writer:
        writer.append(Views({"x": sp.csr_array(np.eye(2))}), {"label": np.array(["a", "b"])})
    assert open_source(tmp_path / "x.npz").schema.widths == (2,)
