"""What a run says, writes and leaves at its end."""

import json
import os

import numpy as np
import pytest

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.datasets import load_folder
from support import WORDS, counts, write_words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_words(tmp_path / "data", 120).name


def said_by(capsys, *arguments):
    capsys.readouterr()
    assert run_app(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("n", [3, 20])
def test_the_ten_best_features_of_every_view_are_shown(folder, n, capsys):
    said = said_by(capsys, "select", folder, "-k", "3", "-n", str(n)).splitlines()
    model = OMVFS.load("out/model.omvfs")
    best = {view: np.argsort(ranks)[: min(n, 10)] for view, ranks in model.view_ranking_.items()}
    assert said[0] == "120 rows in 3 clusters."
    assert said[2] == "  text: " + ", ".join(WORDS[j] for j in best["text"])
    assert said[3] == "  image: columns " + ", ".join(map(str, best["image"]))
    where = said.index(f"All features by rank, and why: {os.path.join('out', 'ranking.csv')}")
    assert said[where + 1 :] == model.verdict().sentences


def test_clusters_that_nobody_asked_for_are_told(folder, tmp_path, capsys):
    told = "120 rows in 8 clusters (the default: -k sets another number).\n"
    assert said_by(capsys, "select", folder).startswith(told)
    by_view = "n_features_per_view = {text = 0.5, image = 2}"
    for text in ("clusters = 8", f"[parameters]\nn_clusters = 8\n{by_view}"):
        (tmp_path / "run.toml").write_text(text)
        said = said_by(capsys, "select", folder, "--overwrite", "--config", "run.toml")
        assert said.startswith("120 rows in 8 clusters.\n")
    support = OMVFS.load("out/model.omvfs").view_support_
    assert [mask.sum() for mask in support.values()] == [10, 2]
    said = said_by(capsys, "select", folder, "--overwrite", "-k", "8")
    assert said.startswith("120 rows in 8 clusters.\n")


SIZES = {
    "text=7,image=2": (7, 2),
    "image=2,text=0.5": (10, 2),
    "text=all,image=1": (20, 1),
    "0.25": (5, 2),
    "all": (20, 8),
    "1": (1, 1),
}


def test_features_are_asked_for_by_view_and_by_share(folder):
    assert run_app(["select", folder, "-k", "2"]) == 0
    for number, (typed, sizes) in enumerate(SIZES.items()):
        where = f"selected_{number}"
        assert run_app(["transform", "out/model.omvfs", folder, "-n", typed, "-o", where]) == 0
        views, _ = load_folder(where)
        assert tuple(views.widths.values()) == sizes
        assert run_app(["select", folder, "-k", "2", "-n", typed, "--resume"]) == 0
        with open("out/ranking.json", encoding="utf-8") as file:
            chosen = json.load(file)["selected"]
        assert tuple(map(len, chosen.values())) == sizes
        assert set(views.feature_names["text"]) == set(chosen["text"])


FAILING = {
    "no such file": ["select", "nowhere.npy", "-o", "new/folder"],
    "no sense": ["select", "nan.npy", "-o", "new/folder"],
    "views that are not there": ["select", "data", "-n", "sound=3", "-o", "new/folder"],
    "nothing to convert": ["convert", "nan.txt", "-o", "new/folder"],
    "a file in a folder": ["convert", "cut.npy", "-o", "new/folder/x.csv"],
    "rows of no sense, late": ["transform", "model", "x=late.npy", "-o", "new/folder"],
    "the same to a file": ["transform", "model", "x=late.npy", "-o", "new/folder/x.csv"],
}


def test_a_run_that_fails_leaves_no_folder_that_it_made(folder, tmp_path):
    np.save("nan.npy", np.full((30, 3), np.nan))
    np.save("late.npy", np.r_[np.ones((1100, 3)), np.full((1, 3), np.nan)])
    np.save("cut.npy", np.eye(3))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-9])
    OMVFS(2, random_state=0).fit({"x": np.eye(3)}).save("model")
    for there in (False, True):
        if there:
            (tmp_path / "new").mkdir()
        before = sorted(tmp_path.rglob("*"))
        for which, command in FAILING.items():
            assert run_app(command) in (3, 4), which
            assert sorted(tmp_path.rglob("*")) == before, which


def test_a_run_that_is_stopped_before_its_first_row_leaves_no_folder(folder, tmp_path, monkeypatch):
    def stopped(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("omvfs.pipeline.run", stopped)
    assert run_app(["select", folder, "-o", "new/folder"]) == 130
    assert not (tmp_path / "new").exists()


def test_a_run_that_fails_late_keeps_what_was_learned_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = counts(np.random.default_rng(0), 100, 4)
    bad = X.copy()
    bad[85, 0] = np.nan
    np.save("x.npy", bad)
    command = ["select", "x.npy", "-k", "2", "--batch-size", "10", "--checkpoint-every", "2"]
    assert run_app(command) == 3
    kept = "What was learned so far is in out/model.omvfs: go on with --resume."
    assert capsys.readouterr().err.endswith(f" {kept}\n")
    assert OMVFS.load("out/model.omvfs").n_samples_seen_ == 80
    # Failing again before anything more is learned, it has nothing to add.
    assert run_app([*command, "--resume", "-k", "3"]) == 3
    assert kept not in capsys.readouterr().err
    # A file that was changed is another one, unless its size and time say that it is the same.
    time = os.stat("x.npy").st_mtime_ns
    np.save("x.npy", X)
    assert run_app([*command, "--resume"]) == 3
    assert "x.npy has changed since the run of out/model.omvfs read it" in capsys.readouterr().err
    os.utime("x.npy", ns=(time, time))
    assert run_app([*command, "--resume"]) == 0
    assert run_app([*command, "-o", "whole"]) == 0
    rankings = [(tmp_path / where / "ranking.csv").read_bytes() for where in ("out", "whole")]
    assert rankings[0] == rankings[1]
