"""What is asked of rows."""

from hand_made_rows import small_rows

from paper.rows import best_of_grid


def test_the_default_is_one_of_the_settings():
    rows = small_rows({"FSDS": (0.5, 0.5, 0.5)})
    rows += small_rows({"FSDS": (0.4, 0.4, 0.4)}, params={"ridge_exponent": 1.0}, orders=1)
    best = best_of_grid(rows)
    assert [row["params"] for row in best] == [{}] * 3
    assert {row["order"] for row in best} == {0}
