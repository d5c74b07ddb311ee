"""Judging selections: the clusters that the selected features give, against known classes."""

from omvfs.evaluation.kmeans import MultiViewSphericalKMeans, spherical_k_means
from omvfs.evaluation.metrics import clustering_accuracy, normalized_mutual_information
from omvfs.evaluation.protocol import evaluate_selection, summarise

__all__ = [
    "MultiViewSphericalKMeans",
    "clustering_accuracy",
    "evaluate_selection",
    "normalized_mutual_information",
    "spherical_k_means",
    "summarise",
]
