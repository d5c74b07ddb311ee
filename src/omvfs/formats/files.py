"""Files by path or address: local ones as they are, all others through fsspec."""

import bz2
import gzip
import io
import os
import re
import shutil
import tempfile
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

from omvfs.data.blocks import Block
from omvfs.disk import PathLike, Staging
from omvfs.formats.registry import Format, format_of, imported
from omvfs.formats.source import Chunk, Cursor, Source, SourceError, named, row_of

# What opens a packed file for reading, and for writing; pyarrow does it for the last.
PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".zst": None}
# By the beginning of an address: which extra of ours has what fsspec needs for it.
_EXTRAS = {"s3": "s3", "s3a": "s3", "http": "remote", "https": "remote"}
# A chunk that claims more than this is refused before it is read.
MAX_CHUNK_BYTES = 1 << 30
# Folder of what is on its way to an address: temporary ones of killed programs are swept.
_ASIDE = "omvfs.results"
_PROBE = "omvfs.probe"
# Bytes at the end of a text by which it is known again after lines were added.
_END_BYTES = 1 << 16
# Seconds to wait for a web server to connect, and for each of its answers.
_WEB_SECONDS = 30


class File:
    """A file that is opened when it is read: of this machine, or an address for fsspec.

    As a string it is what errors call it: `shown`, or what was given without secrets.
    """

    def __init__(self, given: "PathLike | File", shown: str | None = None) -> None:
        if isinstance(given, File):
            self.__dict__.update(given.__dict__)
            return
        # As it is opened; and whether it is not of this machine.
        self.text = os.fspath(given)
        self.remote = "://" in self.text
        self._stored: tuple[Any, str] | None = None
        self._shown = without_secrets(self.text) if shown is None else shown
        place = Path(self.text).as_posix()
        if self.remote:
            place = self._shown.partition("::")[0].partition("://")[2]
        self.name = PurePosixPath(place).name
        suffixes = PurePosixPath(self.name).suffixes[-2:]
        packed = len(suffixes) == 2 and suffixes[1] in PACKED
        self.ending = "" if not suffixes else suffixes[0] if packed else suffixes[-1]
        self.compression = suffixes[1] if packed else ""
        # A view called after its file has no dots in its name.
        self.stem = self.name.partition(".")[0]
        # Whether lines can be added without changing those before.
        self.grows = not (self.remote or self.compression) and format_of(self.ending).text

    @classmethod
    def stored(cls, fs: Any, path: str, address: str) -> "File":
        """Return a file of a filesystem of fsspec, found there by looking at `address`."""
        scheme = address.partition("://")[0]
        file = cls(f"{scheme}://{path.lstrip('/')}")
        file._stored = fs, path
        return file

    def __str__(self) -> str:
        return self._shown

    @property
    def is_web(self) -> bool:
        """Whether it is an address of http or https, which knows no folders."""
        return self.text.startswith(("http://", "https://"))

    @property
    def kind(self) -> str:
        """The ending that tells the format; with that of a compression where none may be."""
        return self.ending if format_of(self.ending).text else self.ending + self.compression

    @property
    def format(self) -> Format:
        """What is known of its format."""
        return format_of(self.kind)

    def open(self) -> IO[bytes]:
        """Return the file, opened for reading bytes as they are stored."""
        if not self.remote:
            return open(self.text, "rb")
        fs, path = self.storage()
        with errors_of_storage(self, "opened"):
            opened = fs.open(path, "rb")
        # Files of fsspec read no lines of a given length.
        return io.BufferedReader(opened, 1 << 16)

    def parts(self, places: Sequence[tuple[int, int]]) -> bytes:
        """Return some parts of the file, one after another: where each begins, how many bytes."""
        found = []
        if self.remote:
            fs, path = self.storage()
            with errors_of_storage(self, "read"):
                found = [fs.cat_file(path, start=place, end=place + n) for place, n in places]
        else:
            with self.open() as file:
                for place, n in places:
                    file.seek(place)
                    found.append(file.read(n))
        if sum(map(len, found)) < sum(n for _, n in places):
            raise SourceError(f"{self} is cut off.")
        return found[0] if len(found) == 1 else b"".join(found)

    @contextmanager
    def open_text(self) -> Iterator[IO[bytes]]:
        """Give the file, opened for reading bytes as they were before compression."""
        with ExitStack() as stack:
            opened: Any = stack.enter_context(self.open())
            if unpack := PACKED.get(self.compression):
                opened = stack.enter_context(unpack(opened))
            elif self.compression:
                pa = imported("pyarrow", f"Reading {self}")
                unpacked = pa.CompressedInputStream(pa.PythonFile(opened, "r"), "zstd")
                opened = stack.enter_context(io.BufferedReader(unpacked, 1 << 16))
            yield opened

    def storage(self) -> tuple[Any, str]:
        """Return the filesystem of fsspec that a remote file is in, and its path there."""
        if self._stored is None:
            fsspec = imported("fsspec", f"Reading {self}", "remote")
            with errors_of_storage(self, "opened"):
                if not self.is_web:
                    self._stored = fsspec.core.url_to_fs(self.text)
                    return self._stored
                import aiohttp

                timeout = aiohttp.ClientTimeout(None, sock_connect=30, sock_read=_WEB_SECONDS)
                settings = {"timeout": timeout, "trust_env": True}
                fs = fsspec.filesystem("https", client_kwargs=settings)
                if not fs.info(self.text).get("partial"):
                    # A server that cannot send a part of a file sends all of it, once.
                    fs = fsspec.filesystem("simplecache", fs=fs)
                self._stored = fs, self.text
        return self._stored

    def stamp(self) -> dict[str, Any]:
        """Return by what the file is known again: plain values that JSON can hold.

        Its name, wherever it is, its size and the time of its last change; of a text also a
        checksum of its end, after which lines may be added. Of a remote one its name and, where
        the storage tells them, its size and its tag.
        """
        if self.remote:
            fs, path = self.storage()
            with errors_of_storage(self, "looked at"):
                told = fs.info(path)
            found = {"size": told.get("size"), "tag": told.get("ETag") or told.get("etag")}
            return {"name": self.name} | {k: v for k, v in found.items() if v is not None}
        stat = Path(self.text).stat()
        known = {"name": self.name, "size": stat.st_size, "mtime": stat.st_mtime_ns}
        return known | ({"end": self._end(stat.st_size)} if self.grows else {})

    def changes(self, before: Mapping[str, Any]) -> str:
        """Say what has changed of the file since it had a stamp; empty if nothing has."""
        now = self.stamp()
        name, size = before.get("name"), before.get("size")
        if name != now["name"]:
            return f"it is called {now['name']!r}, and was {name!r}"
        if all(before.get(key) == value for key, value in now.items() if key != "end"):
            return ""
        if size == now.get("size") or self.remote or type(size) is not int:
            return "it was written anew since"
        if size > now["size"] or not self.grows:
            told = f"it has {now['size']:,} bytes, and had {size:,}"
            return f"{told}; rows can be added to the end of text alone"
        return "" if self._end(size) == before.get("end") else "its first lines were written anew"

    def fixed(self) -> "File":
        """Return the file as one to which no lines may be added."""
        file = File(self)
        file.grows = False
        return file

    def _end(self, size: int) -> int:
        """Return a checksum of the last bytes before a place."""
        with open(self.text, "rb") as file:
            file.seek(max(0, size - _END_BYTES))
            return zlib.crc32(file.read(min(size, _END_BYTES)))

    def size(self) -> int:
        """Return how many bytes there are, 0 for a remote one."""
        return 0 if self.remote else Path(self.text).stat().st_size

    def check_size(self, n_bytes: int) -> None:
        """Refuse a file that has become shorter: libraries may take what is missing for zeros."""
        if self.size() < n_bytes:
            raise SourceError(f"{self} was cut off while it was read.")

    def check(self) -> None:
        """Raise an error that says what is wrong if the file is not there; of a remote one not."""
        if self.remote or Path(self.text).is_file():
            return
        if Path(self.text).is_dir():
            raise IsADirectoryError(f"{self} is a folder; expected a file.")
        raise FileNotFoundError(f"There is no file {self}.")


