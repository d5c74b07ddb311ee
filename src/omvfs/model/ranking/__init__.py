"""From V to a ranking: what a feature tells of the clusters, and what others tell already."""
