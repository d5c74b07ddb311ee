"""JSON Lines and svmlight, of files and of standard input: rows, and lines that mean nothing."""

import bz2
import gzip
import io
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from omvfs import OMVFS
from omvfs.data.blocks import words_of
from omvfs.data.schema import Schema
from omvfs.formats import ReadOptions, SourceError, SvmlightSource, open_source, text_files
from omvfs.formats.opening import standard_input
from omvfs.formats.text_files import JsonStream, entries, open_writer
from omvfs.pipeline import run
from omvfs.testing import check_source
from support import counts, damaged, dense

JSON = [
    {"text": ["b", "a", "b"], "meta": {"x": 1, "y": 0.5}, "image": [0.5, 1]},
    {"image": [0, 2], "text": []},
    {"image": [3, 4], "meta": {"z": -1}, "text": {"ü": 1}},
]
SVM = "1 1:0.5 3:2\n\n# nothing\n-1 qid:3 2:1 # a comment\n0,2\n"


def put(path, *rows):
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


def only(source, batch_size=100):
    with source:
        (chunk,) = source.chunks(batch_size)
    return chunk.views


def test_json_lines_are_numbers_and_words(tmp_path):
    path = put(tmp_path / "x.jsonl", *JSON)
    source = open_source(path)
    assert source.schema.names == ("text", "meta", "image")
    assert source.schema.feature_names == (("b", "a", "ü"), ("x", "y", "z"), None)
    views = only(source)
    np.testing.assert_array_equal(views["text"].toarray(), [[2, 1, 0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(views["meta"].toarray(), [[1, 0.5, 0], [0, 0, 0], [0, 0, -1]])
    np.testing.assert_array_equal(views["image"], [[0.5, 1], [0, 2], [3, 4]])


def test_a_number_beyond_all_doubles_is_infinite(tmp_path):
    path = put(tmp_path / "x.jsonl", '{"a": [1, -' + "9" * 400 + ', 1e999], "t": {"b": 1}}')
    np.testing.assert_array_equal(only(open_source(path))["a"], [[1, -np.inf, np.inf]])


def test_a_row_lacks_what_it_leaves_out_or_has_as_null(tmp_path):
    rows = [{"a": [1], "t": ["x"]}, {"a": None, "t": []}, {"t": []}, {"a": [2], "t": None}]
    views = only(open_source(put(tmp_path / "x.jsonl", *rows)))
    assert views.has("a").tolist() == [True, False, False, True]
    assert views.has("t").tolist() == [True, True, True, False]
    with open_writer(tmp_path / "again.jsonl") as writer:
        writer.append(views)
    again = only(open_source(tmp_path / "again.jsonl"))
    np.testing.assert_array_equal(again.presence, views.presence)


NO_ROWS = [
    ("{", "Row 1 .* is no JSON"),
    ("[1]", "Row 1 .* is a list"),
    ('{"a": [1]}\n{"a": ["x"]}', "View 'a' is words in row 2 .* and numbers before"),
    ('{"a": [1]}\n{"a": [1, 2]}', "View 'a' has 2 numbers in row 2 .* and 1 before"),
    ('{"a": "text", "b": [1]}', r"a text in row 1.*words: tokenize=\['a'\]"),
    ('{"a": "text"}', r"'a': constant.*--column"),
    ('{"a": {"x": "y"}}', "something else"),
    ('{"a": 5, "b": [1]}', "'a' is a number in row 1"),
    ('{"a": true, "b": [1]}', "something else"),
    ("", "no rows"),
    ("[" * 100_000, "Row 1 .* is no JSON"),
    ('{"text": {"\\ud800": 1}}', "Row 1 .*UTF-8"),
    (b'{"text": {"caf\xe9": 1}}', "Row 1 .*utf-8"),
]


def test_a_line_that_is_no_row_is_named(tmp_path):
    for text, sentence in NO_ROWS:
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "x.jsonl").write_bytes(content)
        with pytest.raises(SourceError, match=sentence):
            list(open_source(tmp_path / "x.jsonl").chunks(10))
        if content.startswith(b"{"):
            with pytest.raises(SourceError, match=sentence):
                list(standard_input("x", io.BytesIO(content)).chunks(10))


def test_pairs_of_surrogates_are_text(tmp_path):
    path = put(tmp_path / "x.jsonl", '{"text": {"\\ud83d\\ude00": 1}}')
    assert open_source(path).schema.feature_names == (("\N{GRINNING FACE}",),)


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_a_line_without_end_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 1000)
    (tmp_path / name).write_text("a,b\n" + "[" + "1," * 1000)
    with pytest.raises(SourceError, match=rf"Line \d of .*{name} is longer than 1,000|no JSON"):
        open_source(tmp_path / name)


# svmlight


def test_an_svmlight_file_has_its_rows_and_no_labels(tmp_path):
    (tmp_path / "x.svm").write_text(SVM)
    views = only(open_source(tmp_path / "x.svm"))
    np.testing.assert_array_equal(views["x"].toarray(), [[0.5, 0, 2], [0, 1, 0], [0, 0, 0]])
    (tmp_path / "y.libsvm").write_text("0 0:1\n0 4:1\n")
    assert open_source(tmp_path / "y.libsvm").schema.widths == (5,)
    assert SvmlightSource(tmp_path / "y.libsvm", "y", 9).schema.widths == (9,)
    with pytest.raises(SourceError, match=r"indices from 0 to 4, beyond the 3 of view 'y'"):
        SvmlightSource(tmp_path / "y.libsvm", "y", 3)


def test_svmlight_with_more_columns_than_values_is_refused_unless_a_model_knows_how_many(tmp_path):
    path = put(tmp_path / "x.svm", *(f"1 {j}:1 {j + 5}:2 20000000:3" for j in range(1, 9)))
    with pytest.raises(SourceError, match=r"up to 20,000,000, and 24 values; .*gaps, or hash"):
        open_source(path)
    assert SvmlightSource(path, "x", 20_000_000).schema.widths == (20_000_000,)
    # A column costs no more than its values, however many there are.
    put(path, " ".join(["1", *(f"{2 * j}:1" for j in range(1, 50))]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "MAX_GAPPY_COLUMNS", 97)
        with pytest.raises(SourceError, match="up to 98, and 49 values; expected indices up to 97"):
            open_source(path)
        put(path, *["1 " + " ".join(f"{2 * j}:1" for j in range(1, 50))] * 2)
        assert open_source(path).schema.widths == (98,)


def test_a_line_that_is_none_of_svmlight_is_named(tmp_path):
    for line in ("1 a:1", "1 2:b", "1 2", "1 1:2:3", "1 99999999999999999999:1", "1 -4:1"):
        put(tmp_path / "x.svm", "# nothing", "1 1:1", line)
        with pytest.raises(SourceError, match=r"x\.svm cannot be read in row 2: "):
            open_source(tmp_path / "x.svm")


def test_comments_of_svmlight_are_no_rows(tmp_path):
    put(tmp_path / "x.svm", *(f"# comment {i}\n1 1:{i}" for i in range(7)), "# the end")
    chunks = list(open_source(tmp_path / "x.svm").chunks(3))
    assert [chunk.cursor["row"] for chunk in chunks] == [3, 6, 7]
    for i, chunk in enumerate(chunks):
        rest = list(open_source(tmp_path / "x.svm").chunks(3, chunk.cursor))
        assert [each.start for each in rest] == [each.start for each in chunks[i + 1 :]]


TEXTS = {"x.svm": SVM.encode(), "x.jsonl": "\n".join(map(json.dumps, JSON)).encode()}


@pytest.mark.parametrize("name", ["x.svm", "x.svm.gz", "x.jsonl", "x.jsonl.gz", "x.jsonl.bz2"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, name, data):
    whole = TEXTS[".".join(name.split(".")[:2])]
    pack = {"gz": gzip.compress, "bz2": bz2.compress}.get(name.split(".")[-1], bytes)
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(damaged(data, pack(whole), most=3))
    try:
        chunks = list(open_source(path).chunks(2))
    except SourceError:
        return
    assert all(len(chunk.views) <= 2 for chunk in chunks)


# Texts

SENTENCES = ["A naïve cat's 2nd try: über_cat!", "", None, "Cats & dogs, dogs & cats.", "日本語 x"]


def test_words_are_those_of_scikit_learn():
    split = CountVectorizer().build_analyzer()
    for text in SENTENCES:
        assert words_of(text or "") == split(text or "")


def test_texts_are_taken_for_their_words(tmp_path):
    rows = [{"text": text, "label": "one", "image": [1]} for text in SENTENCES]
    path = put(tmp_path / "rows.jsonl", *rows)
    asked = {"tokenize": ["text"], "drop": ["label"]}
    views = only(open_source(path, **asked))
    reference = CountVectorizer()
    expected = reference.fit_transform([text or "" for text in SENTENCES]).toarray()
    columns = [reference.vocabulary_[word] for word in views.feature_names["text"]]
    np.testing.assert_array_equal(dense(views["text"]), expected[:, columns])
    check_source(lambda: open_source(path, **asked))
    # What was not named is no text by accident.
    with pytest.raises(SourceError, match="View 'label' is a text"):
        open_source(path, tokenize=["text"])
    with pytest.raises(SourceError, match=r"take for texts; the views are .*tokenize=\["):
        open_source(path, views=["image"], tokenize=["txt"])


# Standard input

X = counts(np.random.default_rng(0), 40, 4)
KINDS = {
    "rows.jsonl": [json.dumps({"image": row}) for row in X.tolist()],
    "words.jsonl": [
        json.dumps({"text": {f"w{j}": x for j, x in enumerate(r)}}) for r in X.tolist()
    ],
    "rows.csv": [
        "image__a,image__b,image__c,image__d",
        *(",".join(map(repr, r)) for r in X.tolist()),
    ],
    "text.svm": [
        " ".join(["1", *(f"{j + 1}:{x}" for j, x in enumerate(row) if x)]) for row in X.tolist()
    ],
    "text.csv": [
        "row,feature,value",
        *(f"{i},{j},{x}" for i, row in enumerate(X) for j, x in enumerate(row)),
    ],
}
WORDS = "\n".join(KINDS["words.jsonl"])


def source_of(text, **options):
    text = text if isinstance(text, bytes) else text.encode()
    return standard_input("text", io.BytesIO(text), ReadOptions(**options))


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_a_stream_are_those_of_a_file_and_go_on_from_a_cursor(tmp_path, name):
    path = put(tmp_path / name, *KINDS[name])
    expected = list(open_source(path).chunks(7))
    with source_of(path.read_bytes()) as source:
        assert source.schema == open_source(path).schema
        got = list(source.chunks(7))
    assert [chunk.start for chunk in got] == [chunk.start for chunk in expected]
    for a, b in zip(got, expected, strict=True):
        (view,) = a.views.names
        np.testing.assert_array_equal(dense(a.views[view]), dense(b.views[view]))
    with source_of(path.read_bytes()) as source:
        first, *_ = source.chunks(10, got[1].cursor)
    np.testing.assert_array_equal(dense(first.views[view]), X[14:24])


def test_rows_are_there_before_the_stream_ends():
    known = Schema(("text", "tags"), (2, 1), (("cat", "dog"), ("new",)))
    words = ['{"text": ["dog", "emu"]}', "{}"] * 10
    for lines, view, schema in (
        (KINDS["rows.jsonl"], "image", None),
        (KINDS["rows.csv"], "image", None),
        (words, "text", known),
    ):
        reading, writing = os.pipe()
        with open(reading, "rb") as incoming, open(writing, "wb", buffering=0) as outgoing:
            outgoing.write("".join(f"{line}\n" for line in lines).encode())
            got = []

            def read(incoming=incoming, schema=schema, got=got):
                source = standard_input("x", incoming, ReadOptions(schema=schema))
                got.append(next(source.chunks(20)))

            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            reader.join(10)
            assert len(got) == 1
        expected = X[:20] if schema is None else [[0, 1], [0, 0]] * 10
        np.testing.assert_array_equal(dense(got[0].views[view]), expected)


NO_STREAMS = [
    (b"", "no rows"),
    (b"\n  \n", "no rows"),
    (b"a,b\n1\n", "Standard input cannot be read: .*Expected 2 columns, got 1"),
    (b"a,b\n1,2\n1,x\n", "Standard input has 'x' in row 2, column 'b'; expected a number"),
    (b"a,a\n1,2\n", "two columns"),
    (b'{"a": [1]}\n{', "Row 2 of standard input is no JSON"),
    (b'{"a": [1]}\n{"a": [2], "text": ["b"]}\n', "'text' begins in row 2 of standard input"),
]


def test_a_stream_that_cannot_be_read_is_told():
    for text, sentence in NO_STREAMS:
        with pytest.raises(SourceError, match=sentence):
            list(source_of(text).chunks(5))
    for name in ("rows.jsonl", "rows.csv"):
        source = source_of("\n".join(KINDS[name]))
        list(source.chunks(10))
        with pytest.raises(SourceError, match="once only"):
            list(source.chunks(10))


def test_a_stream_has_truths_and_missing_values():
    views = only(source_of("a,b\ntrue,1\nFalse,\n"))
    np.testing.assert_array_equal(views["text"], [[1, 1], [0, np.nan]])


def test_columns_and_values_of_a_stream_are_left_out_or_go_along():
    text = b'text__a,name,image__x,label\n1,"Smith, J.",2,x\n3,y,4,z\n'
    source = source_of(text, drop=("label",), keep=("name",))
    assert source.dropped == {"label"}
    (chunk,) = source.chunks(9)
    np.testing.assert_array_equal(chunk.views["text"], [[1], [3]])
    assert chunk.kept["name"].tolist() == ["Smith, J.", "y"]
    with pytest.raises(SourceError, match=r"Standard input has .*'name'"):
        source_of(text, drop=("label",))
    with pytest.raises(SourceError, match="no columns"):
        source_of("y\n1\n", drop=("y",))
    for value in ([1], ["x"]):
        rows = "".join(json.dumps({"a": value, "label": n}) + "\n" for n in (1, 2))
        with source_of(rows, keep=("label",)) as source:
            (chunk,) = source.chunks(9)
        assert chunk.kept["label"].tolist() == [1, 2]
        assert chunk.views.names == ("a",)


def test_words_of_a_stream_that_are_known_come_as_they_are(tmp_path):
    known = Schema(("text", "tags"), (2, 1), (("cat", "dog"), ("new",)))
    rows = b'{"text": "The cat."}\n{"text": null}\n{"text": "A dog, the cat"}\n'
    source = source_of(rows, schema=known, tokenize=("text",), views=("text",))
    assert isinstance(source, JsonStream)
    got = [dense(chunk.views["text"]).tolist() for chunk in source.chunks(2)]
    assert got == [[[1, 0], [0, 0]], [[1, 1]]]
    many = "".join(
        json.dumps({"text": ["cat"] * (i % 3), "tags": {"new": i}}) + "\n" for i in range(7)
    )
    check_source(lambda: source_of(many, schema=known))
    # Others wait for the end.
    rows = b'{"text": ["cat"], "more": ["x"]}\n{"text": ["dog"], "more": ["y"]}\n'
    with source_of(rows, schema=known) as source:
        assert source.n_rows == 2
        assert source.schema.feature_names == (("cat", "dog"), ("x", "y"))


def growing(text):
    return source_of(text, new_features="grow")


def test_words_that_come_as_they_are_found_are_those_of_a_file(tmp_path):
    def by_name(chunks):
        return [
            row
            for chunk in chunks
            for row in entries(chunk.views["text"], chunk.views.feature_names["text"])
        ]

    expected = by_name(open_source(put(tmp_path / "x.jsonl", WORDS)).chunks(40))
    for size in (1, 7, 40):
        with growing(WORDS) as source:
            assert source.grows
            assert source.identity == {"kind": "JsonStream", "views": {"text": None}}
            assert by_name(source.chunks(size)) == expected


def test_a_run_over_words_goes_on_to_the_same_bits(tmp_path):
    rows = [json.dumps({"text": [f"w{i % 7}", f"v{i}"]}) for i in range(50)]
    text, path = "\n".join(rows), tmp_path / "model.omvfs"
    params = {"n_clusters": 2, "batch_size": 10, "random_state": 0, "new_features": "grow"}
    whole = run(growing(text), OMVFS(**params)).selector
    n_chunks = iter(range(9))
    first = run(
        growing(text), OMVFS(**params), save_to=path, should_stop=lambda: next(n_chunks) > 2
    )
    assert first.selector.n_samples_seen_ < 50
    second = run(growing(text), OMVFS(**params), save_to=path, resume=True).selector
    assert second.schema_ == whole.schema_
    np.testing.assert_array_equal(second.scores_, whole.scores_)


def test_nothing_stays_in_the_temporary_folder(tmp_path):
    program = (
        "from omvfs.formats import open_source; s = open_source('-'); print(s.n_rows, flush=1)"
    )
    reader = subprocess.Popen(
        [sys.executable, "-u", "-c", f"{program}; import time; time.sleep(60)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with reader:
        reader.stdin.write(b'{"text": ["a", "b"]}\n' * 3)
        reader.stdin.close()
        assert reader.stdout.readline() == b"3\n"
        reader.kill()
    assert list(tmp_path.iterdir()) == []


def test_very_many_blank_lines_are_damage(tmp_path):
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"a": [1]}' + b"\n" * ((1 << 20) + 2)))
    with pytest.raises(SourceError, match=r"blank lines after row 1"):
        open_source(tmp_path / "x.jsonl.gz")
