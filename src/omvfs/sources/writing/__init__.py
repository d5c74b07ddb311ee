"""Rows written chunk by chunk, in any of the formats that are read."""

from omvfs.sources.writing._base import Writer
from omvfs.sources.writing.numpy_files import FolderWriter
from omvfs.sources.writing.opening import open_writer

__all__ = ["FolderWriter", "Writer", "open_writer"]
