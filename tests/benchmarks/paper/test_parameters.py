"""The parameter study: a tiny run goes through, and claims follow the rows."""

import pytest

from paper import Place
from paper.methods import OURS, PRINTED
from paper.parameters import STUDY, Parameters, fit, insensitive, more_is_better


def run(method, varied, value):
    what = {"data": "fox-twin", "method": method, "varied": varied, "value": value, "order": 0}
    what |= {"n_rows": 30, "sizes": [20, 40]}
    return [{**what, **row} for row in fit(Place(), **what)]


def test_a_tiny_run():
    rows = [row for varied in STUDY[OURS] for row in run(OURS, varied, STUDY[OURS][varied][0])]
    printed = run(PRINTED, "window", None)
    # What a task yields does not depend on what is varied.
    rows += [{**row, "varied": varied} for varied in STUDY[PRINTED] for row in printed]
    study = Parameters()
    assert {claim.verdict for claim in study.claims(rows)} == {"not judged", "not in the paper"}
    assert "s, chunks of the window | all: " in study.section(rows)
    assert set(study.figures(rows)) == {"fox-twin-omvfs", "fox-twin-as-published"}


def test_a_task_does_the_same_twice():
    assert run(OURS, "n_clusters", 1.5) == run(OURS, "n_clusters", 1.5)


@pytest.mark.parametrize("quick", [False, True])
def test_tasks_describe_themselves(quick):
    tasks = Parameters().tasks(Place(quick=quick))
    assert len({repr(task.what) for task in tasks}) == len(tasks)
    assert {task.what["method"] for task in tasks} == {OURS, PRINTED}


def hand_made(scores, by="value"):
    """Rows of a real set; the scores are by value, or by the number of features."""
    rows = []
    for at, score in scores.items():
        row = {"data": "fox", "varied": "sparsity", "value": 1.0, "p": 100, "order": 0}
        rows.append({**row, by: at, "NMI max": score})
    return rows


def test_insensitive_both_ways():
    flat, steep = hand_made({0.1: 0.5, 1.0: 0.52}), hand_made({0.1: 0.5, 1.0: 0.3})
    assert insensitive(flat, OURS, ["sparsity"], "").verdict == "reproduced"
    claim = insensitive(steep, OURS, ["sparsity"], "")
    assert claim.verdict == "not reproduced"
    assert "from 0.300 at 1 to 0.500 at 0.1" in claim.seen


def test_more_is_better_both_ways():
    assert more_is_better(hand_made({100: 0.4, 600: 0.5}, "p"), OURS).verdict == "reproduced"
    assert more_is_better(hand_made({100: 0.5, 600: 0.4}, "p"), OURS).verdict == "not reproduced"
