"""Comparison methods, each a selector with the contract of OMVFS."""

from omvfs.baselines.eufs import EUFS
from omvfs.baselines.fsds import FSDS
from omvfs.baselines.laplacian_score import LaplacianScore, laplacian_score
from omvfs.baselines.mcfs import MCFS
from omvfs.baselines.mvufs import MVUFS
from omvfs.baselines.ndfs import NDFS
from omvfs.baselines.simple import ColumnSum, RandomScore, Variance
from omvfs.baselines.spec import SPEC

__all__ = [
    "EUFS",
    "FSDS",
    "MCFS",
    "MVUFS",
    "NDFS",
    "SPEC",
    "ColumnSum",
    "LaplacianScore",
    "RandomScore",
    "Variance",
    "laplacian_score",
]
