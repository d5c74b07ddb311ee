"""The command that shows a run, and what select tells of itself: sentences and codes."""

import json
import os
import re
import sys

import numpy as np
import pytest

from omvfs.cli import _messages
from omvfs.cli._signals import Stop
from omvfs.cli.commands import run_app
from omvfs.live.server import Place
from omvfs.live.status import StatusFile
from support import counts


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, counts(np.random.default_rng(0), 120, 8))
    return path


def status(out):
    return json.loads((out / "status.json").read_text())


def told(capsys, *arguments):
    """Return the exit code, and what was said on one line without the frame around it."""
    code = run_app(list(map(str, arguments)))
    said = capsys.readouterr()
    return code, re.sub(r"[\s│]+", " ", said.err)


def test_what_cannot_be_watched_is_told(tmp_path, capsys):
    code, said = told(capsys, "watch", tmp_path / "nowhere")
    assert code == 2
    assert "There is no folder" in said
    code, said = told(capsys, "watch", tmp_path)
    assert code == 2
    assert "has no status.json. Begin one: omvfs select" in said
    code, said = told(capsys, "watch", "memory://bucket/out")
    assert code == 2
    assert "is not of this machine" in said
    assert "--watch" in said


def test_a_port_that_is_taken_is_told(tmp_path, capsys):
    StatusFile(tmp_path / "status.json")
    place = Place.of("127.0.0.1", 0)
    port = place.port
    with place.socket:
        code, said = told(capsys, "watch", tmp_path, "--port", port)
    assert code == 2
    assert f"Port {port} of 127.0.0.1 is taken: give another --host or --port" in said
    code, said = told(capsys, "watch", tmp_path, "--host", "no such host")
    assert code == 2
    assert "is not to be had" in said


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_what_to_install_is_told(tmp_path, rows, capsys, monkeypatch, missing):
    StatusFile(tmp_path / "status.json")
    for name in list(sys.modules):
        if name.partition(".")[0] == missing or name in ("omvfs.live.server", "omvfs.live.guard"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    code, said = told(capsys, "watch", tmp_path)
    assert (code, said) == (2, f"omvfs: This needs {missing}: pip install 'omvfs[live]' ")
    monkeypatch.setattr("omvfs.cli._watching.find_spec", lambda name: None)
    code, said = told(capsys, "select", rows, "--watch", "-o", tmp_path / "out")
    assert (code, said) == (2, "omvfs: This needs starlette: pip install 'omvfs[live]' ")
    assert not (tmp_path / "out").exists()


def test_a_run_tells_how_it_ended(rows, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    command = ["select", rows, "-k", "3", "--batch-size", "20", "-o", out]
    with monkeypatch.context() as patch:
        patch.setattr(Stop, "__call__", lambda stop: True)
        assert told(capsys, *command)[0] == 130
    assert (status(out)["state"], status(out)["rows"]) == ("stopped", 20)
    first = status(out)["run"]
    assert told(capsys, *command, "--resume")[0] == 0
    assert (status(out)["state"], status(out)["rows"]) == ("finished", 120)
    assert (status(out)["run"], status(out)["total"]) == (first, 120)
    chosen = json.loads((out / "ranking.json").read_text())["selected"]["x"]
    assert [name for name, _ in status(out)["views"][0]["top"]] == chosen[:10]


def test_a_run_that_fails_tells_why_in_the_words_of_the_command_line(tmp_path, capsys):
    X = counts(np.random.default_rng(0), 120, 8)
    X[110, 3] = -1
    np.save(tmp_path / "x.npy", X)
    out = tmp_path / "out"
    given = ["select", tmp_path / "x.npy", "--batch-size", "20", "-o", out, "-k", "3"]
    # Who leaves nothing leaves no word of it.
    assert told(capsys, *given)[0] == 3
    assert not out.exists()
    code, said = told(capsys, *given, "--checkpoint-every", "1")
    assert code == 3
    found = status(out)
    assert (found["state"], found["rows"]) == ("failed", 100)
    assert "--negative clip" in found["message"]
    assert found["message"] in said


def test_no_secret_is_told(tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "model.omvfs").write_bytes(b"x")
    address = "https://me:word@127.0.0.1:1/x.parquet?key=secret"
    assert told(capsys, "select", address, "-o", out, "--overwrite")[0] != 0
    assert status(out)["state"] == "failed"
    assert not re.search("word|secret", (out / "status.json").read_text())


def test_what_an_address_gets_has_no_status(rows, capsys):
    import fsspec

    assert told(capsys, "select", rows, "-k", "2", "-o", "memory://watched/out")[0] == 0
    names = [
        os.path.basename(name) for name in fsspec.filesystem("memory").ls("/watched/out", False)
    ]
    assert sorted(names) == ["model.omvfs", "ranking.csv", "ranking.json", "run.json"]


def test_the_extra_is_the_one_in_the_package():
    assert {_messages._EXTRAS[name] for name in ("starlette", "uvicorn")} == {"live"}
