"""Streams whose truth is known, and sets in folders."""

from omvfs.datasets.folder import load_folder
from omvfs.datasets.planted import (
    Planted,
    PlantedChunk,
    PlantedStream,
    Segment,
    make_planted,
    planted_stream,
)

__all__ = [
    "Planted",
    "PlantedChunk",
    "PlantedStream",
    "Segment",
    "load_folder",
    "make_planted",
    "planted_stream",
]
