"""The experiment on runtime: what is timed, and what is shown of it."""

import pytest
from hand_made_rows import as_the_paper_says, runtime_rows

from paper import EXPERIMENTS, Place, runtime
from paper.methods import OURS, PRINTED

RUNTIME = EXPERIMENTS["runtime"]


def test_the_section_and_the_figures_show_all_methods():
    pytest.importorskip("matplotlib")
    rows = runtime_rows(as_the_paper_says)
    text = RUNTIME.section(rows)
    assert "| 100,000 | 100 (100 to 101) | 200 | – | – | 0 | 2 | – | – |" in text
    assert "| 10 (10 %) |" in text
    assert "Twins have the shape" in text
    assert "Twins" not in RUNTIME.section(runtime_rows(as_the_paper_says, sets=["reuters"]))
    figures = RUNTIME.figures(rows)
    assert list(figures) == ["rows", "features"]
    for figure in figures.values():
        assert [axes.get_title() for axes in figure.axes] == ["reuters-twin", "youtube-twin"]
        assert all(axes.get_xscale() == axes.get_yscale() == "log" for axes in figure.axes)
    shown = [len(axes.lines) for figure in figures.values() for axes in figure.axes]
    assert shown == [4, 3, 2, 2]


def test_tasks_run_both_figures_in_turns():
    tasks = [task.what for task in RUNTIME.tasks(Place())]
    assert RUNTIME.timed
    assert len(tasks) == 2 * 2 * runtime.TURNS
    assert [task["data"] for task in tasks[:3]] == ["reuters-twin", "youtube-twin", "reuters-twin"]
    assert len(RUNTIME.tasks(Place(quick=True))) == 2


def test_small_runs_of_both_figures(monkeypatch):
    place = Place(quick=True)
    monkeypatch.setattr(runtime, "QUICK_SIZES", (60, 120))
    monkeypatch.setattr(runtime, "QUICK_SHORT", 100)
    monkeypatch.setattr(runtime, "QUICK", {PRINTED: (0, 0), "MVUFS": (0, 0)})
    tasks = RUNTIME.tasks(place)
    rows = [{**task.what, **row} for task in tasks for row in task.do(place, **task.what)]
    by_rows, by_features = (
        [(row["method"], row[key]) for row in rows if row["against"] == key]
        for key in ("rows", "features")
    )
    assert by_rows == [(OURS, 60), ("FSDS", 60), (OURS, 120), ("FSDS", 120)]
    assert by_features == [(OURS, 4_642), ("FSDS", 4_642), (OURS, 46_424), ("FSDS", 46_424)]
    assert all(0 <= row["ranking"] <= row["seconds"] for row in rows)
    assert len(RUNTIME.claims(rows)) == 5  # without MVUFS
