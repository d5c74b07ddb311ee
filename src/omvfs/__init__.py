"""Online unsupervised multi-view feature selection."""

from omvfs.views import Views, as_views, rechunk

__all__ = ["Views", "as_views", "rechunk"]
__version__ = "0.1.0"
