"""Memory of this process, its children's surroundings, and ratios of times."""

import os
from pathlib import Path

import numpy as np

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def held(anew=False):
    """Return the bytes that this process holds now, and the most that it ever held.

    Of the process itself: `ru_maxrss` would begin with what its parent held. With `anew` the most
    is counted from here on.
    """
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return [int(status[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")]


def one_thread():
    """Return the environment of a child that works on one thread."""
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}


def ratios(above, below, clock=0):
    """Return the ratios of processor times, run by run, or of the median to every run.

    With clock 1, of wall times.

    >>> ratios([[4.0, 9.0], [6.0, 9.0]], [[2.0, 9.0], [2.0, 9.0]])
    [2.0, 3.0]
    >>> ratios([[8.0, 9.0]], [[2.0, 9.0], [4.0, 9.0]])
    [4.0, 2.0]
    """
    above, below = ([run[clock] for run in runs] for runs in (above, below))
    if len(above) != len(below):
        above = [float(np.median(above))] * len(below)
    return [a / max(b, 1e-9) for a, b in zip(above, below, strict=True)]
