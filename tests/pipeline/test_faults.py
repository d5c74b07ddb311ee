"""Faults in the middle of a run: kills, calls that fail, a full disk, reads that end early."""

import builtins
import contextlib
import errno
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys

import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv, feather, parquet
from sklearn.datasets import dump_svmlight_file

from omvfs import OMVFS
from omvfs.formats import FolderSource, JsonLinesSource, SourceError, open_source
from omvfs.persistence import checkpoint
from omvfs.persistence.checkpoint import CheckpointError
from omvfs.pipeline.loop import run
from support import clustered, counts, dense, fingerprint

STEPS = ("tfidf", "l2")
BATCH = 5


def selector():
    return OMVFS(3, batch_size=BATCH, sample_size=40, n_init=2, prepare=STEPS, random_state=0)


def write_folder(folder, n_rows):
    rng = np.random.default_rng(0)
    folder.mkdir()
    sp.save_npz(folder / "view_0_text.npz", sp.csr_array(counts(rng, n_rows, 30)))
    np.save(folder / "view_1_image.npy", clustered(rng, n_rows, 8)[0])
    return folder


def states(folder):
    """Return the bits of an undisturbed run, by the number of rows learned."""
    found, model = {}, selector()

    def listen(status):
        found[status.n_rows] = fingerprint(model._fitted)

    run(FolderSource(folder), model, listeners=(listen,))
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("faults") / "data", 28)


@pytest.fixture(scope="module")
def expected(data):
    return states(data)


def learn(data, path, save_every=2, **named):
    source = FolderSource(data)
    return run(source, selector(), save_to=path, save_every=save_every, **named)


def assert_sound(path, expected):
    """The checkpoint is the state after a whole number of chunks, and nothing else is there."""
    assert set(os.listdir(path.parent)) <= {path.name, path.name + ".1"}
    if not path.exists():
        return 0
    model = OMVFS.load(path)
    assert fingerprint(model._fitted) == expected[model.n_samples_seen_]
    return model.n_samples_seen_


def assert_goes_on(data, path, expected):
    result = learn(data, path, resume=True)
    assert result.finished
    assert result.selector.n_samples_seen_ == max(expected)
    assert fingerprint(result.selector._fitted) == expected[max(expected)]
    assert assert_sound(path, expected) == max(expected)


# Killed

# Imports and learns once, then runs a child for every line: left alone, or killed after so many
# seconds, or in the first checkpoint that it writes after that.
SERVER = f"""
import os, signal, sys, time
from pathlib import Path
from omvfs import OMVFS
from omvfs.pipeline.loop import run
from omvfs.formats import FolderSource

def child(folder, path):
    selector = OMVFS(
        3, batch_size={BATCH}, sample_size=40, n_init=2, prepare={STEPS}, random_state=0
    )
    run(FolderSource(folder), selector, save_to=path, save_every=1, resume=True)

def parts(path):
    return set(Path(path).parent.glob("*.part"))

OMVFS(2).fit([[1.0, 0.0], [0.0, 1.0]])  # what a process finds out once
for line in sys.stdin:
    folder, path, delay, aimed = line.rstrip("\\n").split("\\t")
    before, began = parts(path), time.perf_counter()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child(folder, path)
            code = 0
        finally:
            os._exit(code)
    if delay:
        time.sleep(float(delay))
        alive = os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
        while aimed and parts(path) <= before and os.waitid(*alive) is None:
            time.sleep(1e-4)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    print(os.waitstatus_to_exitcode(status), time.perf_counter() - began, flush=True)
"""


class Server:
    """Starts runs that need no imports of their own."""

    def __init__(self):
        command = [sys.executable, "-W", "ignore", "-c", SERVER]
        self._job = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)

    def run(self, folder, path, delay="", aimed=False):
        """Return the exit code, negative if it was killed, and the seconds it took."""
        self._job.stdin.write(f"{folder}\t{path}\t{delay}\t{'aimed' if aimed else ''}\n")
        self._job.stdin.flush()
        code, seconds = self._job.stdout.readline().split()
        return int(code), float(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._job.stdin.close()
        self._job.wait(60)
        self._job.stdout.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs fork and waitid")
def test_killed_at_50_random_moments_and_resumed_the_end_is_the_same(tmp_path):
    n_rows, rng = 1000, np.random.default_rng(0)
    data = write_folder(tmp_path / "data", n_rows)
    expected = states(data)
    kills, starts, rounds, reached, cut_writes = 0, 0, 0, set(), set()
    with Server() as server:
        path = tmp_path / "whole" / "model"
        code, whole = server.run(data, path)
        assert code == 0
        _, start = server.run(data, path)
        chunk = (whole - start) / (n_rows / BATCH)
        path = tmp_path / "0" / "model"
        while kills < 50:
            starts += 1
            assert starts <= 200, f"{kills} kills in {starts} starts"
            delay = rng.uniform(0, start + 5 * chunk)
            code, _ = server.run(data, path, delay, aimed=starts % 3 == 0)
            assert code in (0, -signal.SIGKILL)
            kills += code != 0
            if path.exists():
                model = OMVFS.load(path)
                assert fingerprint(model._fitted) == expected[model.n_samples_seen_]
                reached.add((rounds, model.n_samples_seen_))
                cut_writes |= {(rounds, part.name) for part in path.parent.glob("*.part")}
            if code == 0:
                assert model.n_samples_seen_ == n_rows
                rounds += 1
                path = tmp_path / str(rounds) / "model"
        assert server.run(data, path)[0] == 0
    model = OMVFS.load(path)
    assert kills == 50
    assert model.n_samples_seen_ == n_rows
    assert fingerprint(model._fitted) == expected[n_rows]
    cursor = checkpoint.read(path)[1]["extra"]["cursor"]
    assert cursor["row"] == n_rows
    assert len(reached) >= 10
    assert len(cut_writes) >= 5


# Calls that fail


def error_of(work):
    """Return the number of the system's error that ended some work, None without one."""
    try:
        work()
    except OSError as error:
        return error.errno
    return None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["write", "fsync", "replace", "link", "unlink", "open", "close"])
