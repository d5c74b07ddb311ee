"""The paper's experiments, each as one command."""

from omvfs.experiments._base import Claim, Experiment, Place, Row, Task
from omvfs.experiments._page import table
from omvfs.experiments._running import rows_of, store_file, version_of_code, write_csv
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
    "table",
    "version_of_code",
    "write_csv",
    "write_experiment",
    "write_page",
]
