"""Changes of a stream as events: noticed once, told, kept; and nothing else is different."""

import numpy as np
import pytest

from changing import BEFORE, BETWEEN, chunks_of, stream, watching
from omvfs import OMVFS
from streams import lacking, learned, two_views
from support import fingerprint


def learn(model, views, size=100):
    for chunk in chunks_of(views, size):
        model.partial_fit(chunk)
    return model


@pytest.mark.parametrize("kind", ["meaning", "shares"])
def test_one_change_is_one_event(kind):
    model = learn(watching(), stream(kind))
    (event,) = model.drift_
    assert event.kind == kind
    assert BEFORE < event.row <= BEFORE + 600
    assert event.since < event.row
    assert event.statistic > event.threshold > 0
    assert 0.1 < event.distance <= 1
    assert [info.drift for info in model.history_ if info.drift is not None] == [event]
    assert model.history_[event.chunk].drift is event
    assert event.chunk == (event.row - 1) // 100
    assert set(event.came) == set(event.went) == {"text", "image"}


def test_a_second_change_is_another_event():
    rows = stream("meaning", n_changes=2)
    model = learn(watching(half_life=400, view_weight={"text": 1.0, "image": 3.0}), rows, size=130)
    first, second = model.drift_
    assert BEFORE < first.row <= BEFORE + 600
    assert BEFORE + BETWEEN < second.row <= BEFORE + BETWEEN + 600
    assert second.since >= first.row


def test_without_a_change_there_is_no_event():
    model = learn(watching(), stream("none", n_changes=2), size=150)
    assert model.drift_ == []
    assert {info.drift for info in model.history_} == {None}


def test_what_is_learned_is_the_same_to_the_bit():
    rows = stream("shares")
    on, off = learn(watching(), rows), learn(watching(detect_drift=False), rows)
    assert off.drift_ == []
    assert off._known.state.watch is None
    for name in ("statistics", "reservoir", "window", "B_sq_norms", "rng"):
        own, other = (getattr(each._known.state, name) for each in (on, off))
        assert fingerprint(own) == fingerprint(other), name
    np.testing.assert_array_equal(on.scores_, off.scores_)


# Saved and merged


def test_parts_have_the_events_of_all_at_rows_of_all():
    parts = [
        learn(watching(), stream(kind, seed)) for kind, seed in (("meaning", 1), ("shares", 2))
    ]
    a, b = (part.drift_[0] for part in parts)
    merged = parts[0].merge(parts[1], order=True)
    n_rows, n_chunks = parts[0].n_samples_seen_, len(parts[0].history_)
    assert merged.drift_ == [a, b.later(n_rows, n_chunks)]
    assert [info.drift for info in merged.history_ if info.drift is not None] == merged.drift_
    again = OMVFS.from_bytes(merged.to_bytes())
    assert learned(again) == learned(merged)
    beside = parts[0].merge(parts[1])
    assert sorted(event.kind for event in beside.drift_) == ["meaning", "shares"]
    assert learned(parts[1].merge(parts[0])) == learned(beside)


# What it goes with


@pytest.mark.parametrize("kind", ["none", "meaning"])
def test_columns_that_are_raised_on_the_way_are_no_change(kind):
    rows = {view: X - 0.4 for view, X in stream(kind).items()}
    model = learn(watching(negative="shift", scale_columns=True, prepare="l2"), rows, size=150)
    assert [event.row > BEFORE for event in model.drift_] == [True] * (kind != "none")
    assert learned(OMVFS.from_bytes(model.to_bytes())) == learned(model)


def without_image(n, share, seed):
    """Return which rows have which views, of which so many lack the second."""
    has = np.random.default_rng(seed).random(n) >= share
    return np.stack([np.ones(n, bool), has], axis=1)


@pytest.mark.parametrize("kind", ["none", "shares"])
def test_rows_may_lack_views(kind):
    model = watching()
    for i, chunk in enumerate(chunks_of(stream(kind))):
        model.partial_fit(lacking(chunk, without_image(100, 0.3, i)))
    assert [event.kind for event in model.drift_] == [kind] * (kind != "none")
    assert learned(OMVFS.from_bytes(model.to_bytes())) == learned(model)


def test_views_that_fewer_rows_have_are_a_change_of_views():
    model = watching()
    for i, chunk in enumerate(chunks_of(stream("none"))):
        share = 0.1 if i < BEFORE // 100 else 0.6
        model.partial_fit(lacking(chunk, without_image(100, share, i)))
    (event,) = model.drift_
    assert event.kind == "views"
    assert set(map(len, [*event.came.values(), *event.went.values()])) == {0}


def test_what_makes_no_sense_is_refused():
    rows = two_views(0, 90)
    for other, sentence in (
        ({"n_clusters": "auto"}, r"with n_clusters='auto'; expected a number of clusters"),
        ({"new_features": "grow"}, r"with new_features='grow'; expected one of them"),
        ({"sample_size": 79}, r"with sample_size=79; expected a sample of at least 80 rows"),
    ):
        with pytest.raises(ValueError, match=sentence):
            watching(**other).fit(rows)
    model = watching().fit(rows)
    with pytest.raises(ValueError, match="detect_drift=False, but what was learned"):
        model.set_params(detect_drift=False).partial_fit(rows)
