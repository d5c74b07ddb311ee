"""Rows, figures and sections are written side by side, and sections come onto a page."""

import csv

from squares import Squares

from paper import Place, registry


def test_results_are_written_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.EXPERIMENTS, "squares", Squares())
    out = tmp_path / "docs" / "results"
    path = registry.write_experiment("squares", Place(), out, out / "store")
    with (out / "squares.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file))[1] == {"number": "2", "square": "4", "half": "1.0"}
    assert "<svg" in (out / "squares-all.svg").read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    for part in ("## Squares", "The sum is 30.", "(squares-all.svg)", "| Squares grow. | 16 |"):
        assert part in text
    registry.write_page(out, tmp_path / "docs" / "results.md", ["squares", "missing"])
    page = (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")
    assert "(results/squares-all.svg)" in page


def test_a_page_keeps_what_it_has_of_experiments_without_a_section(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.EXPERIMENTS, "squares", Squares())
    out, path = tmp_path / "results", tmp_path / "results.md"
    registry.write_experiment("squares", Place(), out, tmp_path / "store")
    registry.write_page(out, path, ["squares"])
    page = path.read_text(encoding="utf-8")
    (out / "squares.md").unlink()
    cubes = "## Cubes\n\n`python benchmarks/paper cubes`\n"
    (out / "cubes.md").write_text(cubes, encoding="utf-8")
    registry.write_page(out, path, ["squares", "cubes", "missing"])
    assert path.read_text(encoding="utf-8") == page + "\n" + cubes


def test_the_same_rows_draw_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.EXPERIMENTS, "squares", Squares())
    for out in ("a", "b"):
        registry.write_experiment("squares", Place(), tmp_path / out, tmp_path / "store")
    for name in ("squares-all.svg", "squares.csv", "squares.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_every_experiment_says_what_it_is_and_has_tasks_without_any_data():
    place = Place(quick=True)
    for name, each in registry.EXPERIMENTS.items():
        assert each.name == name
        assert each.title
        tasks = each.tasks(place)
        assert tasks
        described = [repr(sorted(task.what.items())) for task in tasks]
        assert len(set(described)) == len(described)


def test_results_of_other_code_are_told(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.EXPERIMENTS, "squares", Squares())
    path = registry.write_experiment("squares", Place(), tmp_path, tmp_path / "store")
    assert "earlier version" not in path.read_text(encoding="utf-8")
    monkeypatch.setattr("paper.running.version_of_code", lambda: "another")
    path = registry.write_experiment("squares", Place(), tmp_path, tmp_path / "store")
    assert "4 of its results are of an earlier version" in path.read_text(encoding="utf-8")