def test_a_failing_call_leaves_the_state_after_whole_chunks(
    tmp_path, monkeypatch, data, expected, call, code
):
    monkeypatch.setattr(checkpoint, "_PIECE", 1 << 13)
    genuine, failures = getattr(os, call), 0
    for n in range(1, 200):
        path, left = tmp_path / str(n) / "model", [n]

        def faulty(*args, left=left, **named):
            left[0] -= 1
            if left[0] == 0:
                if call == "close":
                    genuine(*args, **named)
                raise OSError(code, os.strerror(code))
            return genuine(*args, **named)

        with monkeypatch.context() as faults:
            faults.setattr(os, call, faulty)
            failures += error_of(lambda path=path: learn(data, path)) == code
        assert_sound(path, expected)
        assert_goes_on(data, path, expected)
        if left[0] > 0:
            break
    else:
        pytest.fail("no pass without a fault")
    # Without links the checkpoint before is not kept, and the run goes on.
    assert failures == (0 if call == "link" else n - 1)


# A full disk


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own with room for a few checkpoints."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", place],
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def fill(path):
    with path.open("wb", 0) as file:
        while error_of(lambda: file.write(bytes(1 << 12))) is None:
            pass


def test_a_full_disk_leaves_the_last_checkpoint(small_disk, data, expected):
    path, filler, saves = small_disk / "run" / "model", small_disk / "filler", []

    def listen(status):
        saves.append(status.saved)
        if saves.count(True) == 2 and not filler.exists():
            fill(filler)

    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as raised:
        learn(data, path, listeners=(listen,))
    assert raised.value.errno == errno.ENOSPC
    assert assert_sound(path, expected) == 4 * BATCH
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        learn(data, path, resume=True)
    assert assert_sound(path, expected) == 4 * BATCH
    filler.unlink()
    assert_goes_on(data, path, expected)


# Reads that bring less than was asked for


class ShortFile(io.FileIO):
    """A file that brings at most so many bytes at a time, and fails at some read."""

    most = 3
    fails_at = None

    def readinto(self, buffer):
        if self.fails_at is not None:
            ShortFile.fails_at -= 1
            if self.fails_at == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().readinto(memoryview(buffer)[: self.most])

    def read(self, size=-1):
        return super().read(size if size < 0 else min(size, self.most))


@pytest.fixture
def short_reads(monkeypatch):
    genuine = builtins.open

    def short(file, mode="r", buffering=-1, *args, **named):
        if mode != "rb":
            return genuine(file, mode, buffering, *args, **named)
        return io.BufferedReader(ShortFile(file))

    monkeypatch.setattr(builtins, "open", short)
    monkeypatch.setattr(io, "open", short)
    monkeypatch.setattr(ShortFile, "fails_at", None)
    return ShortFile


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_short_reads_change_nothing(tmp_path, monkeypatch, data, expected, short_reads, most):
    monkeypatch.setattr(ShortFile, "most", most)
    path = tmp_path / "run" / "model"
    learn(data, path, should_stop=lambda: True)
    assert assert_sound(path, expected) == BATCH
    assert_goes_on(data, path, expected)


def test_a_read_that_fails_is_an_error_and_leaves_the_last_checkpoint(
    tmp_path, monkeypatch, data, expected, short_reads
):
    monkeypatch.setattr(ShortFile, "most", 512)
    for n in range(1, 500):
        path = tmp_path / str(n) / "model"
        monkeypatch.setattr(ShortFile, "fails_at", n)
        with contextlib.suppress(OSError, SourceError):
            learn(data, path)
        over = ShortFile.fails_at > 0
        monkeypatch.setattr(ShortFile, "fails_at", None)
        if path.parent.exists():
            assert_sound(path, expected)
        assert_goes_on(data, path, expected)
        if over:
            break
    else:
        pytest.fail("no pass without a fault")
    assert n > 10


# Files that end early

N = 400
X = sp.csr_array(counts(np.random.default_rng(1), N, 9))
IMAGE = counts(np.random.default_rng(2), N, 6)


def write_h5ad(path):
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", X.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(X, name)


