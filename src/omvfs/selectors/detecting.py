"""Detectors that are asked whether a stream has changed, and the parameters for it."""

import copy
from dataclasses import dataclass
from typing import Any

from omvfs.model.settings import FEWEST_SAMPLED
from omvfs.wording import Clause, Sentence, Setting

# Events that are kept: a stream may never end.
EVENTS = 1000


@dataclass(frozen=True)
class Detector:
    """A detector that somebody gave, such as one of river's, and its copy at work.

    The one that was given is never told anything, so that a clone of the estimator begins anew.

    Attributes
    ----------
    given : object
        With ``update(x)`` and ``drift_detected``.
    at_work : object
        A copy that was told of the chunks so far.
    """

    given: Any
    at_work: Any

    @classmethod
    def of(cls, given: Any, before: "Detector | None") -> "Detector":
        """Return what to ask about the next chunk: a copy that may be thrown away.

        Parameters
        ----------
        given : object
        before : Detector or None
            What was asked about the chunks before; another detector begins anew.
        """
        at_work = before.at_work if before is not None and before.given is given else given
        return cls(given, copy.deepcopy(at_work))

    def __deepcopy__(self, memo: Any) -> "Detector":
        # That of the estimator, if it is copied along: so it is known as the one that was given.
        given = memo.get(id(self.given), self.given)
        return Detector(given, copy.deepcopy(self.at_work, memo))

    def __call__(self, x: float) -> bool:
        """Tell it the number of a chunk, and return whether it sees a change."""
        self.at_work.update(x)
        return bool(self.at_work.drift_detected)

    def anew(self) -> "Detector":
        """Return it as it was given."""
        return Detector(self.given, copy.deepcopy(self.given))


def listener(name: str, value: Any) -> Any:
    """Return a callable that is told of events, or None; refuse anything else."""
    if value is None or callable(value):
        return value
    raise ValueError(
        Sentence(
            "Got ",
            Setting(name, value),
            "; expected ",
            Clause("listener", "a callable, or None for nobody"),
            ".",
        )
    )


def detector(name: str, value: Any) -> Any:
    """Return a detector, or None for the test of the library; refuse anything else.

    Examples
    --------
    >>> detector("drift_detector", 3)
    Traceback (most recent call last):
    ValueError: Got drift_detector=3; expected an object with update(x) and drift_detected, such \
as river's ADWIN(), or None.
    """
    if value is None or isinstance(value, type):
        sound = value is None
    else:
        sound = callable(getattr(value, "update", None)) and hasattr(value, "drift_detected")
    if sound:
        return value
    raise ValueError(
        Sentence(
            "Got ",
            Setting(name, value),
            "; expected ",
            Clause(
                "detector",
                "an object with update(x) and drift_detected, such as river's ADWIN(), or None",
            ),
            ".",
        )
    )


def check_watched(params: Any) -> None:
    """Refuse to notice changes where nothing can be noticed, or to tell what is not looked for.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name, each checked by itself.

    Examples
    --------
    >>> check_watched({"detect_drift": True, "sample_size": 10})
    Traceback (most recent call last):
    ValueError: Got detect_drift=True with sample_size=10; expected a sample of at least 80 rows, \
half of which are the recent ones that a change is told by.
    """
    if not params["detect_drift"]:
        for name in ("on_drift", "drift_detector"):
            if params.get(name) is not None:
                raise ValueError(
                    Sentence(
                        f"Got {name} with ",
                        Setting("detect_drift", False),
                        ", by which it is never asked. Set ",
                        Setting("detect_drift", True),
                        f", or leave {name} out.",
                    )
                )
        return
    refused = {
        "sample_size": f"a sample of at least {FEWEST_SAMPLED} rows, half of which are the recent "
        "ones that a change is told by."
        if params["sample_size"] < FEWEST_SAMPLED
        else "",
        "n_clusters": "a number of clusters: what is measured by one number of them cannot be "
        "compared with another. Leave one of the two out."
        if params.get("n_clusters") == "auto"
        else "",
        "new_features": "one of them: what is measured by features of one time cannot be compared "
        "with others. Hash the features, or leave one out."
        if params.get("new_features") == "grow"
        else "",
    }
    for name, expected in refused.items():
        if expected:
            watched, other = Setting("detect_drift", True), Setting(name, params[name])
            raise ValueError(Sentence("Got ", watched, " with ", other, f"; expected {expected}"))
