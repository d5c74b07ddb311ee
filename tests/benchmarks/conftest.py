"""Makes the benchmarks, where they are, and the results beside this file importable."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = HERE.parents[1] / "benchmarks"
if BENCHMARKS.exists():
    sys.path += [str(BENCHMARKS), str(HERE), str(HERE / "paper")]
else:
    collect_ignore_glob = ["*.py", "paper/*.py"]
