"""What the README shows, works."""

import re
from pathlib import Path

from omvfs.datasets import planted_stream

README = Path(__file__).parents[1] / "README.md"


def test_the_python_of_the_readme_works(capsys):
    code = re.compile(r"```python\n(.*?)```\n\n(?:    ([^\n]*)\n)?", re.DOTALL)
    (stream, shown), (compare, _) = code.findall(README.read_text())
    names = {}
    exec(stream, names)
    # What it prints are words, none of them noise, and those that the README shows.
    words = capsys.readouterr().out.split()
    known = planted_stream(5_000, random_state=0).feature_names["view_0"]
    assert set(words) <= {word for word in known if not word.startswith("noise")}
    assert len(set(words) & set(shown.split())) >= 4
    exec(compare, names)
    nmi = {(method, p): value for method, p, value in eval(capsys.readouterr().out)}
    assert nmi["OMVFS", 100] > max(nmi["variance", 100], nmi["Laplacian", 100])


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
