"""Options that say what to read: columns that go along, texts, words that are known."""

import contextlib
import json
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from support import counts

X = counts(np.random.default_rng(0), 60, 5)
LABELS = ["cat", "dog"] * 30
TEXTS = ["The cat sat.", "A dog ran: the dog!", "Emus and cats."] * 20


def labelled(path):
    columns = {f"text__w{j}": X[:, j] for j in range(5)}
    parquet.write_table(pa.table({"id": range(60), "class": LABELS, **columns}), path)
    return str(path)


def texts(path):
    rows = [{"id": i, "text": text} for i, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


KEEP = ["--keep", "id", "--keep", "class"]


def test_labels_and_ids_are_written_with_the_selected_features(tmp_path):
    file, out = labelled(tmp_path / "rows.parquet"), tmp_path / "out"
    options = ["-k", "2", "-n", "2", "--write-data"]
    assert run_app(["select", file, *KEEP, *options, "-o", str(out)]) == 0
    model = OMVFS.load(out / "model.omvfs")
    assert model.schema_.feature_names == (tuple(f"w{j}" for j in range(5)),)
    to = tmp_path / "reduced"
    assert run_app(["transform", str(out / "model.omvfs"), file, *KEEP, "-o", str(to)]) == 0
    for written in (out / "data/rows.parquet", to / "rows.parquet"):
        table = parquet.read_table(written)
        assert table.column_names[:2] == ["id", "class"]
        assert table["class"].to_pylist() == LABELS
        assert table["id"].to_pylist() == list(range(60))
    assert run_app(["convert", file, *KEEP, "-o", str(tmp_path / "rows.jsonl")]) == 0
    first = json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])
    assert (first["id"], first["class"]) == (0, "cat")


def test_columns_are_not_lost_where_there_is_no_place_for_them(tmp_path, capsys):
    file = labelled(tmp_path / "rows.parquet")
    for to in ("x.npz", "x.svm", "folder"):
        assert run_app(["convert", file, *KEEP, "-o", str(tmp_path / to)]) == 3
        assert "has no place for 'id', 'class'" in capsys.readouterr().err
        assert not (tmp_path / to).exists()


