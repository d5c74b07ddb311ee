"""Reports at the command line: of a run and of a model, and what stands in their way."""

import csv
import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from omvfs.cli.commands import run_app
from omvfs.cli.output import write_results
from omvfs.data.schema import shown
from omvfs.pipeline import Result
from reported import HOSTILE, hostile_model
from support import clustered

QUICK = ["-k", "3", "-n", "4", "--prepare", "l2"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a report; returns its folder and the rows."""
    folder = tmp_path_factory.mktemp("run")
    np.save(folder / "x.npy", clustered(np.random.default_rng(0), 150, 12)[0])
    command = ["select", f"x={folder / 'x.npy'}", *QUICK, "-o", str(folder / "out"), "--report"]
    assert run_app(command) == 0
    return folder / "out", folder / "x.npy"


def test_a_run_ends_with_a_report_and_says_where_it_is(run, tmp_path, capsys):
    folder, rows = run
    names = {"model.omvfs", "ranking.csv", "ranking.json", "run.json"}
    names |= {"report.html", "report.json"}
    assert {each.name for each in folder.iterdir()} == names
    out = tmp_path / "out"
    capsys.readouterr()
    assert run_app(["select", f"x={rows}", *QUICK, "-o", str(out), "--report"]) == 0
    assert capsys.readouterr().out.endswith(f"\nReport: {out / 'report.html'}\n")


def test_the_report_of_a_model_is_that_of_its_run(run, tmp_path, capsys):
    folder, _ = run
    out = tmp_path / "deep" / "page.html"
    capsys.readouterr()
    assert run_app(["report", str(folder / "model.omvfs"), "-o", str(out)]) == 0
    assert capsys.readouterr() == (f"150 rows; report in {out}\n", "")
    assert out.read_bytes() == (folder / "report.html").read_bytes()
    assert out.with_suffix(".json").read_bytes() == (folder / "report.json").read_bytes()
    assert len(list(out.parent.iterdir())) == 2


def test_how_another_model_was_made_is_not_told(run, tmp_path):
    told = json.loads((run[0] / "run.json").read_text())
    (tmp_path / "model.omvfs").write_bytes((run[0] / "model.omvfs").read_bytes())
    for spoilt in (
        json.dumps(told | {"rows": 149}),
        json.dumps(told | {"parameters": told["parameters"] | {"random_state": 1}}),
        "[]",
        '{"rows": 150}',
        "no json",
        "[" * 100_000,
    ):
        (tmp_path / "run.json").write_text(spoilt)
        command = ["report", str(tmp_path / "model.omvfs"), "-o", str(tmp_path / "a.html")]
        assert run_app([*command, "--overwrite"]) == 0
        made = json.loads((tmp_path / "a.json").read_text())["made"]["run"]
        assert "command" not in made
        assert len(made["SHA-256"]) == 64


def test_rows_that_have_names_are_examples_of_their_clusters(tmp_path):
    X, _ = clustered(np.random.default_rng(0), 90, 9)
    names = [f"page {i:02d}" for i in range(90)]
    columns = {"id": names, "title": [f"<i>{i}</i>" for i in range(90)]}
    columns |= {f"c{j}": X[:, j] for j in range(9)}
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    out = tmp_path / "out"
    command = ["select", str(tmp_path / "rows.parquet"), "--keep", "title", "--key", "id"]
    assert run_app([*command, *QUICK, "-o", str(out), "--report"]) == 0
    clusters = json.loads((out / "report.json").read_text())["clusters"]
    rows = [row for own in clusters for row in own["examples"]]
    assert len(rows) == 9
    for row in rows:
        assert row["key"] == names[int(row["row"])]
        assert row["title"] == f"<i>{int(row['row'])}</i>"
    assert "<i>" not in (out / "report.html").read_text(encoding="utf-8")


def test_what_stands_in_the_way_is_told_before_anything_is_done(run, tmp_path, capsys):
    model, out = str(run[0] / "model.omvfs"), tmp_path / "a.html"

    def refused(code, said, *arguments):
        capsys.readouterr()
        assert run_app(["report", *map(str, arguments)]) == code
        error = capsys.readouterr().err
        assert said in " ".join(error.replace("│", " ").split()), error
        assert "Traceback" not in error

    refused(4, "No such file", tmp_path / "none.omvfs", "-o", out)
    (tmp_path / "other.omvfs").write_text("something else")
    refused(3, "other.omvfs", tmp_path / "other.omvfs", "-o", out)
    refused(2, "expected a file that ends in .html", model, "-o", tmp_path / "page")
    (tmp_path / "folder.html").mkdir()
    refused(2, "is a folder", model, "-o", tmp_path / "folder.html")
    assert not out.exists()
    for there in (out, out.with_suffix(".json")):
        there.write_text("mine")
        refused(2, "is there already: take another file, or --overwrite", model, "-o", out)
        assert there.read_text() == "mine"
        there.unlink()
    out.write_text("mine")
    assert run_app(["report", model, "-o", str(out), "--overwrite"]) == 0
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_without_jinja2_nothing_is_begun(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    out = tmp_path / "out"
    for given in (
        ["report", str(run[0] / "model.omvfs"), "-o", str(out / "a.html")],
        ["select", f"x={run[1]}", *QUICK, "-o", str(out), "--report"],
    ):
        assert run_app(given) == 2
        told = "omvfs: This needs jinja2: pip install 'omvfs[report]'\n"
        assert capsys.readouterr().err == told
        assert not out.exists()


def test_a_page_of_a_run_before_does_not_stay_beside_other_results(run, tmp_path, capsys):
    out = tmp_path / "out"
    select = ["select", f"x={run[1]}", *QUICK, "-o", str(out)]
    assert run_app([*select, "--report"]) == 0
    assert run_app([*select, "--report"]) == 2
    assert run_app([*select, "--seed", "1", "--overwrite"]) == 0
    assert not (out / "report.html").exists()
    assert not (out / "report.json").exists()
    assert run_app([*select, "--report", "--overwrite"]) == 0
    rank = ["rank", str(out / "model.omvfs"), "-n", "2", "-o", str(out)]
    assert run_app(rank) == 2
    assert (out / "report.html").exists()
    assert run_app([*rank, "--overwrite"]) == 0
    assert not (out / "report.html").exists()
    assert not (out / "report.json").exists()
    # What is not such a page stays, whatever it is called, and is not written over.
    (out / "report.html").write_text("mine")
    for command in (select, rank):
        assert run_app([*command, "--overwrite"]) == 0
        assert (out / "report.html").read_text() == "mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "report.html").write_text("mine")
    assert run_app([*select[:-1], str(other), "--report"]) == 2
    assert (other / "report.html").read_text() == "mine"


def test_hostile_names_are_one_line_each_in_tables_and_no_spreadsheet_computes_them(tmp_path):
    model, _ = hostile_model()
    write_results(tmp_path, Result(model, finished=True), ["\udcff.npy"])
    # No line ends, nothing is turned around, and no terminal obeys, within a name.
    lines = (tmp_path / "ranking.csv").read_bytes().decode().removesuffix("\n").split("\n")
    assert [line for line in lines if shown(line) != line] == []
    head, *rows = csv.reader(lines)
    assert len(rows) == sum(model.schema_.widths)
    named = [head.index(each) for each in ("view", "name", "repeats")]
    for row in rows:
        assert not [row[i] for i in named if row[i].startswith(("=", "+", "-", "@"))]
    found = {row[named[1]] for row in rows}
    assert set(map(shown, HOSTILE)) <= {name.removeprefix("'") for name in found}
    exact = json.loads((tmp_path / "ranking.json").read_text(encoding="utf-8"))
    assert exact["selected"].keys() == {*model.schema_.names}
    assert set(HOSTILE) < {row["name"] for row in exact["features"]}
    told = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert told["inputs"] == ["\udcff.npy"]
