"""Files and streams of rows, read chunk by chunk from wherever a cursor says, and written."""

from omvfs.formats._base import Chunk, Cursor, Source, SourceError
from omvfs.formats._files import MAX_CHUNK_BYTES
from omvfs.formats.appended import Appended
from omvfs.formats.folder import FolderSource, FolderWriter
from omvfs.formats.joined import Joined
from omvfs.formats.json_lines import JsonLinesSource
from omvfs.formats.memory import ArraySource, IteratorSource
from omvfs.formats.npy import NpySource
from omvfs.formats.npz import NpzSource
from omvfs.formats.opening import open_source, open_writer
from omvfs.formats.side_by_side import SideBySide
from omvfs.formats.svmlight import SvmlightSource

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
    "SideBySide",
    "Source",
    "SourceError",
    "SvmlightSource",
    "open_source",
    "open_writer",
]
