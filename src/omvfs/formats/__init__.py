"""Files and streams of rows, read chunk by chunk from wherever a cursor says, and written."""

from omvfs.formats.combined import Appended, Joined, SideBySide
from omvfs.formats.files import MAX_CHUNK_BYTES
from omvfs.formats.numpy_files import FolderSource, FolderWriter, NpySource, NpzSource
from omvfs.formats.opening import open_source, open_writer
from omvfs.formats.source import (
    ArraySource,
    Chunk,
    Cursor,
    IteratorSource,
    ReadOptions,
    Source,
    SourceError,
)
from omvfs.formats.text_files import JsonLinesSource, SvmlightSource

__all__ = [
    "MAX_CHUNK_BYTES",
    "Appended",
    "ArraySource",
    "Chunk",
    "Cursor",
    "FolderSource",
    "FolderWriter",
    "IteratorSource",
    "Joined",
    "JsonLinesSource",
    "NpySource",
    "NpzSource",
    "ReadOptions",
    "SideBySide",
    "Source",
    "SourceError",
    "SvmlightSource",
    "open_source",
    "open_writer",
]
