"""What is claimed of drift follows the rows, both ways."""

import pytest

from paper.drift_claims import FADING, above_static, keeps_up, new_words, rises
from paper.methods import OURS

FLAT, UP, DOWN = [0.5] * 4, [0.5, 0.55, 0.6, 0.65], [0.5, 0.4, 0.3, 0.2]


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


def test_above_static_both_ways():
    assert above_static(hand_made(FLAT, DOWN, FLAT)).verdict == "reproduced"
    assert above_static(hand_made(FLAT, FLAT, FLAT)).verdict == "not reproduced"


def test_keeps_up_both_ways():
    assert keeps_up(hand_made(FLAT, DOWN, UP)).verdict == "reproduced"
    assert keeps_up(hand_made(DOWN, DOWN, DOWN)).verdict == "not reproduced"


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
