"""Makes the helpers beside this file importable from every test: `oracle`, `support`, ..."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
