"""What goes wrong at the command line: one sentence, told as early as can be, and a code."""

import subprocess
import sys

import numpy as np
import pytest

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from support import counts


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, counts(np.random.default_rng(0), 120, 8))
    return str(path)


@pytest.fixture
def read_nothing(monkeypatch):
    def opened(*args, **named):
        raise AssertionError("opened")

    monkeypatch.setattr("omvfs.formats.open_source", opened)


def said_once(capsys, sentence):
    said = capsys.readouterr()
    assert sentence in " ".join(said.err.split())
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.usefixtures("read_nothing")
def test_results_that_cannot_be_written_are_told_before_anything_is_read(rows, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert run_app(["select", rows, "-o", str(tmp_path / "file")]) == 4
    said_once(capsys, "Results cannot be written to")
    assert run_app(["select", rows, "-o", str(tmp_path / "file" / "out")]) == 4
    said_once(capsys, "Results cannot be written to")
    data = tmp_path / "out" / "data"
    data.mkdir(parents=True)
    (data / "x.npy").touch()
    assert run_app(["select", rows, "-o", str(tmp_path / "out"), "--write-data"]) == 2
    said_once(capsys, "data is there already: remove it")


@pytest.mark.parametrize("command", ["select", "info", "convert", "transform"])
def test_no_rows_are_told(tmp_path, command, capsys):
    np.save(tmp_path / "x.npy", np.zeros((0, 3)))
    (tmp_path / "table.csv").write_text("a,b,c\n")
    model = tmp_path / "model"
    OMVFS(2, random_state=0).fit({"table": np.eye(3), "x": np.eye(3)}).save(model)
    given = [str(model)] if command == "transform" else []
    for inputs in (["x.npy"], ["table.csv"], ["table.csv", "x.npy"]):
        if command == "transform" and len(inputs) == 1:
            continue
        files = [str(tmp_path / each) for each in inputs]
        options = [] if command == "info" else ["-o", str(tmp_path / "out")]
        assert run_app([command, *given, *files, *options]) == 3
        said_once(capsys, f"omvfs: There are no rows in {', '.join(map(repr, files))}.")
        assert not (tmp_path / "out").exists()


def test_a_pipe_gets_plain_lines_and_may_be_closed(tmp_path, capsys):
    name = "a_view_with_a_name_" * 8
    np.save(tmp_path / "x.npy", np.eye(3))
    given = ["info", f"{name}={tmp_path / 'x.npy'}"]
    assert run_app(given) == 0
    head, line, *_ = capsys.readouterr().out.splitlines()
    assert head.split("\t")[:3] == ["view", "features", "named"]
    assert line.split("\t")[:3] == [name, "3", "no"]
    command = [sys.executable, "-m", "omvfs.cli", *given]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    job.stdout.close()
    assert job.stderr.read() == ""
    job.stderr.close()
    assert job.wait() == 0
