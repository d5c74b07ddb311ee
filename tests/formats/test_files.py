"""Files by path or address: what they are called, how they are opened, read and written there."""

import errno
import io
import os
import sys
import tempfile

import fsspec
import numpy as np
import pytest
import scipy.sparse as sp
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omvfs import OMVFS, Views
from omvfs.cli import commands
from omvfs.cli.commands import run_app
from omvfs.formats import SourceError, open_source, open_writer
from omvfs.formats.files import Destination, File, reading, without_secrets
from omvfs.formats.opening import read_input
from support import counts, dense
from web import serving

X = counts(np.random.default_rng(0), 60, 6)
OPTIONS = ["-k", "2", "-n", "3", "--batch-size", "10", "--checkpoint-every", "1"]


@pytest.mark.parametrize(
    ("given", "stem", "ending", "compression", "remote"),
    [
        ("rows.csv", "rows", ".csv", "", False),
        ("a.b/rows.csv.gz", "rows", ".csv", ".gz", False),
        ("rows.gz", "rows", ".gz", "", False),
        ("rows.svm.bz2", "rows", ".svm", ".bz2", False),
        ("rows.tar.zst", "rows", ".tar", ".zst", False),
        ("rows", "rows", "", "", False),
        ("s3://bucket/a/rows.jsonl.zst", "rows", ".jsonl", ".zst", True),
        ("https://example.org/rows.parquet?x=1", "rows", ".parquet", "", True),
        ("zip://rows.csv::s3://bucket/all.zip", "rows", ".csv", "", True),
    ],
)
def test_names(given, stem, ending, compression, remote):
    file = File(given)
    assert (file.stem, file.ending, file.compression, file.remote) == (
        stem,
        ending,
        compression,
        remote,
    )
    assert File(file).text == given


def test_an_array_by_columns_cut_off_while_it_is_read_is_an_error(tmp_path):
    np.save(tmp_path / "rows.npy", np.asfortranarray(np.ones((5000, 30))))
    chunks = open_source(tmp_path / "rows.npy").chunks(100)
    next(chunks)
    os.truncate(tmp_path / "rows.npy", 5000)
    with pytest.raises(SourceError, match="cut off"):
        next(chunks)


def test_what_an_address_needs_is_named_by_its_extra(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    np.save(tmp_path / "x.npy", X)
    convert = ["convert", str(tmp_path / "x.npy"), "-o", "s3://key:word@bucket/x.csv"]
    for command in (convert, ["info", "s3://key:word@bucket/x.csv"]):
        assert run_app(command) == 2
        said = capsys.readouterr().err
        assert "pip install 'omvfs[s3]'" in said
        assert "word" not in said
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r"omvfs\[remote\]"):
        File("s3://bucket/rows.npy").open()


def test_a_signal_that_a_library_has_made_an_error_of_stays_a_signal():
    def returned_with_an_exception_set():
        raise SystemError("a result with an exception set") from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt), reading("rows.h5mu"):
        returned_with_an_exception_set()


# Secrets


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("https://me:word@example.org/rows.csv?sig=abc#top", "https://example.org/rows.csv"),
        ("https://me@example.org:8080/rows.csv", "https://example.org:8080/rows.csv"),
        ("https://example.org/a@b.csv", "https://example.org/a@b.csv"),
        ("text=https://me:word@example.org/x.csv", "text=https://example.org/x.csv"),
        ("zip://x.csv::https://me:word@host/a.zip?sig=abc", "zip://x.csv::https://host/a.zip"),
        # Not as an address should be, yet typed.
        ("https://me:wo/rd@host/x.csv", "https://..."),
        ("https://me:wo?rd@host/x.csv", "https://..."),
        ("https://me:w@rd@host/x.csv", "https://host/x.csv"),
        ("s3://arn:aws:s3:here:1:point/x.csv", "s3://arn:aws:s3:here:1:point/x.csv"),
        ("odd?name#me@home.csv", "odd?name#me@home.csv"),
    ],
)
def test_user_password_query_and_fragment_are_left_out(typed, shown):
    assert without_secrets(typed) == without_secrets(shown) == shown


SECRET = "XsecretX"
odd = st.text("ab@:/?#%=& ", max_size=6)


