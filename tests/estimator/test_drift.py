"""Changes of a stream as events: noticed once, told, kept; and nothing else is different."""

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from changing import BEFORE, BETWEEN, changing_rows, chunks_of, stacked, stream, watching
from omvfs import OMVFS, Views
from omvfs.fitted import FittedState
from streams import learned, two_views
from support import fingerprint


class Threshold:
    """A detector with the interface of river's: a number above a half is a change."""

    def __init__(self, above=0.5):
        self.above, self.told, self.drift_detected = above, [], False

    def update(self, x):
        self.told.append(x)
        self.drift_detected = x > self.above
        return self


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
    model = learn(watching(), stream("meaning", n_changes=2))
    first, second = model.drift_
    assert BEFORE < first.row <= BEFORE + 600
    assert BEFORE + BETWEEN < second.row <= BEFORE + BETWEEN + 600
    assert second.since >= first.row


@pytest.mark.parametrize("seed", range(2))
def test_without_a_change_there_is_no_event(seed):
    model = learn(watching(), stream("none", seed, n_changes=2), size=150)
    assert model.drift_ == []
    assert {info.drift for info in model.history_} == {None}


def test_what_is_learned_is_the_same_to_the_bit():
    rows = stream("shares")
    on, off = learn(watching(), rows), learn(watching(detect_drift=False), rows)
    assert off.drift_ == []
    assert off._fitted.state.watch is None
    for name in ("statistics", "reservoir", "window", "B_sq_norms", "rng"):
        own, other = (getattr(each._fitted.state, name) for each in (on, off))
        assert fingerprint(own) == fingerprint(other), name
    np.testing.assert_array_equal(on.scores_, off.scores_)


def test_features_of_a_cluster_that_is_gone_went():
    rng = np.random.default_rng(0)
    rows = stacked(changing_rows(rng, BEFORE), changing_rows(rng, 800, shares=(0.5, 0.5, 0.0)))
    event = learn(watching(), rows).drift_[0]
    assert event.kind == "shares"
    # The third class has every third feature, the last of three.
    assert event.went["text"][0] % 3 == 2
    assert all(j % 3 != 2 for j in event.came["text"])


# Who is told


def test_who_is_told_finds_the_chunk_learned():
    heard = []

    def told(event):
        heard.append((event, model.n_samples_seen_, model.drift_[-1] is event))

    model = watching(on_drift=told)
    assert clone(model).on_drift is told
    assert model.get_params()["on_drift"] is told
    learn(model, stream())
    ((event, n_rows, kept),) = heard
    assert kept
    assert n_rows - 100 < event.row <= n_rows


def test_what_it_raises_leaves_the_chunk_learned_as_a_whole():
    def told(event):
        raise RuntimeError("no time")

    model, other = watching(on_drift=told), watching()
    failed = 0
    for chunk in chunks_of(stream()):
        try:
            model.partial_fit(chunk)
        except RuntimeError:
            failed += 1
        other.partial_fit(chunk)
        assert learned(model) == learned(other)
    assert failed == 1


def test_a_chunk_that_fails_is_no_event_and_changes_nothing():
    model, heard = watching(on_drift=lambda event: heard.append(event)), []
    chunks = list(chunks_of(stream()))
    for chunk in chunks:
        before = learned(model) if hasattr(model, "schema_") else None
        bad = {view: X.copy() for view, X in chunk.items()}
        bad["text"][3, 4] = -1
        with pytest.raises(ValueError, match="negative"):
            model.partial_fit(bad)
        assert before is None or learned(model) == before
        model.partial_fit(chunk)
    assert heard == model.drift_
    assert len(heard) == 1


# Saved, copied, merged


@pytest.mark.parametrize("stop", [1, 9, 14])
def test_saved_anywhere_and_loaded_it_goes_on_to_the_same_bits_and_events(stop):
    chunks = list(chunks_of(stream("meaning", n_changes=2), 120))
    whole, part = watching(), watching(on_drift=print)
    for chunk in chunks:
        whole.partial_fit(chunk)
    for chunk in chunks[:stop]:
        part.partial_fit(chunk)
    again = OMVFS.from_bytes(part.to_bytes())
    assert again.on_drift is None
    assert learned(again) == learned(part)
    for chunk in chunks[stop:]:
        again.partial_fit(chunk)
    assert learned(again) == learned(whole)
    assert again.drift_ == whole.drift_
    assert len(whole.drift_) == 2


