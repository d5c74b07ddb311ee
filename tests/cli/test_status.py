"""What a run tells while it goes: the status file, and the report at every checkpoint."""

import json

import numpy as np
import pytest

from omvfs import OMVFS
from omvfs.cli import output
from omvfs.cli.commands import run_app
from streams import two_views


@pytest.fixture
def rows(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for i, (name, X) in enumerate(two_views(0, 600).items()):
        np.save(folder / f"view_{i}_{name}.npy", X)
    return folder


def select(rows, out, *options):
    given = ["select", str(rows), "-k", "3", "-o", str(out), "--batch-size", "50"]
    return run_app([*given, *options])


def test_the_report_of_a_run_is_written_at_its_checkpoints_and_changes_nothing(
    rows, tmp_path, monkeypatch
):
    pages = []

    def kept(self, path):
        pages.append(self.html())
        path.write_text(pages[-1])

    monkeypatch.setattr(output.PageOnTheWay, "_SHARE", 1.0)
    monkeypatch.setattr("omvfs.report.Report.save", kept)
    options = "--report", "--checkpoint-every", "2"
    assert select(rows, tmp_path / "with", *options) == 0
    assert len(pages) > 2
    assert all("data-reload" in page for page in pages[:-1])
    assert "data-reload" not in pages[-1]
    assert select(rows, tmp_path / "without") == 0
    models = [OMVFS.load(tmp_path / name / "model.omvfs") for name in ("with", "without")]
    np.testing.assert_array_equal(models[0].scores_, models[1].scores_)


def test_the_page_of_a_run_that_fails_does_not_reload(rows, tmp_path, monkeypatch):
    def fails(*given):
        raise OSError(28, "No space left on device", "ranking.csv")

    monkeypatch.setattr(output.PageOnTheWay, "_SHARE", 1.0)
    monkeypatch.setattr("omvfs.cli.commands.write_results", fails)
    assert select(rows, tmp_path / "out", "--report", "--checkpoint-every", "2") == 4
    page = (tmp_path / "out" / "report.html").read_text()
    assert "omvfs report" in page
    assert "data-reload" not in page


def test_the_status_file_is_written_if_it_is_asked_for(rows, tmp_path, monkeypatch):
    assert select(rows, tmp_path / "quiet") == 0
    assert not list((tmp_path / "quiet").glob("*status*"))
    path = tmp_path / "status.json"
    assert select(rows, tmp_path / "out", "--status", str(path)) == 0
    told = json.loads(path.read_text())
    assert (told["state"], told["unit"], told["done"], told["total"]) == (
        "finished",
        "rows",
        600,
        600,
    )


def test_the_status_file_tells_why_a_run_failed(rows, tmp_path):
    np.save(rows / "view_0_text.npy", np.r_[np.ones((599, 4)), [[1, 1, 1, np.nan]]])
    path = tmp_path / "status.json"
    assert select(rows, tmp_path / "out", "--status", str(path)) == 3
    told = json.loads(path.read_text())
    assert told["state"] == "failed"
    assert "NaN" in told["message"]
