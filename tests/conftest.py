"""Makes the helpers beside this file importable from every test: `oracle`, `support`, ...

Matrices of tests are small: threads of BLAS, of several workers, would only wait for each other.
"""

import os
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

# For libraries that are loaded later, and other processes; then for those loaded already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]), user_api="blas")

sys.path.insert(0, str(Path(__file__).parent))
