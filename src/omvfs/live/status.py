"""The small file in which a run tells where it stands, for whoever reads it."""

import contextlib
import math
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from omvfs import OMVFS, disk
from omvfs.live.content import FORMAT, Shown, encoded, read_status, told_events
from omvfs.live.history import History, read_points
from omvfs.live.process import identity, memory_limit, peak_memory, resident_memory
from omvfs.pipeline import Status

State = Literal["reading", "learning", "ranking", "writing", "finished", "stopped", "failed"]

# Seconds between two writes, and between two looks at features, at least.
_WRITE_EVERY, _LOOK_EVERY = 0.5, 1.0
# Seconds after which it is told that all is well, where nothing comes.
_IDLE = 10.0
# Of the time of a run, what each of the two may take.
_SHARE = 1 / 200
# Seconds that the first look is reckoned to take: in all, and for each number of B.
_LOOK, _LOOK_PER_NUMBER = 2e-3, 5e-8
# Clusters that are reckoned with where rows tell their number.
_MOST_CLUSTERS = 50


class Throttle:
    """Tells when work is due that is to take a small share of all time.

    Parameters
    ----------
    share : float
        Of the time since it was made, what the work may take.
    now : float

    Examples
    --------
    >>> throttle = Throttle(share=0.01, now=0.0)
    >>> throttle.took(began=10.0, ended=10.2)
    >>> throttle.due(19.0), throttle.due(21.0), throttle.due(21.0, reckoned=0.05)
    (False, True, False)
    """

    def __init__(self, share: float, now: float) -> None:
        self._share, self._start = share, now
        self._spent = 0.0

    def due(self, now: float, reckoned: float = 0.0) -> bool:
        """Tell whether it is due.

        Parameters
        ----------
        now : float
        reckoned : float
            Seconds that it will take.
        """
        return self._spent + reckoned <= self._share * (now - self._start)

    def took(self, began: float, ended: float) -> None:
        """Take note of how long it took."""
        self._spent += ended - began


