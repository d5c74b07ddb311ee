"""Comparison methods, each a selector with the contract of OMVFS: a line for each."""

from omvfs.baselines.fsds import FSDS as FSDS
from omvfs.baselines.simple import ColumnSum as ColumnSum
from omvfs.baselines.simple import RandomScore as RandomScore
from omvfs.baselines.simple import Variance as Variance

# All of the above, by name.
BASELINES = {name: each for name, each in vars().items() if isinstance(each, type)}

__all__ = ["BASELINES", *BASELINES]
