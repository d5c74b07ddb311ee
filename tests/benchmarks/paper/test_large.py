"""The experiment on large sets: what it does, and what it makes of rows."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hand_made_rows import large_rows, twin_rows

from omvfs.datasets import make_planted
from paper import EXPERIMENTS, Place, large, rows_of, write_experiment
from paper.sets import LARGE as LARGE_SETS

LARGE = EXPERIMENTS["large"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A small folder of data, few sizes, short chunks and no twin."""
    folder = tmp_path / "data" / "debian_large"
    folder.mkdir(parents=True)
    planted = make_planted(300, n_features=(60, 40), n_informative=(20, 10), random_state=0)
    for i, (name, X) in enumerate(zip(("english", "italian"), planted.views.values(), strict=True)):
        sp.save_npz(folder / f"view_{i}_{name}.npz", sp.csr_array(X))
    np.save(folder / "labels.npy", planted.labels)
    for name, value in {
        "PAPER_SIZES": (10, 20),
        "CHUNK": 50,
        "QUICK_ROWS": 200,
        "twins": lambda *_: [],
    }.items():
        monkeypatch.setattr(large, name, value)
    return Place(data=tmp_path / "data", data_home=tmp_path, quick=True)


def test_a_task_is_plain_and_told_apart_from_all_others(place, monkeypatch):
    monkeypatch.setattr(large, "twins", lambda *_: ["reuters-twin", "youtube-twin"])
    tasks = LARGE.tasks(Place(data=place.data, data_home=place.data_home))
    told = [json.dumps(task.what, sort_keys=True) for task in tasks]
    assert len(set(told)) == len(told)
    assert {task.what["data"] for task in tasks} == {
        "debian_large",
        "reuters-twin",
        "youtube-twin",
    }


def test_real_large_sets_are_read_and_their_time_is_measured_alone():
    assert {"debian_large", "wordnet"} <= set(LARGE_SETS)
    assert LARGE.timed


def test_the_printed_method_reads_the_first_rows_and_ours_the_same_beside_it(place):
    reads = {}
    for task in LARGE.tasks(Place(data=place.data, data_home=place.data_home)):
        reads.setdefault(task.what["method"], set()).add(task.what["first"])
    assert None not in reads["as published"]
    assert reads["OMVFS"] == {None, *reads["as published"]}
    assert reads["FSDS"] == reads["column sum"] == reads["variance"] == {None}


def test_twins_are_run_for_time_only(tmp_path):
    tasks = LARGE.tasks(Place(data_home=tmp_path, quick=True))
    assert {task.what["data"] for task in tasks} == {"reuters-twin", "youtube-twin"}
    assert {task.do for task in tasks} == {large.time_pass}
    assert {task.what["method"] for task in tasks} == set(large.WHOLE)


def test_a_time_says_nothing_of_a_selection(place):
    (row,) = large.time_pass(place, "debian_large", "OMVFS", 0)
    assert set(row) == {"rows", "read", "seconds"}
    assert row["seconds"] > 0
    assert (row["rows"], row["read"]) == (200, 200)


def test_a_run_writes_all_and_a_second_one_does_nothing(place, tmp_path, monkeypatch):
    out, store = tmp_path / "out", tmp_path / "store"
    text = write_experiment("large", place, out, store).read_text()
    assert "debian_large: 200 rows, the printed method the first 100" in text
    assert "drawn at random" in text
    assert {"large.csv", "large-debian_large.svg"} <= {file.name for file in out.iterdir()}
    rows = rows_of(LARGE, place, store)
    assert {(row["method"], row["read"]) for row in rows} == {
        ("OMVFS", 200),
        ("FSDS", 200),
        ("column sum", 200),
        ("variance", 200),
        ("OMVFS", 100),
        ("as published", 100),
    }
    monkeypatch.setattr(large, "judge", None)  # nothing is left that would call it
    assert rows_of(LARGE, place, store) == rows


def test_a_table_has_a_line_a_method_and_what_it_has_read():
    text = LARGE.section(large_rows())
    assert "| youtube | as published, first 1,000 rows | 0.300 / 0.300 |" in text
    assert "| youtube | OMVFS | 0.580 / 0.580 |" in text


def test_times_are_of_all_sets_and_tables_of_real_ones():
    text = LARGE.section(large_rows() + twin_rows())
    assert "| OMVFS | 2 | 3 |" in text
    assert "| OMVFS, first 1,000 rows | 2 | – |" in text
    assert "| reuters-twin |" in text  # over its times
    assert "| reuters-twin | OMVFS |" not in text
    assert "0.999" in text
    assert "0.999" not in LARGE.section(large_rows())
    assert "| OMVFS | 3 |" in LARGE.section(twin_rows())


def test_rows_read_from_a_file_say_the_same():
    rows = large_rows() + twin_rows()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    assert LARGE.section([dict.fromkeys(columns) | row for row in rows]) == LARGE.section(rows)


def test_a_figure_has_a_line_a_method_on_real_sets():
    figures = LARGE.figures(large_rows() + twin_rows())
    assert set(figures) == {"youtube"}
    lines = figures["youtube"].axes[0].get_lines()
    assert [line.get_label() for line in lines] == [
        "OMVFS",
        "FSDS",
        "column sum",
        "variance",
        "OMVFS, first 1,000 rows",
        "as published, first 1,000 rows",
    ]
