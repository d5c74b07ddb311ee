"""Lines of a text file, plain or compressed, from wherever a cursor says."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omvfs.sources._base import Cursor, SourceError, row_of

# A line longer than this is refused, before it is held in memory.
MAX_LINE_BYTES = 1 << 26


def open_text(path: Path) -> Any:
    """Open a file for reading, decompressed if its name ends in ``.gz``."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def lines(path: Path, cursor: Cursor | None = None) -> Iterator[tuple[bytes, Cursor]]:
    r"""Yield every line that is not blank, and where to go on after it.

    Parameters
    ----------
    path : Path
    cursor : dict, default=None
        As yielded before.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.txt"
    >>> _ = path.write_bytes(b"one\n\ntwo\n")
    >>> [line for line, _ in lines(path)]
    [b'one', b'two']
    """
    row = row_of(cursor)
    try:
        with open_text(path) as file:
            place = int(cursor["byte"]) if cursor else 0
            if file.seek(place) != place:
                raise SourceError(f"{path} is cut off before byte {place:,}.")
            while line := file.readline(MAX_LINE_BYTES + 1):
                if len(line) > MAX_LINE_BYTES:
                    raise SourceError(
                        f"Line {row + 1:,} of {path} is longer than {MAX_LINE_BYTES:,} bytes."
                    )
                place += len(line)
                if line.strip():
                    row += 1
                    yield line.rstrip(b"\r\n"), {"row": row, "byte": place}
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(f"{path} is damaged or cut off: {error}") from error
