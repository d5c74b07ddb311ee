"""Locks on files and folders, which a process does not outlive."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = ".omvfs.lock"


class BusyError(OSError):
    """Another process writes to the same place."""


@contextmanager
def locked(target: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes that ask from writing to a folder or file, until the block is left.

    The lock is the process's: it does not outlive it, whatever file a killed one has left.

    Parameters
    ----------
    target : path
        A folder that is there, or a file, there or not, in one that is.

    Raises
    ------
    BusyError
        If another has it.
    """
    target = Path(target)
    path = target / LOCK if target.is_dir() else target.with_name(f".{target.name}.lock")
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor)
        except BusyError:
            owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
            os.close(descriptor)
            who = f"Another run (pid {owner})" if owner else "Another run"
            raise BusyError(f"{who} writes to {target}.") from None
        if _is_at(descriptor, path):
            break
        # The one before has just ended, and taken its file along.
        os.close(descriptor)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d" % os.getpid())
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(descriptor)


def hold(path: Path, busy: str = "", wait: bool = False) -> int | None:
    """Return a descriptor that keeps others from holding a path; None where there are no locks.

    Raises
    ------
    BusyError
        If another holds it.
    FileNotFoundError
        If it is gone.
    """
    if sys.platform == "win32":
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        has = _lock(descriptor, busy, wait)
        if not _is_at(descriptor, path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    except BaseException:
        os.close(descriptor)
        raise
    if has:
        return descriptor
    os.close(descriptor)
    return None


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, busy: str = "", wait: bool = False) -> bool:
        # Beyond what is in the file, which others must be able to read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BusyError(busy) from None
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(descriptor: int, busy: str = "", wait: bool = False) -> bool:
        """Lock an open file or folder; return False where there are no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise BusyError(busy) from None
        except OSError:
            return False
        return True
