"""Files and streams of rows, read chunk by chunk from wherever a cursor says, and written."""

from omvfs.formats.combined import Appended as Appended
from omvfs.formats.combined import Joined as Joined
from omvfs.formats.combined import SideBySide as SideBySide
from omvfs.formats.files import MAX_CHUNK_BYTES as MAX_CHUNK_BYTES
from omvfs.formats.numpy_files import FolderSource as FolderSource
from omvfs.formats.numpy_files import FolderWriter as FolderWriter
from omvfs.formats.numpy_files import NpySource as NpySource
from omvfs.formats.numpy_files import NpzSource as NpzSource
from omvfs.formats.opening import open_source as open_source
from omvfs.formats.opening import open_writer as open_writer
from omvfs.formats.source import ArraySource as ArraySource
from omvfs.formats.source import Chunk as Chunk
from omvfs.formats.source import Cursor as Cursor
from omvfs.formats.source import IteratorSource as IteratorSource
from omvfs.formats.source import ReadOptions as ReadOptions
from omvfs.formats.source import Source as Source
from omvfs.formats.source import SourceError as SourceError
from omvfs.formats.text_files import JsonLinesSource as JsonLinesSource
from omvfs.formats.text_files import SvmlightSource as SvmlightSource
