"""Experiments: tasks are done once and kept, results are written, and tiny runs go through."""

import csv
import json
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from squares import Squares, calls

from omvfs.datasets import make_planted
from paper import EXPERIMENTS, Place, jmvfg, large, registry, rows_of, runtime, small
from paper.__main__ import main
from paper.drift import along_stream
from paper.drift_claims import FADING
from paper.drifting import DOMINANT, SEGMENTS, SHARE, drifting_order, stream
from paper.joint import STARTS, evaluate_joint_ranking, in_unit_range
from paper.methods import METHODS, OURS, PRINTED, grid, make
from paper.page import section
from paper.parameters import STUDY, fit
from paper.spec import LaplacianScore
from paper.why import GAMMAS, frozen_u


@pytest.fixture
def squares(monkeypatch):
    calls.clear()
    monkeypatch.setitem(registry.EXPERIMENTS, "squares", Squares())
    return registry.EXPERIMENTS["squares"]


def write_set(folder, seed=0, n_rows=90):
    folder.mkdir(parents=True)
    planted = make_planted(n_rows, n_features=(60, 40), n_informative=(20, 10), random_state=seed)
    text, image = planted.views.values()
    sp.save_npz(folder / "view_0_english.npz", sp.csr_array(text))
    np.save(folder / "view_1_italian.npy", sp.csr_array(image).toarray() - 1.0)
    np.save(folder / "labels.npy", planted.labels)


def test_every_experiment_has_tasks_without_any_data_each_described_by_plain_values(tmp_path):
    for quick in (False, True):
        for name, each in EXPERIMENTS.items():
            assert each.name == name
            tasks = each.tasks(Place(data_home=tmp_path, quick=quick))
            described = [json.dumps(task.what, sort_keys=True) for task in tasks]
            assert len(set(described)) == len(described) > 0


def test_what_is_done_is_not_done_again_and_an_interrupted_experiment_goes_on(squares, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        rows_of(squares, Place(quick=True), tmp_path)
    assert calls == [1, 2, 3]
    calls.clear()
    (tmp_path / "squares-quick.jsonl").rename(tmp_path / "squares.jsonl")
    told = []
    first = rows_of(squares, Place(), tmp_path)
    again = rows_of(squares, Place(), tmp_path, on_progress=lambda *each: told.append(each))
    assert first == again
    assert calls == [3, 4]
    assert told == [(4, 4)]
    assert first[2] == {"number": 3, "square": 9, "half": 1.5}


def test_rows_figures_and_sections_are_written_the_same_twice(squares, tmp_path, monkeypatch):
    for out in ("a", "b"):
        registry.write_experiment("squares", Place(), tmp_path / out, tmp_path / "store")
    for name in ("squares-all.svg", "squares.csv", "squares.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with (tmp_path / "a" / "squares.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file))[1] == {"number": "2", "square": "4", "half": "1.0"}
    text = (tmp_path / "a" / "squares.md").read_text(encoding="utf-8")
    for part in ("## Squares", "The sum is 30.", "(squares-all.svg)", "| Squares grow. | 16 |"):
        assert part in text
    assert "earlier version" not in text
    monkeypatch.setattr("paper.running.version_of_code", lambda: "another")
    path = registry.write_experiment("squares", Place(), tmp_path / "a", tmp_path / "store")
    assert "4 of its results are of an earlier version" in path.read_text(encoding="utf-8")


def test_a_page_keeps_what_it_has_of_experiments_without_a_section(squares, tmp_path):
    out, path = tmp_path / "docs" / "results", tmp_path / "docs" / "results.md"
    registry.write_experiment("squares", Place(), out, tmp_path / "store")
    registry.write_page(out, path, ["squares", "missing"])
    page = path.read_text(encoding="utf-8")
    assert "(results/squares-all.svg)" in page
    (out / "squares.md").unlink()
    cubes = "## Cubes\n\n`python benchmarks/paper cubes`\n"
    (out / "cubes.md").write_text(cubes, encoding="utf-8")
    registry.write_page(out, path, ["squares", "cubes", "missing"])
    assert path.read_text(encoding="utf-8") == page + "\n" + cubes


