"""Every script starts; what its page and its bars are made of is measured, kept and judged."""

import doctest
import importlib
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import bars
import criterion
import keep
import race
from omvfs import OMVFS, OMVFSPaper
from paper.twins import make_twin
from verdicts import MET, MISSED, UNKNOWN, Bar, judged

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
    if name in ("report.py", "scverse.py"):  # which need what no other script needs
        pytest.importorskip("PIL" if name == "report.py" else "mudata")
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["criterion", "made", "measure", "plots"])
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


def test_of_several_runs_the_median_is_judged_and_nothing_is_met_without_results():
    bar = judged("bar", {"a": [1.0, 5.0, 2.0], "b": 1.5}, most=2, wall={"a": [3.0, 4.0, 5.0]})
    assert bar == Bar("bar", "a 2; b 1.5", MET, "a 1 to 5", "a 4")
    assert judged("bar", {"a": [1.0, 5.0, 2.1]}, most=2).verdict == MISSED
    assert {bar.verdict for bar in bars.bars({})} == {UNKNOWN}


def test_the_objective_is_that_of_the_equation(twin):
    chunks = [chunk.views for chunk in twin.chunks(75)]
    ours, paper = OMVFS(3, random_state=0), OMVFSPaper(3, random_state=0, max_iter=20)
    for chunk in chunks:
        ours.partial_fit(chunk)
        paper.partial_fit(chunk)
    found = criterion.compare({"omvfs": ours, "paper": paper}, chunks)
    for how, both in found.items():
        for terms in both.values():
            parts = terms["reconstruction"] + terms["graph"] + terms["sparsity"]
            assert terms["objective"] == pytest.approx(parts)
            if "one cluster" in how:
                assert terms["gap"] < 1e-9
    for who in ("omvfs", "paper"):
        best, one = (
            found[f"last chunk, {how} U"][who]["reconstruction"] for how in ("best", "one cluster")
        )
        assert best <= one + 1e-9
    rng = np.random.default_rng(0)
    X, U, V, L = [rng.random((6, 4))], rng.random((6, 2)), [rng.random((4, 2))], np.eye(6)
    scaled = criterion.terms(X, U * [2.0, 5.0], [V[0] / [2.0, 5.0]], L)
    assert scaled == pytest.approx(criterion.terms(X, U, V, L))


def test_a_race_runs_every_method_on_the_same_rows(twin):
    chunks = [chunk.views for chunk in twin.chunks(50)]
    for name, method in race.METHODS.items():
        times, ours, own = race.beside(3, chunks, method, repeats=1)
        assert len(times["own"]) >= 1
        assert ours.n_samples_seen_ == 150
        assert own is not None
        assert name in race.result_line("set", name, {"rows": 150, "times": times})


def test_the_race_finds_what_is_missing_and_asked_for(tmp_path, monkeypatch):
    done = []

    def beside(K, chunks, method, repeats):
        done.append(method)
        return {name: [[1.0, 1.0]] for name in ("floor", "omvfs", "omvfs, no graph", "own")}, 0, 0

    monkeypatch.setattr(race, "beside", beside)
    path = tmp_path / "results.json"
    for only in (["race/mfeat/"], *[["race/reuters-twin/FSDS", "growth"]] * 2):
        race.race(keep.Results(path, only=only), tmp_path, quick=True, full=False)
    # That set is not here; the other result was there the second time.
    assert done == [race.METHODS["FSDS"]]
    assert set(keep.Results(path).found) == {"set/reuters-twin", "race/reuters-twin/FSDS"}
