"""Online unsupervised multi-view feature selection."""

from omvfs.omvfs import OMVFS
from omvfs.views import Views, as_views, rechunk

__all__ = ["OMVFS", "Views", "as_views", "rechunk"]
__version__ = "0.1.0"
