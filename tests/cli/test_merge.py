"""Parts that were learned apart are merged and ranked by at the command line."""

import csv
import json
import os

import numpy as np
import pytest

import omvfs
from omvfs import OMVFS
from omvfs.cli.commands import run_app
from streams import learned
from support import counts


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs over parts of rows; returns their folder."""
    tmp_path = tmp_path_factory.mktemp("runs")
    X = counts(np.random.default_rng(0), 180, 8)
    for i, rows in enumerate(np.array_split(X, 3)):
        np.save(tmp_path / f"x{i}.npy", rows)
        out = tmp_path / f"run{i}"
        command = ["select", f"x={tmp_path / f'x{i}.npy'}", "-k", "3", "-o", str(out)]
        assert run_app([*command, "--prepare", "l2", "--batch-size", "20"]) == 0
    return tmp_path


@pytest.fixture
def parts(runs):
    """The models' files."""
    return [str(runs / f"run{i}" / "model.omvfs") for i in range(3)]


def merged(*arguments):
    return run_app(["merge", *map(str, arguments)])


def test_merged_files_are_the_merged_models(parts, tmp_path, capsys):
    out = tmp_path / "deep" / "all.omvfs"
    capsys.readouterr()
    assert merged(*parts, "-o", out) == 0
    assert capsys.readouterr() == (f"3 parts, 180 rows; merged in {out}\n", "")
    model = OMVFS.load(out)
    assert learned(model) == learned(omvfs.merge(map(OMVFS.load, parts)))
    assert os.listdir(out.parent) == ["all.omvfs"]
    # The order of the files does not matter, unless it is said to.
    assert merged(*parts[::-1], "-o", tmp_path / "b.omvfs") == 0
    assert learned(OMVFS.load(tmp_path / "b.omvfs")) == learned(model)
    assert merged(*parts, "--order", "-o", tmp_path / "c.omvfs") == 0
    in_time = omvfs.merge(map(OMVFS.load, parts), order=True)
    assert learned(OMVFS.load(tmp_path / "c.omvfs")) == learned(in_time)


def test_a_merged_model_is_ranked_by_and_transforms(parts, runs, tmp_path, capsys):
    out, ranked = tmp_path / "all.omvfs", tmp_path / "ranked"
    assert merged(*parts, "-o", out) == 0
    capsys.readouterr()
    assert run_app(["rank", str(out), "-n", "2", "-o", str(ranked)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("180 rows in 3 clusters.\n")
    where = f"All features by rank, and why: {ranked / 'ranking.csv'}\n"
    verdict = OMVFS.load(out).set_params(n_features_per_view=2).verdict()
    assert said.out.endswith(f"{where}{verdict}\n")
    assert sorted(os.listdir(ranked)) == ["ranking.csv", "ranking.json", "run.json"]
    rows = list(csv.DictReader((ranked / "ranking.csv").read_text().splitlines()))
    best = [int(row["feature"]) for row in rows if row["selected"] == "True"]
    assert best == list(map(int, OMVFS.load(out).top_features("x", 2)))
    about = json.loads((ranked / "run.json").read_text())
    assert about["inputs"] == [str(out)]
    assert (about["rows"], about["parameters"]["prepare"]) == (180, ["l2"])
    # No results are replaced unless that is asked for.
    assert run_app(["rank", str(out), "-o", str(ranked)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert run_app(["rank", str(out), "-o", str(ranked), "--overwrite"]) == 0
    data = runs / "x0.npy"
    assert run_app(["transform", str(out), f"x={data}", "-n", "2", "-o", str(tmp_path / "t")]) == 0


def test_what_is_there_is_not_replaced_and_no_part_counts_twice(parts, tmp_path, capsys):
    out = tmp_path / "all.omvfs"
    out.write_bytes(b"mine")
    for arguments, sentence in [
        ([*parts, "-o", out], f"{out} is there already: take another file, or --overwrite."),
        ([*parts, "-o", parts[1], "--overwrite"], f"{parts[1]} is one of the parts"),
        ([*parts, parts[0], "-o", out], f"{parts[0]} is given twice"),
        ([*parts, "-o", tmp_path], f"{tmp_path} is a folder; expected a file"),
    ]:
        capsys.readouterr()
        assert merged(*arguments) == 2
        said = capsys.readouterr()
        flat = "".join(said.err.replace("│", "").split())
        assert "".join(sentence.split()) in flat
        assert out.read_bytes() == b"mine"
    assert merged(*parts, "-o", out, "--overwrite") == 0
    assert OMVFS.load(out).n_samples_seen_ == 180


def told(capsys, code, expected, *arguments):
    capsys.readouterr()
    assert merged(*arguments) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("omvfs: ")
    assert expected in said.err
    assert len(said.err.splitlines()) == 1


def test_what_cannot_be_merged_is_told_in_a_sentence(parts, tmp_path, capsys):
    out = tmp_path / "all.omvfs"
    X = counts(np.random.default_rng(1), 30, 8)
    odd = tmp_path / "odd.omvfs"
    like = {"batch_size": 20, "random_state": 0, "prepare": "l2"}
    OMVFS(4, **like).fit({"x": X}).save(odd)
    expected = f"{odd} was learned with n_clusters=4"
    told(capsys, 3, expected, *parts, odd, "-o", out)
    OMVFS(3, **{**like, "prepare": ["log1p", "l2"]}).fit({"x": X}).save(odd)
    told(capsys, 3, f"{odd} was learned with prepare=", *parts, odd, "-o", out)
    OMVFS(3, **{**like, "prepare": {"x": ("l2",)}}).fit({"x": X}).save(odd)
    assert merged(*parts, odd, "-o", out) == 0
    out.unlink()
    odd.write_bytes(odd.read_bytes()[:-9])
    told(capsys, 3, str(odd), *parts, odd, "-o", out)
    told(capsys, 4, "missing.omvfs: No such file", *parts, tmp_path / "missing.omvfs", "-o", out)
    assert not out.exists()
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]
