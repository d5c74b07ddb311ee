"""Tables, of a column a feature or of an entry a line: which columns are which view, and damage."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, feather, ipc, parquet

from omvfs.data.schema import Schema
from omvfs.formats import SourceError, open_source, open_writer
from omvfs.formats.tables import Dialect, LongSource
from support import damaged

ROWS = pa.table({"a": [1.0, 2.0, 3.0], "b": [1, 2, 3], "id": ["x", "y", "z"]})
TABLES = ["rows.parquet", "rows.feather", "rows.csv"]
every_table = pytest.mark.parametrize("name", TABLES)


def put(frame, path):
    """Write a frame of pandas, or a table."""
    if isinstance(frame, pa.Table):
        writers = {".parquet": parquet.write_table, ".feather": feather.write_feather}
        writers.get(path.suffix, csv.write_csv)(frame, path)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_feather(path)
    return path


def only(source):
    with source:
        (chunk,) = source.chunks(100)
    return chunk.views


OPENS = {"parquet": (parquet, "ParquetFile"), "feather": (ipc, "open_file")}


@pytest.mark.parametrize("kind", OPENS)
def test_the_header_is_read_once_to_open_a_table(tmp_path, monkeypatch, kind):
    module, name = OPENS[kind]
    genuine, opened = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda *a, **k: opened.append(1) or genuine(*a, **k))
    source = open_source(put(ROWS.select(["a"]), tmp_path / f"rows.{kind}"))
    assert len(opened) == 1
    assert sum(len(chunk.views) for chunk in source.chunks(1)) == 3
    assert len(opened) == 2


def test_single_precision_is_kept(tmp_path):
    columns = {name: pa.array([1.0, 2.0], pa.float32()) for name in "ab"}
    path = put(pa.table(columns), tmp_path / "x.parquet")
    assert only(open_source(path))["x"].dtype == np.float32


def test_csv_may_change_further_on(tmp_path):
    lines = ["a,b,note", *["1,2,"] * 200, f"0.5,2,{'x' * (3 << 20)}"]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    *_, last = open_source(tmp_path / "x.csv", keep=["note"]).chunks(50)
    np.testing.assert_array_equal(last.views["x"], [[0.5, 2]])
    assert len(last.kept["note"][0]) == 3 << 20


@pytest.mark.parametrize(
    ("header", "row", "delimiter"),
    [
        ("first, last, born;height", "Ada;1.62", ";"),
        ("a,b|c|d", "1|2|3", "|"),
        ("a;b\tc", "1;5\t2", ";"),
        ('"a, b";c', '"1, 2";3', ";"),
        ("a", "1", ","),
    ],
)
def test_the_delimiter_is_what_every_line_has_as_often(header, row, delimiter):
    lines = [header, *[row] * 100, row.replace("1", "1,,,,").replace("2", "2,,,,")]
    assert Dialect.of([line.encode() for line in lines]).delimiter == delimiter


def test_the_delimiter_may_be_given(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('k~a~b\n"x~\ny"~1,5~2\n"z;"~2,5~3\n')
    (chunk,) = open_source(path, delimiter="~", keep=["k"]).chunks(5)
    np.testing.assert_array_equal(chunk.views["x"], [[1.5, 2], [2.5, 3]])
    assert chunk.kept["k"].tolist() == ["x~\ny", "z;"]
    path.write_text("a,b\tc\n1,2\t3\n")
    for typed in ("\t", "\\t", "tab"):
        assert open_source(path, delimiter=typed, drop=["a,b"]).schema.feature_names == (("c",),)
    for typed in ("", ";;", "a", "ä", "\n"):
        with pytest.raises(SourceError, match=r"expected one sign .* \(--delimiter tab\)"):
            open_source(path, delimiter=typed)


def test_a_value_of_csv_that_is_no_number_is_named_with_its_place(tmp_path):
    path, lines = tmp_path / "x.csv", [f"{i},{i % 5},{i % 7},true" for i in range(10_600)]
    lines[10] = '10,"1\n",3,false\n\n'
    for column, value, said in (
        (
            2,
            "A1",
            r"'A1' in row 10,501 \(line 10,505\), column 'b'; .*columns=\{'b': 'category'\} \(--",
        ),
        (0, "k7", r"'k7' in row 10,501 .* 'id'; expected a whole number, .*Correct it\.$"),
        (1, "1,2", r"cannot be read in row 10,501 \(line 10,505\): Expected 4 columns, got 5"),
    ):
        values = lines[10_500].split(",")
        values[column] = value
        rows = [*lines[:10_500], ",".join(values), *lines[10_501:]]
        path.write_text("\n".join(["id,a,b,c", *rows]))
        with pytest.raises(SourceError, match=said):
            list(open_source(path, key="id").chunks(200))
        if value == "A1":  # the remedy is one
            list(open_source(path, key="id", columns={"b": "category"}).chunks(200))


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_truths_are_numbers(tmp_path, name):
    rows = pa.table({"a": [True, False, None], "b": [1.0, 2.0, 3.0]})
    views = only(open_source(put(rows, tmp_path / name)))
    np.testing.assert_array_equal(views["x"], [[1, 1], [0, 2], [np.nan, 3]])


@every_table
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_table_is_an_error_or_rows(tmp_path_factory, name, data):
    path = put(ROWS, tmp_path_factory.mktemp("damaged") / name)
    path.write_bytes(damaged(data, path.read_bytes(), most=3))
    try:
        chunks = list(open_source(path, drop=["id"]).chunks(2))
    except ValueError:
        return
    assert all(len(chunk.views) <= 2 for chunk in chunks)


def test_columns_of_other_views_are_not_read(tmp_path):
    table = pa.table({"text__a": [1.0, 2, 3, 4], "image__x": [3.0, 4, 5, 6]})
    path = put(table, tmp_path / "rows.parquet")
    column = parquet.ParquetFile(path).metadata.row_group(0).column(1)
    content = bytearray(path.read_bytes())
    start = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)
    with open_source(path) as source, pytest.raises(SourceError, match="cannot be read"):
        list(source.chunks(2))
    np.testing.assert_array_equal(
        only(open_source(path, views=["text"]))["text"].ravel(), [1, 2, 3, 4]
    )


# The index of a frame, and columns that are no features

FRAME = pd.DataFrame({"text__a": [1.0, 2, 3], "text__b": [0.0, 1, 0], "image__x": [3.0, 4, 5]})
SCHEMA = Schema(("text", "image"), (2, 1), (("a", "b"), ("x",)))


def test_the_index_of_a_frame_is_no_feature_and_may_be_the_key(tmp_path):
    for index in (pd.Index([7, 8, 9]), pd.Index([3, 7, 8], name="id")):
        frame = FRAME.set_index(index)
        assert open_source(put(frame, tmp_path / "rows.parquet")).schema == SCHEMA
        put(pa.Table.from_pandas(frame), tmp_path / "rows.feather")
        assert open_source(tmp_path / "rows.feather").schema == SCHEMA
    (chunk,) = open_source(tmp_path / "rows.parquet", key="id").chunks(5)
    assert chunk.keys.tolist() == [3, 7, 8]
    frame.to_csv(tmp_path / "rows.csv", index_label="")
    assert open_source(tmp_path / "rows.csv").schema == SCHEMA


@every_table
def test_some_columns_that_name_no_view_are_told_and_can_be_left_out(tmp_path, name):
    path = put(FRAME.assign(label=[0, 1, 0], id=[5, 6, 7]), tmp_path / name)
    with pytest.raises(SourceError, match=rf"{name} has .*'label', 'id'.*drop=\[.*key="):
        open_source(path)
    assert open_source(path, drop=["label", "id"]).schema == SCHEMA
    assert open_source(path, key="id", drop=["label"]).schema == SCHEMA
    many = FRAME.assign(**{f"y{j}": [0, 1, 0] for j in range(9)})
    with pytest.raises(SourceError, match=r"'y4' and 4 more\. Leave"):
        open_source(put(many, path))


def test_types_are_those_of_the_table_that_columns_come_from(tmp_path):
    days = pa.array([None, None, 3, 4], pa.date32())
    words = pa.array(["a", "b", "a", "b"]).dictionary_encode()
    table = pa.table({"x": [1.0, 2, 3, 4], "day": days, "word": words})
    source = open_source(put(table, tmp_path / "rows.parquet"), keep=["day", "word"])
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


# Entries

entry = st.tuples(st.integers(0, 15), st.integers(0, 5), st.sampled_from([0.5, 1.0, -2.0]))


def long(entries, names=("row", "feature", "value")):
    return pd.DataFrame(entries, columns=list(names))


@settings(max_examples=40, deadline=None)
@given(st.lists(entry, min_size=1, max_size=60), st.integers(1, 20))
def test_entries_are_those_of_a_matrix(tmp_path_factory, entries, batch_size):
    path = put(long(sorted(entries)), tmp_path_factory.mktemp("long") / "x.parquet")
    rows, columns, values = map(np.array, zip(*entries, strict=True))
    expected = sp.coo_array((values, (rows, columns))).toarray()
    source = LongSource(path, "x")
    chunks = list(source.chunks(batch_size))
    got = np.vstack([chunk.views["x"].toarray() for chunk in chunks])
    np.testing.assert_array_equal(got, expected)
    assert source.n_rows == len(expected)
    for chunk in chunks:
        rest = [c.views["x"].toarray() for c in source.chunks(batch_size, chunk.cursor)]
        np.testing.assert_array_equal(
            np.vstack([np.zeros((0, expected.shape[1])), *rest]),
            expected[chunk.start + len(chunk.views) :],
        )


def test_features_with_names_come_in_the_order_they_appear(tmp_path):
    entries = long([(0, "dog", 1), (0, "cat", 2), (3, "dog", 1)])
    # Neither an index nor a column to leave out makes it another kind of table.
    entries.assign(day="x").to_csv(tmp_path / "text.csv", index_label="")
    source = open_source(tmp_path / "text.csv", drop=["day"])
    assert source.schema.feature_names == (("dog", "cat"),)
    np.testing.assert_array_equal(only(source)["text"].toarray(), [[1, 2], [0, 0], [0, 0], [1, 0]])


def test_several_views_have_features_of_their_own(tmp_path):
    entries = [(0, "dog", 1, "text"), (0, "red", 2, "image"), (1, "dog", 3, "image")]
    table = long(entries, ("row", "feature", "value", "view"))
    put(table.astype({"view": "category", "feature": "category"}), tmp_path / "x.parquet")
    source = open_source(tmp_path / "x.parquet")
    assert source.schema.names == ("text", "image")
    assert source.schema.feature_names == (("dog",), ("red", "dog"))
    views = only(source)
    np.testing.assert_array_equal(views["image"].toarray(), [[2, 0], [0, 3]])
    np.testing.assert_array_equal(views["text"].toarray(), [[1], [0]])


NO_ENTRIES = [
    ([(1, 0, 1.0), (0, 0, 1.0)], "not sorted by its column 'row': 0 comes too late"),
    ([(-1, 0, 1.0)], "not sorted"),
    ([(0, -1, 1.0)], "from 0"),
    ([(1 << 40, 1, 1.0)], "1 entries"),
    ([(0.5, 1, 1.0)], "column 'row'"),
    ([(0, 1.5, 1.0)], "column 'feature'"),
    ([(0, 1, "x")], "column 'value'"),
    ([(0, None, 1.0), (0, "a", 1.0)], "entries without"),
    ([], "column 'row'|no rows"),
]


def test_what_is_no_such_table_is_told(tmp_path):
    for entries, sentence in NO_ENTRIES:
        put(long(entries), tmp_path / "x.parquet")
        with pytest.raises(SourceError, match=sentence):
            open_source(tmp_path / "x.parquet")


def test_the_last_rows_of_a_long_table_may_be_empty(tmp_path):
    path = put(long([(0, "a", 1.0), (2, "b", 2.0)]), tmp_path / "text.csv")
    np.save(tmp_path / "image.npy", np.ones((5, 2)))
    for inputs in ((path, tmp_path / "image.npy"), (tmp_path / "image.npy", path)):
        text = only(open_source(*inputs))["text"].toarray()
        np.testing.assert_array_equal(text, [[1, 0], [0, 0], [0, 2], [0, 0], [0, 0]])
    np.save(tmp_path / "short.npy", np.ones((2, 2)))
    with pytest.raises(SourceError, match="different numbers of rows: text 3, short 2"):
        open_source(path, tmp_path / "short.npy")
    put(long([(0, 0, 1.0), (6, 1, 2.0)]), tmp_path / "words.csv")
    views = only(open_source(path, tmp_path / "words.csv"))
    assert views["text"].shape == views["words"].shape == (7, 2)


def test_more_columns_than_csv_may_have_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{j}" for j in range(100_001)) + "\n" + "1," * 100_000 + "1\n")
    with pytest.raises(SourceError, match=r"wide\.csv has 100,001 columns; expected at most 100,0"):
        open_source(path)


def test_the_first_lines_tell_delimiter_and_decimal_sign():
    found = Dialect.of([b"first, last;height", b"Ada;1,62", b"Bo;1,8"])
    assert (found.delimiter, found.decimal) == (";", ",")
