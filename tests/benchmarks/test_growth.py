"""Growth is measured, drawn as asked for, and fitted."""

import numpy as np
import pytest
from made_up import run

import growth
from paper.timing import exponent


def test_the_fit_finds_the_exponent():
    assert exponent({size: 5 * size**1.25 for size in (10.0, 30.0, 100.0)}) == pytest.approx(1.25)
    points = growth.curves(
        {
            "growth/D/10": {"runs": [run([1_000], [1.0])]},
            "growth/D/100": {"runs": [run([9], [4.0])]},
        }
    )["D"]
    assert growth.fits(points)["time"] == pytest.approx(np.log10(4), abs=1e-3)
    assert growth.fits({10: points[10]}) == {}


def test_growth_is_measured():
    how = {"rows": 2_000, "marks": [1_000, 2_000], "widths": [40], "words": [6], "clusters": 2}
    found = growth.child(how)
    assert [mark["rows"] for mark in found["marks"]] == [1_000, 2_000]
    assert found["marks"][0]["times"][0] < found["marks"][1]["times"][0]
    assert found["V and B"] == 2 * 40 * 2 * 8
    assert 1 < found["nonzeros"] <= 6


def test_rows_have_about_the_nonzeros_asked_for():
    for nonzeros in (10, 100):
        how = {"widths": [2_000] * 2, "words": growth.words_for(nonzeros, [2_000] * 2)}
        X = growth.draw({**how, "clusters": 3}, seed=1)
        assert sum(each.nnz for each in X.values()) / 1_000 == pytest.approx(nonzeros, rel=0.2)
