"""Detectors of river, as they come, decide whether a stream has changed."""

import numpy as np
import pytest

from changing import changing_rows, chunks_of, stacked, watching

drift = pytest.importorskip("river.drift", reason="needs the extra river")

BEFORE = 2000
DETECTORS = {
    "ADWIN": lambda: drift.ADWIN(clock=8),
    "PageHinkley": lambda: drift.PageHinkley(threshold=2.0),
    "KSWIN": lambda: drift.KSWIN(seed=0, window_size=60, stat_size=15),
}


def noticed(detector, law):
    """Return the events of a stream of 100 + 45 chunks that changes once."""
    rng = np.random.default_rng(0)
    rows = stacked(changing_rows(rng, BEFORE), changing_rows(rng, 900, **law))
    model = watching(drift_detector=detector)
    for chunk in chunks_of(rows, 20):
        model.partial_fit(chunk)
    return model.drift_


@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
def test_it_sees_features_that_change_their_meaning(make):
    (event,) = noticed(make(), {"words": 1})
    assert event.kind == "meaning"
    assert BEFORE < event.row <= BEFORE + 700


@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
def test_it_sees_nothing_where_nothing_changes(make):
    assert noticed(make(), {}) == []


def test_a_detector_is_given_to_others_as_it_was():
    detector = drift.PageHinkley(threshold=2.0)
    first = noticed(detector, {"words": 1})
    assert noticed(detector, {"words": 1}) == first