def table():
    return pa.table({f"f{j}": IMAGE[:, j] for j in range(IMAGE.shape[1])})


def json_rows():
    rows = ({"image": row.tolist(), "words": {"a": i + 1}} for i, row in enumerate(IMAGE))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def svm_rows():
    file = io.BytesIO()
    dump_svmlight_file(sp.csr_matrix(X), np.zeros(N), file, zero_based=False)
    return file.getvalue()


WRITERS = {
    "x.npy": lambda path: np.save(path, IMAGE),
    "x.npz": lambda path: sp.save_npz(path, X),
    "x.parquet": lambda path: parquet.write_table(table(), path, row_group_size=70),
    "x.feather": lambda path: feather.write_feather(
        table(), path, chunksize=70, compression="uncompressed"
    ),
    "x.csv": lambda path: csv.write_csv(table(), path),
    "x.h5ad": write_h5ad,
    "x.jsonl": lambda path: path.write_bytes(json_rows()),
    "x.jsonl.gz": lambda path: path.write_bytes(gzip.compress(json_rows())),
    "x.svm": lambda path: path.write_bytes(svm_rows()),
    "x.svm.gz": lambda path: path.write_bytes(gzip.compress(svm_rows())),
}
# Nothing tells that these have lost lines at their end, or digits of the last line.
PLAIN = {"x.csv", "x.jsonl", "x.svm"}
every_kind = pytest.mark.parametrize("name", WRITERS)


def opened(path):
    return JsonLinesSource(path) if "jsonl" in path.name else open_source(path)


def rows_of(source, before_next=lambda: None):
    """Return the rows that a source brings, and the error that ended them."""
    rows = []
    try:
        for chunk in source.chunks(60):
            blocks = [dense(X_v) for X_v in chunk.views.blocks.values()]
            assert chunk.start == len(rows)
            rows.extend(np.hstack(blocks).tolist())
            before_next()
    except SourceError as error:
        return rows, error
    return rows, None


def cuts(content, n):
    return np.linspace(0, len(content) - 1, n).astype(int).tolist()


def assert_first(rows, whole, name):
    """Rows are the first ones of all, but for the digits that a plain text may have lost."""
    sure = rows[:-1] if name in PLAIN else rows
    assert sure == whole[: len(sure)]


@every_kind
def test_a_file_that_ends_early_brings_its_first_rows_and_an_error(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    content = path.read_bytes()
    whole, error = rows_of(opened(path))
    assert len(whole) == N
    assert error is None
    for size in cuts(content, 60):
        path.write_bytes(content[:size])
        try:
            source = opened(path)
        except SourceError:
            continue
        with source:
            rows, error = rows_of(source)
        assert_first(rows, whole, name)
        assert error is not None or name in PLAIN


@every_kind
@pytest.mark.parametrize("moment", ["opened", "first chunk"])
def test_a_file_cut_off_while_it_is_read_brings_all_rows_or_an_error(tmp_path, name, moment):
    path = tmp_path / name
    WRITERS[name](path)
    content = path.read_bytes()
    whole, _ = rows_of(opened(path))
    for size in cuts(content, 30):
        path.write_bytes(content)
        with opened(path) as source:
            known = source.n_rows is not None
            if moment == "opened":
                os.truncate(path, size)
            rows, error = rows_of(source, lambda size=size: os.truncate(path, size))
        assert_first(rows, whole, name)
        assert error is not None or len(rows) == N or not known, (size, len(content), len(rows))


def test_a_view_that_ends_early_leaves_the_last_checkpoint(tmp_path, data, expected):
    for n, file in enumerate(sorted(data.iterdir())):
        path, folder = tmp_path / str(n) / "model", tmp_path / f"data {n}"
        shutil.copytree(data, folder)

        def cut(status, file=folder / file.name):
            if status.n_rows == 2 * BATCH:
                os.truncate(file, file.stat().st_size // 2)

        # What was read ahead of the cut may do for all rows.
        with contextlib.suppress(SourceError):
            learn(folder, path, save_every=1, listeners=(cut,))
        assert assert_sound(path, expected) >= 2 * BATCH
        with pytest.raises(SourceError, match=file.name):
            learn(folder, path, save_every=1, resume=True)
        assert assert_sound(path, expected) >= 2 * BATCH
        assert_goes_on(data, path, expected)


def test_a_source_that_has_lost_rows_is_no_continuation(tmp_path, data):
    path, folder = tmp_path / "run" / "model", write_folder(tmp_path / "data", 2 * BATCH)
    learn(data, path)
    with pytest.raises(SourceError, match="10"):
        learn(folder, path, resume=True)


def test_a_checkpoint_that_shrinks_while_it_is_read_is_refused(tmp_path, monkeypatch, data):
    path = tmp_path / "model"
    learn(data, path)
    content, genuine = path.read_bytes(), checkpoint._check_sizes
    for size in cuts(content, 50):
        path.write_bytes(content)

        def check(*given, size=size):
            genuine(*given)
            os.truncate(path, size)

        monkeypatch.setattr(checkpoint, "_check_sizes", check)
        with pytest.raises(CheckpointError, match="model"):
            learn(data, path, resume=True)
