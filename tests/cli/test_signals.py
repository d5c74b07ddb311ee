"""Ctrl-C and SIGTERM, once and again: a sentence at most, and the code of the signal."""

import contextlib
import signal
import subprocess
import sys
import time

import pytest

from omvfs import OMVFS, cli
from omvfs.cli.errors import Interrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def waiting(out):
    """Return a run that has learned from two chunks, and waits for the rest of the third."""
    command = [sys.executable, "-m", "omvfs.cli", "select", "-", "-k", "2", "-o", str(out)]
    command += ["--batch-size", "10", "--checkpoint-every", "1"]
    job = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)
    job.stdin.write("a,b\n" + "1,2\n" * 25)
    job.stdin.flush()
    until = time.monotonic() + 60
    while job.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError, ValueError):
            if OMVFS.load(out / "model.omvfs").n_samples_seen_ == 20:
                break
        time.sleep(0.02)
    return job


def test_a_stream_that_waits_can_be_stopped(tmp_path):
    job = waiting(tmp_path)
    job.send_signal(signal.SIGTERM)
    # Its input stays open: nothing but the signal ends it.
    assert job.wait(60) == 128 + signal.SIGTERM
    assert "Go on with --resume" in job.communicate()[1]
    assert OMVFS.load(tmp_path / "model.omvfs").n_samples_seen_ == 20


def test_a_second_signal_ends_at_once_and_quietly(tmp_path):
    given = [(signal.SIGINT, 0.1), (signal.SIGTERM, 0.0)]
    for n, (number, gap) in enumerate(given):
        job = waiting(tmp_path / str(n))
        job.send_signal(number)
        time.sleep(gap)
        job.send_signal(number)
        job.wait(60)
        said = job.communicate()[1]
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
