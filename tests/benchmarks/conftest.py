"""Makes the benchmarks, where they are, and the results beside this file importable."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BENCHMARKS = HERE.parents[1] / "benchmarks"
if BENCHMARKS.exists():
    sys.path += [str(BENCHMARKS), str(HERE), str(HERE / "paper")]
    import made_up
else:
    collect_ignore_glob = ["*.py", "paper/*.py"]


@pytest.fixture
def results():
    """Results by key, some of every kind."""
    return made_up.all_kinds()
