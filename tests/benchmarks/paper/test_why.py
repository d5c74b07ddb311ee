"""Why: a tiny run goes through, U is frozen where γ is large, and claims follow the rows."""

import pytest

from paper import Place
from paper.why import (
    GAMMAS,
    LADDER,
    WITHOUT,
    Why,
    climb,
    frozen_u,
    learns_clusters,
    smaller_gamma,
    worth_of_changes,
)


def freeze(gamma, data="planted"):
    what = {"part": "frozen", "data": data, "gamma": gamma, "graph": "gaussian", "n_rows": 80}
    return [{**what, **row} for row in frozen_u(Place(), **what)]


def rung(name, data="planted"):
    what = {"part": "ladder", "data": data, "rung": name, "order": 0, "n_rows": 210}
    return [{**what, **row} for row in climb(Place(), **what)]


def test_a_tiny_run():
    rows = [row for gamma in GAMMAS for row in freeze(gamma)]
    rows += [row for name in (*LADDER, *WITHOUT) for row in rung(name)]
    why = Why()
    assert len(why.claims(rows)) == 3
    assert "planted features found" in why.section(rows)
    assert set(why.figures(rows)) == {"frozen", "ladder"}


def test_a_large_gamma_freezes_u():
    (frozen,), (free,) = freeze(1e7), freeze(0.0)
    assert frozen["with start"] > 0.9 > free["with start"]


def test_a_task_does_the_same_twice():
    name = "start of U from the clusters so far"
    assert rung(name) == rung(name)


@pytest.mark.parametrize("quick", [False, True])
def test_tasks_describe_themselves(quick):
    tasks = Why().tasks(Place(quick=quick))
    assert len({repr(task.what) for task in tasks}) == len(tasks)


def hand_made(score):
    figures = {"with start": 1.0, "NMI with classes": score, "top 100": 0.9, "largest": 0.5}
    return [{"data": "fox", "gamma": gamma, "graph": "gaussian", **figures} for gamma in GAMMAS]


def test_learning_both_ways():
    assert learns_clusters(hand_made(0.5)).verdict == "reproduced"
    claim = learns_clusters(hand_made(0.0))
    assert claim.verdict == "not reproduced"
    assert "random start" in claim.why
    assert "No γ helps" in smaller_gamma(hand_made(0.0)).why
    assert "Best with" in smaller_gamma(hand_made(0.5)).why


def test_the_largest_gain_is_named():
    scores = dict.fromkeys(LADDER, 0.5) | {next(iter(LADDER)): 0.1}
    rows = [
        {"data": "fox", "rung": name, "order": 0, "NMI max": score}
        for name, score in scores.items()
    ]
    claim = worth_of_changes(rows)
    assert "from 0.100 to 0.500" in claim.seen
    assert "(+0.400)" in claim.why
