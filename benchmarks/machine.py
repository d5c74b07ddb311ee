"""The machine: what runs here, how fast it reads memory, and how long imports take."""

import json
import os
import platform
import subprocess
import sys

import numpy as np
import scipy
import sklearn

from paper.timing import timed

IMPORTS = {
    "omvfs": "from omvfs import OMVFS",
    "sklearn.base, scipy.sparse": "import sklearn.base, scipy.sparse",
}
_MEASURED = """\
import time
worked, began = time.process_time(), time.perf_counter()
{}
print([time.process_time() - worked, time.perf_counter() - began])
"""


def about():
    """Return the versions that are measured."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "cpus": os.cpu_count(),
    }


def bandwidth(megabytes, repeats):
    """Return bytes a second by copy, triad and reading, of arrays larger than the caches."""
    n = megabytes * 2**20 // 8
    a, b, c = (np.full(n, value) for value in (0.0, 1.0, 2.0))

    def triad():
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)

    works = {"copy": (lambda: np.copyto(a, b), 2), "triad": (triad, 5), "read": (lambda: b @ b, 1)}
    found = {name: [] for name in works}
    for _ in range(repeats):
        for name, (work, passes) in works.items():
            seconds = timed(work)[0]
            found[name].append([passes * n * 8 / max(each, 1e-9) for each in seconds])
    return found


def imports(repeats):
    """Return the times of each import, in fresh processes, in turn."""
    found = {name: [] for name in IMPORTS}
    for _ in range(repeats):
        for name, statement in IMPORTS.items():
            code = _MEASURED.format(statement)
            done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
            found[name].append(json.loads(done.stdout))
    return found
