"""Judging selections: the clusters that the selected features give, against known classes."""

from omvfs.evaluation.joint import evaluate_joint_ranking, in_unit_range
from omvfs.evaluation.kmeans import MultiViewSphericalKMeans
from omvfs.evaluation.metrics import clustering_accuracy, normalized_mutual_information
from omvfs.evaluation.protocol import evaluate_selection, summarise
from omvfs.evaluation.spherical import spherical_k_means

__all__ = [
    "MultiViewSphericalKMeans",
    "clustering_accuracy",
    "evaluate_joint_ranking",
    "evaluate_selection",
    "in_unit_range",
    "normalized_mutual_information",
    "spherical_k_means",
    "summarise",
]
