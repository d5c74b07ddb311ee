"""Every script starts; what its page is made of is measured and kept."""

import doctest
import importlib
import runpy
import sys
from pathlib import Path

import pytest

import asked
import keep
import race
from paper.twins import make_twin

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(
    path.name for path in BENCHMARKS.glob("*.py") if "ArgumentParser" in path.read_text("utf-8")
)


@pytest.fixture(scope="module")
def twin():
    return make_twin("reuters", 150, n_features=(60, 50), n_words=(9, 9), n_classes=3)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_how_it_is_called(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    if name == "report.py":  # which need what no other script needs
        pytest.importorskip("PIL")
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["made", "measure", "plots", "paper.graphs", "paper.mcfs", "paper.spec"]
)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed


def test_results_are_kept_and_continued_and_two_runs_share_a_file(tmp_path):
    path = tmp_path / "results.json"
    one, other = keep.Results(path), keep.Results(path)
    one.put("race/a", {"rows": 1})
    other.put("growth/b", {"rows": 2})
    found = keep.Results(path)
    assert not found.wanted("race/a")
    assert found.wanted("race/c")
    assert found["growth/b"]["rows"] == 2
    assert found.older() == []
    found.code = "other"
    found.put("c", {})
    assert set(found.older()) == {"race/a", "growth/b"}
    assert keep.Results(path, again=["race"]).wanted("race/a")
    assert not keep.Results(path, only=["race/x/"]).wanted("race/y/paper")
    path.write_text('{"race": {}, "quick": false}')
    assert keep.Results(path).found == {}


def test_a_race_runs_every_method_on_the_same_rows(twin):
    chunks = [chunk.views for chunk in twin.chunks(50)]
    for name, method in race.METHODS.items():
        times = race.beside(3, chunks, method, repeats=1)
        assert len(times["floor"]) == len(times["omvfs"]) == (2 if method.slow else 1)
        assert len(times["own"]) == 1
        assert name in race.result_line("set", name, {"rows": 150, "times": times})


def test_the_race_finds_what_is_missing_and_asked_for(tmp_path, monkeypatch):
    done = []

    def beside(K, chunks, method, repeats):
        done.append(method)
        return {name: [[1.0, 1.0]] for name in ("floor", "omvfs", "own")}

    monkeypatch.setattr(race, "beside", beside)
    path = tmp_path / "results.json"
    for only in (["race/mfeat/"], *[["race/reuters-twin/FSDS", "growth"]] * 2):
        race.race(keep.Results(path, only=only), tmp_path, quick=True, full=False)
    # That set is not here; the other result was there the second time.
    assert done == [race.METHODS["FSDS"]]
    assert set(keep.Results(path).found) == {"set/reuters-twin", "race/reuters-twin/FSDS"}


def test_what_is_asked_is_measured_and_every_comparison_of_it_shown(tmp_path):
    found = keep.Results(only=["asked/density/13"])
    asked.asked(found, tmp_path, quick=True)
    assert set(found.found) == set(found.only)
    compared = [what for what, key, _, _ in asked.comparisons() if key in found.found]
    assert [what for what, _ in asked.rows_of(found.found)] == compared
    assert len(compared) > len(found.only)
