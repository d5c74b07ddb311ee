"""The experiment on small sets: what it does, and what it makes of rows."""

import json

import numpy as np
import pytest

from omvfs.datasets import make_planted
from omvfs.experiments import EXPERIMENTS, Place, _small_claims, rows_of, small, write_experiment
from omvfs.experiments._methods import METHODS, grid
from omvfs.experiments.rows import best_of_grid

SMALL = EXPERIMENTS["small"]
# NMI at 100, 300 and 600 features, as the paper tells it.
AS_TOLD = {
    "OMVFS": (0.60, 0.70, 0.75),
    "as published": (0.4, 0.45, 0.5),
    "MVUFS": (0.60, 0.69, 0.70),
    "FSDS": (0.30, 0.55, 0.60),
    "EUFS": (0.4, 0.45, 0.5),
    "LapScore": (0.1, 0.2, 0.3),
    "NDFS": (0.5, 0.6, 0.65),
}
RISES, MULTI_VIEW, OFFLINE, LAPLACIAN, START, CNN = range(6)


def rows_with(curves, data="fox", params=None, orders=2):
    return [
        {
            "data": data,
            "method": method,
            "seeds": 1,
            "order": order,
            "params": params or {},
            "p": p,
            "seed": 0,
            "ACC": nmi + 0.1,
            "NMI max": nmi,
            "NMI geometric": nmi + 0.01,
        }
        for method, curve in curves.items()
        for order in range(orders)
        for p, nmi in zip((100, 300, 600), curve, strict=True)
    ]


