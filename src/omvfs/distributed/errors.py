"""What goes wrong with a cluster, and not with the data."""


class ClusterError(RuntimeError):
    """The machines that were to work do not: none is there, or those that were are gone."""
