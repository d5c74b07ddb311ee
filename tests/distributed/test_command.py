"""`omvfs select` with workers: the bits of `omvfs merge`, and what is finished stays finished."""

import json
import os
import signal
import sys
import time

import numpy as np
import pytest

from clusters import inside, saved_parts
from omvfs import OMVFS
from omvfs.cli import commands
from omvfs.cli.commands import run_app
from omvfs.distributed import shards
from streams import learned
from support import counts

pytest.importorskip("distributed")

SIZES = (40, 3, 65, 30)
OPTIONS = ("-k", "3", "-n", "4", "--batch-size", "20", "--prepare", "l2")


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster of two workers, which are threads of this process."""
    with inside(2) as client:
        yield client.scheduler.address


@pytest.fixture
def folder(tmp_path):
    """A folder of parts, in the order of their numbers; returns where it is."""
    X = counts(np.random.default_rng(0), sum(SIZES), 8)
    (tmp_path / "p").mkdir()
    saved_parts(tmp_path / "p", np.split(X, np.cumsum(SIZES)[:-1]))
    return tmp_path


def select(*arguments):
    return run_app(["select", *map(str, arguments), *OPTIONS])


@pytest.fixture
def one_by_one(folder):
    """Return what `omvfs merge` makes of runs over every part by itself."""

    def merged(numbers=(0, 1, 2, 3), *more):
        models = []
        for i in numbers:
            out = folder / f"run{i}"
            given = f"rows={folder / f'p/part-{i}.npy'}"
            assert out.exists() or select(given, "-o", out) == 0
            models.append(str(out / "model.omvfs"))
        where = folder / "all.omvfs"
        assert run_app(["merge", *models, *more, "--overwrite", "-o", str(where)]) == 0
        return learned(OMVFS.load(where))

    return merged


def test_workers_come_to_what_merging_comes_to(folder, one_by_one, scheduler, capsys):
    data, out = folder / "p" / "*.npy", folder / "out"
    assert select(data, "-o", out, "--scheduler", scheduler) == 0
    assert learned(OMVFS.load(out / "model.omvfs")) == one_by_one()
    results = ["model.omvfs", "ranking.csv", "ranking.json", "run.json"]
    assert sorted(os.listdir(out)) == results
    about = json.loads((out / "run.json").read_text())
    assert (about["rows"], about["parts"], about["damaged"]) == (sum(SIZES), len(SIZES), [])
    assert (about["inputs"], about["parameters"]["prepare"]) == ([str(data)], ["l2"])
    # The model is one like others.
    t = folder / "t.npy"
    part = f"rows={folder / 'p/part-0.npy'}"
    assert run_app(["transform", str(out / "model.omvfs"), part, "-o", str(t)]) == 0
    assert np.load(t).shape == (SIZES[0], 4)
    again = folder / "again"
    assert select(data, "-o", again, "--scheduler", scheduler, "--order") == 0
    assert learned(OMVFS.load(again / "model.omvfs")) == one_by_one(range(4), "--order")


def test_as_many_workers_as_asked_for_learn_on_this_machine(folder, one_by_one, monkeypatch):
    from omvfs.distributed import dask

    cluster, asked = dask.LocalCluster, []

    def of_threads(**options):
        asked.append((options["n_workers"], options["threads_per_worker"], options["host"]))
        return cluster(**options, processes=False, protocol="tcp", memory_limit=0)

    monkeypatch.setattr(dask, "LocalCluster", of_threads)
    monkeypatch.setattr(commands, "SMALL", 0)
    out = folder / "out"
    assert select(folder / "p" / "*.npy", "-o", out, "--workers", "2") == 0
    assert asked == [(2, 1, "127.0.0.1")]
    assert learned(OMVFS.load(out / "model.omvfs")) == one_by_one()
    assert sorted(os.listdir(out)) == ["model.omvfs", "ranking.csv", "ranking.json", "run.json"]


def test_small_files_are_learned_from_in_this_process(folder, one_by_one, monkeypatch, capsys):
    # Neither a cluster nor the library for it is asked for.
    for name in ("dask", "distributed", "omvfs.distributed.dask"):
        monkeypatch.setitem(sys.modules, name, None)
    data, out = folder / "p" / "*.npy", folder / "out"
    assert select(data, "-o", out, "--workers", "2") == 0
    size = sum(path.stat().st_size for path in (folder / "p").iterdir())
    assert f"The files have {size:,} bytes in all: this process" in capsys.readouterr().err
    assert learned(OMVFS.load(out / "model.omvfs")) == one_by_one()
    cut_off = folder / "p" / "part-1.npy"
    cut_off.write_bytes(cut_off.read_bytes()[:-20])
    assert select(data, "-o", folder / "b", "--workers", "2") == 3
    assert str(cut_off) in capsys.readouterr().err
    assert select(data, "-o", folder / "b", "--workers", "2", "--skip-damaged", "--order") == 0
    expected = one_by_one((0, 2, 3), "--order")
    assert learned(OMVFS.load(folder / "b" / "model.omvfs")) == expected


def test_workers_are_for_files_of_some_size(folder):
    paths = [str(folder / "p" / f"part-{i}.npy") for i in range(len(SIZES))]
    size = shards.size_of(shards.parts_of(paths))
    assert size == sum(map(os.path.getsize, paths))
    # Of what cannot be seen from here nobody knows.
    parts = shards.parts_of(["memory://there/a.npy", "memory://there/b.npy"])
    assert shards.size_of(parts) is None


def test_many_files_are_parts_of_one_table(tmp_path, scheduler, capsys):
    rows = counts(np.random.default_rng(0), 60, 4)
    for i, part in enumerate(np.array_split(rows, 3)):
        text = "\n".join(",".join(map(repr, map(float, row))) for row in part)
        (tmp_path / f"x{i}.csv").write_text(f"a,b,c,d\n{text}\n")
    files = [tmp_path / f"x{i}.csv" for i in range(3)]
    (tmp_path / "x9.csv").write_text("a,b,c,d\n")
    for out, given in {"files": [*files, tmp_path / "x9.csv"], "folder": [tmp_path]}.items():
        assert select(*given, "-o", tmp_path / out, "--scheduler", scheduler) == 0
        about = json.loads((tmp_path / out / "run.json").read_text())
        assert (about["rows"], about["parts"]) == (60, 4)
    models = [learned(OMVFS.load(tmp_path / out / "model.omvfs")) for out in ("files", "folder")]
    assert models[0] == models[1]
    # Views side by side are one part.
    capsys.readouterr()
    both = [f"a={files[0]}", f"b={files[1]}"]
    assert select(*both, "-o", tmp_path / "views", "--scheduler", scheduler) == 0
    assert "The data are one part: one worker reads them." in capsys.readouterr().err
    assert OMVFS.load(tmp_path / "views" / "model.omvfs").n_samples_seen_ == 20


def test_what_is_finished_is_not_done_again(folder, one_by_one, scheduler, monkeypatch, capsys):
    data, out = folder / "p" / "*.npy", folder / "out"
    put, seen = shards.Kept.put, []

    def full_disk(self, part, state):
        if len(seen) == 2:
            raise OSError(28, "No space left on device", str(self.path(part)))
        seen.append(part.name)
        put(self, part, state)

    monkeypatch.setattr(shards.Kept, "put", full_disk)
    assert select(data, "-o", out, "--scheduler", scheduler) == 4
    said = capsys.readouterr().err
    assert "No space left on device" in said
    assert f"Finished parts are in {out / 'parts'}: go on with --resume." in said
    assert len(os.listdir(out / "parts")) == 2
    # Neither anew without a word, nor by other means.
    assert select(data, "-o", out, "--scheduler", scheduler) == 2
    assert "is of a run before" in capsys.readouterr().err
    assert select(data, "-o", out, "--resume") == 2
    assert "is of a run with workers" in " ".join(capsys.readouterr().err.split())
    other = ["select", str(data), "-k", "4", "-o", str(out), "--scheduler", scheduler, "--resume"]
    assert run_app([*other, "--batch-size", "20"]) == 3
    said = capsys.readouterr().err
    assert "is of a run with other parameters: n_clusters=3, now 4" in said
    assert "begin anew" in said

    def counted(self, part, state):
        seen.append(part.name)
        put(self, part, state)

    monkeypatch.setattr(shards.Kept, "put", counted)
    # One is damaged on disk, of another one the rows have changed: both are done again.
    kept = sorted((out / "parts").iterdir())
    kept[0].write_bytes(kept[0].read_bytes()[:-9])
    (out / "parts" / "mine.txt").write_text("not of a run")
    assert select(data, "-o", out, "--scheduler", scheduler, "--resume") == 0
    assert len(seen) == 5
    assert len(set(seen)) == 4
    assert learned(OMVFS.load(out / "model.omvfs")) == one_by_one()
    assert os.listdir(out / "parts") == ["mine.txt"]


def test_a_damaged_part_is_named_or_left_out(folder, one_by_one, scheduler, capsys):
    data, out = folder / "p" / "*.npy", folder / "out"
    expected = one_by_one([0, 2])
    cut_off, unknown = folder / "p" / "part-1.npy", folder / "p" / "part-3.npy"
    cut_off.write_bytes(cut_off.read_bytes()[:-20])
    rows = np.load(unknown)
    np.save(unknown, np.where(rows > 0.5, np.nan, rows))
    capsys.readouterr()
    assert select(data, "-o", out, "--scheduler", scheduler) == 3
    assert str(cut_off) in capsys.readouterr().err
    given = [data, "-o", out, "--scheduler", scheduler, "--skip-damaged"]
    assert select(*given, "--overwrite" if out.exists() else "--resume") == 0
    said = capsys.readouterr().err
    assert f"Left out {cut_off}: " in said
    assert f"Left out {unknown}: Input X contains NaN" in said
    about = json.loads((out / "run.json").read_text())
    assert about["parts"] == 2
    assert [each["part"] for each in about["damaged"]] == [str(cut_off), str(unknown)]
    assert learned(OMVFS.load(out / "model.omvfs")) == expected
    assert select(unknown, "-o", folder / "b", "--scheduler", scheduler) == 3
    assert f"{unknown}: " in capsys.readouterr().err
    assert select(unknown, "-o", folder / "b", "--scheduler", scheduler, "--skip-damaged") == 3
    assert not (folder / "b").exists()
    assert select(folder / "p" / "no-*.npy", "-o", folder / "b", "--scheduler", scheduler) == 4


def test_options_that_do_not_go_together_are_refused(folder, capsys):
    for options, said in [
        (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "give one of them"),
        (["--skip-damaged"], "--skip-damaged is for --workers or --scheduler"),
        (["--order"], "--order is for --workers or --scheduler"),
        (["--workers", "2", "--skip-damaged", "--write-data"], "not with --skip-damaged"),
        (["--workers", "2", "-o", "memory://there/out"], "is not of this machine"),
        (["--workers", "0"], "--workers"),
        (["--workers", "2", "-"], "standard input is read without --workers"),
    ]:
        out = [] if "-o" in options else ["-o", folder / "out"]
        assert select(folder / "p" / "*.npy", *out, *options) == 2
        assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
        assert not (folder / "out").exists()


def test_asked_to_stop_it_keeps_what_is_finished(
    folder, one_by_one, scheduler, monkeypatch, capsys
):
    data, out = folder / "p" / "*.npy", folder / "out"
    put, asked = shards.Kept.put, []

    def stopping(self, part, state):
        put(self, part, state)
        if not asked:
            # A second one would end it at once.
            asked.append(os.kill(os.getpid(), signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(shards.Kept, "put", stopping)
    try:
        assert select(data, "-o", out, "--scheduler", scheduler) == 143
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
    assert f"finished parts are in {out / 'parts'}. Go on with --resume." in capsys.readouterr().err
    monkeypatch.setattr(shards.Kept, "put", put)
    assert select(data, "-o", out, "--scheduler", scheduler, "--resume") == 0
    assert learned(OMVFS.load(out / "model.omvfs")) == one_by_one()


def test_a_scheduler_that_is_not_there_is_told_soon(folder, capsys, monkeypatch):
    monkeypatch.setattr(commands, "_ANSWER", 1)
    began = time.monotonic()
    out = folder / "out"
    assert select(folder / "p" / "*.npy", "-o", out, "--scheduler", "tcp://127.0.0.1:1") == 1
    assert "No scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
    assert time.monotonic() - began < 15
    assert not out.exists()
