"""Online unsupervised multi-view feature selection."""

from omvfs.data.rechunk import rechunk
from omvfs.data.views import Views, as_views
from omvfs.omvfs import OMVFS

__all__ = ["OMVFS", "Views", "as_views", "rechunk"]
__version__ = "0.1.0"
