"""The experiment by the protocol of JMVFG: its tasks, its rows, and what is shown of them."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hand_made_rows import joint_rows

from omvfs.baselines import LaplacianScore
from omvfs.datasets import make_planted
from omvfs.evaluation.joint import evaluate_joint_ranking
from paper import EXPERIMENTS, Place, jmvfg, rows_of, write_experiment
from paper.methods import LITTLE_MEMORY, METHODS

JMVFG = EXPERIMENTS["jmvfg"]
DATA = Path(__file__).parents[3] / "shared" / "data"


def write_set(folder, seed=0):
    folder.mkdir(parents=True)
    planted = make_planted(90, n_features=(60, 40), n_informative=(20, 10), random_state=seed)
    text, image = planted.views.values()
    sp.save_npz(folder / "view_0_text.npz", sp.csr_array(text))
    np.save(folder / "view_1_image.npy", sp.csr_array(image).toarray() - 1.0)
    np.save(folder / "labels.npy", planted.labels)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two small sets, few methods."""
    for seed, name in enumerate(("mfeat", "bdgp")):
        write_set(tmp_path / "data" / name, seed)
    few = {name: METHODS[name] for name in ("OMVFS", "LapScore", "variance", "all features")}
    monkeypatch.setattr(jmvfg, "METHODS", few)
    monkeypatch.setattr(jmvfg, "GRID_SEEDS", 2)
    monkeypatch.setattr(jmvfg, "USUAL", (2, 1))
    monkeypatch.setattr(jmvfg, "EFFORT", {"mfeat": (2, 2)})
    jmvfg.scaled.cache_clear()
    return Place(data=tmp_path / "data", data_home=tmp_path)


def test_without_data_planted_rows_stand_in_for_all_methods(tmp_path):
    tasks = JMVFG.tasks(Place(data_home=tmp_path))
    told = [json.dumps(task.what, sort_keys=True) for task in tasks]
    assert len(set(told)) == len(told)
    assert {task.what["data"] for task in tasks} == {"planted"}
    assert {task.what["method"] for task in tasks} == set(METHODS) - {LITTLE_MEMORY}


def test_the_table_s_set_has_20_runs_of_the_default_and_a_grid_and_others_none(tmp_path):
    for name in jmvfg.SETS:
        write_set(tmp_path / name)
    tasks = JMVFG.tasks(Place(data=tmp_path, data_home=tmp_path))
    ours = [task.what for task in tasks if task.what["method"] == "OMVFS"]
    assert {task["data"] for task in ours} == set(jmvfg.SETS)
    fixed = [task for task in ours if not task["params"] and task["data"] == "mfeat"]
    assert sum(task["seeds"] for task in fixed) == 20
    tuned = [task for task in ours if task["params"]]
    assert {task["data"] for task in tuned} == {"mfeat"}
    assert 1 < len(tuned) <= jmvfg.GRID


def test_quick_is_one_set_and_one_order_in_the_defaults(place):
    quick = Place(data=place.data, data_home=place.data_home, quick=True)
    tasks = JMVFG.tasks(quick)
    assert len(tasks) == 4
    assert all(task.what["order"] == 0 and task.what["params"] == {} for task in tasks)


def test_a_run_writes_all_and_a_second_one_does_nothing(place, tmp_path, monkeypatch):
    out, store = tmp_path / "out", tmp_path / "store"
    text = write_experiment("jmvfg", place, out, store).read_text()
    assert "chosen with the labels" in text
    assert "| NSGL | 74.4 | – | – | – |" in text
    assert {"jmvfg.csv", "jmvfg-sets.svg"} <= {file.name for file in out.iterdir()}
    rows = rows_of(JMVFG, place, store)
    assert {row["percent"] for row in rows} == {*range(5, 45, 5), None}
    # mfeat: 2 orders of 2 seeds, and 4 and 3 settings of 2; bdgp: 2 orders of a seed.
    of = {m: [row for row in rows if row["method"] == m] for m in ("OMVFS", "LapScore", "variance")}
    assert [len(each) for each in of.values()] == [(4 + 8 + 2) * 8, (4 + 6 + 2) * 8, (4 + 2) * 8]
    monkeypatch.setattr(jmvfg, "judge", None)  # nothing is left that would call it
    assert rows_of(JMVFG, place, store) == rows


