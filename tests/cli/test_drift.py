"""Changes of the rows at the command line: a line at the end, and all of it in run.json."""

import json
from pathlib import Path

import numpy as np
import pytest

from changing import BEFORE, stream
from omvfs import OMVFS
from omvfs.cli.commands import run_app

QUICK = "batch_size = 100\n[parameters]\nsample_size = 200\n"


@pytest.fixture
def select(tmp_path, monkeypatch):
    """Return a command that selects from rows that change, or do not."""
    monkeypatch.chdir(tmp_path)
    Path("quick.toml").write_text(QUICK)
    for kind in ("shares", "none"):
        np.save(f"{kind}.npy", stream(kind)["text"])

    def select(kind, *more):
        common = ["-k", "3", "-n", "4", "--config", "quick.toml", "--overwrite", "-o", "out"]
        return run_app(["select", f"{kind}.npy", *common, *more])

    return select


def test_changes_are_said_in_a_line_and_kept(select, capsys):
    assert select("shares", "--detect-drift") == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "changed" in line]
    (event,) = json.loads(Path("out/run.json").read_text())["drift"]
    row = f"{event['row']:,}"
    sentence = f"The rows have changed once, noticed at row {row} (other shares of clusters); "
    assert said == [f"{sentence}run.json tells more."]
    assert BEFORE < event["row"] <= BEFORE + 600
    assert event["kind"] == "shares"
    (kept,) = OMVFS.load("out/model.omvfs").drift_
    assert kept.row == event["row"]


def test_nothing_is_said_if_nobody_asks_and_that_nothing_changed_if_somebody_does(select, capsys):
    assert select("none", "--detect-drift") == 0
    assert "The rows have not changed on the way" in capsys.readouterr().out
    assert json.loads(Path("out/run.json").read_text())["drift"] == []
    assert select("shares") == 0
    assert "changed" not in capsys.readouterr().out
    assert "drift" not in json.loads(Path("out/run.json").read_text())
