"""What bars are judged by is measured in every part, and asked for once."""

import pytest

import asked
import asked_bars
import command
import density
import elsewhere
import keep
import made
from paper.twins import make_twin


@pytest.fixture
def small(monkeypatch):
    """Every set a small one."""
    twin = make_twin("reuters", 150, n_features=(60, 50), n_words=(9, 9), n_classes=3)
    monkeypatch.setattr(asked, "load", lambda *_: (twin.views, 3, True))


def test_a_ranked_pass_is_timed_beside_the_floor_and_its_peer(small, tmp_path):
    cell = asked.ranked("reuters-twin", tmp_path, quick=True, runs=2)
    assert cell["rows"] == 150
    assert set(cell["times"]) == {
        "floor",
        "omvfs",
        "omvfs, no graph",
        "omvfs, ranked",
        "MiniBatchNMF",
    }
    assert all(len(runs) == 2 for runs in cell["times"].values())


def test_both_kinds_of_a_view_are_timed_in_turn():
    found = density.by_density(100, runs=2, n_rows=120)
    compared = {f"{kind}, {work}" for kind in ("CSR", "array") for work in density.WORKS}
    assert compared < set(found)
    sums = zip(found["CSR, pass"], found["CSR, ranking"], strict=True)
    for whole, parts in zip(found["CSR, pass and ranking"], sums, strict=True):
        assert whole == tuple(map(sum, zip(*parts, strict=True)))


def test_the_twin_of_cells_is_as_full_as_asked_for():
    for density_ in (0.1, 0.3):
        X = made.cells(300, 400, 3, density_)
        assert X.nnz / 300 / 400 == pytest.approx(density_, rel=0.1)


def test_only_what_is_missing_and_asked_for_is_measured(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(command, "times", lambda *_: calls.append(1) or {"omvfs --help": [[1, 1]]})
    for _ in range(2):
        results = keep.Results(tmp_path / "kept.json", only=["asked/command"])
        asked.asked(results, tmp_path, quick=True)
    assert calls == [1]
    seen = {bar.what: bar.seen for bar in asked_bars.starting(keep.Results(tmp_path / "kept.json"))}
    assert seen["omvfs --help ≤ 0.3 s from start to end"] == "1"


def test_growing_words_and_missing_views_are_timed_beside_plain_passes():
    found = elsewhere.new_words(0, quick=True) | elsewhere.missing_views(0, quick=True)
    assert set(found) == {"growing", "known", "lacking", "complete"}
    assert all(seconds > 0 for run in found.values() for seconds in run)