class StatusFile:
    """Writes where a run stands to a small file, now and then; a listener of a run.

    At any moment readers find a whole file of 64 KB at most. Writing it takes half a percent of the
    processor time of the run at most, and so does looking at features, by what the sums tell at
    once. That it cannot be written does not end the run.

    Parameters
    ----------
    path : path
    resume : bool, default=False
        Whether the run goes on with one before, and so does its story, if the file tells it.

    Examples
    --------
    >>> import tempfile
    >>> from omvfs.datasets import make_planted
    >>> from omvfs.formats import ArraySource
    >>> from omvfs.pipeline import run
    >>> path = Path(tempfile.mkdtemp()) / "status.json"
    >>> file = StatusFile(path)
    >>> rows = ArraySource(make_planted(300, random_state=0).views)
    >>> result = run(rows, OMVFS(5, random_state=0), listeners=(file,))
    >>> file.ended("stopped")
    >>> found = read_status(path)
    >>> found["state"], found["rows"], found["total"]
    ('stopped', 300, 300)
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False) -> None:
        self.path = Path(path)
        disk.sweep(self.path)
        before = (read_status(self.path) if resume else None) or {}
        self._history = History(read_points(before.get("history")))
        points = self._history.points
        self._began, self._before = time.perf_counter(), points[-1][0] if points else 0.0
        # By the processor time of the run: that others are at work is neither's.
        self._writes = Throttle(_SHARE, time.thread_time())
        self._looks = Throttle(_SHARE, time.thread_time())
        self._every, self._written_at, self._looked_at = _WRITE_EVERY, -math.inf, -math.inf
        # Seconds that a look took, once there was one.
        self._look_took: float | None = None
        self._shown = Shown()
        self._selector: OMVFS | None = None
        self._last: tuple[float, int] | None = None
        run, started = before.get("run"), before.get("started")
        self._values: dict[str, Any] = {
            "format": FORMAT,
            "run": run if isinstance(run, str) else secrets.token_hex(8),
            "started": started if isinstance(started, float) else time.time(),
            "process": identity(),
            "state": "reading",
            "message": "",
            "unit": "rows",
            "rows": points[-1][1] if points else 0,
            "total": None,
        }
        self._limit = memory_limit()
        self._write()
        # The first chunk is told at once.
        self._writes, self._written_at = Throttle(_SHARE, time.thread_time()), -math.inf

    def __call__(self, status: Status) -> None:
        """Take note of a chunk that was learned."""
        if self._last is None:
            self._goes_on_from(status.n_rows - status.n_new)
        self._selector = status.selector
        self._values.update(state="learning", rows=status.n_rows, total=status.total)
        self._untold = True
        self._tell_if_due()

    def waiting(self) -> None:
        """Tell what is not told yet, or that all is well, while nothing comes; ask now and then."""
        if time.perf_counter() - self._written_at > _IDLE:
            self._write()
        elif self._untold and self._values["unit"] == "parts":
            self.parts(self._values["rows"], self._values["total"])
        elif self._untold:
            self._tell_if_due()

    def parts(self, done: int, total: int) -> None:
        """Take note of how many parts are learned, where others learn from them.

        Parameters
        ----------
        done, total : int
        """
        if self._last is None:
            self._goes_on_from(done)
        self._values.update(state="learning", unit="parts", rows=done, total=total)
        self._untold = True
        # Others learn: this process has hardly any time of its own to go by.
        if self._has_waited():
            self._write()

    def enter(self, state: State) -> None:
        """Tell at once what the run does now.

        Parameters
        ----------
        state : State
        """
        self._values["state"] = state
        self._write()

    def finished(self, selector: OMVFS, chosen: Mapping[str, Sequence[str]]) -> None:
        """Tell what the run has come to.

        Parameters
        ----------
        selector : OMVFS
            Ranked, so that it knows the answers.
        chosen : mapping of str to sequence of str
            Names of the selected features by view, the best first.
        """
        self._selector = selector
        if self._values["unit"] == "parts":
            # Parts are no rows: what is shown of them does not go on.
            self._history, self._last = History([]), None
        with contextlib.suppress(MemoryError):
            self._shown.ranked(selector, chosen)
        n_rows = selector.n_samples_seen_
        self._values.update(unit="rows", rows=n_rows, total=n_rows)
        self.ended("finished")

    def ended(self, state: State, message: str = "") -> None:
        """Tell that the run has ended, and why if it failed.

        Parameters
        ----------
        state : {"finished", "stopped", "failed"}
        message : str, default=""
        """
        self._values["message"] = message
        self.enter(state)

    def remove(self) -> None:
        """Leave no file."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _goes_on_from(self, n: int) -> None:
        """Forget the story of rows that are learned from again, and measure from here."""
        self._history.back_to(n)
        points = self._history.points
        self._before = points[-1][0] if points else 0.0
        self._last = (self._before, n)

    def _has_waited(self) -> bool:
        return time.perf_counter() >= self._written_at + self._every

    def _tell_if_due(self) -> None:
        if self._has_waited() and self._writes.due(time.thread_time()):
            self._look()
            self._write()

    def _look(self) -> None:
        """Look at features and clusters, if it is due."""
        began = time.thread_time()
        if self._selector is None or not self._looks.due(began, self._reckoned(self._selector)):
            return
        if time.perf_counter() < self._looked_at + _LOOK_EVERY:
            return
        with contextlib.suppress(MemoryError):
            self._shown.glimpsed(self._selector)
        ended, self._looked_at = time.thread_time(), time.perf_counter()
        self._look_took = ended - began
        self._looks.took(began, ended)

    def _reckoned(self, selector: OMVFS) -> float:
        """Return the seconds that a look will take."""
        if self._look_took is not None:
            return self._look_took
        K = selector.n_clusters if isinstance(selector.n_clusters, int) else _MOST_CLUSTERS
        return _LOOK + _LOOK_PER_NUMBER * K * sum(selector.schema_.widths)

    def _write(self) -> None:
        began, seconds = time.thread_time(), self._before + time.perf_counter() - self._began
        with contextlib.suppress(OSError, MemoryError):
            content = encoded(self._told(seconds))
            with (
                disk.replacing(self.path, sync=False) as descriptor,
                open(descriptor, "wb", closefd=False) as file,
            ):
                file.write(content)
        self._untold, self._written_at = False, time.perf_counter()
        self._writes.took(began, time.thread_time())

    def _told(self, seconds: float) -> dict[str, Any]:
        rows, resident = self._values["rows"], resident_memory()
        if self._last is not None and rows > self._last[1]:
            at, n = self._last
            rate = (rows - n) / max(seconds - at, 1e-6)
            self._history.add((round(seconds, 2), rows, round(rate, 1), resident or 0))
            self._last = (seconds, rows)
        events = [] if self._selector is None else self._selector.drift_
        names = () if self._selector is None else self._selector.schema_.names
        return {
            **self._values,
            "seconds": round(seconds, 2),
            "written": time.time(),
            "memory": {"resident": resident, "peak": peak_memory(), "limit": self._limit},
            **self._shown.values,
            "n_drift": len(events),
            "drift": told_events(events, names),
            "history": self._history.points,
        }
