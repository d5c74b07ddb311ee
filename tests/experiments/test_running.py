"""Tasks are done once, kept as they are done, and written as tables, figures and a page."""

import csv

import pytest

from omvfs.experiments import Claim, Experiment, Place, Task, rows_of
from omvfs.experiments import registry as everything
from omvfs.experiments._page import claims_table
from omvfs.experiments._running import _ROOMS, files_of
from omvfs.experiments.figures import line, pyplot

calls = []


def squared(place, number):
    """The task of the experiment below."""
    calls.append(number)
    if place.quick and number == 3:
        raise KeyboardInterrupt
    return [{"square": number**2, "half": number / 2}]


class Squares(Experiment):
    """Squares of some numbers."""

    name = "squares"
    title = "Squares"

    def tasks(self, place):
        return [Task(squared, {"number": number}) for number in (1, 2, 3, 4)]

    def section(self, rows):
        return f"The sum is {sum(row['square'] for row in rows)}."

    def figures(self, rows):
        figure, axes = pyplot().subplots()
        line(axes, [row["number"] for row in rows], [[row["square"]] for row in rows], "a", 0)
        return {"all": figure}

    def claims(self, rows):
        return [Claim("Squares grow.", f"{rows[-1]['square']}", "reproduced", "It is known.")]


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


def test_results_are_written_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setitem(everything.EXPERIMENTS, "squares", Squares())
    out = tmp_path / "docs" / "results"
    path = everything.write_experiment("squares", Place(), out, out / "store")
    with (out / "squares.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file))[1] == {"number": "2", "square": "4", "half": "1.0"}
    assert "<svg" in (out / "squares-all.svg").read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    for part in ("## Squares", "The sum is 30.", "(squares-all.svg)", "| Squares grow. | 16 |"):
        assert part in text
    everything.write_page(out, tmp_path / "docs" / "results.md", ["squares", "missing"])
    page = (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")
    assert "(results/squares-all.svg)" in page


def test_a_page_keeps_what_it_has_of_experiments_without_a_section(tmp_path, monkeypatch):
    monkeypatch.setitem(everything.EXPERIMENTS, "squares", Squares())
    out, path = tmp_path / "results", tmp_path / "results.md"
    everything.write_experiment("squares", Place(), out, tmp_path / "store")
    everything.write_page(out, path, ["squares"])
    page = path.read_text(encoding="utf-8")
    (out / "squares.md").unlink()
    (out / "cubes.md").write_text("## Cubes\n\n`omvfs experiment cubes`\n", encoding="utf-8")
    everything.write_page(out, path, ["squares", "cubes", "missing"])
    assert path.read_text(encoding="utf-8") == page + "\n## Cubes\n\n`omvfs experiment cubes`\n"


def test_the_same_rows_draw_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setitem(everything.EXPERIMENTS, "squares", Squares())
    for out in ("a", "b"):
        everything.write_experiment("squares", Place(), tmp_path / out, tmp_path / "store")
    for name in ("squares-all.svg", "squares.csv", "squares.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_claims_stand_beside_what_was_seen():
    text = claims_table([Claim("It is fast.", "It is not.", "not reproduced", "Nobody knows.")])
    assert "| It is fast. | It is not. | **not reproduced** | Nobody knows. |" in text


def test_every_experiment_says_what_it_is_and_has_tasks_without_any_data():
    place = Place(quick=True)
    for name, each in everything.EXPERIMENTS.items():
        assert each.name == name
        assert each.title
        tasks = each.tasks(place)
        assert tasks
        described = [repr(sorted(task.what.items())) for task in tasks]
        assert len(set(described)) == len(described)


def test_results_of_other_code_are_told(tmp_path, monkeypatch):
    monkeypatch.setitem(everything.EXPERIMENTS, "squares", Squares())
    path = everything.write_experiment("squares", Place(), tmp_path, tmp_path / "store")
    assert "earlier version" not in path.read_text(encoding="utf-8")
    monkeypatch.setattr("omvfs.experiments._running.version_of_code", lambda: "another")
    path = everything.write_experiment("squares", Place(), tmp_path, tmp_path / "store")
    assert "4 of its results are of an earlier version" in path.read_text(encoding="utf-8")


def test_code_counts_however_deep_it_lies(tmp_path):
    for name in ("top.py", "model/flat.py", "model/graph/deep.py", "cli/shown.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in files_of(["model"], tmp_path)]
    assert found == ["top.py", "model/flat.py", "model/graph/deep.py"]


def test_the_mathematics_counts():
    names = {path.name for path in files_of(_ROOMS)}
    assert {"omvfs.py", "half_steps.py", "similarity.py", "reservoir.py", "mvufs.py"} <= names
