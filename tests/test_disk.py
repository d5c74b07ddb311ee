"""Files that are whole or not there, and one writer at a time."""

import errno
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omvfs import disk

unix = pytest.mark.skipif(sys.platform == "win32", reason="needs flock")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def put(path, content):
    with disk.replacing(path) as descriptor:
        os.write(descriptor, content)


def half_written(path):
    with disk.replacing(path) as descriptor:
        os.write(descriptor, b"ne")
        raise RuntimeError("on purpose")


def test_a_file_is_replaced_when_the_new_one_is_whole(tmp_path):
    path = tmp_path / "new" / "x"
    put(path, b"old")
    with pytest.raises(RuntimeError, match="on purpose"):
        half_written(path)
    assert path.read_bytes() == b"old"
    put(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["x"]
    (tmp_path / "usual").touch()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("call", ["open", "mkdir", "close", "unlink", "replace"])
@pytest.mark.parametrize("write", ["file", "folder"])
def test_a_signal_during_a_call_leaves_nothing_behind(tmp_path, monkeypatch, call, write):
    """Python raises it as soon as the call is back, before what it gave has a name."""
    real, calls = getattr(os, call), []

    def interrupted(*args, **options):
        given = real(*args, **options)
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return given

    with suppress(KeyboardInterrupt), monkeypatch.context() as patch:
        patch.setattr(os, call, interrupted)
        if write == "file":
            put(tmp_path / "x", b"new")
        else:
            with disk.Staging(tmp_path / "x") as staging:
                (staging.folder / "a").touch()
    assert set(names(tmp_path)) <= {"x"}


def write_all(staging, files):
    for name, content in files.items():
        (staging.folder / name).write_bytes(content)


FILES = st.dictionaries(st.sampled_from("abcde"), st.binary(max_size=3), min_size=1)


@given(before=FILES | st.none(), after=FILES)
def test_files_appear_together(tmp_path_factory, before, after):
    target = tmp_path_factory.mktemp("staging") / "target"
    if before is not None:
        target.mkdir()
        for name, content in before.items():
            (target / name).write_bytes(content)
    with disk.Staging(target) as staging:
        write_all(staging, after)
        assert not target.exists() or [n for n in names(target) if n[0] != "."] == sorted(before)
        staging.publish()
    assert {p.name: p.read_bytes() for p in target.iterdir()} == {**(before or {}), **after}
    assert names(target.parent) == ["target"]


def test_bytes_are_synced_before_their_name_and_the_name_after_it(tmp_path, monkeypatch):
    """So that after a failure of power the old is there, or the new, whole."""
    made = []

    def recorded(call):
        genuine = getattr(os, call)

        def wrapped(*args, **named):
            made.append(os.fstat(args[0]).st_ino if call == "fsync" else call)
            return genuine(*args, **named)

        monkeypatch.setattr(os, call, wrapped)

    for call in ("fsync", "replace", "rename", "link"):
        recorded(call)
    put(tmp_path / "x", b"new")
    with disk.Staging(tmp_path / "views") as staging:
        write_all(staging, {"a": b"1", "b": b"2"})
        staging.publish()
    places = ["x", "", "views/a", "views/b", "views"]
    x, home, a, b, views = ((tmp_path / place).stat().st_ino for place in places)
    assert made[:3] == [x, "replace", home]
    assert sorted(made[3:5]) == sorted([a, b])
    assert made[5:] == [views, "rename", home]


def fail_at(monkeypatch, call, n):
    """Have the n-th call from now on fail; return what counts down."""
    genuine, left = getattr(os, call), [n]

    def faulty(*args, **named):
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return genuine(*args, **named)

    monkeypatch.setattr(os, call, faulty)
    return left


@pytest.mark.parametrize("call", ["replace", "rename", "fsync", "open", "rmdir"])
def test_a_failing_call_leaves_all_files_or_none_or_says_so(tmp_path, monkeypatch, call):
    old, new = dict.fromkeys("abc", b"old"), dict.fromkeys("abcd", b"new")
    said = []
    for n in range(1, 50):
        target = tmp_path / str(n)
        target.mkdir()
        for name, content in old.items():
            (target / name).write_bytes(content)
        with monkeypatch.context() as patched:
            left = fail_at(patched, call, n)
            try:
                with disk.Staging(target) as staging:
                    write_all(staging, new)
                    staging.publish()
            except OSError as error:
                said.append(str(target) in str(error))
        if not disk.unfinished(target):
            found = {p.name: p.read_bytes() for p in target.iterdir() if p.name[0] != "."}
            assert found in (old, new)
        else:
            disk.settle(target)
            assert {p.name: p.read_bytes() for p in target.iterdir()} == new
        with disk.Staging(target):
            pass
        assert [name for name in names(target) if name[0] == "."] == []
        if left[0] > 0:
            break
    else:
        pytest.fail("no pass without a fault")
    # Every error names the place.
    assert said == [True] * (n - 1)


@unix
def test_what_is_being_written_is_not_swept_and_what_is_left_is(tmp_path):
    dead = tmp_path / ".target.0.part"
    dead.mkdir()
    (dead / "a").touch()
    with disk.Staging(tmp_path / "target") as staging, disk.replacing(tmp_path / "target") as own:
        write_all(staging, {"a": b""})
        disk.sweep(tmp_path / "target")
        assert not dead.exists()
        assert names(staging.folder) == ["a"]
        os.write(own, b"x")
    assert (tmp_path / "target").read_bytes() == b"x"


@unix
def test_many_writers_and_sweepers_of_one_file_do_each_other_no_harm(tmp_path):
    path, errors = tmp_path / "x", []

    def work(content):
        try:
            for _ in range(60):
                disk.sweep(path)
                put(path, content)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(bytes([n]) * 1000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(path.read_bytes())) == 1
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("publish", ["publish_file", "publish"])
def test_of_two_that_write_to_one_place_the_second_is_told(tmp_path, publish):
    target = tmp_path / "x"
    with disk.Staging(target) as one, disk.Staging(target) as other:
        write_all(one, {"x": b"one"})
        write_all(other, {"x": b"other"})
        getattr(one, publish)()
        with pytest.raises(OSError, match=r"is there already|Another run writes to"):
            getattr(other, publish)()
    assert (target if publish == "publish_file" else target / "x").read_bytes() == b"one"
    assert names(tmp_path) == ["x"]


HOLDS = """
import sys
from omvfs import disk
with disk.locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_has_the_lock_and_a_killed_one_has_it_no_more(tmp_path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as job:
        assert job.stdout.readline() == "held\n"
        with (
            pytest.raises(disk.BusyError, match=rf"Another run \(pid {job.pid}\) writes to"),
            disk.locked(tmp_path),
        ):
            pass
        job.kill()
        job.wait()
    assert names(tmp_path) == [".omvfs.lock"]
    with disk.locked(tmp_path):
        assert (tmp_path / ".omvfs.lock").read_text() == str(os.getpid())
    assert names(tmp_path) == []


def count_up(folder, n):
    """Add to a number, a read and a write apart, for as often as the lock is had."""
    done = 0
    while done < n:
        try:
            with disk.locked(folder):
                number = int((folder / "n").read_text())
                (folder / "n").write_text(str(number + 1))
                done += 1
        except disk.BusyError:
            pass


def test_the_lock_is_had_by_one_at_a_time(tmp_path):
    (tmp_path / "n").write_text("0")
    threads = [threading.Thread(target=count_up, args=(tmp_path, 40)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "n").read_text() == "120"


def test_errors_of_the_system_name_the_file():
    told = r"\[Errno 28\] No space left on device: 'x.csv'"
    with pytest.raises(OSError, match=told), disk.naming("x.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
