"""Drift: the stream does drift, a tiny run goes through, and claims follow the rows."""

from itertools import pairwise

import numpy as np
import pytest

from omvfs.experiments import Place
from omvfs.experiments._drift_claims import FADING, above_static, keeps_up, new_words, rises
from omvfs.experiments._methods import OURS
from omvfs.experiments.drift import Drift, along_stream
from omvfs.experiments.drifting import (
    DOMINANT,
    SEGMENTS,
    SHARE,
    drifting_order,
    longest_segment,
    stream,
)

LABELS = np.random.default_rng(0).integers(9, size=2000)


def order_of(seed, segment=300):
    rng = np.random.default_rng(seed)
    return drifting_order(LABELS, np.arange(9), segment, rng)


def test_no_row_comes_twice():
    rows, _ = order_of(0)
    assert len(rows) == SEGMENTS * 300 == len(np.unique(rows))


@pytest.mark.parametrize("seed", range(5))
def test_dominant_classes_have_their_share_and_change(seed):
    rows, dominant = order_of(seed)
    for pair, segment in zip(dominant, LABELS[rows].reshape(SEGMENTS, -1), strict=True):
        counts = np.bincount(segment, minlength=9)
        assert counts[list(pair)].tolist() == [int(300 * SHARE / DOMINANT)] * DOMINANT
        assert set(np.argsort(counts)[-DOMINANT:]) == set(pair)
    for before, after in pairwise(dominant):
        assert not set(before) & set(after)


def test_orders_are_deterministic_and_differ():
    (one, pairs), (again, same), (other, _) = order_of(1), order_of(1), order_of(2)
    np.testing.assert_array_equal(one, again)
    assert pairs == same
    assert (one != other).any()


def test_few_classes_dominate_in_turn():
    labels = np.repeat(np.arange(5), 400)
    segment = longest_segment(labels, 3000)
    rows, dominant = drifting_order(labels, np.arange(5), segment, np.random.default_rng(0))
    assert len(np.unique(rows)) == SEGMENTS * segment
    assert all(set(a) != set(b) for a, b in pairwise(dominant))


def test_too_few_rows_for_the_rest_are_told():
    labels = np.repeat(np.arange(8), 1250)
    assert drifting_order(labels, np.arange(8), 2500, np.random.default_rng(0)) is None
    rows, _ = drifting_order(labels, np.arange(8), 2000, np.random.default_rng(0))
    assert len(np.unique(rows)) == SEGMENTS * 2000


def test_segments_are_as_long_as_the_classes_allow():
    assert longest_segment(np.repeat(np.arange(8), 5000), 3000) == 3000
    assert longest_segment(np.repeat(np.arange(8), 500), 3000) == 1000


def test_the_stream_of_a_twin():
    drifting = stream("reuters-twin", Place(), 0, 60)
    assert drifting.rows.n_classes == 6
    assert len(drifting.rows.labels) == 4 * drifting.segment == 240
    assert [chunk.stop for chunk in drifting.points(3)] == list(range(20, 241, 20))


def run(data, method):
    what = {"data": data, "method": method, "order": 0, "segment": 30, "sizes": [20, 200]}
    return [{**what, **row} for row in along_stream(Place(), **what)]


def test_a_tiny_run():
    ours, fading = run("planted", OURS), run("planted", FADING)
    assert {row["point"] for row in ours} == {10 * (i + 1) for i in range(12)}
    assert {row["point"] for row in fading} == {30, 60, 90, 120}
    # What a task yields does not depend on the set.
    rows = ours + fading + [{**row, "data": "reuters-twin"} for row in ours]
    assert all(0 <= row["NMI max"] <= 1 for row in rows)
    drift = Drift()
    assert len(drift.claims(rows)) == 6
    assert {claim.verdict for claim in drift.claims(rows)} == {"not judged", "not in the paper"}
    assert "segment 4" in drift.section(rows)
    assert set(drift.figures(rows)) == {"recent", "all"}


