"""Files by path or address: local ones as they are, others by http or through fsspec."""

import gzip
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any
from zlib import crc32

from omvfs.formats._base import SourceError
from omvfs.formats._http import open_http
from omvfs.formats.addresses import without_secrets
from omvfs.formats.registry import FORMATS
from omvfs.wording import Clause, Sentence

PathLike = str | os.PathLike[str]

# By the end of a name: how pyarrow calls the compression.
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
# By the beginning of an address: which extra of ours has what fsspec needs for it.
_EXTRAS = {"s3": "s3", "s3a": "s3"}
# A chunk that claims more than this is refused before it is read.
MAX_CHUNK_BYTES = 1 << 30
# Bytes at the end of a text by which it is known again after lines were added.
_END_BYTES = 1 << 16


class File:
    """A file that is opened when it is read.

    Parameters
    ----------
    given : path, or str
        Of this machine, or an address of http or https, or one that fsspec understands:
        ``s3://bucket/rows.parquet``.

    Examples
    --------
    >>> file = File("data/words.svm.gz")
    >>> file.stem, file.ending, file.compression, file.remote
    ('words', '.svm', '.gz', False)
    >>> File("https://example.org/rows.parquet?version=2").ending
    '.parquet'
    """

    def __init__(self, given: "PathLike | File") -> None:
        if isinstance(given, File):
            self.__dict__.update(given.__dict__)
            return
        # As it is opened; as a string it has no secrets.
        text = os.fspath(given)
        self.text: str = text
        self._content: IO[bytes] | None = None
        self._stored: tuple[Any, str] | None = None
        self.remote = "://" in text
        self._shown = without_secrets(text)
        place = Path(text).as_posix()
        if self.remote:
            place = self._shown.partition("::")[0].partition("://")[2]
        self.name = PurePosixPath(place).name
        suffixes = PurePosixPath(self.name).suffixes[-2:]
        packed = len(suffixes) == 2 and suffixes[1] in COMPRESSIONS
        self.ending = "" if not suffixes else suffixes[0] if packed else suffixes[-1]
        self.compression = suffixes[1] if packed else ""
        # A view called after its file has no dots in its name.
        self.stem = self.name.partition(".")[0]
        # Lines can be added to a text without changing those before.
        self.grows = not (self.remote or self.compression) and _is_text(self.ending)

    @classmethod
    def held(cls, content: IO[bytes], name: str, ending: str) -> "File":
        """Return what is in an open file, which may have no name, as a file to be opened.

        Parameters
        ----------
        content : binary file
            Stays open; may be read from anywhere.
        name : str
            Of it in errors.
        ending : str
            That tells the format.
        """
        file = cls(name + ending)
        file._content, file._shown, file.remote = content, name, True
        return file

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
        """The ending that tells the format; with that of a compression where none may be.

        Examples
        --------
        >>> File("words.svm.gz").kind, File("rows.parquet.gz").kind
        ('.svm', '.parquet.gz')
        """
        return self.ending if _is_text(self.ending) else self.ending + self.compression

    def open(self) -> IO[bytes]:
        """Return the file, opened for reading bytes as they are stored."""
        if self._content is not None:
            return io.BufferedReader(_Again(self._content), 1 << 16)
        if not self.remote:
            return open(self.text, "rb")
        if self.is_web:
            return open_http(self.text)
        fs, path = self.storage()
        with errors_of_storage(self, "opened"):
            opened = fs.open(path, "rb")
        # Files of fsspec read no lines of a given length.
        return io.BufferedReader(opened, 1 << 16)

    def storage(self) -> tuple[Any, str]:
        """Return the filesystem of fsspec that a remote file is in, and its path there."""
        if self._stored is not None:
            return self._stored
        try:
            import fsspec
        except ImportError as missing:
            raise ImportError("Addresses other than http need: pip install omvfs[remote]") from (
                missing
            )
        with errors_of_storage(self, "opened"):
            found: tuple[Any, str] = fsspec.core.url_to_fs(self.text)
            return found

    def open_text(self) -> IO[bytes]:
        """Return the file, opened for reading bytes as they were before compression."""
        file = self.open()
        if self.compression == ".gz":
            return _Closing(gzip.GzipFile(fileobj=file), file)
        if self.compression == ".zst":
            try:
                import pyarrow as pa
            except ImportError as missing:
                raise ImportError("Reading .zst needs: pip install omvfs[files]") from missing
            return _Closing(pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"), file)
        return file

    def size(self) -> int:
        """Return how many bytes there are, 0 for a remote one."""
        return 0 if self.remote else Path(self.text).stat().st_size

    def check_size(self, n_bytes: int) -> None:
        """Refuse a file that has become shorter: libraries may take what is missing for zeros."""
        if self.size() < n_bytes:
            raise SourceError(f"{self} was cut off while it was read.")

    def stamp(self) -> dict[str, Any]:
        """Return by what the file is known again: plain values that JSON can hold.

        Its name, wherever it is, its size and the time of its last change; of a text also a
        checksum of its end, after which lines may be added. Of a remote one its name alone.
        """
        if self.remote:
            return {"name": self.name}
        found = Path(self.text).stat()
        known = {"name": self.name, "size": found.st_size, "mtime": found.st_mtime_ns}
        return known | ({"end": self._end(found.st_size)} if self.grows else {})

    def changes(self, before: Mapping[str, Any]) -> str:
        """Say what has changed of the file since it had a stamp; empty if nothing has.

        Parameters
        ----------
        before : mapping
            As from `stamp`, but from anywhere.
        """
        now = self.stamp()
        name, size = before.get("name"), before.get("size")
        if name != now["name"]:
            return f"it is called {now['name']!r}, and was {name!r}"
        if self.remote or all(before.get(key) == now[key] for key in ("size", "mtime")):
            return ""
        if type(size) is not int or size > now["size"]:
            return f"it has {now['size']:,} bytes, and had {size!r}"
        if size == now["size"]:
            return "it was written anew since"
        if not self.grows:
            return f"it has {now['size']:,} bytes, and had {size:,}; only text may get more rows"
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
            return crc32(file.read(min(size, _END_BYTES)))

    def check(self) -> None:
        """Raise an error that says what is wrong if the file is not there; of a remote one not."""
        if self.remote or Path(self.text).is_file():
            return
        if Path(self.text).is_dir():
            raise IsADirectoryError(f"{self} is a folder; expected a file.")
        raise FileNotFoundError(f"There is no file {self}.")


def _is_text(ending: str) -> bool:
    return ending in FORMATS and FORMATS[ending].text


@contextmanager
def errors_of_storage(file: File, what: str) -> Iterator[None]:
    """Turn what a kind of storage raises into an error of the system, without secrets.

    Parameters
    ----------
    file : File
    what : str
        That cannot be done with it.
    """
    try:
        yield
    except OSError as error:
        if str(file) in str(error):
            raise
        kinds = FileNotFoundError, PermissionError
        kind = next((kind for kind in kinds if isinstance(error, kind)), OSError)
        raise kind(f"{file} cannot be {what}: {error}") from error
    except ImportError as error:
        scheme = file.text.partition("://")[0]
        extra = _EXTRAS.get(scheme)
        raise ImportError(
            f"{file} needs a package that is not there: {error}"
            + (f": pip install 'omvfs[{extra}]'" if extra else "")
        ) from error
    except Exception as error:  # each kind of storage has errors of its own
        said = str(error).replace(file.text, str(file))
        raise OSError(f"{file} cannot be {what}: {said}") from error


class _Again(io.RawIOBase):
    """An open file from its beginning on, whoever else reads it; it is not closed with this."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content: Any = content
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._content.seek(self._at)
        self._at = int(self._content.seek(offset, whence))
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._content.seek(self._at)
        n = int(self._content.readinto(buffer))
        self._at += n
        return n


class _Closing(io.BufferedReader):
    """A reader over another, with which the file below is closed too."""

    def __init__(self, raw: Any, below: IO[bytes]) -> None:
        super().__init__(raw, 1 << 16)
        self._below = below

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._below.close()


def exactly(file: IO[bytes], n: int, name: str) -> bytes:
    """Return the next n bytes of a file, which may hand them out in pieces.

    Examples
    --------
    >>> exactly(io.BytesIO(b"abc"), 2, "x")
    b'ab'
    """
    parts = []
    while n:
        part = file.read(n)
        if not part:
            raise SourceError(f"{name} is cut off.")
        parts.append(part)
        n -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def check_chunk(n_bytes: int, path: File) -> None:
    """Refuse a chunk that would take too much memory."""
    if n_bytes > MAX_CHUNK_BYTES:
        raise SourceError(
            Sentence(
                f"A chunk of {path} would take {n_bytes:,} bytes; at most {MAX_CHUNK_BYTES:,} are "
                "read at once. Choose a smaller ",
                Clause("batch_size", "batch_size"),
                ".",
            )
        )
