import re

import pytest

from omvfs import demo


def test_the_demo_shows_what_it_promises(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(demo, "N_RESAMPLES", 0)
    demo.main(n_rows=4_000, page=tmp_path / "report.html")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]

    def the(pattern):
        (found,) = filter(None, (re.match(pattern, line) for line in lines))
        return found.groups()

    the(r"([\d,]+) rows per second \(.+ s\), peak memory ([\d,]+) MB")
    for view in ("words", "tags"):
        omvfs, column_sum, variance = map(float, the(rf"{view} .* (\S+)% +(\S+)% +(\S+)%$"))
        assert omvfs > 3 * max(column_sum, variance)
    for place in range(1, 10):
        the(rf"{place} +([a-z]+_\d+) +([a-z]+_\d+)$")
        the(rf"{place} +pixel r\dc\d +(row|column|falling|rising) \S+ +wave -?\d down, \d across$")

    assert str(tmp_path / "report.html") in lines
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "4,000 rows" in page
    assert all(topic in page for topic in ("sport_", "music_", "travel_"))
    the(r"omvfs info DATA, then omvfs select DATA .*--help")

    methods = "OMVFS", "column sum", "variance", "random", "all", "OMVFS's own clusters"
    nmi = {by: float(the(rf"{by} +(?:20|all) +(0\.\d+) +0\.\d+$")[0]) for by in methods}
    assert nmi["OMVFS"] > nmi["random"]
    assert nmi["OMVFS's own clusters"] > 0.7


def test_profiles_are_sums_along_lines():
    views, _ = demo.digits_views()
    image = views["pixels"][0].reshape(8, 8)
    profile = dict(zip(views.feature_names["profiles"], views["profiles"][0], strict=True))
    unit = profile["row 3"] / image[3].sum()
    assert profile["column 2"] == pytest.approx(unit * image[:, 2].sum())
    assert profile["falling +1"] == pytest.approx(unit * image.diagonal(1).sum())
    assert profile["rising -2"] == pytest.approx(unit * image[:, ::-1].diagonal(-2).sum())
