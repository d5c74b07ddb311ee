"""Comparison methods, each a selector with the contract of OMVFS."""

from omvfs.baselines.laplacian_score import LaplacianScore, laplacian_score
from omvfs.baselines.mcfs import MCFS
from omvfs.baselines.simple import ColumnSum, RandomScore, Variance
from omvfs.baselines.spec import SPEC

__all__ = [
    "MCFS",
    "SPEC",
    "ColumnSum",
    "LaplacianScore",
    "RandomScore",
    "Variance",
    "laplacian_score",
]
