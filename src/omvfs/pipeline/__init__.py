"""From a source to what was learned: prepare, learn, listen, keep checkpoints."""

from omvfs.pipeline.loop import Listener, Result, Status, run
from omvfs.pipeline.preparation import Preparation

__all__ = ["Listener", "Preparation", "Result", "Status", "run"]
