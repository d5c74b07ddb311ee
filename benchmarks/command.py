"""What the command line takes from start to end, in fresh processes.

    python benchmarks/command.py

`omvfs --help`, and `omvfs select` on 2,000 small rows in a folder; beside them the import of what
no run can do without. Processor and wall time of each.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scipy.sparse as sp

from measure import one_thread
from omvfs.datasets import make_planted
from paper.timing import shown

ROWS = 2_000
WITHOUT = "import sklearn.base, scipy.sparse"


def commands(folder):
    """Return what is timed by name, for a folder with rows."""
    omvfs = [sys.executable, "-m", "omvfs.cli"]
    rows, out = str(folder / "rows"), str(folder / "out")
    return {
        "omvfs --help": [*omvfs, "--help"],
        "omvfs select": [*omvfs, "select", rows, "-k", "5", "-n", "100", "-o", out],
        WITHOUT: [sys.executable, "-c", WITHOUT],
    }


def write_rows(folder, n_rows=ROWS):
    """Write small rows of two views."""
    rows = folder / "rows"
    rows.mkdir()
    for view, X in make_planted(n_rows, random_state=0).views.items():
        sp.save_npz(rows / f"{view}_{view}.npz", sp.csr_array(X))


def timed(command):
    """Return processor and wall time of a command."""
    began, worked = time.perf_counter(), _worked()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment())
    return _worked() - worked, time.perf_counter() - began


def _environment():
    """Return the environment of one who has run it before: byte code is written once."""
    found = one_thread()
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def _worked():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def times(runs, n_rows=ROWS):
    """Return the times of every command, in turn, the first turn not counted."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rows(folder, n_rows)
        asked, found = commands(folder), {}
        for turn in range(runs + 1):
            for name, command in asked.items():
                seconds = timed(command)
                if turn:
                    found.setdefault(name, []).append(seconds)
                shutil.rmtree(folder / "out", ignore_errors=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    for name, runs in times(parser.parse_args().runs).items():
        seconds = [shown([run[clock] for run in runs]) for clock in (0, 1)]
        print(f"{name}: {seconds[0]} s of the processor, {seconds[1]} s from start to end")


if __name__ == "__main__":
    main()
