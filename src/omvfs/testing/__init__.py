"""What must hold for every source and every selector, to be called from anybody's tests."""

from omvfs.testing.sources import check_source

__all__ = ["check_source"]
