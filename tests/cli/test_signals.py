"""Ctrl-C and SIGTERM, once and again: a sentence at most, and the code of the signal."""

import signal
import subprocess
import sys
import time

import pytest

from omvfs import cli
from omvfs.cli.errors import Interrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def begun(out, job):
    """Wait until a run has its folder."""
    until = time.monotonic() + 60
    while not (out / ".omvfs.lock").exists() and job.poll() is None and time.monotonic() < until:
        time.sleep(0.005)


def start(tmp_path, n):
    """Return a run that waits for more rows, and has its folder."""
    out = tmp_path / str(n)
    command = [sys.executable, "-m", "omvfs.cli", "select", "-", "-k", "2", "-o", str(out)]
    job = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)
    job.stdin.write("a,b\n" + "1,2\n" * 5)
    job.stdin.flush()
    return out, job


def test_a_second_signal_ends_at_once_and_quietly(tmp_path):
    given = [(signal.SIGINT, 0.1), (signal.SIGTERM, 0.0)]
    runs = [start(tmp_path, n) for n in range(len(given))]
    for (out, job), (number, gap) in zip(runs, given, strict=True):
        begun(out, job)
        time.sleep(0.2)
        job.send_signal(number)
        time.sleep(gap)
        job.send_signal(number)
    for (_, job), (number, _) in zip(runs, given, strict=True):
        said = job.communicate(timeout=60)[1]
        assert "Traceback" not in said
        assert len(said.splitlines()) <= 1
        # A shell tells 128 + number of both: by its own exit, or by the signal as Python ends.
        assert job.returncode in (128 + number, -number)


@pytest.mark.parametrize("name", ["watch", "let_go"])
def test_a_signal_on_the_way_in_or_out_is_told_too(name, monkeypatch, capsys):
    def interrupted():
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(cli, name, interrupted)
    monkeypatch.setattr("omvfs.cli.commands.run_app", lambda _: 0)
    others = {"watch", "let_go"} - {name}
    for other in others:
        monkeypatch.setattr(cli, other, lambda: None)
    monkeypatch.setattr(sys, "argv", ["omvfs", "--debug"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 128 + signal.SIGTERM
    assert capsys.readouterr().err == "omvfs: Interrupted.\n"
