"""What the paper says of large sets, and what rows say to it."""

import pytest
from hand_made_rows import large_rows, twin_rows

from paper.large_claims import large_claims

MOSTLY, FEW, YOUTUBE, PRINTED, SIMPLE, TIME = range(6)


def verdicts(rows):
    return [claim.verdict for claim in large_claims(rows)]


def test_what_the_paper_says_can_be_reproduced():
    assert verdicts(large_rows()) == ["reproduced"] * 3 + ["better"] * 3


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (MOSTLY, {"FSDS": (0.5, 0.6, 0.7, 0.7)}),
        (FEW, {"FSDS": (0.56, 0.56, 0.58, 0.58)}),  # ahead, but not by much
        (FEW, {"FSDS": (0.48, 0.48, 0.4, 0.4)}),  # by more with many features
        (YOUTUBE, {"FSDS": (0.5, 0.5, 0.5, 0.5)}),
        (YOUTUBE, {"OMVFS": (0.4, 0.4, 0.4, 0.4)}),
        (PRINTED, {"as published": (0.7, 0.7, 0.7, 0.7)}),
        (SIMPLE, {"column sum": (0.1, 0.7, 0.8, 0.8)}),
        (SIMPLE, {"variance": (0.58, 0.58, 0.6, 0.6)}),  # level is not ahead
    ],
)
def test_what_the_rows_deny_is_not_reproduced(number, changes):
    assert verdicts(large_rows(changes))[number] == "not reproduced"


def test_more_than_the_quoted_figure_is_better():
    assert verdicts(large_rows({"OMVFS": (0.7, 0.7, 0.7, 0.7)}))[YOUTUBE] == "better"


def test_every_real_set_must_agree():
    other = large_rows({"variance": (0.7, 0.7, 0.7, 0.7)}, data="wordnet")
    assert verdicts(large_rows() + other)[SIMPLE] == "not reproduced"


def test_without_youtube_its_figure_is_not_judged():
    claim = large_claims(large_rows(data="wordnet") + twin_rows("youtube-twin"))[YOUTUBE]
    assert claim.verdict == "not judged"
    assert "real data" in claim.why


def test_twins_are_judged_by_time_and_nothing_else():
    assert verdicts(twin_rows()) == ["not judged", "better"]
    claims = large_claims(large_rows() + twin_rows())
    assert all("twin" not in claim.seen for claim in claims[:TIME])
    assert "reuters-twin" in claims[TIME].seen


def test_who_takes_longer_than_fsds_is_told():
    slow = twin_rows(seconds={"OMVFS": 3.0, "FSDS": 2.9})
    assert verdicts(large_rows() + slow)[TIME] == "not reproduced"
    claim = large_claims(large_rows())[TIME]
    assert claim.seen == "FSDS takes 4.0 times as long on youtube"