@given(
    scheme=st.sampled_from(["http", "https", "s3", "text=https", "zip://x.csv::ftp"]),
    user=odd.map(lambda name: name.replace(":", "").replace("/", "")),
    password=odd,
    query=odd,
)
def test_no_secret_is_shown_wherever_it_stands(scheme, user, password, query):
    typed = f"{scheme}://{user}:{SECRET}{password}@host/rows.csv?{query}{SECRET}"
    assert SECRET not in without_secrets(typed)


def test_files_are_called_without_secrets():
    typed = ["https://me:word@example.org/rows.csv?sig=abc", "https://me:pass.word@host"]
    files = {given.name: given.files[0] for given in map(read_input, typed)}
    assert list(map(str, files.values())) == ["https://example.org/rows.csv", "https://host"]
    assert all("word" not in name + file.name + file.kind for name, file in files.items())
    assert [file.text for file in files.values()] == typed


# The web: a real server on this machine


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with serving() as web:
        yield web


def test_every_format_is_read_over_http(tmp_path, web):
    expected = np.where(np.median(X) < X, X, 0)
    expected[:, 0] = expected[0] = 1
    for ending in ("svm.gz", "npz", "npy", "h5ad", "csv.zst", "parquet", "feather", "mat"):
        name = f"rows.{ending}"
        with open_writer(tmp_path / name) as writer:
            writer.append(Views({"rows": sp.csr_array(expected)}))
        for web.ranges in (True, False):
            # Not what is known of the server from before.
            address = f"{int(web.ranges)}/{name}"
            web.files[address] = (tmp_path / name).read_bytes()
            with open_source(web.url(address)) as source:
                got = np.vstack([dense(chunk.views["rows"]) for chunk in source.chunks(16)])
            np.testing.assert_array_equal(got, expected)


sizes = st.sampled_from([1, 100, (1 << 16) - 1, 1 << 16, 200_000])
places = st.lists(st.tuples(st.integers(0, 250_000), st.integers(0, 150_000)), max_size=6)


@given(size=sizes, ranges=st.booleans(), asked=places, from_end=st.booleans())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_are_read_from_anywhere(web, size, ranges, asked, from_end):
    name, content = f"{int(ranges)}/{size}.bin", np.random.default_rng(0).bytes(size)
    web.ranges, web.files[name] = ranges, content
    with File(web.url(name)).open() as file:
        told = io.BytesIO(content)
        for place, n in asked:
            where = (-min(place, size), 2) if from_end else (min(place, size), 0)
            assert file.seek(*where) == told.seek(*where)
            assert file.read(n) == told.read(n)
            assert file.readline(50) == told.readline(50)


def test_what_goes_wrong_on_the_web_is_told_without_secrets(web):
    web.files["x.npy"] = b"nothing" * 9
    for address, kind, sentence in [
        (web.url("none.npy", "me:word@"), FileNotFoundError, r"/none\.npy cannot be opened: N"),
        (web.url("x.npy"), SourceError, r"x\.npy cannot be read"),
        (web.url("x*.npy"), FileNotFoundError, r"x\*\.npy"),
        (
            web.url("x.npy").replace(str(web.port), "1"),
            OSError,
            r":1/x\.npy cannot be opened: .*[Cc]onnect",
        ),
    ]:
        with pytest.raises(kind, match=sentence) as caught:
            open_source(f"{address}?key=secret")
        assert "word" not in str(caught.value)
        assert "secret" not in str(caught.value)


# Results at an address: whole or not there, and nothing left behind here


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Have a temporary folder of its own, which must be empty at the end."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def afar(temporary):
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


def test_a_run_leaves_at_an_address_what_it_leaves_in_a_folder(tmp_path, rows, afar, capsys):
    for out in (str(tmp_path / "out"), afar):
        assert run_app(["select", rows, *OPTIONS, "--write-data", "-o", out]) == 0
    assert "by rank, and why: memory://out/ranking.csv" in capsys.readouterr().out
    got, here = stored(afar), stored(str(tmp_path / "out"))
    assert set(got) == set(here) - {"model.omvfs.1"}
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
    assert run_app(["select", rows, *OPTIONS, "-o", afar, "--resume"]) == 0
    assert stored(afar)["ranking.csv"] == (tmp_path / "whole/ranking.csv").read_bytes()


