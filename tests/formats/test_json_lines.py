"""JSON Lines: what rows mean, and lines that mean nothing."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.formats import JsonLinesSource, SourceError, open_source
from omvfs.formats import text_files as lines
from omvfs.formats.text_files import open_writer
from support import damaged

JSON = [
    {"text": ["b", "a", "b"], "meta": {"x": 1, "y": 0.5}, "image": [0.5, 1]},
    {"image": [0, 2], "text": []},
    {"image": [3, 4], "meta": {"z": -1}, "text": ["ü"]},
]


def only(source, batch_size=100):
    (chunk,) = source.chunks(batch_size)
    return chunk.views


def test_json_lines_are_numbers_objects_and_tokens(tmp_path):
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, JSON)))
    source = open_source(tmp_path / "x.jsonl")
    assert source.schema.names == ("text", "meta", "image")
    assert source.schema.feature_names == (("b", "a", "ü"), ("x", "y", "z"), None)
    views = only(source)
    np.testing.assert_array_equal(views["text"].toarray(), [[2, 1, 0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(views["meta"].toarray(), [[1, 0.5, 0], [0, 0, 0], [0, 0, -1]])
    np.testing.assert_array_equal(views["image"], [[0.5, 1], [0, 2], [3, 4]])
    (tmp_path / "y.jsonl.gz").write_bytes(gzip.compress((tmp_path / "x.jsonl").read_bytes()))
    np.testing.assert_array_equal(
        only(open_source(tmp_path / "y.jsonl.gz"))["image"], views["image"]
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{"], "Row 1 .* is no JSON"),
        (["[1]"], "Row 1 .* is a list"),
        (['{"a": [1]}', '{"a": ["x"]}'], "View 'a' is words in row 2 .* and numbers before"),
        (['{"a": [1]}', '{"a": [1, 2]}'], "View 'a' has 2 numbers in row 2 .* and 1 before"),
        (['{"a": "text"}'], r"a text in row 1.*words: tokenize=\['a'\]"),
        (['{"a": {"x": "y"}}'], "something else"),
        ([""], "no rows"),
        (["[" * 100_000], "Row 1 .* is no JSON"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path, lines, message):
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    with pytest.raises(SourceError, match=message):
        list(open_source(tmp_path / "x.jsonl").chunks(10))


def test_a_number_beyond_all_doubles_is_infinite(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": [1, -' + "9" * 400 + ', 1e999], "t": {"b": 1}}\n')
    np.testing.assert_array_equal(
        only(open_source(tmp_path / "x.jsonl"))["a"], [[1, -np.inf, np.inf]]
    )


def test_a_row_lacks_what_it_leaves_out_or_has_as_null(tmp_path):
    rows = [{"a": [1], "t": ["x"]}, {"a": None, "t": []}, {"t": []}, {"a": [2], "t": None}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (chunk,) = open_source(tmp_path / "x.jsonl").chunks(10)
    assert chunk.views.has("a").tolist() == [True, False, False, True]
    assert chunk.views.has("t").tolist() == [True, True, True, False]
    again = tmp_path / "again.jsonl"
    with open_writer(again) as writer:
        writer.append(chunk.views)
    (read,) = open_source(again).chunks(10)
    np.testing.assert_array_equal(read.views.presence, chunk.views.presence)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    (tmp_path / "x.jsonl").write_text("[" + "1," * 1000)
    with pytest.raises(SourceError, match=r"Line 1 .* longer than 1,000"):
        open_source(tmp_path / "x.jsonl")


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, ending, data):
    whole = "\n".join(map(json.dumps, JSON)).encode()
    whole = gzip.compress(whole) if ending.endswith("gz") else whole
    path = tmp_path_factory.mktemp("damaged") / f"x.{ending}"
    path.write_bytes(damaged(data, whole, most=3))
    try:
        chunks = list(JsonLinesSource(path).chunks(2))
    except SourceError:
        return
    assert all(len(chunk.views) <= 2 for chunk in chunks)