def test_texts_are_learned_and_transformed_by_their_words(tmp_path, capsys):
    file, out = texts(tmp_path / "rows.jsonl"), tmp_path / "out"
    given = [file, "--tokenize", "text", "--keep", "id"]
    assert run_app(["info", file, "--tokenize", "text", "--drop", "id"]) == 0
    assert "text\t8\t" in capsys.readouterr().out
    options = ["-k", "2", "-n", "4", "--write-data"]
    assert run_app(["select", *given, *options, "-o", str(out)]) == 0
    lines = (out / "data/rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(60))
    words = set().union(*(json.loads(line)["text"] for line in lines))
    assert words < {"the", "cat", "sat", "dog", "ran", "emus", "and", "cats"}


def test_that_words_wait_for_the_end_of_a_stream_is_said(tmp_path):
    texts(tmp_path / "rows.jsonl")
    (tmp_path / "none.toml").write_text('[parameters]\nnew_features = "error"\n')
    (tmp_path / "words.txt").write_text("cat\ndog\nran\n")
    none = ["--config", str(tmp_path / "none.toml")]
    known = ["--vocabulary", f"text={tmp_path / 'words.txt'}"]
    given = ["--tokenize", "text", "--drop", "id", "-k", "2", "-n", "2"]
    command = [sys.executable, "-m", "omvfs.cli", "select", "-"]
    for i, options in enumerate((none, [*none, *known], [])):
        done = subprocess.run(
            [*command, *given, *options, "-o", str(tmp_path / f"out{i}")],
            input=(tmp_path / "rows.jsonl").read_bytes(),
            capture_output=True,
            check=True,
        )
        said = b"read to its end before the first row is used, as only then all words are known; "
        assert (said + b"schema=... (select --vocabulary VIEW=FILE)" in done.stderr) is (i == 0)
    # In the end it is the same.
    rankings = [(tmp_path / f"out{i}/ranking.csv").read_text() for i in (0, 2)]
    assert rankings[0] == rankings[1]


def test_words_of_a_stream_are_learned_as_they_come(tmp_path):
    command = [sys.executable, "-m", "omvfs.cli", "select", "-", "-k", "2", "-n", "2"]
    job = subprocess.Popen(
        [*command, "--batch-size", "10", "--checkpoint-every", "1", "-o", str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )

    def words_after(n_rows):
        for _ in range(600):
            with contextlib.suppress(OSError, ValueError):
                model = OMVFS.load(tmp_path / "out/model.omvfs")
                if model.n_samples_seen_ == n_rows:
                    return model.schema_.feature_names
            time.sleep(0.1)
        raise AssertionError("it did not learn")

    with job, job.stdin as stream:
        for i, words in enumerate((["cat", "dog"], ["emu", "cat"])):
            row = json.dumps({"text": words}).encode()
            stream.write(b"\n".join([row] * 10) + b"\n")
            stream.flush()
            assert words_after(10 * (i + 1)) == (("cat", "dog", "emu")[: i + 2],)
        assert job.poll() is None
    assert job.returncode == 0


def test_a_run_goes_on_with_a_file_that_has_more_words(tmp_path, capsys):
    rows = [json.dumps({"text": ["cat", "dog"][: 1 + i % 2]}) for i in range(20)]
    more = [json.dumps({"text": ["emu", "cat", "cat"][: 1 + i % 3]}) for i in range(20)]
    file, whole = tmp_path / "rows.jsonl", tmp_path / "whole.jsonl"
    options = ["-k", "2", "-n", "2", "--batch-size", "10"]
    file.write_text("\n".join(rows) + "\n")
    assert run_app(["select", str(file), *options, "-o", str(tmp_path / "out")]) == 0
    file.write_text("\n".join([*rows, *more]) + "\n")
    assert run_app(["select", str(file), *options, "-o", str(tmp_path / "out"), "--resume"]) == 0
    whole.write_text(file.read_text())
    assert run_app(["select", str(whole), *options, "-o", str(tmp_path / "all")]) == 0
    rankings = [(tmp_path / out / "ranking.csv").read_text() for out in ("out", "all")]
    assert rankings[0] == rankings[1]
    assert "emu" in rankings[0]


def test_words_are_hashed(tmp_path):
    rows = [json.dumps({"text": [f"w{i}", f"w{i % 5}", "cat"]}) for i in range(60)]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(rows) + "\n")
    given = ["select", str(file), "-k", "2", "-n", "3", "--batch-size", "20"]
    assert run_app([*given, "--prepare", "text:hash:6", "-o", str(tmp_path / "hashed")]) == 0
    assert OMVFS.load(tmp_path / "hashed/model.omvfs").schema_.widths == (64,)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("words.txt", "expected VIEW=FILE"),
        ("text=nowhere.txt", "nowhere.txt cannot be read"),
        ("text=empty.txt", "empty.txt has no words"),
        ("txt=words.txt", "Got words of 'txt'; the views are 'text'"),
    ],
)
def test_words_that_cannot_be_are_told(tmp_path, monkeypatch, capsys, given, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("cat\n")
    (tmp_path / "empty.txt").write_text("\n")
    texts(tmp_path / "rows.jsonl")
    options = ["--tokenize", "text", "--drop", "id", "--vocabulary", given]
    assert run_app(["select", "rows.jsonl", *options, "-o", "out"]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_run_tells_what_it_was_told_to_read(tmp_path):
    file = texts(tmp_path / "rows.jsonl")
    given = ["--tokenize", "text", "--drop", "id"]
    for out, options in (("asked", given), ("plain", ["--view", "image"])):
        rows = file
        if out == "plain":
            rows = f"image={tmp_path / 'x.npy'}"
            np.save(tmp_path / "x.npy", X)
        assert run_app(["select", rows, *options, "-k", "2", "-o", str(tmp_path / out)]) == 0
    asked, plain = (
        json.loads((tmp_path / out / "run.json").read_text())["reading"]
        for out in ("asked", "plain")
    )
    assert asked == {"tokenize": ["text"], "drop": ["id"]}
    assert plain == {"view": ["image"]}
