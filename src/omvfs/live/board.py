"""What all pages are shown: one reader of the file, whatever their number."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omvfs.live.content import STATUS, read_status, stamp
from omvfs.live.process import is_alive

# Seconds between two looks at the file.
EVERY = 0.25
# Seconds without a word after which a run is called silent, if its process cannot be asked for.
_SILENT = 60
_ENDED = "finished", "stopped", "failed"


class Folder:
    """The folder of a run, which is read only.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._file = path / STATUS
        self._name = path.resolve().name or "/"
        self._stamp: object = ()
        self._status: dict[str, Any] | None = None
        # What was told last, and of what.
        self._of: object = ()
        self._told = b""

    def look(self) -> bytes:
        """Return what is known of the run, on one line; the last that was known if it is gone."""
        now = stamp(self._file)
        if now != self._stamp:
            found = read_status(self._file)
            self._stamp = now
            self._status = found or self._status
        judged = None if self._status is None else self._judged(self._status)
        if (now, judged) != self._of:
            told = {"folder": self._name, "gone": now is None, "status": self._status}
            if judged is not None:
                told["run"] = judged
            self._of, self._told = (now, judged), json.dumps(told).encode("ascii")
        return self._told

    @staticmethod
    def _judged(status: dict[str, Any]) -> str:
        """Return the state of a run: what it says, unless it died or is silent."""
        state = str(status.get("state"))
        if state in _ENDED:
            return state
        alive, written = is_alive(status.get("process")), status.get("written")
        if alive is None and isinstance(written, int | float):
            return "silent" if time.time() - written > _SILENT else state
        return "died" if alive is False else state


class Board:
    """What pages are shown, kept up to date by one task; they wait for what is new.

    A page that is slow misses what was in between, never the last. It is made once for all.

    Parameters
    ----------
    look : callable
        Returns what is to be shown. It may wait for a disk, so another thread does it.
    stopping : callable
        Tells whether to end.
    every : float
        Seconds between two looks.

    Attributes
    ----------
    shown : bytes
        What is shown now.
    event : bytes
        The same, as it is sent.
    closed : bool
        Whether nothing more comes.
    """

    def __init__(
        self, look: Callable[[], bytes], stopping: Callable[[], bool], every: float = EVERY
    ) -> None:
        self._look, self._stopping, self._every = look, stopping, every
        self._changed = asyncio.Event()
        self.shown = self.event = b""
        self.closed = False

    async def run(self) -> None:
        """Look now and then, and let pages know what is new."""
        while True:
            ends = self._stopping()
            found = await asyncio.to_thread(self._look)
            if ends or found != self.shown:
                self.closed = ends
                self.shown, self.event = found, _event(found)
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            if ends:
                return
            await asyncio.sleep(self._every)

    async def after(self, seen: bytes, seconds: float) -> bytes | None:
        """Return what is shown when it is not what was seen; None after so many seconds, or ended.

        Parameters
        ----------
        seen : bytes
        seconds : float
        """
        if self.shown == seen and not self.closed:
            try:
                await asyncio.wait_for(self._changed.wait(), seconds)
            except TimeoutError:
                return None
        return None if self.shown == seen else self.shown


def _event(shown: bytes) -> bytes:
    r"""Return what is shown as it is sent, with what it is known by, also to another server.

    Examples
    --------
    >>> _event(b"{}")
    b'id: 44136fa355b3678a\ndata: {}\n\n'
    """
    return b"id: %s\ndata: %s\n\n" % (hashlib.sha256(shown).hexdigest()[:16].encode(), shown)
