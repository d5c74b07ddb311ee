"""A file for HDF5 to write to, which ends the process if it cannot write what it holds."""

import os
from pathlib import Path
from typing import Any


class PatientFile:
    """A file that takes all that is written, and keeps what was raised if the system does not.

    What comes after it goes nowhere: HDF5 can be closed, and then `check` tells. HDF5 calls it from
    C, where what is raised would be lost, be it an error or an interrupt.

    Parameters
    ----------
    path : Path
    again : bool, default=False
        Whether to go on with what is there.

    Attributes
    ----------
    mode : str
        For `h5py.File`.

    Examples
    --------
    >>> import tempfile
    >>> file = PatientFile(Path(tempfile.mkdtemp()) / "x")
    >>> file.write(b"abc"), file.seek(1), file.write(b"x")
    (3, 1, 1)
    >>> file.seek(0), file.read(5)
    (0, b'axc')
    >>> file.close()
    """

    def __init__(self, path: Path, again: bool = False) -> None:
        self.mode = "r+" if again else "w"
        self._file = path.open("r+b" if again else "w+b", buffering=0)
        self._error: BaseException | None = None

    def check(self) -> None:
        """Raise the error that there was, if any."""
        if self._error is not None:
            raise self._error

    def write(self, data: Any) -> int:
        """Write, unless something went wrong before."""
        left = memoryview(data).cast("B")
        n = len(left)
        while left and self._error is None:
            left = left[self._do(self._file.write, left) or 0 :]
        return n

    def truncate(self, size: int | None = None) -> int:
        """Make the file so long, unless something went wrong before."""
        if self._error is None:
            self._do(self._file.truncate, size)
        return size or 0

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes."""
        return self._do(self._file.read, size) or b""

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as there is room for; what was not written is zero."""
        view = memoryview(buffer).cast("B")
        done = self._do(self._file.readinto, view) or 0
        view[done:] = bytes(len(view) - done)
        return len(view)

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Go somewhere."""
        return self._do(self._file.seek, place, whence) or 0

    def tell(self) -> int:
        """Return where."""
        return self._do(self._file.tell) or 0

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _do(self, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except BaseException as error:
            self._error = self._error or error
            return None
