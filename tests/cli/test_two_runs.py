"""Runs in one folder: one at a time, and none over another without being told."""

import os

import numpy as np
import pytest

from omvfs import OMVFS, disk
from omvfs.cli.commands import run_app
from support import counts, fingerprint


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, counts(np.random.default_rng(0), 120, 8))
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_second_run_is_told_of_the_first_and_touches_nothing(rows, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / ".model.omvfs.0.part").touch()
    command = ["select", str(rows), "-k", "3", "-o", str(out)]
    with disk.locked(out):
        before = contents(out)
        for option in ("--resume", "--overwrite"):
            assert run_app([*command, option]) == 1
            said = capsys.readouterr()
            expected = f"omvfs: Another run (pid {os.getpid()}) writes to {out}.\n"
            assert (said.out, said.err) == ("", expected)
        assert contents(out) == before
    # What is left of a run that is no more, its lock too, is no obstacle.
    (out / ".omvfs.lock").write_text("1")
    assert run_app(command) == 0
    assert sorted(contents(out)) == ["model.omvfs", "ranking.csv", "ranking.json", "run.json"]


def test_nothing_of_a_run_before_is_overwritten_without_being_told_to(rows, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["select", str(rows), "-k", "3", "-o", str(out)]
    assert run_app(command) == 0
    first = contents(out)
    np.save(rows, counts(np.random.default_rng(1), 120, 8))
    capsys.readouterr()
    for name in sorted(first):
        others = [out / other for other in first if other != name]
        for other in others:
            other.unlink()
        assert run_app(command) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"{name} is of a run before: go on with --resume, begin anew with --over" in said
        assert contents(out) == {name: first[name]}
        for other in others:
            other.write_bytes(first[other.name])
    assert run_app([*command, "--resume", "--overwrite"]) == 2
    assert contents(out) == first
    assert run_app([*command, "--overwrite"]) == 0
    second = contents(out)
    assert second.pop("model.omvfs.1") == first["model.omvfs"]
    assert second.keys() == first.keys()
    assert second["ranking.csv"] != first["ranking.csv"]


def test_a_run_goes_on_from_the_checkpoint_before_if_that_is_all_there_is(rows, tmp_path, capsys):
    out, whole = tmp_path / "out", tmp_path / "whole"
    options = ["-k", "3", "--batch-size", "10", "--checkpoint-every", "2"]
    for folder in (out, whole):
        assert run_app(["select", str(rows), *options, "-o", str(folder)]) == 0
    model = out / "model.omvfs"
    expected = fingerprint(OMVFS.load(model)._known)
    model.unlink()
    assert OMVFS.load(f"{model}.1").n_samples_seen_ < 120
    capsys.readouterr()
    assert run_app(["select", str(rows), *options, "-o", str(out), "--resume"]) == 0
    said = capsys.readouterr().err
    assert said == f"There is no {model}; going on from the one before it, {model}.1.\n"
    assert fingerprint(OMVFS.load(model)._known) == expected
    assert contents(out)["ranking.csv"] == contents(whole)["ranking.csv"]


def test_a_damaged_checkpoint_tells_of_the_one_before(rows, tmp_path, capsys):
    model = tmp_path / "out" / "model.omvfs"
    command = ["select", str(rows), "-k", "3", "-o", str(model.parent)]
    assert run_app([*command, "--batch-size", "20", "--checkpoint-every", "1"]) == 0
    whole = model.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        model.write_bytes(damaged)
        capsys.readouterr()
        assert run_app([*command, "--resume"]) == 3
        assert f"The one before it is there, {model}.1" in capsys.readouterr().err
