"""Tasks are done once, and kept as they are done."""

import pytest
from squares import Squares, calls

from paper import Place, rows_of
from paper.running import _ROOMS, files_of


@pytest.fixture(autouse=True)
def nothing_done():
    calls.clear()


def test_what_is_done_is_not_done_again(tmp_path):
    first = rows_of(Squares(), Place(), tmp_path)
    assert first == rows_of(Squares(), Place(), tmp_path)
    assert calls == [1, 2, 3, 4]
    assert first[2] == {"number": 3, "square": 9, "half": 1.5}


def test_an_interrupted_experiment_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        rows_of(Squares(), Place(quick=True), tmp_path)
    assert calls == [1, 2, 3]
    calls.clear()
    (tmp_path / "squares-quick.jsonl").rename(tmp_path / "squares.jsonl")
    rows = rows_of(Squares(), Place(), tmp_path)
    assert calls == [3, 4]
    assert [row["square"] for row in rows] == [1, 4, 9, 16]


def test_progress_begins_with_what_is_known(tmp_path):
    told = []
    rows_of(Squares(), Place(), tmp_path)
    rows_of(Squares(), Place(), tmp_path, on_progress=lambda *each: told.append(each))
    assert told == [(4, 4)]


def test_code_counts_however_deep_it_lies(tmp_path):
    for name in ("top.py", "model/flat.py", "model/graph/deep.py", "cli/shown.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in files_of(["model"], tmp_path)]
    assert found == ["top.py", "model/flat.py", "model/graph/deep.py"]


def test_the_mathematics_counts():
    names = {path.name for path in files_of(_ROOMS)}
    assert {"omvfs.py", "half_steps.py", "similarity.py", "reservoir.py", "mvufs.py"} <= names
