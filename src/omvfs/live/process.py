"""What the system tells of processes: memory, and whether one is alive."""

import contextlib
import os
import socket
import sys
from pathlib import Path

_CGROUPS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"


def peak_memory() -> int | None:
    """Return the most bytes that this process has held, None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def resident_memory() -> int | None:
    """Return the bytes that this process holds now; where nobody tells, the most it has held."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return peak_memory()
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory_limit() -> int | None:
    """Return the bytes that this process may hold: those of the machine, or of its limits."""
    found = []
    with contextlib.suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):
            found.append(int(Path(name).read_text(encoding="ascii")))
    with contextlib.suppress(ImportError, OSError):
        import resource

        found.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    return min((limit for limit in found if limit > 0), default=None)


def identity() -> dict[str, str | int | None]:
    """Return by what this process is known, to `is_alive` among others.

    Examples
    --------
    >>> is_alive(identity())
    True
    """
    return {"host": socket.gethostname(), "pid": os.getpid(), "born": _born(os.getpid())}


def is_alive(known: object) -> bool | None:
    """Tell whether a process is alive; None if that cannot be told from here.

    Parameters
    ----------
    known : object
        As from `identity`, but from anywhere.

    Examples
    --------
    >>> is_alive({"host": "of nobody", "pid": 1, "born": None}) is None
    True
    """
    if not isinstance(known, dict) or known.get("host") != socket.gethostname():
        return None
    pid = known.get("pid")
    # On Windows the signal 0 is none that only asks.
    if type(pid) is not int or not 0 < pid < 1 << 31 or sys.platform == "win32":
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is there, and another's.
        pass
    born = _born(pid)
    if known.get("born") is None or born is None:
        return True
    # Another may have its number by now.
    return bool(born == known["born"])


def _born(pid: int) -> str | None:
    """Return when a process began, by the clock of the system; None if it does not tell, or dead.

    A process that has ended but was not asked for its end is dead.
    """
    try:
        # The name before, in brackets, may hold anything.
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = told.rpartition(")")[2].split()
        return "dead" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return None
