"""The matrix of faults in its short form; all of it is `make test-faults`."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open") or not Path("/proc/self/statm").exists(),
    reason="The matrix needs Linux.",
)


def run(*arguments):
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_every_row_survives_its_short_form():
    from reliability.__main__ import ROWS

    done = run("-m", "reliability", "--short")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line[:24].strip() for line in lines] == list(ROWS)
    assert all(" 0 failed" in line for line in lines)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    until = time.process_time() + 60
    while time.process_time() < until:
        pass


def go_over():
    raise KeyError("x")


FAULTY = {
    crash: "died of SIGSEGV",
    hang: "died of SIGXCPU",
    go_over: "a traceback",
    lambda: 4: "no word",
    lambda: bytearray(1 << 30): "MemoryError",
}


def judged():
    """Print how the harness judges each, in a process that may fork."""
    from reliability.attempts import no_more_computing, no_more_memory, start

    for fault in [*FAULTY, lambda: None]:

        def work(fault=fault):
            no_more_memory(1 << 28)
            no_more_computing(0)
            return fault()

        sys.stdout.write(start(work).finish().wrong.replace("\n", " ") + "\n")


def test_an_attempt_that_is_not_survived_is_told():
    done = run(__file__)
    said = done.stdout.splitlines()
    assert len(said) == len(FAULTY) + 1, done.stdout + done.stderr
    for expected, line in zip(FAULTY.values(), said, strict=False):
        assert expected in line
    assert said[-1] == ""


def test_a_page_gets_its_table_and_keeps_the_rest(tmp_path):
    from reliability.__main__ import BEGIN, END, Tally, write_table

    path = tmp_path / "page.md"
    path.write_text(f"Before.\n\n{BEGIN}\n{END}\n\nAfter.\n", encoding="utf-8")
    for n in (240, 1240):
        write_table(path, {"killed": Tally(n, ["3: x"])})
    text = path.read_text(encoding="utf-8")
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert text.count("| killed |") == 1
    assert text.count("| 1,240 | 1,239 | 1 |") == 2
    with pytest.raises(ValueError, match="no one place"):
        write_table(TESTS.parent / "README.md", {})


def test_the_page_is_of_these_rows():
    from reliability.__main__ import BEGIN, END, ROWS

    text = (TESTS.parent / "docs" / "reliability.md").read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    found = [[cell.strip() for cell in line.split("|")[1:6]] for line in table.splitlines()[3:-1]]
    expected = [[name, row.title, *[f"{row.full:,}"] * 2, "0"] for name, row in ROWS.items()]
    assert found == expected


if __name__ == "__main__":
    judged()
