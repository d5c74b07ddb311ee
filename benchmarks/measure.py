"""Memory of this process, and ratios of times."""

from pathlib import Path

import numpy as np


def held():
    """Return the bytes that this process holds now, and the most that it ever held.

    Of the process itself: `ru_maxrss` would begin with what its parent held.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return [int(status[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")]


def ratios(above, below):
    """Return the ratios of processor times, run by run, or of the median to every run.

    >>> ratios([[4.0, 9.0], [6.0, 9.0]], [[2.0, 9.0], [2.0, 9.0]])
    [2.0, 3.0]
    >>> ratios([[8.0, 9.0]], [[2.0, 9.0], [4.0, 9.0]])
    [4.0, 2.0]
    """
    above, below = ([run[0] for run in runs] for runs in (above, below))
    if len(above) != len(below):
        above = [float(np.median(above))] * len(below)
    return [a / max(b, 1e-9) for a, b in zip(above, below, strict=True)]
