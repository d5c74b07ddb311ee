"""Makes the helpers beside this file importable from every test: `oracle`, `support`, ...

Matrices of tests are small: threads of BLAS and OpenMP would only wait for each other.
"""

import os
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

# For libraries that are loaded later, and other processes; then for those loaded already.
for variable, api in (("OPENBLAS_NUM_THREADS", "blas"), ("OMP_NUM_THREADS", "openmp")):
    os.environ.setdefault(variable, "1")
    threadpool_limits(int(os.environ[variable]), user_api=api)

sys.path.insert(0, str(Path(__file__).parent))