def without_secrets(address: str) -> str:
    """Return an address without user, password, query and fragment; a path as it is.

    It may be of the form ``view=address``, or several by ``::``.
    """
    inner, chained, rest = address.partition("::")
    if chained and "://" in inner and "://" in rest:
        return f"{without_secrets(inner)}::{without_secrets(rest)}"
    scheme, sign, place = address.partition("://")
    if not sign:
        return address
    authority = re.split("[/?#]", place, maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    place = host + place[len(authority) :]
    if "@" in place and not re.fullmatch(r"(\[.*\]|[^:]*)(:\d*)?", host):
        place = "..."  # what should have been escaped is not told apart
    return scheme + sign + re.split("[?#]", place, maxsplit=1)[0]


class FileSource(Source):
    """Base of sources of one file."""

    def __init__(self, path: PathLike | File) -> None:
        self._file = File(path)
        self.files, self.name = (self._file,), str(self._file)


class RowSource(FileSource):
    """Base of sources whose rows can be asked for by number: of `_n_rows`, by `read`."""

    _n_rows: int

    @abstractmethod
    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        for start in range(row_of(cursor), self._n_rows, batch_size):
            stop = min(start + batch_size, self._n_rows)
            yield Chunk(start, named(self.read(start, stop), self.schema), {"row": stop})


@contextmanager
def reading(file: File | str, where: str = "") -> Iterator[None]:
    """Turn what a library has to say of a damaged file into one sentence that names the file."""
    try:
        yield
    except (SourceError, ImportError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # what libraries make of a damaged file may be anything
        # Libraries may have put an error of ours, or a signal, into one of theirs.
        inner = error.__cause__ or error.__context__
        if isinstance(inner, SourceError) or not isinstance(inner, Exception | None):
            raise inner from None
        reason = reason_of(error)
        if isinstance(file, File) and file.text != "-":
            reason = reason.replace(file.text, str(file))
        raise SourceError(f"{file} cannot be read{where}: {reason}") from error


def reason_of(error: BaseException) -> str:
    """Return the first line that an error says, or what it is called."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def errors_of_storage(file: File, what: str) -> Iterator[None]:
    """Turn what a kind of storage raises into an error of the system, without secrets.

    `what` is what cannot be done with the file.
    """
    try:
        yield
    except ImportError as error:
        extra = _EXTRAS.get(file.text.partition("://")[0])
        raise ImportError(
            f"{file} needs a package that is not there: {error}"
            + (f": pip install 'omvfs[{extra}]'" if extra else "")
        ) from error
    except Exception as error:  # each kind of storage has errors of its own
        # fsspec's http says the address alone, and why it failed in the cause.
        told = error.__cause__ if str(error) == file.text and error.__cause__ else error
        told = getattr(told, "message", told)  # not with the address, which may have secrets
        said = str(told).replace(file.text, str(file)) or type(told).__name__
        if isinstance(error, OSError) and str(file) in said and file.text not in str(error):
            raise
        kinds = FileNotFoundError, PermissionError
        kind = next((kind for kind in kinds if isinstance(error, kind)), OSError)
        raise kind(f"{file} cannot be {what}: {said}") from error


def check_chunk(n_bytes: int, path: File) -> None:
    """Refuse a chunk that would take too much memory."""
    if n_bytes > MAX_CHUNK_BYTES:
        raise SourceError(
            f"A chunk of {path} would take {n_bytes:,} bytes; at most {MAX_CHUNK_BYTES:,} are "
            "read at once. Choose a smaller batch_size (--batch-size)."
        )


def open_hdf5(file: File, stack: ExitStack) -> Any:
    """Return an HDF5 file as h5py opens it, to be closed with a stack.

    A file with links to others is refused: HDF5 would follow them wherever they lead.
    """
    h5py = imported("h5py", f"Reading {file}")
    opened = stack.enter_context(file.open()) if file.remote else file.text
    root = stack.enter_context(h5py.File(opened, "r"))

    def elsewhere(name: bytes, link: Any) -> bytes | None:
        return name if link.type == h5py.h5l.TYPE_EXTERNAL else None

    if (found := root.id.links.visit(elsewhere, info=True)) is not None:
        name = found.decode("utf-8", "replace")
        raise ValueError(f"{name!r} is a link to another file; expected all data within this one")
    return root


def refuse_elsewhere(dataset: Any) -> None:
    """Refuse a dataset of h5py whose numbers are in other files."""
    if getattr(dataset, "external", None) or getattr(dataset, "is_virtual", False):
        raise ValueError(
            f"{dataset.name!r} has its values in another file; expected all data within this one"
        )


class Destination(ExitStack):
    """A file or folder to be written, here or at an address.

    What is for an address is written into a temporary folder, and brought there by `publish`. There
    it appears whole: all files of a call together, or one by one as they are complete, or as far as
    the storage allows; nothing stays in the temporary folder when it is closed.
    """

    def __init__(self, given: "PathLike | Destination") -> None:
        super().__init__()
        self._file: File = File(given._file if isinstance(given, Destination) else given)
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

    def publish(self, *names: str) -> None:
        """Bring what was written to its address: of a folder what has these names, or all."""
        if not self.remote:
            return
        files = {self._path: self.here}
        if self.here.is_dir():
            asked = [self.here / name for name in names] or [self.here]
            found = sorted(file for each in asked for file in (each, *each.rglob("*")))
            files = {
                f"{self._path}/{file.relative_to(self.here).as_posix()}": file
                for file in found
                if file.is_file()
            }
        with errors_of_storage(self._file, "written"):
            for parent in dict.fromkeys(path.rpartition("/")[0] for path in files):
                self._fs.makedirs(parent, exist_ok=True)
            with self._fs.transaction:
                for path, file in files.items():
                    with file.open("rb") as content, self._fs.open(path, "wb") as there:
                        shutil.copyfileobj(content, there, 1 << 20)

    def __enter__(self) -> Self:
        if self.remote:
            folder = self.enter_context(Staging(Path(tempfile.gettempdir()) / _ASIDE)).folder
            # Others of this machine use the same temporary folder.
            folder.chmod(0o700)
            self.here = folder / (self._file.name or _ASIDE)
        return self
