"""Pictures of the results."""

import pytest


def test_pictures_are_drawn(results, tmp_path):
    pytest.importorskip("matplotlib")
    import plots

    plots.draw(results, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"performance-race.svg", "performance-growth.svg"}
    assert "reuters-twin" in (tmp_path / "performance-race.svg").read_text()
