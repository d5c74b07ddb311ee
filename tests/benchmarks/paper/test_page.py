"""Claims on a page."""

from paper import Claim
from paper.page import claims_table


def test_claims_stand_beside_what_was_seen():
    text = claims_table([Claim("It is fast.", "It is not.", "not reproduced", "Nobody knows.")])
    assert "| It is fast. | It is not. | **not reproduced** | Nobody knows. |" in text
