"""Parts are cut as the tables say, judged, kept, and shown beside one pass."""

import numpy as np
import pytest

import merging
from keep import Results


@pytest.fixture
def small(monkeypatch):
    law = {"n_features": (300, 200), "n_informative": (30, 20), "n_classes": 3, "row_length": 40}
    monkeypatch.setattr(merging, "FAINT", law)
    monkeypatch.setattr(merging, "ROWS", 300)
    monkeypatch.setattr(merging, "PARTS", [1, 3])


def test_parts_hold_every_row_once_and_sorted_ones_other_classes(small):
    rows = merging.Rows(merging.PLANTED, 0, None)
    total = rows.views["view_0"].sum()
    for how in merging.HOW:
        parts = rows.parts(3, how)
        assert [part["view_0"].shape[0] for part in parts] == [100, 100, 100]
        assert sum(part["view_0"].sum() for part in parts) == pytest.approx(total)
    first = rows.parts(3, "sorted by class")[0]["view_0"]
    smallest = rows.views["view_0"][rows.labels == 0]
    np.testing.assert_array_equal(first.toarray(), smallest[:100].toarray())


def test_what_was_found_is_kept_and_shown(small, tmp_path, capsys):
    results = Results(tmp_path / "store.json")
    merging.quality(results, merging.PLANTED, 0, None)
    assert len(capsys.readouterr().out.splitlines()) == 4
    again = Results(tmp_path / "store.json")
    merging.quality(again, merging.PLANTED, 0, None)
    assert capsys.readouterr().out == ""
    shown = merging.shown(again, merging.PLANTED, 1).splitlines()
    assert shown[0] == "**planted**"
    assert [line.split("|")[1].strip() for line in shown[4:]] == ["one pass", "3 parts"]