@pytest.mark.parametrize("way", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_by_itself(way):
    chunks = list(chunks_of(stream()))
    model = watching(drift_detector=Threshold())
    for chunk in chunks[:9]:
        model.partial_fit(chunk)
    other = way(model)
    for chunk in chunks[9:]:
        other.partial_fit(chunk)
    assert model.drift_ == []
    for chunk in chunks[9:]:
        model.partial_fit(chunk)
    assert repr(model.drift_) == repr(other.drift_) != "[]"


SPOILT = [
    ("watch", lambda a, m: m["watch"].update(n_tests=10**6), "watched longer"),
    ("numbers", lambda a, m: m["watch"].update(since=1.5), "watched for changes by"),
    ("nobody", lambda a, m: m.update(watch=None), "otherwise than it was asked"),
    ("open", lambda a, m: a.update({"watch/open": a["watch/open"] + 1}), "counted"),
    ("kinds", lambda a, m: a.update({"watch/before": a["watch/before"] * 1.0}), "float64"),
    ("V", lambda a, m: a.update({"watch/V/0": a["watch/V/0"] - 9}), "below 0"),
    (
        "levels",
        lambda a, m: a.update({"watch/levels": a["watch/levels"][:, ::-1].copy()}),
        "levels",
    ),
    ("event", lambda a, m: m["drift"][0].update(row=10**6), "noticed at row"),
    ("feature", lambda a, m: m["drift"][0]["came"].update(text=[99]), "came or went"),
    ("views", lambda a, m: m["drift"][0].update(came={"x": []}), "other views"),
    ("kind", lambda a, m: m["drift"][0].update(kind="whim"), "change of the stream"),
    ("size", lambda a, m: m["drift"][0].update(distance=2.0), "of size"),
    ("threshold", lambda a, m: m["drift"][0].update(threshold=-1.0), "threshold"),
    ("order", lambda a, m: m["drift"].append(dict(m["drift"][0])), "in order"),
    ("many", lambda a, m: m.update(drift={}), "tells of changes as"),
]


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


def test_what_was_merged_notices_changes_again():
    parts = [learn(watching(), stream("none", seed, n_changes=0)) for seed in (1, 2)]
    merged = parts[0].merge(parts[1], order=True)
    n = merged.n_samples_seen_
    (event,) = learn(merged, stream()).drift_
    assert n + BEFORE < event.row <= n + BEFORE + 600


# Detectors of others


def test_a_detector_decides_and_is_never_changed_itself():
    given = Threshold()
    model = learn(watching(drift_detector=given), stream())
    assert given.told == []
    (event,) = model.drift_
    assert event.kind == "meaning"
    assert event.statistic == event.distance > 0.5
    assert math.isnan(event.threshold)
    assert repr(OMVFS.from_bytes(model.to_bytes()).drift_) == repr(model.drift_)
    # It began anew with the event.
    told = model._fitted.detector.at_work.told
    assert len(told) < len(model.history_) - event.chunk
    assert all(0 <= x <= 1 for x in told)


def test_a_detector_is_not_saved_and_begins_anew():
    chunks = list(chunks_of(stream("none")))
    model = watching(drift_detector=Threshold())
    for chunk in chunks[:15]:
        model.partial_fit(chunk)
    assert len(model._fitted.detector.at_work.told) > 2
    again = OMVFS.from_bytes(model.to_bytes())
    assert again.drift_detector is None
    again.set_params(drift_detector=Threshold()).partial_fit(chunks[15])
    assert len(again._fitted.detector.at_work.told) == 1
    assert clone(model).drift_detector.told == []


def test_a_chunk_that_fails_is_not_told_to_the_detector(monkeypatch):
    chunks = list(chunks_of(stream("none")))
    model = watching(drift_detector=Threshold())
    for chunk in chunks[:15]:
        model.partial_fit(chunk)
    told = len(model._fitted.detector.at_work.told)
    with monkeypatch.context() as patch:
        # After the rows were measured.
        patch.setattr(FittedState, "check_finite", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.partial_fit(chunks[15])
    assert len(model._fitted.detector.at_work.told) == told


# What it goes with


@pytest.mark.parametrize(
    "params",
    [
        {"half_life": 400, "scale_columns": True},
        {"prepare": ["tfidf", "l2"], "view_weight": {"text": 1.0, "image": 3.0}},
        {"graph": "none", "sample_size": 100},
        {"n_clusters": 1},
    ],
    ids=str,
)
def test_it_goes_with_all_other_parameters(params):
    model = learn(watching(**params), stream("meaning"))
    assert model.n_samples_seen_ == BEFORE + BETWEEN
    assert all(event.row > BEFORE for event in model.drift_)
    if "n_clusters" not in params:
        assert len(model.drift_) == 1
    assert learned(OMVFS.from_bytes(model.to_bytes())) == learned(model)


@pytest.mark.parametrize("kind", ["none", "meaning"])
def test_columns_that_are_raised_on_the_way_are_no_change(kind):
    rows = {view: X - 0.4 for view, X in stream(kind).items()}
    model = learn(watching(negative="shift"), rows)
    assert [event.row > BEFORE for event in model.drift_] == [True] * (kind != "none")
    assert learned(OMVFS.from_bytes(model.to_bytes())) == learned(model)


def lacking(views, share, seed=0):
    """Rows of which so many lack the second view."""
    n = len(views["text"])
    has = np.random.default_rng(seed).random(n) >= share
    image = np.where(has[:, np.newaxis], views["image"], 0)
    return Views(
        {"text": views["text"], "image": image}, present={"text": np.ones(n, bool), "image": has}
    )


@pytest.mark.parametrize("kind", ["none", "shares"])
def test_rows_may_lack_views(kind):
    model = watching()
    for i, chunk in enumerate(chunks_of(stream(kind))):
        model.partial_fit(lacking(chunk, 0.3, i))
    assert [event.kind for event in model.drift_] == [kind] * (kind != "none")
    assert learned(OMVFS.from_bytes(model.to_bytes())) == learned(model)


def test_views_that_fewer_rows_have_are_a_change_of_views():
    model = watching()
    for i, chunk in enumerate(chunks_of(stream("none"))):
        model.partial_fit(lacking(chunk, 0.1 if i < BEFORE // 100 else 0.6, i))
    (event,) = model.drift_
    assert event.kind == "views"
    assert set(map(len, [*event.came.values(), *event.went.values()])) == {0}


def test_any_chunks_will_do():
    rows = stream("shares")
    for size in (37, 250):
        (event,) = learn(watching(), rows, size).drift_
        assert BEFORE < event.row <= BEFORE + 600


def test_what_makes_no_sense_is_refused():
    rows = two_views(0, 60)
    with pytest.raises(ValueError, match=r"detect_drift=True with sample_size=79.*at least 80"):
        watching(sample_size=79).fit(rows)
    with pytest.raises(ValueError, match=r"Got on_drift with detect_drift=False.*Set detect_drift"):
        watching(detect_drift=False, on_drift=print).fit(rows)
    with pytest.raises(ValueError, match=r"Got drift_detector with detect_drift=False"):
        watching(detect_drift=False, drift_detector=Threshold()).fit(rows)
    with pytest.raises(ValueError, match="on_drift=3; expected a callable"):
        watching(on_drift=3).fit(rows)
    for wrong in (3, object(), Threshold):
        with pytest.raises(ValueError, match=r"expected an object with update\(x\)"):
            watching(drift_detector=wrong).fit(rows)
    model = watching().fit(rows)
    with pytest.raises(ValueError, match="detect_drift=False, but what was learned"):
        model.set_params(detect_drift=False).partial_fit(rows)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"n_clusters": "auto"}, r"with n_clusters='auto'; expected a number of clusters"),
        ({"new_features": "grow"}, r"with new_features='grow'; expected one of them"),
        ({"sample_size": 10}, r"with sample_size=10; expected a sample of at least 80 rows"),
    ],
    ids=["auto", "grow", "sample"],
)
def test_what_cannot_be_compared_along_a_stream_is_refused(other, sentence):
    with pytest.raises(ValueError, match=sentence):
        OMVFS(**{"n_clusters": 2, "detect_drift": True, **other}).fit(np.ones((90, 3)))