def test_a_method_of_one_view_reads_all_views_side_by_side(place):
    rows = jmvfg.judge(place, "mfeat", "LapScore", {}, 0, 1)
    views, labels = jmvfg.scaled("mfeat", place)
    order = np.random.default_rng(0).permutation(len(labels))
    X = np.hstack([views["text"].toarray(), views["image"]])[order]
    scores = LaplacianScore().fit(X).scores_
    assert rows == evaluate_joint_ranking({"X": X}, labels[order], scores, seeds=1)


def test_every_feature_is_from_0_to_1_and_no_view_is_left_out(place):
    views, _ = jmvfg.scaled("mfeat", place)
    assert list(views) == ["text", "image"]
    for X in views.values():
        assert (X.min(), X.max()) == (0, 1)


@pytest.mark.skipif(
    not DATA.is_dir(), reason="the data is not beside the repository (../shared/data)"
)
def test_the_sets_are_those_at_hand_that_are_small_enough():
    def shape(path):
        if path.suffix == ".npz":
            with np.load(path) as file:
                return tuple(file["shape"])
        return np.load(path, mmap_mode="r").shape

    small = set()
    for folder in (path for path in DATA.iterdir() if (path / "labels.npy").exists()):
        shapes = [shape(path) for path in folder.glob("view_*.np[yz]")]
        few = sum(shape[1] for shape in shapes) <= jmvfg.MOST_FEATURES
        if few and shapes[0][0] <= jmvfg.MOST_ROWS:
            small.add(folder.name)
    assert small == set(jmvfg.SETS)


def test_the_section_has_the_printed_figures_beside_ours():
    rows = joint_rows({"OMVFS": (0.8, 0.84), "as published": (0.5, 0.67)})
    rows += joint_rows({"as published": (0.5, 0.69)}, params={"sparsity": 1.0}, orders=1)
    text = JMVFG.section(rows)
    assert "| OMVFS | – | – | 84.0 (40 %) | 82.0 |" in text
    assert "| as published | 66.5 | 69.0 (40 %), sparsity=1.0 | 67.0 (40 %) | 58.5 |" in text
    assert "| JMVFG | 87.4 | – | – | – |" in text


def test_without_the_table_s_set_nothing_printed_is_shown():
    assert "as printed" not in JMVFG.section(joint_rows({"OMVFS": (0.8, 0.84)}, "bdgp"))


def test_who_is_ahead_of_ours_is_told():
    curves = {"OMVFS": (0.8, 0.8), "MCFS": (0.95, 0.7), "variance": (0.5, 0.5)}
    text = JMVFG.section(joint_rows(curves) + joint_rows(curves | {"MCFS": (0.1, 0.1)}, "bdgp"))
    assert "* mfeat: MCFS +2.5" in text
    assert "* bdgp: none" in text


def test_a_figure_has_a_picture_a_set_and_a_line_a_method():
    curves = {"OMVFS": (0.8, 0.8), "MCFS": (0.9, 0.7)}
    rows = joint_rows(curves) + joint_rows({"all features": (0.5,)}, percents=(None,))
    figure = JMVFG.figures(rows + joint_rows(curves, "bdgp"))["sets"]
    mfeat, bdgp = figure.axes
    assert [line.get_label() for line in mfeat.get_lines()] == ["OMVFS", "MCFS", "all features"]
    assert [line.get_label() for line in bdgp.get_lines()] == ["OMVFS", "MCFS"]
