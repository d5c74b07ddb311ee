"""What is claimed of runtime follows the rows; no time itself is held against anything."""

import pytest
from hand_made_rows import as_the_paper_says, runtime_rows

from paper import EXPERIMENTS
from paper.methods import OURS

RUNTIME = EXPERIMENTS["runtime"]


def verdicts(rows):
    return [claim.verdict for claim in RUNTIME.claims(rows)]


def test_what_the_paper_says_is_found_where_it_holds():
    claims = RUNTIME.claims(runtime_rows(as_the_paper_says))
    assert [claim.verdict for claim in claims] == ["reproduced"] * 6
    assert "OMVFS N^1.00" in claims[0].seen
    assert "FSDS takes 2 × as long at 1,000 rows, 2 × at 100,000" in claims[1].seen
    assert "100 times at 10,000 rows" in claims[2].seen
    assert "OMVFS D^0.30 (scores left out D^0.30), FSDS D^1.00" in claims[3].seen


@pytest.mark.parametrize(
    ("seconds", "fails"),
    [
        (lambda method, rows, share: rows**1.5 * share, [0, 1, 2, 3, 4, 5]),
        (lambda method, rows, share: rows * share**0.3, [1, 2, 3, 5]),
    ],
)
def test_what_does_not_hold_is_not_reproduced(seconds, fails):
    found = verdicts(runtime_rows(seconds))
    assert [i for i, verdict in enumerate(found) if verdict == "not reproduced"] == fails


def test_far_ahead_is_better():
    def seconds(method, rows, share):
        return as_the_paper_says(method, rows, share) / (10 if method == OURS else 1)

    found = verdicts(runtime_rows(seconds))
    assert found[2] == "better"
    assert found[5] == "better"


def test_all_sets_must_agree():
    def slow(method, rows, share):
        return rows**2.0

    one, other = (runtime_rows(each, sets=["a"]) for each in (as_the_paper_says, slow))
    both = one + [{**row, "data": "b"} for row in other]
    assert verdicts(one)[0] == "reproduced"
    assert verdicts(both)[0] == "not reproduced"


def test_scores_are_told_apart_from_learning():
    rows = runtime_rows(lambda m, n, share: 2.0 if m == OURS else 100.0, ranking=1.0)
    assert "50 times at 1,000 rows, scores left out 99" in RUNTIME.claims(rows)[2].seen
