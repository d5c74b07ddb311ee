"""Results at an address: whole or not there, and nothing left behind here."""

import errno
import json
import os
import sys
import tempfile
from pathlib import Path

import fsspec
import numpy as np
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from omvfs import OMVFS
from omvfs.cli import commands
from omvfs.cli.commands import run_app
from omvfs.formats import SourceError, open_source
from omvfs.formats.files import Destination
from support import counts

X = counts(np.random.default_rng(0), 60, 6)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Have a temporary folder of its own, which must be empty at the end."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def afar():
    """Give an address at which there is nothing."""
    memory = fsspec.filesystem("memory")
    if memory.exists("/out"):
        memory.rm("/out", recursive=True)
    return "memory://out"


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return str(tmp_path / "x.npy")


def stored(address):
    """Return the files below an address, and what is in them."""
    fs, path = fsspec.core.url_to_fs(address)
    return {each.removeprefix(path).lstrip("/"): fs.cat_file(each) for each in fs.find(path)}


OPTIONS = ["-k", "2", "-n", "3", "--batch-size", "10", "--checkpoint-every", "1"]


def test_a_run_leaves_at_an_address_what_it_leaves_in_a_folder(tmp_path, rows, afar, capsys):
    for out in (str(tmp_path / "out"), afar):
        assert run_app(["select", rows, *OPTIONS, "--write-data", "-o", out]) == 0
    said = capsys.readouterr()
    assert "by rank: memory://out/ranking.csv" in said.out
    got, here = stored(afar), stored(str(tmp_path / "out"))
    assert set(got) == {"model.omvfs", "ranking.csv", "ranking.json", "run.json", "data/x.npy"}
    for name in ("ranking.csv", "ranking.json", "run.json", "data/x.npy"):
        assert got[name] == here[name], name
    assert run_app(["select", rows, *OPTIONS, "-o", afar]) == 2
    assert "memory://out/model.omvfs is of a run before" in " ".join(
        capsys.readouterr().err.split()
    )
    assert run_app(["select", rows, *OPTIONS, "-o", afar, "--overwrite"]) == 0


