"""Files that are whole or not there, whatever ends the process, and one writer at a time.

What is written is written beside its place first, under a name that begins with a dot and ends in
``.part``, brought to disk, and given its name by one rename. A live writer holds a lock on its
``.part``: what killed ones have left is told apart, and swept. Where the system has no such locks,
nothing is swept.
"""

import contextlib
import errno
import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]
_PART = ".part"
# In a folder, the lock of its one writer.
LOCK = ".omvfs.lock"
# In a folder that was there before: what is being written into it, and what is whole and on its
# way into it, to whose end any later writer brings it.
_FILES = "omvfs"
_READY = f".{_FILES}.ready"


class BusyError(OSError):
    """Another process writes to the same place."""


@contextmanager
def locked(target: PathLike) -> Iterator[None]:
    """Keep other processes that ask from writing to a folder or file, until the block is left.

    The lock is the process's: it does not outlive it, whatever file a killed one has left. If
    another process has it, that is a BusyError.
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


@contextmanager
def _holding(path: Path, busy: str = "", wait: bool = False) -> Iterator[bool]:
    """Keep others from holding a path until the block is left; give False without locks."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        has = _lock(descriptor, busy, wait)
        if not _is_at(descriptor, path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        yield has
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _lock(descriptor: int, busy: str = "", wait: bool = False) -> bool:
    """Lock an open file or folder; return False where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise BusyError(busy) from None
    except OSError:
        return False
    return True


def sweep(path: PathLike) -> None:
    """Remove what killed writers of a file or folder have left beside it."""
    path = Path(path)
    for part in path.parent.glob(f".{glob.escape(path.name)}.*{_PART}"):
        with contextlib.suppress(OSError), _holding(part) as has:
            if has:
                _remove(part)


@contextmanager
def replacing(
    path: PathLike, mode: int = 0o666, before: Callable[[], None] = lambda: None
) -> Iterator[int]:
    """Give the descriptor of a file that replaces the one at `path` when the block is left.

    At any moment, whatever interrupts, `path` holds the old file or the new one, whole. Its folder
    is made if missing; `mode` is who may read and write it; `before` is called when the new file is
    whole, before it takes the place of the old one.
    """
    path = Path(path)
    with naming(path), Staging(path) as staging:
        part = staging.folder / path.name
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            yield descriptor
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        before()
        os.replace(part, path)
        _sync(path.parent)


@contextmanager
def replacing_text(path: PathLike) -> Iterator[IO[str]]:
    r"""Give a file for text in UTF-8 that replaces the one at `path`, as `replacing` does."""
    with (
        replacing(path) as descriptor,
        open(descriptor, "w", encoding="utf-8", closefd=False) as file,
    ):
        yield file


@contextmanager
def naming(path: PathLike) -> Iterator[None]:
    """Have errors of the system say which file was to be written."""
    try:
        yield
    except OSError as error:
        name = os.fspath(path)
        if name in str(error) and _PART not in str(error):
            raise
        if error.errno is None:
            raise OSError(f"{name} cannot be written: {error}") from error
        # Libraries have words of their own for the same.
        raise OSError(error.errno, os.strerror(error.errno), name) from error


class Staging(contextlib.ExitStack):
    """A folder in which is written what is to appear at a target, all at once.

    Write into `folder`. When it is closed, or its ``with`` block is left, nothing stays but what
    was published. The folder around the target is made if missing.
    """

    def __init__(self, target: PathLike) -> None:
        super().__init__()
        self.target = Path(target)
        self._inside = self.target.is_dir()
        with naming(self.target):
            settle(self.target)
            if self._inside:
                place = self.target / _FILES
            else:
                place = self.target
                place.parent.mkdir(parents=True, exist_ok=True)
                sweep(place)
            try:
                self.folder = self._new_part(place)
            except BaseException:
                self.close()
                raise

    def publish(self) -> None:
        """Let the files appear in the target: by one rename, or, if it was there, to the end.

        What of the same name is in the target is replaced. Killed between two of the files, the
        target is `unfinished` until the next writer brings the rest.
        """
        with naming(self.target):
            for file in self.folder.iterdir():
                _sync(file)
            _sync(self.folder)
            try:
                os.rename(self.folder, self.target / _READY if self._inside else self.target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
                raise BusyError(f"Another run writes to {self.target}.") from error
            if self._inside:
                _sync(self.target)
                _bring(self.target)
            else:
                _sync(self.target.parent)

    def publish_file(self) -> None:
        """Let the one file that is called as the target appear there, if nothing else has."""
        file = self.folder / self.target.name
        with naming(self.target):
            _sync(file)
            try:
                os.link(file, self.target)
            except FileExistsError:
                raise FileExistsError(f"{self.target} is there already.") from None
            except OSError:
                # A file system without links.
                os.replace(file, self.target)
            _sync(self.target.parent)

    def _new_part(self, path: Path) -> Path:
        """Make a folder beside `path`, which is removed if it is still there at the end.

        Its name is kept before there is anything of the name: a signal may come as soon as there
        is.
        """
        while True:
            part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_PART}")
            self.callback(_remove, part)
            part.mkdir()
            try:
                has = self.enter_context(_holding(part, wait=True))
            except FileNotFoundError:
                # Swept before it was held.
                continue
            if has:
                # Removed while it is held, and once more after, when there is an open file less.
                self.callback(_remove, part)
            return part


def unfinished(folder: PathLike) -> bool:
    """Tell whether some of the files that a killed writer meant for a folder are not there yet."""
    return (Path(folder) / _READY).is_dir()


def settle(folder: PathLike) -> None:
    """Bring the files that a killed writer meant for a folder, so that all are there or none."""
    folder = Path(folder)
    if unfinished(folder):
        busy = f"Another run writes to {folder}."
        with contextlib.suppress(FileNotFoundError), _holding(folder / _READY, busy):
            _bring(folder)
    sweep(folder / _FILES)


def _bring(folder: Path) -> None:
    """Move all that is ready into a folder, in the order of the names."""
    ready = folder / _READY
    for file in sorted(ready.iterdir()):
        os.replace(file, folder / file.name)
    _sync(folder)
    os.rmdir(ready)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(part: Path) -> None:
    """Remove a file, or a folder of files, also where no more of them can be opened."""
    if not os.path.lexists(part):
        return
    for remove in (os.unlink, os.rmdir):
        with contextlib.suppress(OSError):
            remove(part)
            return
    with contextlib.suppress(OSError, MemoryError):
        for name in os.listdir(part):
            os.unlink(part / name)
        os.rmdir(part)
        return
    # Folders within it, as of results on their way to an address.
    shutil.rmtree(part, ignore_errors=True)
