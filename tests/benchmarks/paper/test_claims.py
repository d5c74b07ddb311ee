"""What the paper claims is judged by rows, both ways; twins have no say."""

import math

import pytest
from hand_made_rows import (
    AS_TOLD,
    as_the_paper_says,
    joint_rows,
    large_rows,
    on_both,
    runtime_rows,
    small_rows,
    twin_rows,
)

from paper import EXPERIMENTS
from paper.by_labels import best_percent, best_setting
from paper.drift_claims import FADING, above_static, keeps_up, new_words, rises
from paper.jmvfg_claims import jmvfg_claims
from paper.large_claims import large_claims
from paper.methods import OURS
from paper.rows import best_of_grid

SMALL, RUNTIME = EXPERIMENTS["small"], EXPERIMENTS["runtime"]
FLAT, UP, DOWN = [0.5] * 4, [0.5, 0.55, 0.6, 0.65], [0.5, 0.4, 0.3, 0.2]
# NMI at 5 % and 40 %, as JMVFG's table has it, and with a default of ours that reaches its bars.
JOINT = {
    "OMVFS": (0.80, 0.84),
    "as published": (0.40, 0.67),
    "column sum": (0.40, 0.60),
    "variance": (0.50, 0.60),
    "ACSL": (0.70, 0.85),
    "JMVFG": (0.70, 0.87),
}


def verdicts(claims):
    return [claim.verdict for claim in claims]


def joint(changes=None, everything=0.72, data="mfeat"):
    rows = joint_rows({"all features": (everything,)}, data, percents=(None,))
    return rows + joint_rows(JOINT | (changes or {}), data)


def drift(ours, static, afresh, data="debian_en_fr", fading=None):
    """Rows of 200 features at the ends of segments, recent and all alike."""
    curves = {(OURS, "adapting"): ours, (OURS, "static"): static, (OURS, "afresh"): afresh}
    if fading:
        curves[FADING, "adapting"] = fading
    return [
        {"data": data, "method": method, "order": order, "p": 200, "end": True}
        | {"point": 3000 * (i + 1), "judged": judged, "selection": selection}
        | {"NMI max": score, "ACC": score}
        for (method, selection), scores in curves.items()
        for judged in ("recent", "all")
        for i, score in enumerate(scores)
        for order in (0, 1)
    ]


def test_what_the_paper_says_can_be_reproduced():
    assert verdicts(SMALL.claims(on_both())) == ["reproduced"] * 7 + ["better"] * 2
    assert verdicts(large_claims(large_rows())) == ["reproduced"] * 3 + ["better"] * 3
    assert verdicts(jmvfg_claims(joint())) == ["reproduced"] * 4 + ["better"] * 3
    claims = RUNTIME.claims(runtime_rows(as_the_paper_says))
    assert verdicts(claims) == ["reproduced"] * 6
    assert "OMVFS N^1.00" in claims[0].seen
    assert "100 times at 10,000 rows" in claims[2].seen


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, dict.fromkeys(("OMVFS", "FSDS", "EUFS"), (0.6, 0.5, 0.4))),
        (1, {"MVUFS": (0.3, 0.4, 0.5)}),
        (2, {"EUFS": (0.7, 0.8, 0.8)}),
        (3, {"LapScore": (0.45, 0.45, 0.5)}),
        (4, {"FSDS": (0.55, 0.56, 0.57)}),
        (6, {"FSDS": (0.9, 0.9, 0.9)}),
        (8, {"as published": (0.9, 0.9, 0.9)}),
    ],
)
def test_what_rows_of_small_sets_deny_is_not_reproduced(number, changes):
    assert SMALL.claims(on_both(changes))[number].verdict == "not reproduced"


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, {"FSDS": (0.5, 0.6, 0.7, 0.7)}),
        (1, {"FSDS": (0.56, 0.56, 0.58, 0.58)}),  # ahead, but not by much
        (1, {"FSDS": (0.48, 0.48, 0.4, 0.4)}),  # by more with many features
        (2, {"OMVFS": (0.4, 0.4, 0.4, 0.4)}),
        (3, {"as published": (0.7, 0.7, 0.7, 0.7)}),
        (4, {"variance": (0.58, 0.58, 0.6, 0.6)}),  # level is not ahead
    ],
)
def test_what_rows_of_large_sets_deny_is_not_reproduced(number, changes):
    assert large_claims(large_rows(changes))[number].verdict == "not reproduced"


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (1, {"as published": (0.4, 0.70)}),
        (2, {"ACSL": (0.8, 0.8)}),
        (3, {"JMVFG": (0.8, 0.8)}),
        (4, {"OMVFS": (0.8, 0.81)}),
        (5, {"column sum": JOINT["OMVFS"]}),  # level is not ahead
        (6, {"OMVFS": (0.6, 0.83)}),
    ],
)
def test_what_rows_by_the_protocol_of_jmvfg_deny_is_not_reproduced(number, changes):
    assert jmvfg_claims(joint(changes))[number].verdict == "not reproduced"