def test_the_command_runs_an_experiment_and_quick_prints_no_verdicts(squares, tmp_path, capsys):
    folders = [f"--out={tmp_path}", f"--page={tmp_path / 'page.md'}"]
    squares = registry.EXPERIMENTS["squares"]
    assert "| Squares grow. |" in section(squares, [{"square": 1}], [], quick=False)
    assert "| Squares grow. |" not in section(squares, [{"square": 1}], [], quick=True)
    main(["methods", "--quick", *folders])
    main(["list"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)
    assert "| OMVFS | ✓ | ✓ | ✓ |" in (tmp_path / "page.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["nothing", *folders])


def test_a_grid_has_settings_the_method_takes_and_not_its_default():
    for method in METHODS:
        default = make(method, 3, 0).get_params()
        for params in grid(method):
            assert make(method, 3, 0).set_params(**params).get_params() != default


def test_the_classes_that_dominate_a_drifting_stream_change_and_no_row_comes_twice():
    labels = np.random.default_rng(0).integers(9, size=2000)
    rows, dominant = drifting_order(labels, np.arange(9), 300, np.random.default_rng(1))
    assert len(rows) == SEGMENTS * 300 == len(np.unique(rows))
    for pair, segment in zip(dominant, labels[rows].reshape(SEGMENTS, -1), strict=True):
        counts = np.bincount(segment, minlength=9)
        assert counts[list(pair)].tolist() == [int(300 * SHARE / DOMINANT)] * DOMINANT
    assert not any(set(a) & set(b) for a, b in pairwise(dominant))
    few = np.repeat(np.arange(8), 1250)
    assert drifting_order(few, np.arange(8), 2500, np.random.default_rng(0)) is None
    first, later = (stream("planted", Place(), order, 30) for order in (0, 1))
    np.testing.assert_array_equal(later.rows.labels, np.roll(first.rows.labels, -30))


def tiny(do, **what):
    """Return the rows of one task on little data."""
    return [{**what, **row} for row in do(Place(), **what)]


def test_tiny_runs_of_drift_parameters_and_why_judge_nothing():
    about = {"order": 0, "segment": 30, "sizes": [20, 200]}
    ours = tiny(along_stream, data="planted", method=OURS, **about)
    # What a task yields depends neither on the method nor on the set.
    fading = [{**row, "method": FADING} for row in ours if row["end"]]
    drift = EXPERIMENTS["drift"]
    rows = ours + fading + [{**row, "data": "reuters-twin"} for row in ours]
    assert {claim.verdict for claim in drift.claims(rows)} == {"not judged", "not in the paper"}
    assert "segment 4" in drift.section(rows)
    assert set(drift.figures(rows)) == {"recent", "all"}

    about = {"data": "fox-twin", "order": 0, "n_rows": 30, "sizes": [20, 40]}
    ours, printed = (
        tiny(fit, method=method, varied=varied, value=value, **about)
        for method, varied, value in ((OURS, "n_clusters", 1.5), (PRINTED, "window", None))
    )
    # What a task yields does not depend on what is varied.
    rows = [{**row, "varied": varied} for varied in STUDY[OURS] for row in ours]
    rows += [{**row, "varied": varied} for varied in STUDY[PRINTED] for row in printed]
    study = EXPERIMENTS["parameters"]
    assert {claim.verdict for claim in study.claims(rows)} == {"not judged", "not in the paper"}
    assert set(study.figures(rows)) == {"fox-twin-omvfs", "fox-twin-as-published"}

    about = {"data": "planted", "graph": "gaussian", "n_rows": 80}
    frozen = {gamma: tiny(frozen_u, gamma=gamma, **about) for gamma in (min(GAMMAS), 1e7)}
    assert frozen[1e7][0]["with start"] > 0.9 > frozen[0.0][0]["with start"]
    rows = [row for rows in frozen.values() for row in rows]
    why = EXPERIMENTS["why"]
    assert [claim.verdict for claim in why.claims(rows)] == ["not judged", "not in the paper"]
    assert set(why.figures(rows)) == {"frozen"}


def test_a_small_run_on_runtime(monkeypatch):
    place = Place(quick=True)
    monkeypatch.setattr(runtime, "QUICK_SIZES", (60, 120))
    monkeypatch.setattr(runtime, "QUICK_SHORT", 100)
    monkeypatch.setattr(runtime, "QUICK", {PRINTED: (0, 0), "MVUFS": (0, 0)})
    tasks = EXPERIMENTS["runtime"].tasks(place)
    rows = [{**task.what, **row} for task in tasks for row in task.do(place, **task.what)]
    assert [(row["method"], row["rows"]) for row in rows if row["against"] == "rows"] == [
        (OURS, 60),
        ("FSDS", 60),
        (OURS, 120),
        ("FSDS", 120),
    ]
    assert all(0 <= row["ranking"] <= row["seconds"] for row in rows)
    assert len(EXPERIMENTS["runtime"].claims(rows)) == 5  # without MVUFS


def test_a_small_run_on_small_sets(tmp_path, monkeypatch):
    write_set(tmp_path / "data" / "fox")
    monkeypatch.setattr(small, "PAPER_SIZES", (10, 20, 30))
    monkeypatch.setattr(small, "METHODS", {m: METHODS[m] for m in ("LapScore", "all features")})
    monkeypatch.setattr(small, "twins", lambda *_: [])
    place = Place(data=tmp_path / "data", data_home=tmp_path)
    out, store = tmp_path / "out", tmp_path / "store"
    text = registry.write_experiment("small", place, out, store).read_text()
    assert "chosen with\nthe labels" in text
    assert {"small.csv", "small-fox.svg", "small-sets.svg"} <= {f.name for f in out.iterdir()}
    # 3 orders of the default and 3 settings beside it, of 3 sizes × 2 seeds; and all features.
    assert len(rows_of(EXPERIMENTS["small"], place, store)) == (3 + 3) * 3 * 2 + 3 * 2


def test_a_small_run_on_large_sets(tmp_path, monkeypatch):
    write_set(tmp_path / "data" / "debian_large", n_rows=300)
    for name, value in {"PAPER_SIZES": (10, 20), "CHUNK": 50, "QUICK_ROWS": 200}.items():
        monkeypatch.setattr(large, name, value)
    monkeypatch.setattr(large, "twins", lambda *_: [])
    place = Place(data=tmp_path / "data", data_home=tmp_path, quick=True)
    path = registry.write_experiment("large", place, tmp_path / "out", tmp_path / "store")
    assert "debian_large: 200 rows, the printed method the first 100" in path.read_text()
    rows = rows_of(EXPERIMENTS["large"], place, tmp_path / "store")
    whole = {(method, 200) for method in ("OMVFS", "FSDS", "column sum", "variance")}
    first = {("OMVFS", 100), ("as published", 100)}
    assert {(row["method"], row["read"]) for row in rows} == whole | first
    (row,) = large.time_pass(place, "debian_large", "OMVFS", 0)
    assert set(row) == {"rows", "read", "seconds"}


def test_a_small_run_by_the_protocol_of_jmvfg(tmp_path, monkeypatch):
    for seed, name in enumerate(("mfeat", "bdgp")):
        write_set(tmp_path / "data" / name, seed)
    few = {name: METHODS[name] for name in ("OMVFS", "LapScore", "variance", "all features")}
    for name, value in {"METHODS": few, "GRID_SEEDS": 2, "USUAL": (2, 1)}.items():
        monkeypatch.setattr(jmvfg, name, value)
    monkeypatch.setattr(jmvfg, "EFFORT", {"mfeat": (2, 2)})
    jmvfg.scaled.cache_clear()
    place = Place(data=tmp_path / "data", data_home=tmp_path)
    path = registry.write_experiment("jmvfg", place, tmp_path / "out", tmp_path / "store")
    assert "| NSGL | 74.4 | – | – | – |" in path.read_text()
    rows = rows_of(EXPERIMENTS["jmvfg"], place, tmp_path / "store")
    # mfeat: 2 orders of 2 seeds, and 4 and 3 settings of 2; bdgp: 2 orders of a seed.
    of = {m: [row for row in rows if row["method"] == m] for m in ("OMVFS", "LapScore", "variance")}
    assert [len(each) for each in of.values()] == [(4 + 8 + 2) * 8, (4 + 6 + 2) * 8, (4 + 2) * 8]
    # A method of one view reads all views side by side, every feature from 0 to 1.
    views, labels = jmvfg.scaled("mfeat", place)
    assert {(X.min(), X.max()) for X in views.values()} == {(0, 1)}
    order = np.random.default_rng(0).permutation(len(labels))
    X = np.hstack([views["english"].toarray(), views["italian"]])[order]
    scores = LaplacianScore().fit(X).scores_
    found = jmvfg.judge(place, "mfeat", "LapScore", {}, 0, 1)
    assert found == evaluate_joint_ranking({"X": X}, labels[order], scores, seeds=1)


def test_a_joint_ranking_is_judged_by_k_means_on_the_best_features_of_all_views():
    data = make_planted(200, n_features=(120, 80), n_informative=(30, 20), random_state=0)
    views, scores = in_unit_range(data.views), np.random.default_rng(0).permutation(200) * 1.0
    (row,) = evaluate_joint_ranking(views, data.labels, scores, [15], seeds=[4])
    X = np.hstack([block.toarray() for block in views.values()])[:, scores >= 170]
    assert X.shape[1] == row["p"] == 30
    found = KMeans(len(np.unique(data.labels)), n_init=STARTS, random_state=4).fit_predict(X)
    nmi = normalized_mutual_info_score(data.labels, found, average_method="max")
    assert row["NMI max"] == pytest.approx(nmi)
    for wrong in (np.ones(199), np.r_[np.nan, np.ones(199)]):
        with pytest.raises(ValueError, match=r"expected \(200,\) numbers"):
            evaluate_joint_ranking(views, data.labels, wrong)
