"""Estimators that tell of changes of the stream."""

from sklearn.utils.validation import check_is_fitted

from omvfs.fitted import FittedState
from omvfs.model.state import ChunkInfo
from omvfs.model.stream.event import DriftEvent
from omvfs.selector import Journal
from omvfs.threads import alone


class TellsDrift:
    """Adds `drift_` to the estimator, and tells `on_drift` of what is new."""

    _journal: Journal[FittedState]

    @property
    @alone
    def drift_(self) -> list[DriftEvent]:
        """Changes of the stream, in order, the last 1,000 of them."""
        check_is_fitted(self)
        return list(self._journal.known.drift)

    def _tell(self, info: ChunkInfo | None) -> None:
        # Who knows no changes of the stream has neither.
        told = getattr(self, "on_drift", None)
        if told is not None and info is not None and info.drift is not None:
            told(info.drift)
