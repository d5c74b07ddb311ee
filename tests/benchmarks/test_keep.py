"""Results are kept as they are found, and continued."""

import json

import keep


def test_results_are_kept_and_continued(tmp_path):
    path = tmp_path / "results.json"
    first = keep.Results(path)
    first.put("race/a", {"rows": 1})
    first.put("growth/b", {"rows": 2})
    second = keep.Results(path)
    assert not second.wanted("race/a")
    assert second.wanted("race/c")
    assert second["growth/b"]["rows"] == 2
    assert second.older() == []
    assert keep.Results(path, again=["race"]).wanted("race/a")
    assert not keep.Results(path).wanted("growth/b")
    assert keep.Results(path, again=[]).found == {}
    assert keep.Results(path).found == {}


def test_two_runs_may_keep_results_in_one_file(tmp_path):
    path = tmp_path / "results.json"
    one, other = keep.Results(path), keep.Results(path)
    one.put("a", {})
    other.put("b", {})
    assert set(keep.Results(path).found) == {"a", "b"}


def test_only_what_is_asked_for_is_wanted():
    results = keep.Results(only=["race/x/"])
    assert results.wanted("race/x/paper")
    assert not results.wanted("race/y/paper")


def test_results_of_another_format_are_started_anew(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"race": {}, "quick": False}))
    assert keep.Results(path).found == {}


def test_results_of_other_code_are_told(tmp_path):
    results = keep.Results(tmp_path / "results.json")
    results.put("a", {})
    results.code = "other"
    results.put("b", {})
    assert results.older() == ["a"]
