"""Standard input: rows as they come, the same as from a file."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.formats import ReadOptions, SourceError, open_source
from omvfs.formats.opening import standard_input
from omvfs.formats.text_files import entries
from omvfs.pipeline import run
from support import counts, dense

X = counts(np.random.default_rng(0), 40, 4)
NUMBERS = "\n".join(json.dumps({"image": row}) for row in X.tolist())
WORDS = "\n".join(json.dumps({"text": {f"w{j}": x for j, x in enumerate(r)}}) for r in X.tolist())
HEADER = "image__a,image__b,image__c,image__d"
CSV = "\n".join([HEADER, *(",".join(map(repr, row)) for row in X.tolist())])
SVM = "\n".join(
    " ".join(["1", *(f"{j + 1}:{x}" for j, x in enumerate(row) if x)]) for row in X.tolist()
)
LONG = "\n".join(
    ["row,feature,value", *(f"{i},{j},{x}" for i, row in enumerate(X) for j, x in enumerate(row))]
)
KINDS = {"rows.jsonl": NUMBERS, "words.jsonl": WORDS, "rows.csv": CSV, "text.svm": SVM} | {
    "text.csv": LONG
}


def source_of(text, view="text"):
    return standard_input(view, io.BytesIO(text.encode()))


@pytest.mark.parametrize("name", KINDS)
def test_rows_are_those_of_a_file(tmp_path, name):
    (tmp_path / name).write_text(KINDS[name])
    expected = list(open_source(tmp_path / name).chunks(7))
    with source_of(KINDS[name]) as source:
        assert source.schema == open_source(tmp_path / name).schema
        got = list(source.chunks(7))
    assert [chunk.start for chunk in got] == [chunk.start for chunk in expected]
    for a, b in zip(got, expected, strict=True):
        (view,) = a.views.names
        np.testing.assert_array_equal(dense(a.views[view]), dense(b.views[view]))


@pytest.mark.parametrize("name", KINDS)
def test_a_stream_that_begins_anew_goes_on_from_a_cursor(name):
    with source_of(KINDS[name]) as source:
        first = next(source.chunks(10))
    with source_of(KINDS[name]) as source:
        rest = list(source.chunks(10, first.cursor))
    assert [chunk.start for chunk in rest] == [10, 20, 30]
    (view,) = first.views.names
    np.testing.assert_array_equal(dense(rest[0].views[view]), X[10:20])


def test_a_long_table_may_have_several_views():
    with source_of("view,row,feature,value\ntext,0,a,1\ntags,1,b,2\n") as source:
        assert source.schema.names == ("text", "tags")
        assert source.schema.feature_names == (("a",), ("b",))
        assert source.n_rows == 2


def test_truths_are_numbers():
    (chunk,) = source_of("a,b\ntrue,1\nFalse,\n").chunks(5)
    np.testing.assert_array_equal(chunk.views["text"], [[1, 1], [0, np.nan]])


def test_rows_of_numbers_are_there_before_the_stream_ends():
    reading, writing = os.pipe()
    with open(reading, "rb") as incoming, open(writing, "wb", buffering=0) as outgoing:
        outgoing.write(NUMBERS.encode() + b"\n")
        got = []
        source = standard_input("x", incoming)
        reader = threading.Thread(target=lambda: got.append(next(source.chunks(20))))
        reader.start()
        reader.join(10)
        assert len(got) == 1
        np.testing.assert_array_equal(got[0].views["image"], X[:20])


def test_rows_of_numbers_can_be_read_once():
    source = source_of(NUMBERS)
    list(source.chunks(10))
    with pytest.raises(SourceError, match="once only"):
        list(source.chunks(10))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no rows"),
        ("\n  \n", "no rows"),
        ('{"a": [1]}\n{"a": [1, 2]}', "2 numbers in row 2"),
        ('{"a": [1]}\n{"a": ["b"]}', "words in row 2"),
        ('{"a": [1]}\n{', "row 2 .* no JSON|Row 2 of standard input is no JSON"),
        ("a,b\n1\n", "Standard input cannot be read: .*Expected 2 columns, got 1"),
        ("a,b\n1,2\n1,x\n", "Standard input cannot be read near row 1: .*invalid value 'x'"),
        ("a,a\n1,2\n", "two columns"),
        ('{"a": 5}', "'a' is a number in row 1"),
        ('{"a": true}', "something else"),
    ],
)
def test_what_cannot_be_read_is_told(text, sentence):
    with pytest.raises(SourceError, match=sentence):
        list(source_of(text).chunks(5))


@pytest.mark.parametrize("name", ["rows.jsonl", "words.jsonl"])
def test_the_command_line_reads_it(tmp_path, name):
    (tmp_path / name).write_text(KINDS[name])
    options = ["-k", "2", "-n", "2", "--batch-size", "10", "-o"]
    assert run_app(["select", str(tmp_path / name), *options, str(tmp_path / "file")]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "omvfs.cli", "select", "-", *options, str(tmp_path / "pipe")],
        input=KINDS[name].encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rankings = [(tmp_path / where / "ranking.csv").read_text() for where in ("file", "pipe")]
    assert rankings[0] == rankings[1]
    # That some wait for the end is said; words do not.
    assert (done.stderr == b"") is name.endswith(".jsonl")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stream_that_waits_can_be_stopped(tmp_path, number):
    command = [sys.executable, "-m", "omvfs.cli", "select", "-", "-k", "2", "-n", "2"]
    job = subprocess.Popen(
        [*command, "--batch-size", "10", "--checkpoint-every", "1", "-o", str(tmp_path)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Rows of two chunks and a half, and no end.
    job.stdin.write("\n".join(NUMBERS.split("\n")[:25]).encode() + b"\n")
    job.stdin.flush()
    for _ in range(600):
        with contextlib.suppress(OSError, ValueError):
            if OMVFS.load(tmp_path / "model.omvfs").n_samples_seen_ == 20:
                break
        time.sleep(0.1)
    job.send_signal(number)
    with job.stdin, job.stderr:
        assert job.wait(60) == 128 + number
        assert b"Go on with --resume" in job.stderr.read()
    assert OMVFS.load(tmp_path / "model.omvfs").n_samples_seen_ == 20


def test_what_is_read_once_is_not_written_again(tmp_path, capsys):
    assert run_app(["select", "-", "--write-data", "-o", str(tmp_path)]) == 2
    assert "standard input cannot" in capsys.readouterr().err


@pytest.mark.parametrize(
    "rows", [b"1 1:1 7:2\n", b'{"text": ["a", "b"]}\n', b"row,feature,value\n"]
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_stays_in_the_temporary_folder(tmp_path, rows, number):
    program = (
        "from omvfs.formats import open_source; s = open_source('-'); print(s.n_rows, flush=1)"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", f"{program}; import time; time.sleep(60)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with reader:
        reader.stdin.write(rows * 3 if b"value" not in rows else rows + b"0,a,1\n2,b,1\n")
        reader.stdin.close()
        assert reader.stdout.readline() == b"3\n"
        reader.send_signal(number)
    assert reader.returncode == -number
    assert list(tmp_path.iterdir()) == []


def growing(text):
    return standard_input("text", io.BytesIO(text.encode()), ReadOptions(new_features="grow"))


def by_name(chunks):
    """Return the entries of all rows by their names."""
    return [
        row
        for chunk in chunks
        for row in entries(chunk.views["text"], chunk.views.feature_names["text"])
    ]


def test_words_that_come_as_they_are_found_are_those_of_a_file(tmp_path):
    (tmp_path / "words.jsonl").write_text(WORDS)
    expected = by_name(open_source(tmp_path / "words.jsonl").chunks(40))
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
    assert not first.finished
    assert first.selector.n_samples_seen_ < 50
    # With more rows, and more words, than there were.
    second = run(growing(text), OMVFS(**params), save_to=path, resume=True).selector
    assert second.schema_ == whole.schema_
    np.testing.assert_array_equal(second.scores_, whole.scores_)
