"""What the guides show, works, and prints what they show."""

import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```\n\n?((?:    [^\n]*\n)*)", re.DOTALL)
GUIDES = {"scikit-learn": (), "river": ("river",), "single-cells": ("anndata", "mudata")}


@pytest.mark.filterwarnings("ignore")  # of the packages that the guides are of
@pytest.mark.parametrize("page", GUIDES)
def test_the_code_of_a_guide_works(page, capsys, tmp_path, monkeypatch):
    if lacking := [name for name in GUIDES[page] if find_spec(name) is None]:
        pytest.skip(f"needs {', '.join(lacking)}")
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 2
    names = {}
    for code, shown in blocks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, names)
        said = capsys.readouterr().out
        if shown:
            assert said.split() == shown.split()
