"""Time, memory and their figures: median, spread, ratio, fitted exponent."""

import time
from pathlib import Path

import numpy as np


def timed(work):
    """Return processor time and wall time of a call, in seconds, and what it returns."""
    worked, began = time.process_time(), time.perf_counter()
    found = work()
    return [time.process_time() - worked, time.perf_counter() - began], found


def held():
    """Return the bytes that this process holds now, and the most that it ever held.

    Of the process itself: `ru_maxrss` would begin with what its parent held.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return [int(status[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")]


def spread(values):
    """Return median, lowest and highest.

    >>> spread([3.0, 1.0, 2.0])
    [2.0, 1.0, 3.0]
    """
    return [float(f(values)) for f in (np.median, np.min, np.max)]


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


def exponent(sizes, costs):
    """Return p of the cost ∝ sizeᵖ that fits best, on logarithms.

    >>> exponent([1, 10, 100], [2.0, 20.0, 200.0])
    1.0
    """
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float))
    return round(float(np.polyfit(x, y, 1)[0]), 3)
