"""Where results go: a place of this machine, or an address to which they are brought when whole."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from omvfs.disk import Staging
from omvfs.formats._base import SourceError
from omvfs.formats._files import File, PathLike, errors_of_storage

# Beside what killed programs have left of theirs, which is swept.
_ASIDE = "omvfs.results"
_PROBE = "omvfs.probe"
_BLOCK_BYTES = 1 << 20


class Destination:
    """A file or folder to be written, here or at an address.

    What is for an address is written into a temporary folder, and brought there by `publish`. There
    it appears whole: all files of a call together, or one by one as they are complete, or as far as
    the storage allows; nothing stays in the temporary folder when it is closed.

    Parameters
    ----------
    given : path, address, or Destination
        An address is one that fsspec understands, of a kind that can be written.

    Attributes
    ----------
    here : Path
        Where to write on this machine.

    Examples
    --------
    >>> with Destination("memory://bucket/out") as out:
    ...     out.here.mkdir()
    ...     _ = (out.here / "x.txt").write_text("whole")
    ...     out.publish()
    >>> out.has("x.txt"), str(out / "x.txt")
    (True, 'memory://bucket/out/x.txt')
    """

    def __init__(self, given: "PathLike | Destination") -> None:
        self._file: File = File(given._file if isinstance(given, Destination) else given)
        self._stack = ExitStack()
        self._brought: dict[str, tuple[int, int]] = {}
        self._fs: Any = None
        self.here = Path(self._file.text)
        if not self._file.remote:
            return
        if self._file.is_web:
            raise SourceError(
                f"{self} cannot be written to: it is of the web. Write to a file or folder, or to "
                "an address such as s3://bucket/rows.parquet."
            )
        fs, self._path = self._file.storage()
        if "file" in (fs.protocol if isinstance(fs.protocol, tuple) else (fs.protocol,)):
            # Of this machine after all.
            self._file = File(self._path)
            self.here = Path(self._path)
        else:
            self._fs = fs

    def __str__(self) -> str:
        return str(self._file)

    def __truediv__(self, name: str) -> str:
        """Return how something in this folder is called, without secrets."""
        return f"{str(self).rstrip('/')}/{name}" if self.remote else str(self.here / name)

    @property
    def remote(self) -> bool:
        """Whether it is not of this machine."""
        return self._fs is not None

    @property
    def suffix(self) -> str:
        """The ending that tells the format; none for a folder."""
        return self._file.ending

    def has(self, name: str) -> bool:
        """Tell whether something is in this folder."""
        if not self.remote:
            return (self.here / name).exists()
        with errors_of_storage(self._file, "looked at"):
            return bool(self._fs.exists(f"{self._path}/{name}"))

    def has_brought(self, name: str) -> bool:
        """Tell whether a file of this folder is where it belongs, as it is now."""
        file = self.here / name
        if not self.remote or not file.is_file():
            return file.is_file()
        return self._brought.get(name) == _signature(file)

    def check_free(self) -> None:
        """Refuse an address at which there is something; of this machine its writers do so."""
        if not self.remote:
            return
        with errors_of_storage(self._file, "looked at"):
            self._fs.invalidate_cache()
            taken = self._fs.isfile(self._path) or bool(self._fs.find(self._path))
        if taken:
            raise FileExistsError(f"{self} is there already.")

    def check_writable(self) -> None:
        """Refuse an address that cannot be written, before there is something to be written."""
        if not self.remote:
            return
        probe = f"{self._path}.{_PROBE}" if self.suffix else f"{self._path}/.{_PROBE}"
        with errors_of_storage(self._file, "written"):
            self._fs.makedirs(probe.rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(probe, b"omvfs")
            self._fs.rm_file(probe)

    def fetch(self, name: str) -> None:
        """Bring something that is in this folder here, if it is there."""
        if self.remote and self.has(name):
            self.here.mkdir(exist_ok=True)
            with errors_of_storage(self._file, "read"):
                self._fs.get_file(f"{self._path}/{name}", str(self.here / name))
            self._brought[name] = _signature(self.here / name)

    def publish(self, *names: str) -> None:
        """Bring what was written to its address, but for what is there already.

        Parameters
        ----------
        *names : str
            Files and folders of this folder, as far as they are there; by default all, or the file
            that this is.
        """
        if not self.remote:
            return
        files, news = {self._path: self.here}, dict[str, Path]()
        if self.here.is_dir():
            asked = [self.here / name for name in names] or [self.here]
            found = sorted(file for each in asked for file in (each, *each.rglob("*")))
            inside = {file.relative_to(self.here).as_posix(): file for file in found}
            inside = {name: file for name, file in inside.items() if file.is_file()}
            news = {
                name: file
                for name, file in inside.items()
                if self._brought.get(name) != _signature(file)
            }
            files = {f"{self._path}/{name}": file for name, file in news.items()}
        signatures = {name: _signature(file) for name, file in news.items()}
        with errors_of_storage(self._file, "written"):
            for parent in dict.fromkeys(path.rpartition("/")[0] for path in files):
                self._fs.makedirs(parent, exist_ok=True)
            with self._fs.transaction:
                for path, file in files.items():
                    with file.open("rb") as content, self._fs.open(path, "wb") as there:
                        shutil.copyfileobj(content, there, _BLOCK_BYTES)
        self._brought |= signatures

    def __enter__(self) -> Self:
        if self.remote:
            folder = self._stack.enter_context(Staging(Path(tempfile.gettempdir()) / _ASIDE)).folder
            # Others of this machine use the same temporary folder.
            folder.chmod(0o700)
            self.here = folder / (self._file.name or _ASIDE)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()


def _signature(file: Path) -> tuple[int, int]:
    """Return what tells whether a file was written again."""
    stat = file.stat()
    return stat.st_mtime_ns, stat.st_size
