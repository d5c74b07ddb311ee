"""Rows written chunk by chunk, in any of the formats that are read."""

from omvfs.formats.writing._base import Writer
from omvfs.formats.writing.numpy_files import FolderWriter
from omvfs.formats.writing.opening import open_writer

__all__ = ["FolderWriter", "Writer", "open_writer"]
