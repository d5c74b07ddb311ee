"""The experiment on drift: a tiny run goes through, and does the same twice."""

from paper import Place
from paper.drift import Drift, along_stream
from paper.drift_claims import FADING
from paper.methods import OURS


def run(data, method):
    what = {"data": data, "method": method, "order": 0, "segment": 30, "sizes": [20, 200]}
    return [{**what, **row} for row in along_stream(Place(), **what)]


def test_a_tiny_run():
    ours, fading = run("planted", OURS), run("planted", FADING)
    assert {row["point"] for row in ours} == {10 * (i + 1) for i in range(12)}
    assert {row["point"] for row in fading} == {30, 60, 90, 120}
    # What a task yields does not depend on the set.
    rows = ours + fading + [{**row, "data": "reuters-twin"} for row in ours]
    assert all(0 <= row["NMI max"] <= 1 for row in rows)
    drift = Drift()
    assert len(drift.claims(rows)) == 6
    assert {claim.verdict for claim in drift.claims(rows)} == {"not judged", "not in the paper"}
    assert "segment 4" in drift.section(rows)
    assert set(drift.figures(rows)) == {"recent", "all"}


def test_a_task_does_the_same_twice():
    assert run("planted", FADING) == run("planted", FADING)


def test_tasks_describe_themselves():
    for quick in (False, True):
        tasks = Drift().tasks(Place(quick=quick))
        assert len({repr(task.what) for task in tasks}) == len(tasks)
