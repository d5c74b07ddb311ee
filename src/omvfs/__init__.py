"""Online unsupervised multi-view feature selection."""

from omvfs.data.door import as_views
from omvfs.data.rechunk import rechunk
from omvfs.data.suspects import SuspectColumnWarning
from omvfs.data.transformer import ViewTransformer
from omvfs.data.views import Views
from omvfs.merging import merge
from omvfs.omvfs import OMVFS
from omvfs.omvfs_paper import OMVFSPaper

__all__ = [
    "OMVFS",
    "OMVFSPaper",
    "SuspectColumnWarning",
    "ViewTransformer",
    "Views",
    "as_views",
    "merge",
    "rechunk",
]
__version__ = "0.1.0"
