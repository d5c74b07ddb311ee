"""Judging selections: the clusters that the selected features give, against known classes."""

from omvfs.evaluation.kmeans import MultiViewSphericalKMeans as MultiViewSphericalKMeans
from omvfs.evaluation.kmeans import spherical_k_means as spherical_k_means
from omvfs.evaluation.metrics import clustering_accuracy as clustering_accuracy
from omvfs.evaluation.metrics import normalized_mutual_information as normalized_mutual_information
from omvfs.evaluation.protocol import evaluate_selection as evaluate_selection
from omvfs.evaluation.protocol import summarise as summarise
