"""The demo shows what it promises."""

import re

import pytest

from omvfs import demo


def test_the_demo_shows_what_it_promises(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(demo, "N_RESAMPLES", 0)
    monkeypatch.setattr(demo, "N_RUNS", 1)
    demo.main(n_rows=2_000, page=tmp_path / "report.html")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]

    def the(pattern):
        (found,) = filter(None, (re.match(pattern, line) for line in lines))
        return found.groups()

    the(r"([\d,]+) rows per second \(.+ s\)")
    for view in ("words", "tags"):
        omvfs, column_sum, variance = map(float, the(rf"{view} .* (\S+)% +(\S+)% +(\S+)%$"))
        assert omvfs > 3 * max(column_sum, variance)
    for place in range(1, 10):
        the(rf"{place} +([a-z]+_\d+) +([a-z]+_\d+)$")
    methods = "OMVFS", "column sum", "variance", "random", "all", "OMVFS's own clusters"
    nmi = {by: float(the(rf"{by} +(?:20|all) +(0\.\d+)$")[0]) for by in methods}
    assert nmi["OMVFS"] > nmi["random"]
    assert nmi["OMVFS's own clusters"] > 0.7
    assert str(tmp_path / "report.html") in lines
    assert "sport_" in (tmp_path / "report.html").read_text(encoding="utf-8")
    the(r"omvfs info DATA, then omvfs select DATA .*--help")


def test_profiles_are_sums_along_lines():
    views, _ = demo.digits_views()
    image = views["pixels"][0].reshape(8, 8)
    profile = dict(zip(views.feature_names["profiles"], views["profiles"][0], strict=True))
    unit = profile["row 3"] / image[3].sum()
    assert profile["column 2"] == pytest.approx(unit * image[:, 2].sum())
    assert profile["rising -2"] == pytest.approx(unit * image[:, ::-1].diagonal(-2).sum())