def on_both(changes=None):
    """Rows of fox and of the real cnn, some of fox changed."""
    curves = {**AS_TOLD, **(changes or {})}
    return rows_with(curves) + rows_with(AS_TOLD | {"OMVFS": (0.61, 0.7, 0.75)}, "cnn")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A small folder of data, few methods and sizes, and no twin."""
    folder = tmp_path / "data" / "fox"
    folder.mkdir(parents=True)
    planted = make_planted(120, n_features=(60, 40), n_informative=(20, 10), random_state=0)
    for i, (name, X) in enumerate(planted.views.items()):
        np.save(folder / f"view_{i}_{name}.npy", X.toarray() if hasattr(X, "toarray") else X)
    np.save(folder / "labels.npy", planted.labels)
    monkeypatch.setattr(small, "PAPER_SIZES", (10, 20, 30))
    monkeypatch.setattr(small, "METHODS", {m: METHODS[m] for m in ("LapScore", "all features")})
    monkeypatch.setattr(small, "twins", lambda place: [])
    return Place(data=tmp_path / "data", data_home=tmp_path)


def test_a_task_is_plain_and_told_apart_from_all_others(tmp_path):
    tasks = SMALL.tasks(Place(data_home=tmp_path))
    told = [json.dumps(task.what, sort_keys=True) for task in tasks]
    assert len(set(told)) == len(told)
    assert {task.what["data"] for task in tasks} == {"fox-twin", "cnn-twin"}
    assert {task.what["method"] for task in tasks} == set(METHODS)


def test_quick_is_one_order_in_the_defaults_on_two_sets(tmp_path):
    tasks = SMALL.tasks(Place(data_home=tmp_path, quick=True))
    assert len(tasks) == 2 * len(METHODS)
    assert all(task.what["order"] == 0 and task.what["params"] == {} for task in tasks)


@pytest.mark.parametrize("method", METHODS)
def test_a_grid_has_settings_the_method_takes_and_not_its_default(method):
    default = METHODS[method](3).get_params()
    for params in grid(method):
        assert METHODS[method](3).set_params(**params).get_params() != default


def test_a_run_writes_all_and_a_second_one_does_nothing(place, tmp_path, monkeypatch):
    out, store = tmp_path / "out", tmp_path / "store"
    text = write_experiment("small", place, out, store).read_text()
    assert "chosen with\nthe labels" in text
    assert {"small.csv", "small-fox.svg", "small-sets.svg"} <= {f.name for f in out.iterdir()}
    rows = rows_of(SMALL, place, store)
    # 3 orders of the default and 3 settings beside it, of 3 sizes × 2 seeds; and all features.
    assert len(rows) == (3 + 3) * 3 * 2 + 3 * 2

    monkeypatch.setattr(small, "judge", None)  # nothing is left that would call it
    assert rows_of(SMALL, place, store) == rows


def test_the_same_task_gives_the_same_rows(place):
    task = SMALL.tasks(place)[0]
    assert task.do(place, **task.what) == task.do(place, **task.what)


def test_what_the_paper_says_can_be_reproduced():
    claims = SMALL.claims(on_both())
    assert [claim.verdict for claim in claims[:6]] == ["reproduced"] * 6
    assert [claim.verdict for claim in claims[6:]] == ["reproduced", "better", "better"]


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (RISES, dict.fromkeys(("OMVFS", "FSDS", "EUFS"), (0.6, 0.5, 0.4))),
        (MULTI_VIEW, {"MVUFS": (0.3, 0.4, 0.5)}),
        (OFFLINE, {"EUFS": (0.7, 0.8, 0.8)}),
        (LAPLACIAN, {"LapScore": (0.45, 0.45, 0.5)}),
        (START, {"FSDS": (0.55, 0.56, 0.57)}),
    ],
)
def test_what_the_rows_deny_is_not_reproduced(number, changes):
    verdicts = [claim.verdict for claim in SMALL.claims(on_both(changes))]
    assert verdicts[number] == "not reproduced"


def test_on_cnn_ours_must_pass_mvufs_beyond_300_features():
    rows = rows_with(AS_TOLD) + rows_with(AS_TOLD | {"OMVFS": (0.6, 0.7, 0.69)}, "cnn")
    assert SMALL.claims(rows)[CNN].verdict == "not reproduced"


def test_twins_are_told_and_not_judged():
    rows = rows_with(AS_TOLD, "fox-twin") + rows_with(AS_TOLD, "cnn-twin")
    claims = SMALL.claims(rows)
    assert {claim.verdict for claim in claims} == {"not judged"}
    assert all("twin" in claim.why for claim in claims[:6])


def test_a_twin_does_not_change_the_verdict_of_a_real_set():
    worst = dict.fromkeys(AS_TOLD, (0.3, 0.2, 0.1))
    claims = SMALL.claims(rows_with(AS_TOLD) + rows_with(worst, "cnn-twin"))
    verdicts = [claim.verdict for claim in claims]
    assert verdicts[RISES] == verdicts[MULTI_VIEW] == "reproduced"
    assert verdicts[CNN] == "not judged"
    assert "1 of 1 sets" in claims[-1].seen


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["reproduced", "better", "better"]),
        ({"FSDS": (0.7, 0.8, 0.9)}, ["not reproduced", "better", "not reproduced"]),
        ({"as published": (0.7, 0.8, 0.9)}, ["reproduced", "better", "not reproduced"]),
        ({"NDFS": (0.7, 0.8, 0.9)}, ["reproduced", "not reproduced", "better"]),
        ({"NDFS": (0.61, 0.7, 0.75)}, ["reproduced", "reproduced", "better"]),
    ],
)
def test_the_bar_over_all_real_sets(changes, expected):
    rows = rows_with(AS_TOLD | changes, "citeseer")
    assert [claim.verdict for claim in SMALL.claims(rows)] == expected


def test_the_bar_is_for_every_set_by_itself():
    behind = rows_with(AS_TOLD | {"FSDS": (0.7, 0.8, 0.9)}, "citeseer")
    ours = SMALL.claims(rows_with(AS_TOLD, "bdgp") + behind)[-1]
    assert ours.verdict == "not reproduced"
    assert "ahead on 1 of 2 sets; citeseer: FSDS +0.117" in ours.seen


def test_the_paper_s_sets_are_judged_by_the_best_of_the_grid():
    flat = on_both({"FSDS": (0.55, 0.56, 0.57)})
    assert SMALL.claims(flat)[START].verdict == "not reproduced"
    better = rows_with({"FSDS": (0.3, 0.7, 0.8)}, params={"ridge_exponent": 1.0}, orders=1)
    worse = rows_with({"FSDS": (0.1, 0.1, 0.1)}, params={"ridge_exponent": 2.0}, orders=1)
    claim = SMALL.claims(flat + better + worse)[START]
    assert claim.verdict == "reproduced"
    assert "best of grid" in claim.seen


def test_the_default_is_one_of_the_settings():
    rows = rows_with({"FSDS": (0.5, 0.5, 0.5)})
    rows += rows_with({"FSDS": (0.4, 0.4, 0.4)}, params={"ridge_exponent": 1.0}, orders=1)
    best = best_of_grid(rows)
    assert [row["params"] for row in best] == [{}] * 3
    assert {row["order"] for row in best} == {0}


def test_curves_of_other_sets_are_told_beside_the_paper_s():
    (claim, *_) = SMALL.claims(rows_with(AS_TOLD) + rows_with(AS_TOLD, "citeseer"))
    assert "On the 1 other real sets 10 of 10 do." in claim.why


def test_claims_need_the_methods_they_are_about():
    assert _small_claims.small_claims(rows_with({"column sum": (0.1, 0.2, 0.3)})) == []


def test_the_section_has_means_over_real_sets_and_who_is_ahead():
    rows = on_both({"MVUFS": (0.8, 0.8, 0.8)}) + rows_with(AS_TOLD, "mfeat-twin")
    text = SMALL.section(rows)
    assert "* fox: MVUFS +0.117" in text
    assert "* cnn: none" in text
    # Over fox and cnn, without the twin: (0.683 + 0.687) / 2.
    (line,) = [line for line in text.splitlines() if line.startswith("| OMVFS")]
    assert "| 0.685 | 0.695 | 0.785 |" in line


def test_a_figure_has_a_line_a_method():
    figures = SMALL.figures([*on_both(), *rows_with({"all features": (0.5, 0.5, 0.5)})])
    assert set(figures) == {"fox", "cnn", "sets"}
    lines = figures["fox"].axes[0].get_lines()
    assert [line.get_label() for line in lines][-1] == "all features"
    assert len(lines) == len(AS_TOLD) + 1
