"""Streams whose truth is known."""

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
    "make_planted",
    "planted_stream",
]