def test_a_task_does_the_same_twice():
    assert run("planted", FADING) == run("planted", FADING)


def test_tasks_describe_themselves():
    for quick in (False, True):
        tasks = Drift().tasks(Place(quick=quick))
        assert len({repr(task.what) for task in tasks}) == len(tasks)


def hand_made(ours, static, afresh, data="debian_en_fr", fading=None):
    """Rows of 200 features at the ends of segments, recent and all alike."""
    rows = []
    selections = {"adapting": ours, "static": static, "afresh": afresh}
    methods = [(OURS, s, scores) for s, scores in selections.items()]
    methods += [(FADING, "adapting", fading)] if fading else []
    for method, selection, scores in methods:
        for judged in ("recent", "all"):
            for i, score in enumerate(scores):
                for order in (0, 1):
                    row = {"data": data, "method": method, "order": order, "p": 200, "end": True}
                    about = {"point": 3000 * (i + 1), "judged": judged, "selection": selection}
                    rows.append({**row, **about, "NMI max": score, "ACC": score})
    return rows


FLAT, UP, DOWN = [0.5] * 4, [0.5, 0.55, 0.6, 0.65], [0.5, 0.4, 0.3, 0.2]


def test_above_static_both_ways():
    assert above_static(hand_made(FLAT, DOWN, FLAT)).verdict == "reproduced"
    assert above_static(hand_made(FLAT, FLAT, FLAT)).verdict == "not reproduced"


def test_keeps_up_both_ways():
    assert keeps_up(hand_made(FLAT, DOWN, UP)).verdict == "reproduced"
    assert keeps_up(hand_made(DOWN, DOWN, DOWN)).verdict == "not reproduced"


def test_segments_take_turns():
    first, later, other = (stream("planted", Place(), order, 30) for order in (0, 1, 4))
    np.testing.assert_array_equal(later.rows.labels, np.roll(first.rows.labels, -30))
    for view, X in first.rows.views.items():
        rolled = np.roll(X.toarray(), -30, axis=0)
        np.testing.assert_array_equal(later.rows.views[view].toarray(), rolled)
    assert (other.rows.labels != first.rows.labels).any()
    twin = [stream("reuters-twin", Place(), order, 60) for order in range(4)]
    for place in range(SEGMENTS):
        assert {each.dominant[place] for each in twin} == set(twin[0].dominant)
    for each in twin:
        assert not any(set(a) & set(b) for a, b in pairwise(each.dominant))


def test_one_cluster_explains_a_static_subset_that_is_ahead_by_accuracy():
    assert "one cluster" in above_static(hand_made(FLAT, FLAT, FLAT), "ACC").why
    assert "one cluster" not in above_static(hand_made(FLAT, FLAT, FLAT)).why


def test_rises_both_ways():
    assert rises(hand_made(UP, FLAT, UP)).verdict == "reproduced"
    assert rises(hand_made(UP, UP, UP)).verdict == "not reproduced"
    assert rises(hand_made(DOWN, DOWN, UP)).verdict == "not reproduced"


@pytest.mark.parametrize("claim", [above_static, keeps_up, rises])
def test_claims_on_ours_do_not_look_at_forgetting(claim):
    alone = claim(hand_made(UP, FLAT, UP))
    assert claim(hand_made(UP, FLAT, UP, fading=DOWN)) == alone


def test_all_real_sets_must_agree():
    rows = hand_made(FLAT, DOWN, FLAT) + hand_made(FLAT, FLAT, FLAT, "debian_large")
    assert above_static(rows).verdict == "not reproduced"


def test_forgetting_is_praised_only_where_it_helps():
    assert "forgets" in new_words(hand_made(DOWN, DOWN, FLAT, "planted", FLAT)).why
    assert "forgets" not in new_words(hand_made(DOWN, DOWN, FLAT, "planted", DOWN)).why
    assert "beside" in new_words(hand_made(FLAT, DOWN, FLAT, "planted", FLAT)).why