def test_a_run_that_fails_leaves_its_checkpoint_at_the_address(tmp_path, afar, capsys):
    np.save(tmp_path / "late.npy", np.r_[X, [[1.0] * 5 + [np.nan]]])
    assert run_app(["select", str(tmp_path / "late.npy"), *OPTIONS, "-o", afar]) == 3
    said = capsys.readouterr().err
    assert "so far is in memory://out/model.omvfs: go on with --resume" in said
    (tmp_path / "model").write_bytes(stored(afar)["model.omvfs"])
    assert OMVFS.load(tmp_path / "model").n_samples_seen_ == 60


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl.gz", "rows.mat", "folder"])
def test_every_format_is_written_to_an_address_and_nothing_over(rows, afar, name, capsys):
    convert = ["convert", f"text={rows}", "-o", f"{afar}/{name}"]
    assert run_app(convert) == 0
    before = stored(afar)
    assert list(before) == [name if "." in name else "folder/view_0_text.npy"]
    assert run_app(convert) == 4
    assert f"memory://out/{name} is there already" in capsys.readouterr().err
    assert stored(afar) == before
    if "." in name:
        with open_source(f"{afar}/{name}") as source:
            (chunk,) = source.chunks(100)
        (view,) = chunk.views.names
        np.testing.assert_array_equal(chunk.views[view], X)


def test_an_address_of_this_machine_is_a_path(tmp_path, rows, temporary):
    out = f"file://{tmp_path}/out"
    assert run_app(["select", rows, *OPTIONS, "-o", out]) == 0
    assert (tmp_path / "out/ranking.csv").exists()
    with Destination(tmp_path / "out") as out:
        assert (out.here, out.remote, str(out)) == (tmp_path / "out", False, str(tmp_path / "out"))
        assert out / "x" == str(tmp_path / "out/x")
        out.publish()
        out.check_free()
        out.check_writable()


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
def test_a_storage_that_fails_gets_all_files_or_none(tmp_path, rows, capsys, room, temporary):
    fsspec.register_implementation("full", Full, clobber=True)
    Full.store.clear()
    Full.room = room
    np.save(tmp_path / "y.npy", X[:, :4])
    both = [rows, str(tmp_path / "y.npy")]
    code = run_app(["convert", *both, "-o", "full://me:word@bucket/out"])
    said = capsys.readouterr()
    assert "word" not in said.out + said.err
    assert (code, len(Full.store)) == ((4, 0) if room < 2 else (0, 2))
    if room < 2:
        assert "out cannot be written: no room in full://bucket/" in said.err


def test_what_cannot_be_written_is_told_before_anything_is_read(rows, capsys, monkeypatch):
    def opened(*args, **named):
        raise AssertionError("opened")

    def forbidden(self, path, value, **more):
        raise PermissionError(errno.EACCES, "Forbidden", "memory://out")

    monkeypatch.setattr("omvfs.formats.open_source", opened)
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", forbidden)
    for command in (["select", rows], ["convert", rows]):
        for out, code, sentence in [
            ("memory://out/x", 4, "Forbidden"),
            ("https://me:word@a.org/out", 2, "https://a.org/out cannot be written to: it is of"),
            ("nosuch://bucket/out", 4, "nosuch://bucket/out cannot be opened"),
        ]:
            assert run_app([*command, "-o", out]) == code
            assert sentence in " ".join(capsys.readouterr().err.split())


def test_an_interrupted_upload_leaves_nothing(rows, afar, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("omvfs.formats.files.shutil.copyfileobj", interrupted)
    assert run_app(["convert", rows, "-o", f"{afar}/rows.csv"]) == 130
    assert stored(afar) == {}


def test_what_waits_here_is_for_its_owner_only_and_is_swept(temporary, afar):
    left = temporary / ".omvfs.results.dead.part"
    left.mkdir()
    (left / "large").write_bytes(b"x")
    with Destination(f"{afar}/x.json") as out:
        (waiting,) = temporary.iterdir()
        assert waiting.stat().st_mode & 0o077 == 0
        out.here.write_text("1")
        out.publish()
    assert stored(f"{afar}/x.json") == {"": b"1"}
