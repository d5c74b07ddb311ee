"""What was learned on disk, and back."""

from omvfs.persistence.checkpoint import CheckpointError

__all__ = ["CheckpointError"]
