"""The experiment on small sets: its tasks, its rows, and what is shown of them."""

import json

import numpy as np
import pytest
from hand_made_rows import AS_TOLD, on_both, small_rows

from omvfs.datasets import make_planted
from paper import EXPERIMENTS, Place, rows_of, small, write_experiment
from paper.methods import METHODS

SMALL = EXPERIMENTS["small"]
SETS = ("bdgp", "debian_en_fr")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A small folder of data, few methods and sizes, and no twin."""
    folder = tmp_path / "data" / "fox"
    folder.mkdir(parents=True)
    planted = make_planted(120, n_features=(60, 40), n_informative=(20, 10), random_state=0)
    for i, (name, X) in enumerate(planted.views.items()):
        np.save(folder / f"view_{i}_{name}.npy", X.toarray() if hasattr(X, "toarray") else X)
    np.save(folder / "labels.npy", planted.labels)
    monkeypatch.setattr(small, "PAPER_SIZES", (10, 20, 30))
    monkeypatch.setattr(small, "METHODS", {m: METHODS[m] for m in ("LapScore", "all features")})
    monkeypatch.setattr(small, "twins", lambda *_: [])
    return Place(data=tmp_path / "data", data_home=tmp_path)


def test_a_task_is_plain_and_told_apart_from_all_others(tmp_path):
    tasks = SMALL.tasks(Place(data_home=tmp_path))
    told = [json.dumps(task.what, sort_keys=True) for task in tasks]
    assert len(set(told)) == len(told)
    assert {task.what["data"] for task in tasks} == {"fox-twin", "cnn-twin"}
    assert {task.what["method"] for task in tasks} == set(METHODS)


def test_quick_is_one_order_in_the_defaults_on_two_sets(tmp_path):
    tasks = SMALL.tasks(Place(data_home=tmp_path, quick=True))
    assert len(tasks) == 2 * len(METHODS)
    assert all(task.what["order"] == 0 and task.what["params"] == {} for task in tasks)


def test_a_long_set_is_spared_methods_that_learn_a_full_graph(tmp_path):
    for data in SETS:
        (tmp_path / data).mkdir()
        np.save(tmp_path / data / "labels.npy", np.zeros(3))
    tasks = SMALL.tasks(Place(data=tmp_path, data_home=tmp_path))
    run = {data: {t.what["method"] for t in tasks if t.what["data"] == data} for data in SETS}
    assert run["bdgp"] == set(METHODS)
    assert run["debian_en_fr"] == set(METHODS) - {"JMVFG", "ACSL"}
    rows = [row for data in SETS for row in small_rows({"JMVFG": (0.1, 0.2, 0.3)}, data)]
    assert (
        "Left out on debian_en_fr, for a matrix of rows by rows that they learn: JMVFG."
        in SMALL.section(rows)
    )
    assert "rows by rows" not in SMALL.section(rows[:6])


def test_a_run_writes_all_and_a_second_one_does_nothing(place, tmp_path, monkeypatch):
    out, store = tmp_path / "out", tmp_path / "store"
    text = write_experiment("small", place, out, store).read_text()
    assert "chosen with\nthe labels" in text
    assert {"small.csv", "small-fox.svg", "small-sets.svg"} <= {f.name for f in out.iterdir()}
    rows = rows_of(SMALL, place, store)
    # 3 orders of the default and 3 settings beside it, of 3 sizes × 2 seeds; and all features.
    assert len(rows) == (3 + 3) * 3 * 2 + 3 * 2

    monkeypatch.setattr(small, "judge", None)  # nothing is left that would call it
    assert rows_of(SMALL, place, store) == rows


def test_the_same_task_gives_the_same_rows(place):
    task = SMALL.tasks(place)[0]
    assert task.do(place, **task.what) == task.do(place, **task.what)


def test_the_section_has_means_over_real_sets_and_who_is_ahead():
    rows = on_both({"MVUFS": (0.8, 0.8, 0.8)}) + small_rows(AS_TOLD, "mfeat-twin")
    text = SMALL.section(rows)
    assert "* fox: MVUFS +0.117" in text
    assert "* cnn: none" in text
    # Over fox and cnn, without the twin: (0.683 + 0.687) / 2.
    (line,) = [line for line in text.splitlines() if line.startswith("| OMVFS")]
    assert "| 0.685 | 0.695 | 0.785 |" in line


def test_a_figure_has_a_line_a_method():
    figures = SMALL.figures([*on_both(), *small_rows({"all features": (0.5, 0.5, 0.5)})])
    assert set(figures) == {"fox", "cnn", "sets"}
    lines = figures["fox"].axes[0].get_lines()
    assert [line.get_label() for line in lines][-1] == "all features"
    assert len(lines) == len(AS_TOLD) + 1
