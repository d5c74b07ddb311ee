"""An interruption at any line of the library, such as Ctrl-C would be."""

import itertools
import sys


class Interrupted(KeyboardInterrupt):
    """Raised where no one has asked for it."""


def n_lines(call, within):
    """Return how many lines a call runs in files whose paths begin with `within`."""
    return _run(call, within, itertools.count(1))


def interrupted_at(n, call, within):
    """Make a call, interrupted before the n-th line it runs there, from 1; tell whether it was."""
    try:
        _run(call, within, iter(range(1, n)))
    except Interrupted:
        return True
    return False


def _run(call, within, lines):
    """Make a call, interrupted when there are no more numbers for its lines; return the last."""
    last = 0

    def count(frame, event, arg):
        nonlocal last
        if event == "line":
            last = next(lines, None)
            if last is None:
                raise Interrupted
        return count

    def trace(frame, event, arg):
        return count if frame.f_code.co_filename.startswith(within) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return last
