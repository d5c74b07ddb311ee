"""Streams whose truth is known, and sets in folders."""

from omvfs.datasets.folder import load_folder as load_folder
from omvfs.datasets.planted import Planted as Planted
from omvfs.datasets.planted import PlantedChunk as PlantedChunk
from omvfs.datasets.planted import PlantedStream as PlantedStream
from omvfs.datasets.planted import Segment as Segment
from omvfs.datasets.planted import make_planted as make_planted
from omvfs.datasets.planted import planted_stream as planted_stream
