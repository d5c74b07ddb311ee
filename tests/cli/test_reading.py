"""Options that say what to read: columns that go along, texts, words that are known."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from support import counts

X = counts(np.random.default_rng(0), 60, 5)
LABELS = ["cat", "dog"] * 30


def labelled(path):
    columns = {f"text__w{j}": X[:, j] for j in range(5)}
    parquet.write_table(pa.table({"id": range(60), "class": LABELS, **columns}), path)
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


@pytest.mark.parametrize("known", [[], ["--vocabulary", "text=words.txt"]], ids=["new", "known"])
def test_words_of_a_stream_are_those_that_come_or_that_are_known(known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("cat\nemu\n\ncat\n")
    rows = [json.dumps({"text": words}) for words in (["cat", "dog"], ["emu", "cat"])] * 10
    Path("rows.jsonl").write_text("\n".join(rows) + "\n")
    with open("rows.jsonl") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run_app(["select", "-", "-k", "2", "-n", "2", "--batch-size", "10", *known]) == 0
    model = OMVFS.load("out/model.omvfs")
    assert model.new_features == ("error" if known else "grow")
    words = ("cat", "emu") if known else ("cat", "dog", "emu")
    assert tuple(model.schema_.feature_names[0]) == words


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
