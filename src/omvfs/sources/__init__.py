"""Files and streams of rows, read chunk by chunk, from wherever a cursor says."""

from omvfs.sources._base import Chunk, Cursor, SideBySide, Source, SourceError
from omvfs.sources.folder import FolderSource
from omvfs.sources.joined import Joined
from omvfs.sources.json_lines import JsonLinesSource
from omvfs.sources.memory import ArraySource, IteratorSource
from omvfs.sources.numpy_files import NpySource, NpzSource
from omvfs.sources.opening import open_source
from omvfs.sources.svmlight import SvmlightSource
from omvfs.sources.writing import FolderWriter, open_writer

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
