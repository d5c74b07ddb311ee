"""Pictures of what was found, with matplotlib: ``pip install 'omvfs[plots]'``."""

from omvfs.plots.features import plot_clusters, plot_scores
from omvfs.plots.numbers import plot_agreement, plot_n_clusters
from omvfs.plots.stream import plot_ranks, plot_stream

__all__ = [
    "plot_agreement",
    "plot_clusters",
    "plot_n_clusters",
    "plot_ranks",
    "plot_scores",
    "plot_stream",
]
