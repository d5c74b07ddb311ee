"""Streams whose truth is known, twins of the paper's sets, and sets on disk."""

from omvfs.datasets.folder import load_folder
from omvfs.datasets.planted import (
    Planted,
    PlantedChunk,
    PlantedStream,
    Segment,
    make_planted,
    planted_stream,
)
from omvfs.datasets.twins import Twin, make_twin

__all__ = [
    "Planted",
    "PlantedChunk",
    "PlantedStream",
    "Segment",
    "Twin",
    "load_folder",
    "make_planted",
    "make_twin",
    "planted_stream",
]
