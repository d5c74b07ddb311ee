"""The paper's experiments, each as one command."""

from omvfs.experiments._base import Claim, Experiment, Place, Row, Task
from omvfs.experiments._running import rows_of, store_file, version_of_code
from omvfs.experiments.registry import EXPERIMENTS, write_experiment, write_page

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "Place",
    "Row",
    "Task",
    "rows_of",
    "store_file",
    "version_of_code",
    "write_experiment",
    "write_page",
]
