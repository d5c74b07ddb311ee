"""The best percentage and setting, chosen with the labels."""

import math

from hand_made_rows import joint_rows

from paper.by_labels import best_percent, best_setting


def test_the_best_percentage_is_of_the_default_only():
    rows = joint_rows({"MCFS": (0.9, 0.7)})
    rows += joint_rows({"MCFS": (0.95, 0.95)}, params={"n_neighbors": 20}, orders=1)
    choice = best_percent(rows, method="MCFS")
    assert (choice.nmi, choice.percent) == (0.9, 5)


def test_the_best_setting_comes_with_its_percentage():
    rows = joint_rows({"MCFS": (0.9, 0.7)})
    rows += joint_rows({"MCFS": (0.8, 0.95)}, params={"n_neighbors": 20}, orders=1)
    rows += joint_rows({"MCFS": (0.8, 0.85)}, params={"n_neighbors": 50}, orders=1)
    choice = best_setting(rows, method="MCFS")
    assert (choice.nmi, choice.percent, choice.params) == (0.95, 40, {"n_neighbors": 20})


def test_settings_are_compared_on_the_same_orders():
    rows = joint_rows({"MCFS": (0.6, 0.6)}, orders=2)
    for row in rows:
        row["NMI max"] += 0.3 * row["order"]  # the second order is easier
    rows += joint_rows({"MCFS": (0.7, 0.7)}, params={"n_neighbors": 20}, orders=1)
    assert best_setting(rows).params == {"n_neighbors": 20}


def test_the_default_is_one_of_the_settings():
    rows = joint_rows({"MCFS": (0.9, 0.7)})
    rows += joint_rows({"MCFS": (0.8, 0.8)}, params={"n_neighbors": 20}, orders=1)
    assert best_setting(rows).params == {}


def test_nothing_is_best_of_no_rows():
    assert math.isnan(best_percent([]).nmi)
    assert math.isnan(best_setting([]).nmi)
