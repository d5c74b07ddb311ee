"""What is timed, and what is made of times; no time itself is held against anything."""

import numpy as np
import pytest

from omvfs.baselines import FSDS, LaplacianScore
from omvfs.datasets import make_planted
from omvfs.experiments import EXPERIMENTS, Place, runtime
from omvfs.experiments._methods import OURS, PRINTED
from omvfs.experiments.timing import TimedPass

RUNTIME = EXPERIMENTS["runtime"]


def rows_with(seconds, ranking=0.0, sets=("reuters-twin", "youtube-twin"), turns=2):
    """Rows of made-up times: seconds(method, rows, share), 1 % more in the second turn."""
    found = []
    for data in sets:
        for turn in range(turns):
            for method in runtime.REACH:
                base = {"data": data, "turn": turn, "method": method, "ranking": ranking}
                for size in runtime.SIZES:
                    if size <= runtime.reach(method, data, turn, quick=False):
                        time = seconds(method, size, 1.0) * (1 + 0.01 * turn)
                        found.append(
                            {**base, "against": "rows", "rows": size, "features": 100, "share": 1.0}
                            | {"seconds": time, "wall": time}
                        )
                for share in runtime.SHARES if method in runtime.WIDE else ():
                    time = seconds(method, 5_000, share)
                    found.append(
                        {**base, "against": "features", "rows": 5_000, "share": share}
                        | {"features": round(100 * share), "seconds": time, "wall": time}
                    )
    return found


def as_the_paper_says(method, rows, share):
    speed = {OURS: 1e-3, "FSDS": 2e-3, PRINTED: 1e-2, "MVUFS": 0.1}[method]
    return speed * rows * (share**0.3 if method == OURS else share)


def verdicts(rows):
    return [claim.verdict for claim in RUNTIME.claims(rows)]


def test_what_the_paper_says_is_found_where_it_holds():
    claims = RUNTIME.claims(rows_with(as_the_paper_says))
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
    found = verdicts(rows_with(seconds))
    assert [i for i, verdict in enumerate(found) if verdict == "not reproduced"] == fails


def test_far_ahead_is_better():
    def seconds(method, rows, share):
        return as_the_paper_says(method, rows, share) / (10 if method == OURS else 1)

    found = verdicts(rows_with(seconds))
    assert found[2] == "better"
    assert found[5] == "better"


def test_all_sets_must_agree():
    def slow(method, rows, share):
        return rows**2.0

    one, other = (rows_with(each, sets=["a"]) for each in (as_the_paper_says, slow))
    both = one + [{**row, "data": "b"} for row in other]
    assert verdicts(one)[0] == "reproduced"
    assert verdicts(both)[0] == "not reproduced"


def test_scores_are_told_apart_from_learning():
    rows = rows_with(lambda m, n, share: 2.0 if m == OURS else 100.0, ranking=1.0)
    assert "50 times at 1,000 rows, scores left out 99" in RUNTIME.claims(rows)[2].seen


def test_the_section_and_the_figures_show_all_methods():
    pytest.importorskip("matplotlib")
    rows = rows_with(as_the_paper_says)
    text = RUNTIME.section(rows)
    assert "| 100,000 | 100 (100 to 101) | 200 | – | – | 0 | 2 | – | – |" in text
    assert "| 10 (10 %) |" in text
    assert "Twins have the shape" in text
    assert "Twins" not in RUNTIME.section(rows_with(as_the_paper_says, sets=["reuters"]))
    figures = RUNTIME.figures(rows)
    assert list(figures) == ["rows", "features"]
    for figure in figures.values():
        assert [axes.get_title() for axes in figure.axes] == ["reuters-twin", "youtube-twin"]
        assert all(axes.get_xscale() == axes.get_yscale() == "log" for axes in figure.axes)
    shown = [len(axes.lines) for figure in figures.values() for axes in figure.axes]
    assert shown == [4, 3, 2, 2]


def test_tasks_run_both_figures_in_turns():
    tasks = [task.what for task in RUNTIME.tasks(Place())]
    assert RUNTIME.timed
    assert len(tasks) == 2 * 2 * runtime.TURNS
    assert [task["data"] for task in tasks[:3]] == ["reuters-twin", "youtube-twin", "reuters-twin"]
    assert len(RUNTIME.tasks(Place(quick=True))) == 2


def test_small_runs_of_both_figures(monkeypatch):
    place = Place(quick=True)
    monkeypatch.setattr(runtime, "QUICK_SIZES", (60, 120))
    monkeypatch.setattr(runtime, "QUICK_SHORT", 100)
    monkeypatch.setattr(runtime, "QUICK", {PRINTED: (0, 0), "MVUFS": (0, 0)})
    tasks = RUNTIME.tasks(place)
    rows = [{**task.what, **row} for task in tasks for row in task.do(place, **task.what)]
    by_rows, by_features = (
        [(row["method"], row[key]) for row in rows if row["against"] == key]
        for key in ("rows", "features")
    )
    assert by_rows == [(OURS, 60), ("FSDS", 60), (OURS, 120), ("FSDS", 120)]
    assert by_features == [(OURS, 4_642), ("FSDS", 4_642), (OURS, 46_424), ("FSDS", 46_424)]
    assert all(0 <= row["ranking"] <= row["seconds"] for row in rows)
    assert len(verdicts(rows)) == 5  # without MVUFS


def test_a_pass_goes_on_where_it_stopped():
    views = make_planted(90, n_features=(40, 30), n_informative=(10, 8), random_state=0).views
    stopping, whole = FSDS(3), FSDS(3)
    passed = TimedPass(stopping, views, chunk=20)
    found = [passed.to(stop) for stop in (40, 90)]
    TimedPass(whole, views, chunk=20).to(90)
    assert [row["rows"] for row in found] == [40, 90]
    assert stopping.n_rows_seen_ == 90
    assert found[0]["seconds"] - found[0]["ranking"] <= found[1]["seconds"]
    np.testing.assert_array_equal(stopping.scores_, whole.scores_)


def test_an_offline_method_begins_anew():
    views = make_planted(90, n_features=(40, 30), n_informative=(10, 8), random_state=0).views
    seen = []

    class Offline(LaplacianScore):
        def fit(self, X, y=None):
            seen.append(len(next(iter(X.values())).indptr) - 1)
            return super().fit(X, y)

    passed = TimedPass(Offline(), views, chunk=20)
    for stop in (40, 90):
        passed.to(stop)
    assert seen == [40, 90]
