"""Files and streams of rows, read chunk by chunk, from wherever a cursor says."""

from omvfs.formats._base import Chunk, Cursor, SideBySide, Source, SourceError
from omvfs.formats.folder import FolderSource
from omvfs.formats.joined import Joined
from omvfs.formats.json_lines import JsonLinesSource
from omvfs.formats.memory import ArraySource, IteratorSource
from omvfs.formats.numpy_files import NpySource, NpzSource
from omvfs.formats.opening import open_source
from omvfs.formats.svmlight import SvmlightSource
from omvfs.formats.writing import FolderWriter, open_writer

__all__ = [
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
