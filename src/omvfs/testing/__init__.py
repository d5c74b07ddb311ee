"""Contracts that can be run: what must hold for every selector and every source, yours included."""

from omvfs.testing.selectors import check_selector
from omvfs.testing.sources import check_source

__all__ = ["check_selector", "check_source"]
