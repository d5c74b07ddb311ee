"""Pages that follow a run: from one reader, through restarts of either side. All real processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from omvfs.live import server
from omvfs.live.board import Board, Folder
from omvfs.live.status import StatusFile
from pages import ask, serving
from support import counts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
PATIENCE = 60
# Commands in processes of their own.
slow = pytest.mark.slow


class Events:
    """A page without a browser: reads events, and asks again when it has lost the server."""

    def __init__(self, port):
        self.port, self.told, self.ids, self.lines = port, [], [], []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self):
        while not self._ends.is_set():
            with suppress(OSError):
                self._read()
            time.sleep(0.05)

    def _read(self):
        with socket.create_connection(("127.0.0.1", self.port), 5) as own:
            own.settimeout(20)
            own.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            with own.makefile("rb") as file:
                for line in file:
                    if self._ends.is_set():
                        return
                    self.lines.append(line)
                    if line.startswith(b"data: {"):
                        self.told.append(json.loads(line[6:]))
                    if line.startswith(b"id: "):
                        self.ids.append(line)

    def until(self, holds, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not (self.told and holds(self.told[-1])):
            assert time.monotonic() < end, self.told[-1:]
            time.sleep(0.02)
        return self.told[-1]

    def close(self):
        self._ends.set()


@contextmanager
def following(port):
    events = Events(port)
    try:
        yield events
    finally:
        events.close()


@contextmanager
def process(*arguments, **options):
    """A command of omvfs in a process of its own, which does not outlive the block."""
    command = [sys.executable, "-m", "omvfs.cli", *map(str, arguments)]
    # Whoever runs the tests may have Ctrl-C ignored, as nohup has: not so the command.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    job = subprocess.Popen(command, stdout=-1, stderr=-1, text=True, **heard, **options)
    try:
        yield job
    finally:
        job.kill()
        job.communicate()


@contextmanager
def watching(out, port=0):
    with process("watch", out, "--port", port) as job:
        line = job.stdout.readline()
        assert line.startswith(f"{out} at http://127.0.0.1:"), job.stderr.read()
        job.port = int(line.split(":")[-1].strip(" /\n"))
        yield job


def rows(n):
    lines = (json.dumps({"text": row}) for row in counts(np.random.default_rng(0), n, 6).tolist())
    return "".join(f"{line}\n" for line in lines)


def select(out, *more, **options):
    given = ("-k", "2", "--batch-size", "20", "--checkpoint-every", "1", "-o", out)
    return process("select", "-", *given, *more, stdin=subprocess.PIPE, **options)


@slow
def test_a_page_follows_a_run_that_is_killed_and_goes_on(tmp_path):
    out, lines = tmp_path / "out", rows(400).splitlines(keepends=True)
    with select(out) as run:
        run.stdin.write("".join(lines[:200]))
        run.stdin.flush()
        until = time.monotonic() + PATIENCE
        while not (out / "model.omvfs").exists() and time.monotonic() < until:
            time.sleep(0.02)
        with watching(out) as server, following(server.port) as page:
            page.until(lambda told: told["run"] == "learning")
            first = page.told[-1]["status"]["run"]
            run.kill()
            page.until(lambda told: told["run"] == "died")
            with select(out, "--resume") as again:
                again.communicate("".join(lines), timeout=PATIENCE)
                assert again.returncode == 0
            last = page.until(lambda told: told["run"] == "finished")["status"]
    assert (last["rows"], last["run"], last["final"]) == (400, first, True)
    told = [each["status"]["rows"] for each in page.told]
    assert len(page.ids) == len(page.told) == len(set(page.ids))
    assert max(told) == 400


@slow
def test_a_page_goes_on_when_the_server_is_killed_and_started_anew(tmp_path):
    StatusFile(tmp_path / "status.json").ended("stopped")
    with watching(tmp_path) as first, following(first.port) as page:
        page.until(lambda told: told["run"] == "stopped")
        first.kill()
        first.wait()
        StatusFile(tmp_path / "status.json").ended("finished")  # meanwhile another run
        with watching(tmp_path, first.port) as second:
            assert second.port == first.port
            page.until(lambda told: told["run"] == "finished")
    assert page.ids[0] != page.ids[-1]
    assert b"retry: 1000\n" in page.lines


def test_what_is_known_of_a_file_is_the_same_to_every_server(tmp_path):
    StatusFile(tmp_path / "status.json").ended("stopped")
    numbers = set()
    for _ in range(2):
        with serving(tmp_path) as here, following(here.port) as page:
            page.until(lambda told: told["run"] == "stopped")
            numbers |= set(page.ids)
    assert len(numbers) == 1


def test_all_pages_are_served_from_one_reader(tmp_path, monkeypatch):
    StatusFile(tmp_path / "status.json").ended("stopped")
    looks, genuine = [], Folder.look
    monkeypatch.setattr(Folder, "look", lambda folder: looks.append(1) or genuine(folder))
    with serving(tmp_path) as here:
        pages = [Events(here.port) for _ in range(20)]
        for page in pages:
            page.until(lambda told: told["run"] == "stopped")
        before, began = len(looks), time.monotonic()
        time.sleep(1)
        assert len(looks) - before <= (time.monotonic() - began) / 0.25 + 2
        for page in pages:
            page.close()


def test_pages_are_bounded_and_places_come_free_again(tmp_path, monkeypatch):
    StatusFile(tmp_path / "status.json").ended("stopped")
    monkeypatch.setattr(server, "PAGES", 3)
    with serving(tmp_path) as here:
        pages = [Events(here.port) for _ in range(3)]
        for page in pages:
            page.until(lambda told: told["run"] == "stopped")
        refused = ask(here, "/events")
        assert (refused.code, refused.headers["retry-after"]) == (503, "5")
        assert refused.text == "3 pages are open, and no more are served: close one.\n"
        assert ask(here, "/status").code == 200
        for page in pages:
            page.close()
        StatusFile(tmp_path / "status.json").ended("failed")  # pages that are gone are noticed
        until = time.monotonic() + PATIENCE
        while ask(here, "/events").code != 200 and time.monotonic() < until:
            time.sleep(0.1)
        assert ask(here, "/events").code == 200


def test_a_page_that_reads_nothing_keeps_nobody_waiting(tmp_path):
    StatusFile(tmp_path / "status.json").ended("stopped")
    with serving(tmp_path) as here, socket.create_connection(("127.0.0.1", here.port)) as idle:
        idle.sendall(f"GET /events HTTP/1.1\r\nHost: {here.own}\r\n\r\n".encode())
        with following(here.port) as page:
            page.until(lambda told: told["run"] == "stopped")
            for i in range(5):
                StatusFile(tmp_path / "status.json").ended("failed", str(i))
                page.until(lambda told, i=i: told["status"]["message"] == str(i))


def test_signs_of_life_come_when_nothing_else_does(tmp_path, monkeypatch):
    StatusFile(tmp_path / "status.json").ended("stopped")
    monkeypatch.setattr(server, "BEAT", 0.2)
    with serving(tmp_path) as here, following(here.port) as page:
        page.until(lambda told: page.lines.count(b"event: beat\n") > 2)


def test_the_last_is_shown_before_the_server_ends():
    """Whatever was shown before, and however late the end comes."""
    import asyncio

    shown, stopping = [b"1"], []

    async def follow():
        board = Board(lambda: shown[0], lambda: bool(stopping), every=0.01)
        task, seen = asyncio.create_task(board.run()), b""
        while (found := await board.after(seen, 5)) is not None:
            seen = found
            if seen == b"1":
                stopping.append(True)
                shown[0] = b"2"
        await task
        return seen

    assert asyncio.run(follow()) == b"2"


@slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_quietly_though_pages_are_open(tmp_path, number):
    StatusFile(tmp_path / "status.json").ended("stopped")
    with watching(tmp_path) as job, following(job.port) as page:
        page.until(lambda told: told["run"] == "stopped")
        job.send_signal(number)
        said = job.communicate(timeout=PATIENCE)[1]
        assert (job.returncode, said) == (128 + number, "omvfs: Interrupted.\n")


@slow
def test_select_serves_its_page_while_it_runs(tmp_path):
    out = tmp_path / "out"
    with select(out, "--watch") as run:
        run.stdin.write(rows(100))
        run.stdin.flush()
        address = run.stderr.readline()
        assert address.startswith("Watch it at http://127.0.0.1:")
        with following(int(address.split(":")[-1].strip("/\n"))) as page:
            page.until(lambda told: told["status"] is not None)
            run.communicate(timeout=PATIENCE)
            assert run.returncode == 0
            assert page.until(lambda told: told["run"] == "finished", 5)
            with pytest.raises(OSError, match="refused"):
                socket.create_connection(("127.0.0.1", page.port), 5)


@slow
def test_ctrl_c_is_for_the_run_and_its_end_is_shown(tmp_path):
    """Though the terminal sends it to every process."""
    with select(tmp_path / "out", "--watch", start_new_session=True) as run:
        run.stdin.write(rows(100))
        run.stdin.flush()
        port = int(run.stderr.readline().split(":")[-1].strip("/\n"))
        with following(port) as page:
            page.until(lambda told: told["run"] == "learning")
            os.killpg(run.pid, signal.SIGINT)
            page.until(lambda told: told["run"] == "stopped")
            run.wait(PATIENCE)
    assert run.returncode == 130


@slow
def test_the_server_beside_a_run_reads_no_module_of_the_folder_it_is_in(tmp_path, monkeypatch):
    (tmp_path / "uvicorn.py").write_text("open('run', 'w').close()")
    monkeypatch.chdir(tmp_path)
    with select(tmp_path / "out", "--watch") as run:
        assert run.stderr.readline().split(":")[-1].strip("/\n").isdigit()
        run.kill()
    assert not (tmp_path / "run").exists()


@slow
def test_the_server_beside_a_run_ends_with_it_even_if_it_is_killed(tmp_path):
    out = tmp_path / "out"
    with select(out, "--watch") as run:
        port = int(run.stderr.readline().split(":")[-1].strip("/\n"))
        run.kill()
        run.wait()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            break
        time.sleep(0.05)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 5)
