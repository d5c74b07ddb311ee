"""Lines of a text file, plain or compressed: read from wherever a cursor says, and written."""

import gzip
import zlib
from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping
from typing import IO, Any

from omvfs.data.views import Views
from omvfs.disk import Staging
from omvfs.formats._base import NOTHING, Cursor, Kept, SourceError, row_of
from omvfs.formats._files import File, PathLike
from omvfs.formats._writer import Writer

# A line longer than this is refused, before it is held in memory.
MAX_LINE_BYTES = 1 << 26
# More blank lines one after another are taken for damage.
MAX_BLANK_LINES = 1 << 20


def lines(
    path: PathLike | File, cursor: Cursor | None = None
) -> Generator[tuple[bytes, Cursor], None, None]:
    r"""Yield every line of a file that is not blank, and where to go on after it.

    Parameters
    ----------
    path : path or File
        With an ending ``.gz`` or ``.zst`` it is decompressed.
    cursor : dict, default=None
        As yielded before.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.txt"
    >>> _ = path.write_bytes(b"one\n\ntwo\n")
    >>> [line for line, _ in lines(path)]
    [b'one', b'two']
    """
    file = File(path)
    file.check()
    place = row_of(cursor, "byte")
    with file.open_text() as opened:
        try:
            _pass_over(opened, place, file)
            yield from read_lines(opened, str(file), row_of(cursor), place)
        except SourceError:
            raise
        except (EOFError, OSError, zlib.error) as error:
            if file.compression:
                raise SourceError(f"{file} is damaged or cut off: {error}") from error
            raise


def read_lines(
    opened: IO[bytes], name: str, row: int = 0, place: int = 0
) -> Iterator[tuple[bytes, Cursor]]:
    r"""Yield what `lines` does, from an open file at some row and byte.

    Examples
    --------
    >>> import io
    >>> list(read_lines(io.BytesIO(b"one\n"), "x"))
    [(b'one', {'row': 1, 'byte': 4})]
    """
    blank = 0
    while line := opened.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise SourceError(
                f"Line {row + 1:,} of {name} is longer than {MAX_LINE_BYTES:,} bytes."
            )
        place += len(line)
        blank += 1
        if blank > MAX_BLANK_LINES:
            raise SourceError(f"{name} has over {MAX_BLANK_LINES:,} blank lines after row {row:,}.")
        if line.strip():
            blank = 0
            row += 1
            yield line.rstrip(b"\r\n"), {"row": row, "byte": place}


def _pass_over(opened: IO[bytes], n_bytes: int, file: File) -> None:
    if not n_bytes:
        return
    if not file.compression and opened.seekable():
        opened.seek(0, 2)
        left = n_bytes - opened.tell()
        opened.seek(n_bytes)
    else:
        left = n_bytes
        while left > 0 and (passed := opened.read(min(left, 1 << 20))):
            left -= len(passed)
    if left > 0:
        raise SourceError(f"{file} is cut off before byte {n_bytes:,}.")


class TextWriter(Writer):
    """Base of writers of a line a row, plain or compressed. A subclass provides `_lines`."""

    def __init__(
        self,
        path: PathLike,
        kept: Mapping[str, Any] = NOTHING,
        staging: Staging | None = None,
    ) -> None:
        super().__init__(path, kept, staging)
        compression = File(path).compression
        if compression == ".zst":
            try:
                import pyarrow as pa
            except ImportError as missing:
                raise ImportError("Writing .zst needs: pip install omvfs[files]") from missing
        self._text: Any = self._stack.enter_context(self._temporary.open("wb"))
        if compression == ".gz":
            self._text = self._stack.enter_context(gzip.GzipFile(fileobj=self._text, mode="wb"))
        elif compression == ".zst":
            packed = pa.CompressedOutputStream(pa.PythonFile(self._text, "w"), "zstd")
            self._text = self._stack.enter_context(packed)

    def _append(self, views: Views, kept: Kept) -> None:
        text = "".join(f"{line}\n" for line in self._lines(views, kept))
        # What is no text, such as half a surrogate pair in a key, as JSON escapes it.
        self._text.write(text.encode(errors="backslashreplace"))

    @abstractmethod
    def _lines(self, views: Views, kept: Kept) -> list[str]:
        """Return some rows as lines without their ends."""
