"""What was learned from a part, in a file of the worker that has it, not in its memory."""

import os
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from omvfs.distributed.steps import PartState


class Parked:
    """A state that waits in a file; where it is sent, it waits in a file again.

    So a worker that has learned from many parts holds none of them in memory. The file is gone
    with the last that knows of it; if its worker dies, so does the state, and is worked out again.

    Parameters
    ----------
    state : bytes

    Examples
    --------
    >>> import pickle
    >>> parked = Parked(b"what was learned")
    >>> pickle.loads(pickle.dumps(parked)).read()
    b'what was learned'
    """

    def __init__(self, state: PartState) -> None:
        self._park(state)

    def read(self) -> PartState:
        """Return the state."""
        return self._path.read_bytes()

    def _park(self, state: PartState) -> None:
        handle, path = tempfile.mkstemp(prefix="omvfs-part-", dir=_folder())
        self._path = Path(path)
        weakref.finalize(self, _remove, path)
        with open(handle, "wb") as file:
            file.write(state)

    def __getstate__(self) -> PartState:
        return self.read()

    def __setstate__(self, state: PartState) -> None:
        self._park(state)

    def __sizeof__(self) -> int:
        # What it takes of memory, and not what it would take to send.
        return object.__sizeof__(self)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _folder() -> str | None:
    """Return the folder in which the worker that runs this keeps its files, if it is one."""
    try:
        from distributed import get_worker

        folder: Any = get_worker().local_directory
    except (ImportError, ValueError):
        return None
    return str(folder)