@pytest.mark.parametrize(
    ("seconds", "fails"),
    [
        (lambda method, rows, share: rows**1.5 * share, [0, 1, 2, 3, 4, 5]),
        (lambda method, rows, share: rows * share**0.3, [1, 2, 3, 5]),
    ],
)
def test_what_times_deny_is_not_reproduced(seconds, fails):
    found = verdicts(RUNTIME.claims(runtime_rows(seconds)))
    assert [i for i, verdict in enumerate(found) if verdict == "not reproduced"] == fails


def test_twins_are_shown_and_not_judged_but_by_time():
    claims = SMALL.claims(small_rows(AS_TOLD, "fox-twin") + small_rows(AS_TOLD, "cnn-twin"))
    assert set(verdicts(claims)) == {"not judged"}
    worst = dict.fromkeys(AS_TOLD, (0.3, 0.2, 0.1))
    claims = SMALL.claims(small_rows(AS_TOLD) + small_rows(worst, "cnn-twin"))
    assert verdicts(claims)[:2] == ["reproduced"] * 2
    assert verdicts(large_claims(twin_rows())) == ["not judged", "better"]
    slow = twin_rows(seconds={"OMVFS": 3.0, "FSDS": 2.9})
    assert large_claims(large_rows() + slow)[5].verdict == "not reproduced"
    assert jmvfg_claims(joint(data="planted")) == []


def test_every_real_set_must_agree():
    behind = small_rows(AS_TOLD | {"FSDS": (0.7, 0.8, 0.9)}, "citeseer")
    ours = SMALL.claims(small_rows(AS_TOLD, "bdgp") + behind)[-1]
    assert ours.verdict == "not reproduced"
    assert "ahead on 1 of 2 sets; citeseer: FSDS +0.117" in ours.seen
    other = large_rows({"variance": (0.7, 0.7, 0.7, 0.7)}, data="wordnet")
    assert large_claims(large_rows() + other)[4].verdict == "not reproduced"
    lost = joint({"variance": (0.9, 0.9)}, data="bdgp")
    seen = jmvfg_claims(joint() + lost)[5].seen
    assert seen == "ahead on 1 of 2 sets; bdgp: variance +8.0"
    rows = drift(FLAT, DOWN, FLAT) + drift(FLAT, FLAT, FLAT, "debian_large")
    assert above_static(rows).verdict == "not reproduced"


def test_claims_on_drift_both_ways():
    for claim, holds, fails in (
        (above_static, (FLAT, DOWN, FLAT), (FLAT, FLAT, FLAT)),
        (keeps_up, (FLAT, DOWN, UP), (DOWN, DOWN, DOWN)),
        (rises, (UP, FLAT, UP), (UP, UP, UP)),
    ):
        assert claim(drift(*holds)).verdict == "reproduced"
        assert claim(drift(*fails)).verdict == "not reproduced"
    assert "beside" in new_words(drift(FLAT, DOWN, FLAT, "planted", FLAT)).why
    assert "forgets" in new_words(drift(DOWN, DOWN, FLAT, "planted", FLAT)).why
    assert "forgets" not in new_words(drift(DOWN, DOWN, FLAT, "planted", DOWN)).why


def test_what_is_best_is_chosen_on_the_same_orders():
    rows = joint_rows({"MCFS": (0.9, 0.7)})
    rows += joint_rows({"MCFS": (0.8, 0.95)}, params={"n_neighbors": 20}, orders=1)
    choice = best_percent(rows, method="MCFS")
    assert (choice.nmi, choice.percent) == (0.9, 5)
    choice = best_setting(rows, method="MCFS")
    assert (choice.nmi, choice.percent, choice.params) == (0.95, 40, {"n_neighbors": 20})
    assert math.isnan(best_percent([]).nmi)
    rows = joint_rows({"MCFS": (0.6, 0.6)}, orders=2)
    for row in rows:
        row["NMI max"] += 0.3 * row["order"]  # the second order is easier
    rows += joint_rows({"MCFS": (0.7, 0.7)}, params={"n_neighbors": 20}, orders=1)
    assert best_setting(rows).params == {"n_neighbors": 20}
    rows = small_rows({"FSDS": (0.5, 0.5, 0.5)})
    rows += small_rows({"FSDS": (0.4, 0.4, 0.4)}, params={"ridge_exponent": 1.0}, orders=1)
    assert [row["params"] for row in best_of_grid(rows)] == [{}] * 3
