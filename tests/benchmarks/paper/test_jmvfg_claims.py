"""What JMVFG's table says, and what rows say to it."""

import pytest
from hand_made_rows import joint_rows

from paper.jmvfg_claims import TABLE, jmvfg_claims

# NMI at 5 % and 40 %, as the table has it, and with a default of ours that reaches its bars.
AS_TOLD = {
    "OMVFS": (0.80, 0.84),
    "as published": (0.40, 0.67),
    "column sum": (0.40, 0.60),
    "variance": (0.50, 0.60),
    "ACSL": (0.70, 0.85),
    "JMVFG": (0.70, 0.87),
}
EVERYTHING, PRINTED, ACSL, BEST, OUR_BEST, SIMPLE, NO_LOSS = range(7)


def rows_with(changes=None, everything=0.72, data="mfeat"):
    curves = AS_TOLD | (changes or {})
    rows = joint_rows({"all features": (everything,)}, data, percents=(None,))
    return rows + joint_rows(curves, data)


def verdicts(rows):
    return [claim.verdict for claim in jmvfg_claims(rows)]


def test_what_the_table_says_can_be_reproduced():
    assert verdicts(rows_with()) == ["reproduced"] * 4 + ["better"] * 3


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (PRINTED, {"as published": (0.4, 0.70)}),
        (PRINTED, {"as published": (0.4, 0.60)}),
        (ACSL, {"ACSL": (0.8, 0.8)}),
        (BEST, {"JMVFG": (0.8, 0.8)}),
        (OUR_BEST, {"OMVFS": (0.8, 0.81)}),
        (SIMPLE, {"variance": (0.83, 0.83)}),
        (SIMPLE, {"column sum": AS_TOLD["OMVFS"]}),  # level is not ahead
        (SIMPLE, {"as published": (0.9, 0.9)}),
        (NO_LOSS, {"OMVFS": (0.6, 0.83)}),
    ],
)
def test_what_the_rows_deny_is_not_reproduced(number, changes):
    assert verdicts(rows_with(changes))[number] == "not reproduced"


def test_all_features_must_have_the_printed_figure():
    assert verdicts(rows_with(everything=0.79))[EVERYTHING] == "not reproduced"


def test_a_better_setting_counts_for_the_printed_figure_and_not_for_our_bar():
    tuned = joint_rows({"as published": (0.5, 0.75)}, params={"sparsity": 1.0}, orders=1)
    assert verdicts(rows_with() + tuned)[PRINTED] == "not reproduced"
    tuned = joint_rows({"OMVFS": (0.9, 0.9)}, params={"sparsity": 1.0}, orders=1)
    assert verdicts(rows_with({"OMVFS": (0.7, 0.8)}) + tuned)[OUR_BEST] == "not reproduced"


def test_our_bars_are_for_every_set():
    lost = rows_with({"variance": (0.9, 0.9)}, data="bdgp")
    claims = jmvfg_claims(rows_with() + lost)
    assert claims[SIMPLE].verdict == "not reproduced"
    assert claims[SIMPLE].seen == "ahead on 1 of 2 sets; bdgp: variance +8.0"


def test_our_bar_is_the_best_of_the_table_as_it_is_here():
    rows = rows_with({"JMVFG": (0.92, 0.9)})
    claim = jmvfg_claims(rows)[OUR_BEST]
    assert claim.verdict == "not reproduced"
    assert claim.seen == "OMVFS 84.0 (40 %); JMVFG 92.0 (5 %), 87.4 printed"
    without = jmvfg_claims([row for row in rows if row["method"] != "JMVFG"])[OUR_BEST - 1]
    assert without.verdict == "better"
    assert without.seen == "OMVFS 84.0 (40 %); JMVFG 87.4 printed"


def test_planted_rows_are_not_judged():
    assert jmvfg_claims(rows_with(data="planted")) == []


def test_a_method_that_was_not_run_is_not_judged():
    rows = [row for row in rows_with() if row["method"] not in ("ACSL", "JMVFG")]
    assert len(jmvfg_claims(rows)) == len(jmvfg_claims(rows_with())) - 2
    assert {"ACSL", "JMVFG"} <= set(TABLE)
