"""The command that reproduces the paper."""

import pytest
from typer.testing import CliRunner

from omvfs.cli.commands import app

runner = CliRunner()


def test_experiments_are_listed():
    found = runner.invoke(app, ["experiment", "list"])
    assert found.exit_code == 0
    assert {line.split()[0] for line in found.stdout.splitlines()} >= {"small", "drift", "methods"}


def test_an_experiment_writes_its_table_and_a_page(tmp_path):
    out, page = tmp_path / "out", tmp_path / "page.md"
    found = runner.invoke(
        app, ["experiment", "methods", "--out", str(out), "--page", str(page), "--quick"]
    )
    assert found.exit_code == 0, found.output
    assert (out / "methods.csv").read_text(encoding="utf-8").startswith("of,method,multi-view")
    assert "| OMVFS | ✓ | ✓ | ✓ |" in page.read_text(encoding="utf-8")
    again = runner.invoke(app, ["experiment", "methods", "--out", str(out), "--quick", "--again"])
    assert again.exit_code == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [(["nothing"], "Got 'nothing'; expected"), (["methods", "--data", "/no/where"], "no folder")],
)
def test_what_is_not_there_is_said(given, told):
    found = runner.invoke(app, ["experiment", *given])
    assert found.exit_code == 2
    assert told in " ".join(found.output.replace("│", " ").split())
