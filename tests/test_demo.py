"""The demo shows what it promises."""

import re

from omvfs import demo


def test_the_demo_shows_what_it_promises(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
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
    assert str(tmp_path / "report.html") in lines
    assert "sport_" in (tmp_path / "report.html").read_text(encoding="utf-8")
    the(r"omvfs info DATA, then omvfs select DATA .*--help")
