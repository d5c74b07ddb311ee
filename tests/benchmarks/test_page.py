"""The page tells every bar and every result."""

import bars
import page
from verdicts import UNKNOWN


def test_the_page_tells_every_bar_and_every_result(results):
    text = page.page(results, older=["growth/N"])
    lines = text.splitlines()
    for bar in bars.bars(results):
        told = bar.what, bar.seen, bar.spread, bar.wall, bar.verdict
        assert f"| {' | '.join(told)} |" in lines
    assert f"1 of {len(results)} results: growth/N." in text
    assert "| paper | 5,000 | 40 | 400 | 40 | 40 | printed |" in lines
    assert "| paper | 1,000 | 20 | 200 | 20 | 20 |  |" in lines
    assert "| two workers ÷ one | 0.5 | wall |" in lines
    assert "| N | 1,000, 10,000, 100,000 | 1 | 1 | 1, 10, 100 | 0 | 1, 1, 1 | 20, 20, 20 |" in lines
    # A chunk of 0.2 s, and of 0.1 ms at 10 GB/s.
    assert "reading these bytes once at 10 GB/s: omvfs 2,000 ×" in text
    assert "Ours is lower: reuters-twin after 1,000 rows, 1 of 1" in text
    tables = [line for line in lines if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


def test_the_page_of_nothing_has_the_bars():
    assert page.page({}).count(UNKNOWN) == len(bars.bars({}))
