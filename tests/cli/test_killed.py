"""Commands that are killed: what they write is there whole, or not at all."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.cli.commands import run_app
from omvfs.formats import SourceError, open_source

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

VIEWS, ROWS = [f"v{i}" for i in range(6)], 1500

# Imports once, then runs a command a line in a child, killed after so many seconds.
SERVER = """
import json, os, signal, sys, time
from omvfs import OMVFS
from omvfs.cli.commands import run_app
OMVFS(2).fit([[1.0, 0.0], [0.0, 1.0]])  # what a process finds out once
for line in sys.stdin:
    arguments, delay = json.loads(line)
    began, pid = time.perf_counter(), os.fork()
    if pid == 0:
        code = 99
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = run_app(arguments)
        finally:
            os._exit(code)
    if delay is not None:
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    print(os.waitstatus_to_exitcode(status), time.perf_counter() - began, flush=True)
"""


class Server:
    def __init__(self):
        command = [sys.executable, "-W", "ignore", "-c", SERVER]
        self._job = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)

    def run(self, arguments, delay=None):
        """Return the exit code, negative if it was killed, and the seconds it took."""
        self._job.stdin.write(json.dumps([arguments, delay]) + "\n")
        self._job.stdin.flush()
        code, seconds = self._job.stdout.readline().split()
        return int(code), float(seconds)

    def close(self):
        self._job.stdin.close()
        self._job.wait(60)
        self._job.stdout.close()


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Six views, whose model is beside them."""
    home = tmp_path_factory.mktemp("killed")
    (home / "data").mkdir()
    (home / "few").mkdir()
    for i, view in enumerate(VIEWS):
        X = sp.random_array((ROWS, 300), density=0.2, rng=np.random.default_rng(i), format="csr")
        sp.save_npz(home / f"data/view_{i}_{view}.npz", X)
        sp.save_npz(home / f"{view}.npz", X)
        sp.save_npz(home / f"few/view_{i}_{view}.npz", X[:40])
    options = ["-k", "1", "-n", "200", "-o", str(home / "out")]
    assert run_app(["select", str(home / "few"), *options]) == 0
    return home


def files_of(home):
    return [f"{view}={home / view}.npz" for view in VIEWS]


def hidden(folder):
    """Return what has a name that is not for users."""
    return [path for path in folder.rglob(".*") if path.is_file() or path.suffix == ".part"]


def views_of(inputs):
    """Return the views and rows that inputs have, None if they are refused or not there."""
    try:
        with open_source(*inputs) as source:
            return list(source.schema.names), source.n_rows
    except (OSError, SourceError):
        return None


WRITING = {
    "convert": lambda home, to: ["convert", str(home / "data"), "-o", str(to)],
    "transform files": lambda home, to: (
        ["transform", str(home / "out/model.omvfs"), *files_of(home), "-o", str(to)]
    ),
}


@pytest.mark.parametrize("there", [False, True], ids=["new", "there before"])
@pytest.mark.parametrize("name", WRITING)
def test_a_folder_has_all_its_views_or_none(name, there, data, server, tmp_path):
    rng = np.random.default_rng(0)

    def place(n):
        to = tmp_path / str(n) / "to"
        to.mkdir(parents=True)
        if not there:
            to.rmdir()
        else:
            (to / "note.txt").touch()
        inputs = [str(to / f"{view}.npz") for view in VIEWS]
        return WRITING[name](data, to), inputs if "files" in name else [str(to)]

    command, inputs = place("whole")
    code, seconds = server.run(command)
    assert code == 0
    assert views_of(inputs) == (VIEWS, ROWS)
    for n in range(2):
        command, inputs = place(n)
        code, _ = server.run(command, rng.uniform(0.5, 1) * seconds)
        assert views_of(inputs) in (None, (VIEWS, ROWS))
        if code == 0:
            continue
        # The next one removes what is left, and all views are there.
        code, _ = server.run(command)
        assert code in (0, 4)
        assert views_of(inputs) == (VIEWS, ROWS)
        assert hidden(tmp_path / str(n)) == []


def results(out):
    """Return what the results say of the number of features, each read whole."""
    table = list(csv.DictReader((out / "ranking.csv").read_text().splitlines()))
    ranking = json.loads((out / "ranking.json").read_text())
    about = json.loads((out / "run.json").read_text())
    assert len(table) == len(ranking["features"]) == 20_000
    return (
        sum(row["selected"] == "True" for row in table),
        len(ranking["selected"]["x"]),
        about["parameters"]["n_features_per_view"],
    )


def test_a_complete_ranking_stays_complete(server, tmp_path):
    rng, out = np.random.default_rng(1), tmp_path / "out"
    X = sp.random_array((60, 20_000), density=0.02, rng=rng, format="csr")
    sp.save_npz(tmp_path / "x.npz", X)
    command = ["select", str(tmp_path / "x.npz"), "-k", "1", "-o", str(out), "--resume", "-n"]
    assert server.run([*command, "5"])[0] == 0
    seconds = server.run([*command, "6"])[1]
    assert results(out) == (6, 6, 6)
    for n in range(6):
        server.run([*command, str(7 + n)], rng.uniform(0.6, 1) * seconds)
        told = results(out)
        assert len(set(told)) == 1 or (out / ".omvfs.ready").exists()
    assert server.run([*command, "5"])[0] == 0
    assert results(out) == (5, 5, 5)
    assert hidden(out) == []
