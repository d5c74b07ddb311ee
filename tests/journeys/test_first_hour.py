"""The first hour of some users, each a real task from end to end, as they would type it."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.datasets import make_planted

N_CLASSES = 4


@pytest.fixture(scope="module")
def posts():
    """Words and tags of 800 rows, a fifth of the features telling of four classes."""
    return make_planted(
        800,
        n_features=(300, 150),
        n_informative=(60, 40),
        n_classes=N_CLASSES,
        view_names=["words", "tags"],
        random_state=0,
    )


def is_telling(name):
    return not name.startswith("noise")


def share_telling(names):
    return np.mean([is_telling(name) for name in names])


def sentences(planted, view):
    """Rows of counts as texts, their words in the order of the columns."""
    words = [name.replace("_", "") for name in planted.feature_names[view]]
    X = planted.views[view]
    for i in range(X.shape[0]):
        row = X[[i]]
        pairs = zip(row.indices, row.data.astype(int), strict=True)
        yield " ".join(word for j, n in pairs for word in [words[j]] * n)


def omvfs(*arguments):
    """Run a command as it would be typed; it must end well."""
    code = run_app([str(each) for each in arguments])
    assert code == 0, arguments


def ranking(out):
    with (out / "ranking.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_who_has_texts_as_json_lines_reads_words_in_the_end(posts, tmp_path, capsys):
    """Raw texts and tags; rank, look at it, and write the rows with the chosen words only."""
    path = tmp_path / "posts.jsonl"
    rows = zip(sentences(posts, "words"), sentences(posts, "tags"), strict=True)
    lines = [
        json.dumps({"id": i, "words": f"{a.capitalize()}.", "tags": b.split()})
        for i, (a, b) in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    omvfs("info", path)
    told = {line.split("\t")[0]: line for line in capsys.readouterr().out.splitlines()[:4]}
    assert told["id"].endswith("left out")
    assert told["words"].endswith("view 'words': its words")
    read = ("--keep", "id", "--tokenize", "words")
    omvfs("info", path, *read)
    out = tmp_path / "out"
    asked = ("-k", N_CLASSES, "-n", "words=40,tags=20", "--prepare", "tfidf", "--prepare", "l2")
    omvfs("select", path, *read, *asked, "-o", out)
    said = capsys.readouterr().out
    assert "800 rows" in said
    chosen = [row for row in ranking(out) if row["selected"] == "True"]
    assert share_telling(row["name"] for row in chosen) > 0.9
    # The best are named at the end, not numbered.
    assert all(row["name"] in said for row in chosen if row["rank"] == "1")
    omvfs("transform", out / "model.omvfs", path, *read, "-o", tmp_path / "few.jsonl")
    written = (tmp_path / "few.jsonl").read_text(encoding="utf-8").splitlines()
    few = [json.loads(line) for line in written]
    assert [row["id"] for row in few] == list(range(800))
    kept = {word for row in few for word in row["words"]}
    assert kept <= {row["name"] for row in chosen if row["view"] == "words"}
    # Prepared as they were for the run: counts would be longer than 1.
    assert all(sum(x**2 for x in row["words"].values()) <= 1 + 1e-9 for row in few)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_who_has_parts_and_is_killed_goes_on(posts, tmp_path):
    """A folder of Parquet parts with an id; `kill -9`, the same command again with --resume."""
    columns = {
        f"{view}__{name}": column
        for view, X in posts.views.items()
        for name, column in zip(posts.feature_names[view], X.toarray().T, strict=True)
    }
    table = pl.DataFrame({"id": [f"row{i}" for i in range(800)], **columns})
    (tmp_path / "parts").mkdir()
    for i in range(11):
        table[i * 75 : (i + 1) * 75].write_parquet(tmp_path / f"parts/part-{i}.parquet")
    asked = ["select", tmp_path / "parts", "--keep", "id", "-k", N_CLASSES, "-n", 30]
    asked += ["--batch-size", 20, "--checkpoint-every", 1, "--write-data"]
    whole, out = tmp_path / "whole", tmp_path / "out"
    omvfs(*asked, "-o", whole)
    command = [sys.executable, "-m", "omvfs.cli", *map(str, asked), "-o", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        while not (out / "model.omvfs").exists() and job.poll() is None:
            time.sleep(0.01)
        job.kill()
    assert job.returncode == -signal.SIGKILL
    assert not (out / "ranking.csv").exists()
    assert OMVFS.load(out / "model.omvfs").n_samples_seen_ < 800
    omvfs(*asked, "-o", out, "--resume")
    assert (out / "ranking.csv").read_bytes() == (whole / "ranking.csv").read_bytes()
    (written,) = (out / "data").iterdir()
    few = pl.read_parquet(written)
    assert few["id"].to_list() == table["id"].to_list()
    assert few.shape == (800, 61)
    assert share_telling(name.partition("__")[2] for name in few.columns[1:]) > 0.9