def test_a_run_goes_on_from_an_address(tmp_path, rows, afar, monkeypatch):
    assert run_app(["select", rows, *OPTIONS, "-o", str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patched:
        seen = iter([False, False, True])
        patched.setattr(commands.Stop, "__call__", lambda _: next(seen, True))
        assert run_app(["select", rows, *OPTIONS, "-o", afar]) == 130
    assert set(stored(afar)) == {"model.omvfs"}
    (tmp_path / "model").write_bytes(stored(afar)["model.omvfs"])
    assert OMVFS.load(tmp_path / "model").n_samples_seen_ < 60
    assert run_app(["select", rows, *OPTIONS, "-o", afar, "--resume"]) == 0
    assert stored(afar)["ranking.csv"] == (tmp_path / "whole/ranking.csv").read_bytes()


def test_checkpoints_are_there_while_a_run_goes_on(rows, afar, monkeypatch):
    sizes = []
    monkeypatch.setattr(commands.Bar, "__call__", lambda *_: sizes.append(len(stored(afar))))
    assert run_app(["select", rows, *OPTIONS, "-o", afar]) == 0
    assert sizes == [0, 1, 1, 1, 1, 1]


def test_a_run_that_fails_leaves_its_checkpoint_at_the_address(tmp_path, afar, capsys):
    np.save(tmp_path / "late.npy", np.r_[X, [[-1.0] * 6]])
    late = str(tmp_path / "late.npy")
    assert run_app(["select", late, *OPTIONS, "-o", afar]) == 3
    said = capsys.readouterr().err
    assert "so far is in memory://out/model.omvfs: go on with --resume" in said
    (tmp_path / "model").write_bytes(stored(afar)["model.omvfs"])
    assert OMVFS.load(tmp_path / "model").n_samples_seen_ == 60


def test_what_waits_here_is_for_its_owner_only(temporary, afar):
    with Destination(f"{afar}/x.json"):
        (waiting,) = temporary.iterdir()
        assert waiting.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "name", ["rows.parquet", "rows.jsonl.gz", "rows.h5ad", "rows.mat", "folder"]
)
def test_every_format_is_written_to_an_address(rows, afar, name):
    assert run_app(["convert", f"text={rows}", "-o", f"{afar}/{name}"]) == 0
    files = stored(afar)
    assert list(files) == [name if "." in name else "folder/view_0_text.npy"]
    if "." in name:
        with open_source(f"{afar}/{name}") as source:
            (chunk,) = source.chunks(100)
        (view,) = chunk.views.names
        np.testing.assert_array_equal(chunk.views[view], X)


def test_selected_features_of_several_files_are_written_to_an_address(tmp_path, rows, afar):
    np.save(tmp_path / "y.npy", X[:, :4])
    both = [rows, str(tmp_path / "y.npy")]
    assert run_app(["select", *both, *OPTIONS, "-o", str(tmp_path / "out")]) == 0
    model = str(tmp_path / "out/model.omvfs")
    assert run_app(["transform", model, *both, "-o", f"{afar}/reduced"]) == 0
    assert set(stored(afar)) == {"reduced/x.npy", "reduced/y.npy"}


def test_nothing_is_written_over(rows, afar, capsys):
    for name in ("rows.csv", "folder"):
        assert run_app(["convert", rows, "-o", f"{afar}/{name}"]) == 0
        before = stored(afar)
        assert run_app(["convert", rows, "-o", f"{afar}/{name}"]) == 4
        assert f"memory://out/{name} is there already" in capsys.readouterr().err
        assert stored(afar) == before


def test_parts_from_afar_become_one_file_afar(tmp_path, afar):
    for i in range(3):
        fsspec.filesystem("memory").pipe(f"/out/in/{i}.csv", b"a,b\n1,2\n3,4\n")
    assert run_app(["convert", f"{afar}/in/*.csv", "-o", f"{afar}/all.parquet"]) == 0
    with open_source(f"{afar}/all.parquet") as source:
        assert source.n_rows == 6


# Of this machine, though an address


@pytest.mark.parametrize("scheme", ["file", "local"])
def test_an_address_of_this_machine_is_a_path(tmp_path, rows, scheme):
    out = f"{scheme}://{tmp_path}/out"
    assert run_app(["select", rows, *OPTIONS, "-o", out]) == 0
    assert (tmp_path / "out/ranking.csv").exists()
    assert run_app(["convert", rows, "-o", f"{scheme}://{tmp_path}/rows.csv"]) == 0
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 61
    assert run_app(["convert", rows, "-o", f"{scheme}://{tmp_path}/rows.csv"]) == 4


class Folder(DirFileSystem):
    """A second filesystem, of real files, as fsspec would mount one."""

    protocol = "folder"
    root = ""

    def __init__(self, **storage):
        super().__init__(path=self.root, fs=LocalFileSystem(), **storage)


def test_a_second_filesystem_gets_files_by_its_own_rules(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(Folder, "root", str(tmp_path / "mounted"))
    fsspec.register_implementation("folder", Folder, clobber=True)
    Folder.clear_instance_cache()
    assert run_app(["select", rows, *OPTIONS, "--write-data", "-o", "folder://deep/out"]) == 0
    written = tmp_path / "mounted/deep/out"
    assert sorted(os.listdir(written)) == [
        "data",
        "model.omvfs",
        "ranking.csv",
        "ranking.json",
        "run.json",
    ]
    np.testing.assert_array_equal(np.load(written / "data/x.npy").shape, (60, 3))


# What goes wrong


class Full(MemoryFileSystem):
    """Storage that has room for a probe, and for no more than a few files."""

    protocol, store, pseudo_dirs, room = "full", {}, [""], 0

    def open(self, path, mode="rb", **more):
        if "w" in mode and "probe" not in path:
            type(self).room -= 1
            if type(self).room < 0:
                raise RuntimeError(f"no room in full://me:word@bucket/{path}")
        return super().open(path, mode, **more)


@pytest.mark.parametrize("room", [0, 1, 3])
def test_a_storage_that_fails_gets_all_files_or_none(tmp_path, rows, capsys, room):
    fsspec.register_implementation("full", Full, clobber=True)
    Full.store.clear()
    Full.room = room
    np.save(tmp_path / "y.npy", X[:, :4])
    both = [rows, str(tmp_path / "y.npy")]
    code = run_app(["convert", *both, "-o", "full://me:word@bucket/out"])
    said = capsys.readouterr()
    assert "word" not in said.out + said.err
    if room < 2:
        assert code == 4
        assert "out cannot be written: no room in full://bucket/" in said.err
        assert Full.store == {}
    else:
        assert code == 0
        assert len(Full.store) == 2


def test_what_cannot_be_written_is_told_before_anything_is_read(rows, capsys, monkeypatch):
    def opened(*args, **named):
        raise AssertionError("opened")

    def forbidden(self, path, value, **more):
        raise PermissionError(errno.EACCES, "Forbidden", "memory://out")

    monkeypatch.setattr("omvfs.formats.open_source", opened)
    with monkeypatch.context() as patched:
        patched.setattr(MemoryFileSystem, "pipe_file", forbidden)
        for command in (["select", rows], ["convert", rows]):
            assert run_app([*command, "-o", "memory://out/x"]) == 4
            assert "Forbidden" in capsys.readouterr().err
    for command in (["select", rows], ["convert", rows]):
        assert run_app([*command, "-o", "https://me:word@example.org/out"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "https://example.org/out cannot be written to: it is of the web" in said
        assert run_app([*command, "-o", "nosuch://bucket/out"]) == 4
        assert "nosuch://bucket/out cannot be opened" in capsys.readouterr().err


def test_a_kind_of_storage_whose_package_is_missing_names_the_extra(rows, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert run_app(["convert", rows, "-o", "s3://key:word@bucket/x.csv"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'omvfs[s3]'" in said
    assert "word" not in said
    assert run_app(["info", "s3://bucket/x.csv"]) == 2
    assert "pip install 'omvfs[s3]'" in capsys.readouterr().err


def test_an_interrupted_upload_leaves_nothing(rows, afar, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("omvfs.formats.files.shutil.copyfileobj", interrupted)
    assert run_app(["convert", rows, "-o", f"{afar}/rows.csv"]) == 130
    assert stored(afar) == {}


def test_what_a_killed_program_has_left_is_swept(tmp_path, temporary, afar):
    left = temporary / ".omvfs.results.dead.part"
    left.mkdir()
    (left / "large").write_bytes(b"x")
    with Destination(f"{afar}/x.json") as out:
        out.here.write_text(json.dumps(1))
        out.publish()
    assert stored(f"{afar}/x.json") == {"": b"1"}


def test_a_destination_of_this_machine_is_as_it_is(tmp_path):
    with Destination(tmp_path / "out") as out:
        assert (out.here, out.remote, str(out)) == (tmp_path / "out", False, str(tmp_path / "out"))
        assert out / "x" == str(tmp_path / "out/x")
        out.publish()
        out.check_free()
        out.check_writable()
    assert isinstance(Destination(Path("out")).here, Path)
    with pytest.raises(SourceError, match="of the web"):
        Destination("http://example.org/x.csv")
