"""From a source to what was learned: learn, listen, keep checkpoints."""

from omvfs.pipeline.loop import Listener, Result, Status, run

__all__ = ["Listener", "Result", "Status", "run"]
