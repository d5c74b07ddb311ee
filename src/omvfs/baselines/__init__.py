"""Comparison methods, each a selector with the contract of OMVFS."""

from omvfs.baselines.simple import ColumnSum, RandomScore, Variance

__all__ = ["ColumnSum", "RandomScore", "Variance"]
