"""Streams whose truth is known, the paper's data sets, and sets in folders."""

from omvfs.datasets._downloads import get_data_home
from omvfs.datasets._fetched import Fetched
from omvfs.datasets.folder import load_folder
from omvfs.datasets.planted import (
    Planted,
    PlantedChunk,
    PlantedStream,
    Segment,
    make_planted,
    planted_stream,
)
from omvfs.datasets.reuters import fetch_reuters_multilingual
from omvfs.datasets.web_news import fetch_cnn, fetch_fox
from omvfs.datasets.youtube_games import fetch_youtube_games

__all__ = [
    "Fetched",
    "Planted",
    "PlantedChunk",
    "PlantedStream",
    "Segment",
    "fetch_cnn",
    "fetch_fox",
    "fetch_reuters_multilingual",
    "fetch_youtube_games",
    "get_data_home",
    "load_folder",
    "make_planted",
    "planted_stream",
]
