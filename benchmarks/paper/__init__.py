"""The paper's experiments, each as one command."""

from paper.base import Claim, Experiment, Place, Row, Task
from paper.page import table
from paper.registry import EXPERIMENTS, write_experiment, write_page
from paper.running import rows_of, store_file, version_of_code, write_csv

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
